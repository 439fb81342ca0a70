"""A question to its hits."""
