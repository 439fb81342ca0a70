"""What a vault's files say of how it is to be used: our settings, and Obsidian's."""
