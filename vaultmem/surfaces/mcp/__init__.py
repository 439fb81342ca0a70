"""The MCP surface. Only `vaultmem serve` imports it: the MCP library alone takes a second."""
