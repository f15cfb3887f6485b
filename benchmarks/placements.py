"""Places of a private field: a value in which one stands, and the forms that it is written in.

Shared by `benchmarks/bench_leaks.py`, which runs thousands, and by tests/mcp/test_private.py, which lets Hypothesis
choose. A placement is one value with a private field, written in up to three forms inside each other; the ways by
which it could leave are in benchmarks/placements_ways.py.
"""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections import namedtuple
from dataclasses import dataclass, make_dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

TOOL = "users"
CONTENT = "LeAkEd.42"
NUMBER = 7351948206
PRIVATE = ("email", "home_address", "tax_id", "tax_number")
DEEP = ("**.email", "**.home_address", "**.tax_*")
ROOTED = ("account.pin", "users[].contact.phone", "owner.*", "audit.trail[].who")
CONFIG: dict[str, Any] = {"tool_overrides": {TOOL: {"private": [*DEEP, *ROOTED]}}}


@dataclass(frozen=True)
class Placement:
    """A value with a private field in it, and the names of the forms that it was written in."""

    value: Any
    forms: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The value as a tool writes it that answers with text."""
        return self.value if isinstance(self.value, str) else json.dumps(self.value, default=list)

    @property
    def json(self) -> Any:
        """The value as it comes over a wire."""
        return self.value if isinstance(self.value, str) else json.loads(self.text)


def leaks(out: str) -> bool:
    """Return whether a text shows the private field's content."""
    plain = out.replace(",", "").replace("_", "")
    return CONTENT in out or str(NUMBER) in plain or f"{NUMBER:.9e}" in out


# Values: where in the data the private field stands.


