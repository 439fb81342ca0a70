"""The index in files of its own: SQLite, Tantivy and vectors. Nobody outside `index` imports it."""
