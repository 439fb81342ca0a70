"""The road in: a person edits, an agent writes, a pull arrives."""
