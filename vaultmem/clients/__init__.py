"""Other programs' settings, edited in place."""
