"""Write docs/reference.md from the code: `python -m benchmarks.make_reference`; a test compares."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from benchmarks.results import markdown_table
from shaping.cli.app import COMMANDS
from shaping.errors.catalogue import registry
from shaping.settings.schema import config_schema

ROOT: Final = Path(__file__).parents[1]
Node = dict[str, Any]
PAGE: Final = ROOT / "docs" / "reference.md"
VARIABLES: Final = {
    "SHAPING": "`on` (default), `off` leaves every result alone, `observe` leaves it alone and measures",
    "SHAPING_DEBUG": "`1` shows everything: the profile `debug`",
    "SHAPING_PROFILE": "the profile of every call of this process",
    "SHAPING_CONFIG": "the config file, instead of the one that is found",
    "SHAPING_LEDGER": "another file for the ledger, or `off`",
    "SCALPEL_MCP_INFO": "`DEBUG` means the same as `SHAPING_DEBUG=1`",
    "NO_COLOR": "no colours and no progress bars",
}


def page() -> str:
    """Write the whole page."""
    parts = [
        "# Reference",
        "Written by `python -m benchmarks.make_reference` from the code; a test compares.",
        "## Config keys",
        "The keys of `response_config.json`; under `tool_overrides` stand names or patterns of tools (`github/*`).",
        _keys(),
        "## Commands",
        "`shaping COMMAND --help` lists the options of each.",
        markdown_table(("command", "what it does"), [(f"`{name}`", text) for name, text in sorted(COMMANDS.items())]),
        "## Error codes",
        "What a program can branch on; `retryable` is for a call without side effects.",
        _codes(),
        "## Environment variables",
        markdown_table(("variable", "what it does"), [(f"`{name}`", text) for name, text in VARIABLES.items()]),
    ]
    return "\n\n".join(parts).replace("---:", "---") + "\n"


def _keys() -> str:
    schema = config_schema()
    rows: list[tuple[str, ...]] = []
    _collect(schema, schema, "", rows, set())
    return markdown_table(("key", "takes", "meaning"), rows)


def _collect(
    schema: dict[str, Any], node: dict[str, Any], path: str, rows: list[tuple[str, ...]], seen: set[str]
) -> None:
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        if name in seen and path.count(".") > 1:
            return
        seen = {*seen, name}
        node = schema["$defs"][name]
    for key, member in node.get("properties", {}).items():
        if key == "$schema":
            continue
        where = f"{path}.{key}" if path else key
        rows.append((f"`{where}`", _takes(schema, member), " ".join(str(member.get("description", "")).split())))
        _collect(schema, member, where, rows, seen)
    below = node.get("additionalProperties")
    if isinstance(below, dict):
        _collect(schema, below, f"{path}.NAME", rows, seen)


def _takes(schema: dict[str, Any], node: dict[str, Any]) -> str:
    if "$ref" in node:
        node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    if "enum" in node:
        return ", ".join(f"`{json.dumps(value)}`" for value in node["enum"])
    if "anyOf" in node:
        return " or ".join(dict.fromkeys(_takes(schema, one) for one in node["anyOf"]))
    kind = node.get("type", "anything")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array":
        return f"list of {_takes(schema, node.get('items', {}))}"
    return str(kind)


def _codes() -> str:
    rows: list[tuple[str, ...]] = []
    for code in sorted(registry.codes()):
        spec = registry.definition(code)
        retryable = "yes" if spec.retryable else "no"
        rows.append((f"`{code}`", str(spec.http), retryable, str(spec.exit_code), spec.hint or ""))
    return markdown_table(("code", "HTTP", "retryable", "exit code", "hint"), rows)


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE} written")


if __name__ == "__main__":
    main()
