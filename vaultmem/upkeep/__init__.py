"""Looking after a vault: making it, checking it, tidying it."""
