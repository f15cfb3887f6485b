"""What a model would read of a recorded call, by a config."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import orjson

from shaping.clients.table import find_client
from shaping.learning.traffic import BUILT_IN
from shaping.learning.usage import missing, used_values
from shaping.tokens import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from shaping.learning.traffic import ToolCall
    from shaping.learning.usage import Usage
    from shaping.settings import Surface
    from shaping.shaper import Shaper

SURFACES: Final[Mapping[str, Surface]] = {"mcp": "mcp", "value": "python", "text": "command"}


def text_before(call: ToolCall) -> str:
    """Return what the model reads of a call without shaping."""
    if call.form == "mcp":
        return find_client(call.client).shown_within_limit(call.result)
    return call.result if isinstance(call.result, str) else orjson.dumps(call.result).decode()


def text_after(shaper: Shaper, call: ToolCall, arguments: frozenset[str] = frozenset()) -> str:
    """Return what the model reads of a call with shaping; never dearer text than the tool's own.

    `arguments` are names that other tools of the same server take as arguments.
    """
    if call.form == "mcp":
        shaped = shaper.shape_result(call.result, tool=call.name, client=call.client, relay=True, arguments=arguments)
        return find_client(call.client).shown_within_limit(shaped)
    return shaper.shape(call.result, tool=call.name, surface=SURFACES[call.form], as_json=False).text


@dataclass(slots=True)
class ToolReplay:
    """What the calls of one tool come to."""

    server: str
    tool: str
    calls: int = 0
    before: int = 0
    after: int = 0
    read_before: int = 0  # the same tokens, each as often as it was read again in a later turn
    read_after: int = 0
    used: int = 0  # values that the agent used later
    missing: dict[str, int] = field(default_factory=dict)  # those of them that it would not have read

    @property
    def saved(self) -> float:
        """The part of the tokens that would not have been read."""
        return 1 - self.after / self.before if self.before else 0.0


def replay(
    shaper: Shaper, calls: Iterable[ToolCall], usage: Usage, turns: Mapping[str, Sequence[float]] | None = None
) -> dict[tuple[str, str], ToolReplay]:
    """Shape every call, and add up by server and tool what the model read and would have read.

    `turns` are the times at which the model was asked, by session.
    """
    listed = list(calls)
    names = argument_names(listed)
    found: dict[tuple[str, str], ToolReplay] = {}
    shown: dict[str, set[str]] = {}
    lost: list[tuple[ToolReplay, str, str]] = []
    for call in listed:
        row = found.setdefault((call.server, call.tool), ToolReplay(call.server, call.tool))
        before = text_before(call)
        after = before if call.server == BUILT_IN else text_after(shaper, call, names.get(call.server, frozenset()))
        row.calls += 1
        tokens = int(count(before)), int(count(after))
        # The first turn after a result writes it into the cache, and those that follow read it from there.
        later = max(0, sum(time > call.time for time in (turns or {}).get(call.session, ())) - 1)
        row.before += tokens[0]
        row.after += tokens[1]
        row.read_before += later * tokens[0]
        row.read_after += later * tokens[1]
        values = used_values(call, usage.used(call))
        gone = missing(values, after)
        row.used += len(values)
        shown.setdefault(call.session, set()).update(values - gone)
        lost.extend((row, call.session, value) for value in sorted(gone))
    for row, session, value in lost:
        # What another answer shows before it is used is not missed.
        if value not in shown[session]:
            row.missing[value] = row.missing.get(value, 0) + 1
    return found


def argument_names(calls: Iterable[ToolCall]) -> Mapping[str, frozenset[str]]:
    """Return the names of the arguments that each server's tools were called with."""
    names: dict[str, set[str]] = {}
    for call in calls:
        if isinstance(call.arguments, dict):
            names.setdefault(call.server, set()).update(call.arguments)
    return {server: frozenset(found) for server, found in names.items()}
