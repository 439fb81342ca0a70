"""What this machine alone knows of a vault: never synchronised, and no note."""