def _deep_value(dice: Random, held: Any) -> Any:
    name = dice.choice(PRIVATE)
    return dice.choice(
        (
            {"id": 1, name: held},
            {name: held},
            {"name": "Ann", "profile": {name: held, "city": "Ulm"}},
            {"users": [{"id": 1, name: held}, {"id": 2, name: held}]},
            [{"id": number, name: held, "state": "open"} for number in range(dice.choice((2, 5, 40)))],
            {"a": {"b": [{"c": {name: held}}]}, "n": None},
            {"total": 2, "items": [{"user": {name: held, "login": "ann"}}], "next": ""},
            {"2024-01-01": {name: held}, "2024-01-02": {name: None}},
            {name: {"work": held, "private": [held]}, "id": 3},
            {"ok": True, "data": {"id": 1, name: held}},
            {"ok": False, "error": {"code": "NOT_FOUND", "message": "none", "details": {name: held}}},
            {"data": [{name: held, "id": 1}], "meta": {"ref": "x"}, "warnings": [{"code": "A", "message": "b"}]},
            {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": json.dumps({name: held})}]}},
        )
    )


def _rooted_value(dice: Random, held: Any) -> Any:
    return dice.choice(
        (
            {"account": {"pin": held, "owner": "Bo"}},
            {"users": [{"id": 1, "contact": {"phone": held, "city": "Ulm"}}] * dice.choice((1, 30))},
            {"owner": {"name": held, "login": held}, "id": 4},
            {"audit": {"trail": [{"who": held, "what": "read"}, {"who": held, "what": "write"}]}},
        )
    )


def _apart_value(dice: Random, held: Any) -> Any:
    """Put the field's name into a header or beside its content."""
    name = dice.choice((*PRIVATE, "phone", "pin", "Home Address", "user.email"))
    head, rows = ["id", name, "city"], [[number, held, "Ulm"] for number in range(dice.choice((1, 2, 40)))]
    columns = [{"name": column, "type": "text"} for column in head]
    return dice.choice(
        (
            [head, *rows],
            [[name, "id"], [held, 1], [held, 2]],
            {"columns": head, "rows": rows},
            {"columns": columns, "data": rows, "row_count": len(rows)},
            {"schema": {"fields": columns}, "rows": [{"f": [{"v": cell} for cell in row]} for row in rows]},
            {"meta": {"columns": columns}, "result": {"pages": [{"rows": rows}]}},
            {"fields": columns, "values": [[row[at] for row in rows] for at in range(3)]},
            {"sheet": "People", "values": [head, *rows]},
            {"rows": [{"cells": head}, *({"cells": row} for row in rows)]},
            [{"name": "city", "value": "Ulm"}, {"name": name, "value": held}],
            {"tags": [{"Key": name, "Value": held}, {"Key": "team", "Value": "a"}]},
            {"attributes": [{"key": name, "value": {"stringValue": held}}]},
            {"changes": [{"field": name, "old": held, "toString": held, "author": "Bo"}]},
            {"answers": [{"question": name, "answer": held}, {"question": "City", "answer": "Ulm"}]},
            {"contacts": [{"type": name, "value": held}]},
            {"entries": [["city", "Ulm"], [name, held]]},
            {"names": head, "values": rows[0]},
        )
    )


def _held(dice: Random) -> Any:
    return dice.choice(
        (CONTENT, CONTENT, CONTENT, NUMBER, f"see {CONTENT}\nand {CONTENT}", [CONTENT], {"line": CONTENT})
    )


# Forms: how a tool writes data as text.


def _flat(value: Any, name: str = "") -> list[tuple[str, str]]:
    if isinstance(value, dict):
        # What stands inside a private object still says whose it is, as programs that flatten objects write it.
        inside = f"{name}." if name in PRIVATE or "." in name else ""
        return [pair for key, item in value.items() for pair in _flat(item, f"{inside}{key}")]
    if isinstance(value, list):
        return [pair for item in value for pair in _flat(item, name)]
    text = str(value)
    return [(name, json.dumps(text) if "\n" in text else text)]


def _rows(value: Any) -> list[list[str]]:
    pairs = _flat(value)
    return [[key for key, _ in pairs], [item for _, item in pairs]]


def _lines(value: Any, between: str) -> str:
    return "\n".join(between.join(row) for row in _rows(value))


def _pairs(value: Any, between: str, end: str = "\n") -> str:
    return end.join(f"{key}{between}{item}" for key, item in _flat(value))


def _boxed(value: Any) -> str:
    head, row = _rows(value)
    rule = "+".join("-" * 12 for _ in head)
    return f"+{rule}+\n| {' | '.join(head)} |\n+{rule}+\n| {' | '.join(row)} |\n+{rule}+"


def _piped(value: Any) -> str:
    head, row = _rows(value)
    return f"| {' | '.join(head)} |\n|{'---|' * len(head)}\n| {' | '.join(row)} |"


def _elements(value: Any) -> str:
    return "<users>" + "".join(f"<{key}>{html.escape(item)}</{key}>" for key, item in _flat(value)) + "</users>"


def _html_table(value: Any, *sections: str) -> str:
    head, row = _rows(value)
    rows = [
        "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"
        for tag, cells in (("th", head), ("td", row))
    ]
    wrapped = [f"<{tag}>{line}</{tag}>" for tag, line in zip(sections, rows, strict=True)] if sections else rows
    return f'<table class="users">{"".join(wrapped)}</table>'


NESTING: dict[str, Callable[[Any], Any]] = {
    "value": lambda value: value,
    "json": json.dumps,
    "indented json": lambda value: json.dumps(value, indent=2),
    "json in a json string": lambda value: json.dumps(json.dumps(value)),
    "json lines": lambda value: f"{json.dumps(value)}\n{json.dumps(value)}",
    "json lines with a bad one": lambda value: f"{json.dumps(value)}\n{{broken\n{json.dumps(value)}",
    "documents in one line": lambda value: json.dumps(value) * 2,
    "server-sent events": lambda value: f"event: message\ndata: {json.dumps(value)}\n\ndata: {json.dumps(value)}\n\n",
    "repr": repr,
    "after prose": lambda value: f"Found these users:\n{json.dumps(value)}",
    "after prose with brackets": lambda value: f"[info] (2 users) found {{all}}:\n{json.dumps(value)}",
    "in a sentence": lambda value: f"The answer is {json.dumps(value)}, as asked.",
    "before prose": lambda value: f"{json.dumps(value)}\nThat is all.",
    "in a fence": lambda value: f"Here:\n```json\n{json.dumps(value, indent=1)}\n```\n",
    "in a log line": lambda value: f"2024-05-01T10:00:00Z INFO [web] user={json.dumps(value)} took=3ms",
    "after a byte order mark": lambda value: f"\ufeff{json.dumps(value)}",
    "after control characters": lambda value: f"\x1b[32m\x1b[1m{json.dumps(value)}\x1b[0m\r\n",
    "with a comma too many": lambda value: f"{json.dumps(value)[:-1]},{json.dumps(value)[-1:]}",
    "with comments": lambda value: f"// users\n{json.dumps(value, indent=1)} // end",
    "cut short": lambda value: json.dumps(value)[:-2],
    "cut at its start": lambda value: json.dumps(value)[1:],
    "escaped": lambda value: re.sub(r"(?<!\\)[eti]", lambda found: rf"\u{ord(found[0]):04x}", json.dumps(value)),
    "escaped by hand": lambda value: json.dumps(value).replace('"', '\\"'),
    "HTML": lambda value: f"<pre>{html.escape(json.dumps(value))}</pre>",
    "bytes": lambda value: json.dumps(value).encode(),
    "base64": lambda value: b64encode(json.dumps(value).encode()).decode(),
    "base64 for URLs": lambda value: urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("="),
}
FLAT: dict[str, Callable[[Any], Any]] = {
    "yaml": lambda value: _pairs(value, ": "),
    "toml": lambda value: "[user]\n" + _pairs(value, " = "),
    "env": lambda value: _pairs(value, "="),
    "logfmt": lambda value: "level=info " + _pairs(value, "=", " "),
    "a form": lambda value: urlencode(_flat(value)),
    "csv": lambda value: _lines(value, ","),
    "tsv": lambda value: _lines(value, "\t"),
    "semicolons": lambda value: _lines(value, ";"),
    "columns": lambda value: _lines(value, "   "),
    "a Markdown table": _piped,
    "a table with borders": _boxed,
    "xml": _elements,
    "an HTML table": _html_table,
    "an HTML table with sections": lambda value: _html_table(value, "thead", "tbody"),
    "a list of definitions": lambda value: (
        "<dl>" + "".join(f"<dt>{key}</dt><dd>{html.escape(item)}</dd>" for key, item in _flat(value)) + "</dl>"
    ),
    "lines of values in a list": lambda value: {"lines": _lines(value, ",").splitlines()},
    "xml attributes": lambda value: f"<user {_pairs(value, '=', ' ')}/>",
    "a repr of an object": lambda value: f"User({_pairs(value, '=', ', ')})",
    "headers": lambda value: "\r\n".join(f"{key.title()}: {item}" for key, item in _flat(value)),
    "SQL": lambda value: " ".join(
        f"{words} ({', '.join(row)})" for words, row in zip(("INSERT INTO users", "VALUES"), _rows(value), strict=True)
    ),
    "JavaScript": lambda value: "{" + _pairs(value, ": ", ", ") + "}",
    "a bulleted list": lambda value: "\n".join(f"- **{key}**: {item}" for key, item in _flat(value)),
    "a psql record": lambda value: "-[ RECORD 1 ]\n" + "\n".join(f"{key:12}| {item}" for key, item in _flat(value)),
}


def _objects(dice: Random, value: Any) -> Any:
    """Write plain data as objects of Python."""
    if isinstance(value, list):
        items = [_objects(dice, item) for item in value]
        return dice.choice((items, tuple(items), iter(items)))
    if not isinstance(value, dict):
        return value
    members = {key: _objects(dice, item) for key, item in value.items()}
    if not all(str(key).isidentifier() for key in members):
        return members
    kind = dice.choice(("dict", "dataclass", "namedtuple", "proxy"))
    if kind == "dataclass":
        return make_dataclass("Row", list(members))(**members)
    if kind == "namedtuple":
        return namedtuple("Row", list(members))(**members)  # noqa: PYI024  made of names that are drawn
    return MappingProxyType(members) if kind == "proxy" else members


def place(dice: Random, *, python: bool = False) -> Placement:
    """Draw one placement; `python` allows what cannot stand in JSON."""
    make = dice.choice((_rooted_value, _apart_value, _deep_value, _deep_value))
    rooted = make is not _deep_value
    value = make(dice, _held(dice))
    if python and make is not _apart_value and dice.random() < 0.2:
        return Placement(_objects(dice, value), ("objects",))
    forms: list[str] = []
    for _ in range(dice.choice((0, 1, 1, 2, 2, 3))):
        # A flat form has lost the parents that a path from the root names.
        choices = NESTING if rooted or isinstance(value, str | bytes) else {**NESTING, **FLAT}
        forms.append(dice.choice(sorted(choices)))
        value = _written(choices[forms[-1]], value)
        rooted = rooted or forms[-1] == "lines of values in a list"
        if isinstance(value, bytes) and not (python and dice.random() < 0.5):
            value = value.decode()
        # A path from the root holds there; from here on a deep one must.
        if not rooted and dice.random() < 0.4 and not isinstance(value, bytes):
            value = dice.choice(({"more": value}, [value, "x"], {"id": 1, "list": [{"raw": value}] * 3}))
            forms.append("inside")
    return Placement(value, tuple(forms))


def _written(form: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, bytes):
        value = value.decode()
    return form(value)
