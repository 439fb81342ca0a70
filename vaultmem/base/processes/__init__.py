"""What a process has to know of others, light enough for a window, which loads hardly anything."""
