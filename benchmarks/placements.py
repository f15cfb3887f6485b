"""Places of a private field: a value in which one stands, the forms it is written in, and the ways it could leave by.

Shared by `benchmarks/bench_leaks.py`, which runs thousands, and by tests/mcp/test_private.py, which lets Hypothesis
choose. A placement is one value with a private field, written in up to three forms inside each other; each way
returns all that leaves the product by it, as one text in which the field's content must not stand.
"""

from __future__ import annotations

import html
import json
import logging
import re
from base64 import b64encode, urlsafe_b64encode
from collections import namedtuple
from contextlib import contextmanager
from dataclasses import dataclass, field, make_dataclass
from io import StringIO
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import orjson

from shaping import Shaper, ToolError, shape
from shaping.cleaning import fail_safe
from shaping.commands.command import invocation_of, plan_for, run_command
from shaping.integrations import ToolResults
from shaping.mcp.redaction import MessageRedaction, unshaped_result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from random import Random

    from shaping.commands.command import CommandOptions

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


# Ways: how what a tool gave leaves. Each returns everything that goes out.

PROFILES = ("minimal", "standard", "debug")
CLIENTS = ("claude-code", "claude-desktop", "codex", "gemini-cli", "unknown")


@dataclass
class Ways:
    """The ways out of one shaper; each takes a placement and gives all that left by it."""

    config: Mapping[str, Any] = field(default_factory=lambda: CONFIG)

    def __post_init__(self) -> None:
        self.shaper = Shaper(self.config, expandable=True)
        small = {**self.config, "global": {"max_tokens": 60, "max_items": 2, "max_string": 40}}
        self.tight = Shaper(small, expandable=True)
        self.results = ToolResults("placements", self.config)

    def names(self) -> tuple[str, ...]:
        """Return the names of the ways, in order."""
        return tuple(name for name in vars(Ways) if not name.startswith("_") and name not in {"names", "leave"})

    def leave(self, name: str, dice: Random) -> tuple[Placement, str]:
        """Draw a placement and let it leave by a way; logs leave too."""
        placement = place(dice, python=name in {"python", "raised", "asked_back", "cut"})
        with _logged() as log:
            out = getattr(self, name)(placement, dice)
        return placement, f"{out}\n{log.getvalue()}"

    def python(self, one: Placement, dice: Random) -> str:
        """Shape a value in Python."""
        encoding = dice.choice(({}, {"encoding": "json"}, {"encoding": "markdown"}, {"encoding": "table"}))
        shaper = Shaper({**self.config, "global": encoding}) if encoding else self.shaper
        shaped = shaper.shape(one.value, tool=TOOL, profile=dice.choice(PROFILES))
        return f"{shaped.text}{shaped.value}{shaped!r}{shaped.omissions}{shaped.warnings}{shaped.envelope}"

    def cut(self, one: Placement, dice: Random) -> str:
        """Shape a value to a small budget, and turn the pages of what was cut."""
        shaped = self.tight.shape(one.value, tool=TOOL, profile=dice.choice(PROFILES))
        out = [shaped.text, str(shaped.value), str(shaped.omissions), str(shaped.envelope)]
        cursor = shaped.envelope.meta.cursor
        for _ in range(3):
            if shaped.ref is None or cursor is None:
                break
            try:
                page = self.tight.expand(shaped.ref, cursor=cursor)
            except ToolError as problem:  # a cursor that stood in the tool's own envelope
                out.append(f"{problem}{problem.detail}")
                break
            cursor = page.envelope.meta.cursor
            out += [page.text, str(page.value)]
        return "".join(out)

    def asked_back(self, one: Placement, dice: Random) -> str:
        """Expand, search and query what is kept."""
        shaper = dice.choice((self.shaper, self.tight))
        shaped = shaper.shape(one.value, tool=TOOL, profile=dice.choice(PROFILES))
        if shaped.ref is None:
            return shaped.text
        paths = ("", "email", "[0]", "[].email", "users[].email", "more", "account.pin", "raw", "owner", "list[].raw")
        asked: list[dict[str, Any]] = [
            {"path": dice.choice(paths)},
            {"search": dice.choice((CONTENT[:4], "/L.*2/", "a", str(NUMBER)[:5], "email"))},
            {"sql": dice.choice(("schema", "SELECT * FROM items", "SELECT count(*), max(email) FROM items"))},
        ]
        return shaped.text + "".join(_asked(shaper, shaped.ref, **each) for each in asked)

    def text_block(self, one: Placement, dice: Random) -> str:
        """Send a result of one text block."""
        return self._result({"content": [_block(one.text)]}, dice)

    def two_blocks(self, one: Placement, dice: Random) -> str:
        """Send a result of two text blocks."""
        blocks = [_block("Found:"), _block(one.text)]
        dice.shuffle(blocks)
        return self._result({"content": blocks}, dice)

    def structured(self, one: Placement, dice: Random) -> str:
        """Send structured content alone, or with an unlike text."""
        content = dice.choice(([], [_block("done")]))
        return self._result({"content": content, "structuredContent": _object(one.json)}, dice)

    def both_channels(self, one: Placement, dice: Random) -> str:
        """Send structured content and its mirror."""
        return self._result({"content": [_block(one.text)], "structuredContent": _object(one.json)}, dice)

    def string_under_result(self, one: Placement, dice: Random) -> str:
        """Send a string as frameworks wrap it."""
        key = dice.choice(("result", "output"))
        return self._result({"content": [_block(one.text)], "structuredContent": {key: one.text}}, dice)

    def error_text(self, one: Placement, dice: Random) -> str:
        """Send the words of a failed call."""
        return self._result({"content": [_block(one.text)], "isError": True}, dice)

    def error_structure(self, one: Placement, dice: Random) -> str:
        """Send the data of a failed call."""
        failed = {"content": dice.choice(([], [_block(one.text)])), "structuredContent": _object(one.json)}
        return self._result({**failed, "isError": True}, dice)

    def embedded_resource(self, one: Placement, dice: Random) -> str:
        """Send a resource in a result, or the words of a link."""
        link = {"type": "resource_link", "uri": "file:///a", "name": "a", "description": one.text}
        embedded = {"type": "resource", "resource": {"uri": "file:///a", "text": one.text}}
        return self._result({"content": [dice.choice((link, embedded)), _block("see there")]}, dice)

    def meta(self, one: Placement, dice: Random) -> str:
        """Send `_meta` of a result or of a block, and members that nobody knows."""
        return self._result(
            dice.choice(
                (
                    {"content": [], "_meta": {"more": _object(one.json)}},
                    {"content": [{**_block("x"), "_meta": {"more": one.json}}]},
                    {"content": [{**_block("x"), "annotations": {"note": one.text}}]},
                    {"content": [], "users": one.json},
                    {"content": [{"type": "unheard-of", "more": one.json}]},
                )
            ),
            dice,
        )

    def resource(self, one: Placement, _: Random) -> str:
        """Send a resource that was read."""
        read = {"contents": [{"uri": "file:///users.json", "text": one.text}]}
        return _json(MessageRedaction(self.shaper).answer("file:///users.json", read))

    def prompt(self, one: Placement, _: Random) -> str:
        """Send a prompt that was asked for."""
        return _json(
            MessageRedaction(self.shaper).answer("p", {"messages": [{"role": "user", "content": _block(one.text)}]})
        )

    def protocol_error(self, one: Placement, _: Random) -> str:
        """Send a JSON-RPC error."""
        said = {"code": -32000, "message": one.text, "data": one.json}
        return _json(MessageRedaction(self.shaper).members(said, ("message", "data"), TOOL))

    def log(self, one: Placement, _: Random) -> str:
        """Send a log notification."""
        said = {"level": "info", "logger": "db", "data": one.json}
        return _json(MessageRedaction(self.shaper).members(said, ("data", "logger")))

    def raised(self, one: Placement, dice: Random) -> str:
        """Raise in a decorated function."""
        shown = one.text if "objects" not in one.forms else str(one.value)
        fault = dice.choice(
            (
                ValueError(shown),
                ToolError("NOT_FOUND", shown),
                ToolError("UNAVAILABLE", "no", details={"body": one.value if "objects" not in one.forms else shown}),
                ToolError("UNAVAILABLE", "no", hint=shown),
                KeyError(shown),
                RuntimeError("failed", _object(shown)),
            )
        )

        @shape(tool=TOOL, shaper=self.shaper)
        def users() -> Any:
            raise fault

        return _json(users())

    def returned(self, one: Placement, _: Random) -> str:
        """Return from a decorated function."""
        return _json(shape(tool=TOOL, shaper=self.shaper)(lambda: one.json)())

    def framework(self, one: Placement, dice: Random) -> str:
        """Give to an agent framework."""
        return self.results.text(one.json, TOOL, failed=dice.random() < 0.3)

    def command(self, one: Placement, dice: Random) -> str:
        """Print by a command that ends well or fails."""
        shaper = dice.choice((self.shaper, self.tight))
        words = dice.choice((("cat",), ("sh", "-c", "cat >&2; exit 3"), ("sh", "-c", "cat; exit 1")))
        asked: CommandOptions = {"tool": TOOL, "profile": dice.choice(PROFILES), "dialect": dice.choice((None, "lean"))}
        asked["stdin"] = one.text.encode()
        answer = run_command(shaper, plan_for(shaper, words, asked), invocation_of(words, asked))
        ref = answer.envelope.meta.ref
        back = "" if ref is None else _asked(shaper, ref, surface="command")
        return f"{answer.stdout}{answer.stderr}{answer.failure}{answer.envelope}{back}"

    def fault(self, one: Placement, dice: Random) -> str:
        """Send what goes out when shaping itself fails."""
        plan = self.shaper.plan(TOOL, surface="mcp")
        if dice.random() < 0.5:
            return _json(fail_safe(one.json, plan))
        failed = {"content": [_block(one.text)], "structuredContent": _object(one.json)}
        return _json(unshaped_result(failed, plan, ValueError(one.text)))

    def _result(self, result: Mapping[str, Any], dice: Random) -> str:
        shaper = dice.choice((self.shaper, self.tight))
        channels: Any = dice.choice((None, "text", "structured", "both"))
        about: dict[str, Any] = {"profile": dice.choice(PROFILES), "client": dice.choice(CLIENTS)}
        schema = dice.choice((None, None, {"type": "object"}, {"type": "object", "required": ["nothing"]}))
        shaped = shaper.shape_result(result, tool=TOOL, channels=channels, schema=schema, **about)
        return _json(shaped)


def _asked(shaper: Shaper, ref: str, **asked: Any) -> str:
    try:
        page = shaper.expand(ref, **asked)
    except ToolError as problem:
        return f"{problem} {problem.detail}"
    return f"{page.text}{page.value}{page.envelope}"


def _block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"result": value}


def _json(value: Any) -> str:
    return orjson.dumps(value, default=str).decode()


@contextmanager
def _logged() -> Iterator[StringIO]:
    logger, log = logging.getLogger("shaping"), StringIO()
    handler, level, spreads = logging.StreamHandler(log), logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        yield log
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = spreads
