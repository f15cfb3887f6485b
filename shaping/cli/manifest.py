"""`shaping manifest`: what this program can do, for a program to read."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from shaping.apps import manifest_of
from shaping.cli.app import build
from shaping.cli.output import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping

ETAG = typer.Option(
    metavar="TAG", help="The etag of an earlier manifest: an unchanged one is reported as not_modified."
)

EXIT_CODES: Mapping[int, str] = {
    0: "done",
    1: "the job failed or found problems",
    2: "the command was called wrongly",
    5: "expand: nothing is kept behind the ref, or at the path",
    124: "run: the command was ended by --timeout",
    125: "run: shaping itself failed",
    126: "run: the command may not be run",
    127: "run: there is no such program",
}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


_TEXT = {"type": "string"}
_ENVELOPE = {"$ref": "envelope.invariant.schema.json"}
_COUNT = {"type": "integer"}
_WRAPPED = _object(changed=_list(_TEXT), left=_list(_object(name=_TEXT, reason=_TEXT)), text=_TEXT)
_ANYTHING: Mapping[str, Any] = {}
# What stands in `data` under --json.
OUTPUTS: Mapping[str, Any] = {
    "allow": _object(path=_TEXT, allowed={"type": "boolean"}),
    "bench": _object(tokenizer=_TEXT, payloads=_list({"type": "object"}), total={"type": "object"}),
    "check": _object(files=_list(_TEXT), hash=_TEXT),
    "explain": _object(
        tool=_TEXT, config_hash=_TEXT, files=_list(_TEXT), choices=_list({"type": "object"}), server_rules=_list(_TEXT)
    ),
    "hook": _object(
        client=_TEXT, file=_TEXT, changed={"type": "boolean"}, installed={"type": "object"}, running={"type": "object"}
    ),
    "init": _list(_object(file=_TEXT, written={"type": "boolean"})),
    "profiles": _list(_object(name=_TEXT, source=_TEXT, extends=_list(_TEXT))),
    "run": _ENVELOPE,
    "expand": _ENVELOPE,
    "shape": _ANYTHING,
    "query": _list(_object()),
    "last": _object(ledger=_TEXT, calls=_list(_object(tool=_TEXT, tokens_before=_COUNT, tokens_after=_COUNT))),
    "report": _object(file=_TEXT, html=_TEXT),
    "ui": _ANYTHING,
    "stats": _object(
        ledger=_TEXT, total=_object(calls=_COUNT, tokens_saved=_COUNT), groups=_list(_object(calls=_COUNT))
    ),
    "discover": _object(
        sessions=_COUNT,
        tools=_list(_object(server=_TEXT, tool=_TEXT, calls=_COUNT)),
        config=_TEXT,
        install=_list(_TEXT),
    ),
    "suggest": _object(
        config=_TEXT,
        tools=_list(_object(tool=_TEXT, calls=_COUNT, fields=_list(_object(path=_TEXT, notes=_list(_TEXT))))),
    ),
    "tokens": _object(tokenizer=_TEXT, files=_list(_object(file=_TEXT, tokens=_COUNT, method=_TEXT)), total=_COUNT),
    "tools": _list(_object(tool=_TEXT, tokens=_COUNT, shown=_COUNT)),
    "wrap": _WRAPPED,
    "unwrap": _WRAPPED,
    "demo": _object(text=_TEXT),
    "serve": _ANYTHING,
    "manifest": _object(name=_TEXT, commands=_list({"type": "object"}), etag=_TEXT),
}


def manifest(*, etag: Annotated[str | None, ETAG] = None) -> Answer:
    """List every command with its flags, exit codes and output schema; the etag tells of changes."""
    found = our_manifest()
    same = etag == found["etag"]
    lines = [] if same else [orjson.dumps(found, option=orjson.OPT_INDENT_2).decode()]
    return Answer(None if same else found, lines, meta={"not_modified": same, "etag": found["etag"]})


def our_manifest() -> dict[str, Any]:
    """Describe our own command line."""
    command = typer.main.get_command(build())
    return manifest_of(command, name="shaping", version=version("shaping"), outputs=OUTPUTS, exit_codes=EXIT_CODES)
