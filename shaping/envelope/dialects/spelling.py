"""How each dialect spells an error code, and what our name for it is."""

from __future__ import annotations

from shaping.errors import registry
from shaping.errors.codes import COMMANDS, LEAN, LEAN_COARSE, OPERATIONS


def lean_code(code: str) -> str:
    """Spell a code as Code Scalpel does: in lower case, by its own names where it has one."""
    return LEAN.get(code) or LEAN_COARSE.get(code) or _recased(code, upper=False)


def from_lean(code: str) -> str:
    """Give our name for a lower-case code."""
    known = registry.canonical(code)
    return registry.canonical(_recased(code, upper=True)) if known == code else known


def operations_code(code: str) -> str:
    """Spell a code as the operations contract does."""
    return OPERATIONS.get(code, code)


def command_code(code: str) -> str:
    """Spell a code as the exit-code table does."""
    return COMMANDS.get(code, code)


def _recased(code: str, *, upper: bool) -> str:
    """Change the case of a code, not of its namespace; a code in mixed case is somebody's own and stays."""
    namespace, dot, key = code.rpartition(".")
    if upper and key == key.lower():
        return f"{namespace}{dot}{key.upper()}"
    if not upper and key == key.upper():
        return f"{namespace}{dot}{key.lower()}"
    return code
