"""The full text: what is written into it, what a question looks for in it, and its files."""
