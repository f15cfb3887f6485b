"""The proxy in front of MCP servers."""
