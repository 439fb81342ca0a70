"""What knows nothing of notes: files, locks, databases, texts and secrets in them."""
