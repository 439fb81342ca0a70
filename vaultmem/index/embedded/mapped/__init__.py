"""The vectors as all processes map them: the file, and what is read on from it."""
