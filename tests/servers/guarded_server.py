"""A FastMCP server that wants its callers to sign in, with its own authorization server: `guarded_server.py PORT`."""

from __future__ import annotations

import sys
from typing import Any

from fastmcp import FastMCP
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
from mcp.server.auth.settings import ClientRegistrationOptions

if __name__ == "__main__":
    port = int(sys.argv[1])
    auth = InMemoryOAuthProvider(
        base_url=f"http://127.0.0.1:{port}", client_registration_options=ClientRegistrationOptions(enabled=True)
    )
    server: FastMCP[Any] = FastMCP("guarded", auth=auth)
    server.tool(name="inside")(lambda: "welcome")
    server.run("http", host="127.0.0.1", port=port, show_banner=False, log_level="CRITICAL")
