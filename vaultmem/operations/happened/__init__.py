"""What happened to the notes, by whom, and in which words."""
