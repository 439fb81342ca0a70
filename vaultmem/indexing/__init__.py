"""How a change reaches the index, whether a person edits, an agent writes or a pull arrives."""
