"""The MCP surface. Only servers import it; what needs the MCP library itself is loaded last, as
that alone takes half a second."""
