"""Reading notes from their bytes, and editing them by changing only the bytes concerned."""
