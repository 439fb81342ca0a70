"""Files on disk, and this machine's own state beside them."""
