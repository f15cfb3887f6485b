from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import shaping.operations


def test_every_public_name_is_there_and_is_no_module() -> None:
    found = [getattr(shaping.operations, name) for name in shaping.operations.__all__]
    assert not any(isinstance(value, ModuleType) for value in found)


EXTRAS = ("httpx", "mcp", "fastmcp", "redis", "starlette", "tree_sitter", "jsonschema_rs")
PROGRAM = f"""
import sys
import shaping.operations as o

o.Registry()
o.make_spec('x', operation_type='query', input=int)
o.McpConfig(url='x')
o.from_openapi({{'openapi': '3.1.0', 'paths': {{'/x': {{'get': {{}}}}}}}})
o.CallHandler, o.PendingCalls, o.admit, o.scan, o.from_mcp, o.from_command, o.from_schema
print([name for name in {EXTRAS} if name in sys.modules])
"""


def test_registering_needs_no_extra() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "[]"
