"""Long-term memory for AI agents, kept as plain Markdown notes in an Obsidian-style vault."""

__version__ = "0.1.0"
