"""Tools that know nothing of notes: files, locks, databases, texts, and secrets in texts."""
