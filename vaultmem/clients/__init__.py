"""The programs that vaultmem connects itself to, and how their settings are edited."""
