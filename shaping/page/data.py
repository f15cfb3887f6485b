"""What the page shows, collected from the ledger, the store and the config; how it looks is not known here."""

from __future__ import annotations

import re
import time
from dataclasses import asdict, dataclass, is_dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.ledger.call_texts import CallTexts, SentPart, find_texts, marked_leaves
from shaping.ledger.entries import GROUPS, LedgerSum, Totals, add_up, group, sum_by
from shaping.settings.loading import LoadedConfig, load
from shaping.tokens import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from shaping.ledger import LedgerDatabase, LedgerEntry
    from shaping.settings.choices import Surface
    from shaping.settings.plan import ResolvedChoice
    from shaping.store.backends import Store

FINDINGS: Final = "drift.json"  # beside the ledger: what `shaping check --traffic` found last
CALLS: Final = 25  # calls that are shown one by one
_TOOLS_OF_CONFIG: Final = 8
_TOOLS_OF_FIELDS: Final = 8
_FIELDS: Final = 40  # fields of a tool in the treemap; the rest are one
_COUNTED_BYTES: Final = 2_000_000  # of one call's values that are counted by field
_FEWEST_BARS: Final = 14
_WORD: Final = re.compile(r"[^\s,\\^$|]+")  # a pattern is plainer as JSON
# The widths of a bar in seconds, and the range up to which each is used.
_HOUR, _DAY = 3_600, 86_400
_STEPS: Final = ((60, _HOUR), (600, 6 * _HOUR), (_HOUR, 3 * _DAY), (_DAY, 60 * _DAY), (7 * _DAY, 400 * _DAY))


@dataclass(frozen=True, slots=True)
class Bar:
    """The calls of one stretch of time."""

    label: str
    total: Totals


@dataclass(frozen=True, slots=True)
class FieldTokens:
    """The tokens of one field of a tool's answers, and how many of them the model did not read, and why."""

    path: str
    tokens: int
    left_out: int
    reason: str | None = None

    def __add__(self, other: FieldTokens) -> FieldTokens:
        return FieldTokens(
            self.path, self.tokens + other.tokens, self.left_out + other.left_out, self.reason or other.reason
        )


@dataclass(frozen=True, slots=True)
class ShownCall:
    """One call or expansion: its line of the ledger, and its texts while the store has them."""

    entry: LedgerEntry
    texts: CallTexts | None


@dataclass(frozen=True, slots=True)
class ChosenRow:
    """One choice for a tool, or for every tool where none is named."""

    tool: str
    name: str
    value: str
    source: str


@dataclass(frozen=True, slots=True)
class PageData:
    """Everything that one page shows."""

    ledger: str
    since: float
    made: float
    total: Totals
    tokenizers: tuple[str, ...]
    dropped: int = 0
    bars: tuple[Bar, ...] = ()
    tools: tuple[tuple[str, Totals], ...] = ()
    clients: tuple[tuple[str, Totals], ...] = ()
    calls: tuple[ShownCall, ...] = ()
    fields: tuple[tuple[str, tuple[FieldTokens, ...]], ...] = ()
    config_files: tuple[str, ...] = ()
    config_hash: str = ""
    choices: tuple[ChosenRow, ...] = ()
    findings: tuple[Mapping[str, str], ...] = ()  # what changed in what a tool sends, or a contract that does not hold


def read_findings(path: Path) -> tuple[Mapping[str, str], ...]:
    """Read what the last `shaping check --traffic` found; nothing where there was none."""
    try:
        found = orjson.loads(path.read_bytes())
        return (*found["drift"], *map(_contract, found["contracts"]))
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
        return ()


def _contract(failure: Mapping[str, str]) -> dict[str, str]:
    message = f"{failure['question']!r} is {failure['raw']} in the tool's data and {failure['read']} in what is read"
    return {**failure, "kind": "contract", "message": message, "rule": failure["reason"]}


class PageSource:
    """Where a page's data come from; `config` is asked anew for each page."""

    def __init__(
        self,
        database: LedgerDatabase,
        *,
        store: Store | None = None,
        config: Callable[[], LoadedConfig] | None = None,
        seconds: float | None = None,
    ) -> None:
        self.database = database
        self._store, self._config = store, config
        self._seconds = seconds  # how far back; None is everything that the ledger has
        self._counted: dict[str, dict[str, FieldTokens]] = {}

    def collect(self) -> PageData:
        """Read everything once."""
        now = time.time()
        since = 0.0 if self._seconds is None else now - self._seconds
        width, shift = stretch_of(self.database.times(since=since))
        sums = self.database.sums(since=since, seconds=width, shift=shift)
        store = self._store
        calls = tuple(
            ShownCall(entry, None if store is None else find_texts(store, entry.ref))
            for entry in self.database.newest(CALLS, since=since)
        )
        tools = group([one for one in sums if one.kind != "definition"], "tool")
        config = None if self._config is None else self._config()
        return PageData(
            ledger=str(self.database.path),
            since=since,
            made=now,
            total=add_up(sums),
            tokenizers=tuple(sorted({one.tokenizer for one in sums if one.tokenizer})),
            dropped=self.database.dropped(since=since),
            bars=tuple(over_time(sums, width, shift)),
            tools=tuple(tools.items()),
            clients=tuple(sum_by(sums, lambda one: one.client or "(unnamed)").items()),
            calls=calls,
            fields=tuple(self._by_field(calls)),
            config_files=() if config is None else tuple(config.files),
            config_hash="" if config is None else config.hash,
            choices=() if config is None else tuple(choices_in_force(config, list(tools)[:_TOOLS_OF_CONFIG])),
            findings=read_findings(self.database.path.with_name(FINDINGS)),
        )

    def _by_field(self, calls: Sequence[ShownCall]) -> Iterator[tuple[str, tuple[FieldTokens, ...]]]:
        """Add up the tokens of each tool's fields over the calls whose originals the store has."""
        tools: dict[str, dict[str, FieldTokens]] = {}
        for call in calls:
            if call.texts is None or call.entry.kind != "call":
                continue
            fields = tools.setdefault(GROUPS["tool"](call.entry), {})
            for path, found in self._fields_of(call).items():
                fields[path] = fields[path] + found if path in fields else found
        self._counted = {ref: found for ref, found in self._counted.items() if ref in {c.entry.ref for c in calls}}
        heaviest = sorted(tools.items(), key=lambda pair: -sum(each.tokens for each in pair[1].values()))
        for tool, fields in heaviest[:_TOOLS_OF_FIELDS]:
            if fields:
                yield tool, largest(fields.values())

    def _fields_of(self, call: ShownCall) -> dict[str, FieldTokens]:
        ref = str(call.entry.ref)
        if ref not in self._counted:
            self._counted[ref] = count_fields(call.texts.sent if call.texts else ())
        return self._counted[ref]


