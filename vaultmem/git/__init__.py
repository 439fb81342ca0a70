"""Sharing a vault through git: merging notes, and keeping several machines at the same memory."""
