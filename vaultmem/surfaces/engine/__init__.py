"""The engine: one process that serves all windows and commands of one vault and user."""
