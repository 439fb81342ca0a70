"""Finding the notes that answer a question."""
