"""The ways by which a private field could leave: each returns all that goes out, as one text."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import StringIO
from typing import TYPE_CHECKING, Any

import orjson

from benchmarks.placements import CONFIG, CONTENT, NUMBER, TOOL, place
from shaping import Shaper, ToolError, shape
from shaping.cleaning import protect_or_withhold
from shaping.commands import plan_for, run_command
from shaping.integrations import ToolResults
from shaping.mcp.protection import protect_after_fault
from shaping.mcp.server_messages import MessageProtection

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from random import Random

    from benchmarks.placements import Placement
    from shaping.commands.process import CommandOptions

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
        return _json(MessageProtection(self.shaper).resource_or_prompt("file:///users.json", read))

    def prompt(self, one: Placement, _: Random) -> str:
        """Send a prompt that was asked for."""
        return _json(
            MessageProtection(self.shaper).resource_or_prompt(
                "p", {"messages": [{"role": "user", "content": _block(one.text)}]}
            )
        )

    def protocol_error(self, one: Placement, _: Random) -> str:
        """Send a JSON-RPC error."""
        said = {"code": -32000, "message": one.text, "data": one.json}
        return _json(MessageProtection(self.shaper).error(said, TOOL))

    def log(self, one: Placement, _: Random) -> str:
        """Send a log notification."""
        said = {"level": "info", "logger": "db", "data": one.json}
        return _json(MessageProtection(self.shaper).params("notifications/message", said))

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
        answer = run_command(shaper, plan_for(shaper, words, asked), words, asked)
        ref = answer.envelope.meta.ref
        back = "" if ref is None else _asked(shaper, ref, surface="command")
        return f"{answer.stdout}{answer.stderr}{answer.failure}{answer.envelope}{back}"

    def fault(self, one: Placement, dice: Random) -> str:
        """Send what goes out when shaping itself fails."""
        plan = self.shaper.plan(TOOL, surface="mcp")
        if dice.random() < 0.5:
            return _json(protect_or_withhold(one.json, plan))
        failed = {"content": [_block(one.text)], "structuredContent": _object(one.json)}
        return _json(protect_after_fault(failed, plan, ValueError(one.text)))

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
