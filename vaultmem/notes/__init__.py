"""Bytes to notes, and edits as splices."""
