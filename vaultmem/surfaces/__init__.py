"""How people and programs reach the operations: commands, MCP and HTTP, each a thin layer."""