def count_fields(parts: Iterable[SentPart]) -> dict[str, FieldTokens]:
    """Count the tokens of each field of an answer; a field has one path, whichever record it stands in."""
    texts: dict[str, tuple[list[str], list[str]]] = {}
    reasons: dict[str, str] = {}
    size = 0
    for part in parts:
        for leaf in marked_leaves(part):
            size += len(written := f"{leaf.path.rpartition('.')[2]}:{orjson.dumps(leaf.value).decode()}")
            if size > _COUNTED_BYTES:
                break
            texts.setdefault(leaf.path, ([], []))[leaf.reason is not None].append(written)
            if leaf.reason is not None:
                reasons[leaf.path] = leaf.reason
    return {
        path: FieldTokens(path, _tokens(read) + _tokens(left), _tokens(left), reasons.get(path))
        for path, (read, left) in texts.items()
    }


def _tokens(texts: list[str]) -> int:
    return int(count(",".join(texts))) if texts else 0


def largest(fields: Iterable[FieldTokens]) -> tuple[FieldTokens, ...]:
    """Return the fields with most tokens, and all others as one."""
    ordered = sorted(fields, key=lambda each: (-each.tokens, each.path))
    rest = ordered[_FIELDS:]
    others = FieldTokens(f"{len(rest)} others", sum(e.tokens for e in rest), sum(e.left_out for e in rest))
    return (*ordered[:_FIELDS], others) if rest else tuple(ordered)


def stretch_of(times: tuple[float, float] | None) -> tuple[float, float]:
    """Return how many seconds a bar stands for, and what to add to a time so that days begin at the user's midnight."""
    first, end = times or (0.0, 0.0)
    width = next((step for step, longest in _STEPS if end - first <= longest), 30 * _DAY)
    return float(width), float(time.localtime(end).tm_gmtoff)


def over_time(sums: Sequence[LedgerSum], width: float, shift: float) -> Iterator[Bar]:
    """Return a bar for each stretch of time, also for those without a call."""
    if not sums:
        return
    found = sum_by(sums, lambda one: one.stretch)
    first, last = min(found), max(found)
    for place in range(min(first, last - _FEWEST_BARS + 1), last + 1):
        start = datetime.fromtimestamp(place * width - shift).astimezone()
        yield Bar(f"{start:%H:%M}" if width < _DAY else f"{start:%d %b}", found.get(place, Totals()))


def choices_in_force(config: LoadedConfig, tools: Sequence[str]) -> Iterator[ChosenRow]:
    """List what a config chooses for every tool, and what is different for each of the tools."""
    general = {choice.name: choice for choice in config.explain("", surface="mcp")}
    listed = [("", choice) for choice in own_choices(list(general.values()), config, "mcp")]
    listed += [
        (tool, choice)
        for tool in tools
        for choice in reversed(config.explain(tool, surface="mcp"))
        if choice.value != general[choice.name].value
    ]
    for tool, choice in listed:
        yield ChosenRow(tool, choice.name, readable(plain(choice.value)), choice.source)


def own_choices(choices: Sequence[ResolvedChoice], config: LoadedConfig, surface: Surface) -> list[ResolvedChoice]:
    """Return the profile, choices that differ from the bundled default, and choices that a config file makes."""
    bundled = {choice.name: choice.value for choice in load({}).explain("", surface=surface)}
    return [
        choice
        for choice in reversed(choices)
        if choice.name == "profile"
        or choice.value != bundled[choice.name]
        or any(origin.file in config.files for origin in choice.origins)
    ]


def plain(value: Any) -> Any:
    """Return a choice's value as plain data."""
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def readable(value: Any) -> str:
    """Write a value for people: words as they are, lists of words and paths with commas, anything else as JSON."""
    if isinstance(value, str):
        return value
    if (
        isinstance(value, (list, tuple))
        and value
        and all(isinstance(word, str) and _WORD.fullmatch(word) for word in value)
    ):
        return ", ".join(value)
    return orjson.dumps(value).decode()
