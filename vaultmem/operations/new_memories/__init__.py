"""A text becomes a note: a new one, one that knows it already, or the one under its key."""
