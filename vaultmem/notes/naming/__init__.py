"""What notes are called: titles from texts, and links when a note is renamed."""
