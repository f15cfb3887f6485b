"""Agent frameworks and web APIs, one file each: each shapes tool results at the hook its framework has for them.

What the files share stands here. A file imports its framework; nothing else in the package imports a file.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from os import PathLike
from time import perf_counter
from typing import Any, Final, TypeAlias, TypedDict

from pydantic_core import to_json

from shaping.errors import ToolError
from shaping.ledger import record_text
from shaping.mcp.parts import texts_of
from shaping.mcp.result import shape_in_context, unlisted_context
from shaping.mcp.sessions import texts_keeper
from shaping.response import EXPAND as EXPAND, CallContext  # its files import EXPAND from here
from shaping.shaper import Shaper

ConfigSource: TypeAlias = str | PathLike[str] | Mapping[str, Any] | None
EXPAND_HELP: Final = (
    "Get back what a shortened tool result left out. ref: from the note in that result; path: e.g. items[3].body; "
    "cursor: from the note, for the next page; sql: one SELECT over its records (the list is the table items; "
    'sql="schema" lists all tables); search: a text or /regex/ to find in it.'
)


class ShaperOptions(TypedDict, total=False):
    """How results are shaped: the profile to use where nothing else names one, or the shaper to go by."""

    profile: str | None
    shaper: Shaper | None


class ToolResults:
    """Shapes the tool results of one framework; `expand` brings back what was left out."""

    def __init__(
        self, client: str, config: ConfigSource = None, *, profile: str | None = None, shaper: Shaper | None = None
    ) -> None:
        """Take the framework's name in the ledger, and the config or the shaper to go by."""
        self.shaper = shaper or Shaper(config, expandable=True)
        self._client, self._profile = client, profile
        self._is_defined = False  # whether the ledger has the cost of our own tool's definition

    def text(self, value: Any, tool: str, *, failed: bool = False) -> str:
        """Shape a text or plain data into what the model reads; a failed call keeps the tool's words, coded."""
        sent = value if isinstance(value, str) else to_json(value, fallback=str).decode()
        return str(self.blocks([{"type": "text", "text": sent}], tool, failed=failed)[0]["text"])

    def blocks(self, blocks: Sequence[Mapping[str, Any]], tool: str, *, failed: bool = False) -> list[dict[str, Any]]:
        """Shape content blocks: texts are shaped, pictures and whatever else there is stay as they are."""
        shaped = self.result({"content": list(blocks), "isError": failed}, tool)
        return list(shaped["content"]) or [{"type": "text", "text": ""}]

    def result(self, result: Mapping[str, Any], tool: str) -> dict[str, Any]:
        """Shape a result in the wire form of MCP, its text channel alone, and enter it in the ledger."""
        started = perf_counter()
        plan, wrong = self.shaper.choose(tool, surface="mcp", default_profile=self._profile)
        context = unlisted_context(self.shaper, plan.replace(channels="text"), CallContext(warnings=wrong))
        shaped = shape_in_context(result, context)
        about: dict[str, Any] = {"client": self._client, "profile": plan.profile, "config": plan.config_hash}
        if not self._is_defined:
            self._is_defined = True
            record_text(EXPAND, "", f"{EXPAND} {EXPAND_HELP}", kind="definition", **about)
        elapsed = (perf_counter() - started) * 1000
        about |= {"milliseconds": elapsed, "keep": texts_keeper(self.shaper, shaped.parts)}
        record_text(tool, partial(_text, result), partial(_text, shaped.wire), **about)
        return shaped.wire

    def expand(self, ref: str, path: str = "", cursor: str = "", sql: str = "", search: str = "") -> str:
        """Return what a result left out, and enter it in the ledger; raise ToolError for a wrong request."""
        asked: dict[str, Any] = {"sql": sql or None, "search": search or None, "surface": "mcp"}
        found = self.shaper.expand(ref, path or None, cursor or None, **asked)
        record_text(found.plan.tool, "", found.text, kind="query" if sql else "expand", client=self._client)
        return found.text

    def shaping_expand(self, ref: str, path: str = "", cursor: str = "", sql: str = "", search: str = "") -> str:
        """Return what a result left out; a wrong request is answered with what to do instead."""
        try:
            return self.expand(ref, path, cursor, sql, search)
        except ToolError as problem:
            return refusal(problem)


def refusal(problem: ToolError) -> str:
    """Say what is wrong with a request, and what to do instead."""
    return f"{problem} {problem.detail.hint or ''}".strip()


ToolResults.shaping_expand.__doc__ = EXPAND_HELP  # some frameworks show a tool's docstring to their models


def _text(result: Mapping[str, Any]) -> str:
    return "\n".join(texts_of(result))


def holds_objects_of(package: str, value: Any, depth: int = 3) -> bool:
    """Return whether a value is, or contains, a result object that only this package's framework understands."""
    if isinstance(value, Mapping):
        return depth > 0 and any(holds_objects_of(package, item, depth - 1) for item in value.values())
    if isinstance(value, list | tuple):
        return depth > 0 and any(holds_objects_of(package, item, depth - 1) for item in value)
    return type(value).__module__.partition(".")[0] == package
