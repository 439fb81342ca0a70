"""The vault in git: merging notes, and keeping several machines at the same memory."""
