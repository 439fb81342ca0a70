"""Looking after a vault."""
