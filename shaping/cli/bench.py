"""`shaping bench` and `shaping tokens`: what shaping saves on answers that you have, and what files cost."""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path, PurePath
from statistics import median
from time import perf_counter
from typing import Annotated

import orjson
import typer

from shaping import Shaper
from shaping.cli.output import CONFIG, Answer, columns, progress, stopped
from shaping.cli.payloads import SUFFIXES, Payload, read_bytes, read_payloads, text_of
from shaping.clients import find_client
from shaping.paths import join
from shaping.response import Json, counted
from shaping.tokens import CountingError, TokenCount, UnknownTokenizerError, counter, multipliers

PLACES = typer.Argument(
    metavar="FILE...",
    help="JSON files, JSON lines, MCP results, text files, folders of these, or - for standard input.",
)
PROFILE = typer.Option(metavar="NAME", help="A profile to try; may be given again. Without it, all of them.")
TOOL = typer.Option(metavar="NAME", help="The tool whose rules apply. Without it, the file's name up to its first dot.")
CLIENT = typer.Option(
    metavar="NAME", help="The client that MCP results are for, by its clientInfo.name. Without it, an unknown one."
)
TOKENIZER = typer.Option(
    metavar="NAME", help="o200k_base, cl100k_base, chars, or a model or encoding that tiktoken knows."
)
BY_FIELD = typer.Option("--by-field", help="Show which fields carry the tokens of the compact JSON.")
AS_JSON = typer.Option("--json/--table", help="Print JSON or a table. Without it, a table on a terminal, else JSON.")
FILES = typer.Argument(metavar="FILE...", help="Files to count, or - for standard input.")
EXACT = typer.Option("--exact", help="Count long files exactly too, instead of by samples.")

_SHOWN = 25  # fields in the table; the rest are one line of it


def bench(
    places: Annotated[list[str], PLACES],
    *,
    profile: Annotated[list[str] | None, PROFILE] = None,
    tool: Annotated[str | None, TOOL] = None,
    client: Annotated[str | None, CLIENT] = None,
    config: Annotated[Path | None, CONFIG] = None,
    tokenizer: Annotated[str, TOKENIZER] = "o200k_base",
    by_field: Annotated[bool, BY_FIELD] = False,
    as_json: Annotated[bool | None, AS_JSON] = None,
) -> None:
    """Measure what each profile saves on files of tool answers, counted exactly."""
    payloads = list(read_payloads(places))
    if not payloads:
        raise stopped(f"nothing to measure: no file there ends in {', '.join(SUFFIXES)}")
    with _counting(failed=2):
        if by_field:
            answer = _costs_by_field(payloads, tokenizer)
        else:
            shaper = Shaper(config, watch=False)
            for name in profile or ():
                shaper.loaded_config.plan("", profile=name)  # refuses one that there is not
            # Minimal and standard first, debug last.
            known = shaper.loaded_config.profiles
            every = sorted(known, key=lambda name: (name == "debug", name != "minimal", name != "standard"))
            answer = _costs_by_profile(payloads, Setup(shaper, tuple(profile or every), tokenizer, tool, client))
    answer.print(as_json=not sys.stdout.isatty() if as_json is None else as_json)


@contextmanager
def _counting(*, failed: int) -> Iterator[None]:
    """End the command where a tokenizer is unknown, or with another code where it fails."""
    try:
        yield
    except (UnknownTokenizerError, CountingError) as problem:
        raise stopped(str(problem), 2 if isinstance(problem, UnknownTokenizerError) else failed) from None


def _costs_by_profile(payloads: Sequence[Payload], setup: Setup) -> Answer:
    found: list[Comparison] = []
    with progress() as show:
        for payload in payloads:
            show("measuring", len(found), len(payloads))
            found.append(compare(payload, setup))
    whole = total(found)
    rows: list[tuple[str | int, ...]] = [("payload", "as sent", "compact", "profile", "shaped", "saved", "ms")]
    for one in (*found, whole):
        first: tuple[str | int, ...] = (Path(one.name).name, one.raw, one.compact)
        for cost in one.profiles:
            rows.append((*first, cost.profile, cost.tokens, f"{cost.saved_percent:.1f}%", f"{cost.milliseconds:.1f}"))
            first = ("", "", "")
    data = {"tokenizer": setup.tokenizer, "payloads": [*map(asdict, found)], "total": asdict(whole)}
    return Answer(data, ["tokens", *columns(rows)])


def _costs_by_field(payloads: Sequence[Payload], tokenizer: str) -> Answer:
    found = Counter[str]()
    for payload in payloads:
        found.update(tokens_by_field(payload.data, tokenizer))
    costs, whole = found.most_common(), found.total()
    shown, rest = costs[:_SHOWN], costs[_SHOWN:]
    if rest:
        shown.append((counted(len(rest), "more field"), sum(tokens for _, tokens in rest)))
    rows = [(name, tokens, f"{tokens / (whole or 1):.1%}") for name, tokens in (*shown, ("total", whole))]
    lines = ["tokens of the compact JSON", *columns([("field", "tokens", "share"), *rows])]
    fields = [{"path": path, "tokens": tokens} for path, tokens in costs]
    return Answer({"fields": fields, "total": whole}, lines)


def tokens_by_field(value: Json, tokenizer: str) -> dict[str, int]:
    """Attribute the tokens of a value's compact JSON to its fields by path; a key belongs to its value."""
    exact = counter(tokenizer).exact
    parts = defaultdict[str, list[bytes]](list)
    waiting: list[tuple[str, Json]] = [("", value)]
    while waiting:
        path, item = waiting.pop()
        if isinstance(item, dict):
            parts[path].append(b"{%s}" % (b"," * (len(item) - 1)))
            for key, member in item.items():
                inner = join(path, key)
                parts[inner].append(orjson.dumps(key) + b":")
                waiting.append((inner, member))
        elif isinstance(item, list):
            inner = join(path, slice(None))
            parts[path].append(b"[]")
            parts[inner] += [b","] * (len(item) - 1)
            waiting += [(inner, element) for element in item]
        else:
            parts[path].append(orjson.dumps(item))
    apart = {path: exact(b"".join(found).decode()) for path, found in parts.items()}
    # At its edges a piece shares tokens with its neighbours: parts are scaled so that they add up to the whole.
    scale = exact(json.dumps(value, ensure_ascii=False, separators=(",", ":"))) / (sum(apart.values()) or 1)
    return _whole({path or "(root)": tokens * scale for path, tokens in apart.items()})


def _whole(shares: dict[str, float]) -> dict[str, int]:
    """Round shares to whole tokens without changing their sum: the largest remainders are rounded up."""
    floors = {path: int(share) for path, share in shares.items()}
    missing = round(sum(shares.values())) - sum(floors.values())
    by_remainder = sorted(shares, key=lambda path: floors[path] - shares[path])
    return floors | {path: floors[path] + 1 for path in by_remainder[:missing]}


_RUNS = 3


@dataclass(frozen=True, slots=True)
class Cost:
    """What an answer costs under one profile, and how long shaping it took."""

    profile: str
    tokens: int
    milliseconds: float
    saved_percent: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """One answer, or all of them: what was sent, the same as compact JSON, and what each profile makes of it."""

    name: str
    raw: int
    compact: int
    profiles: tuple[Cost, ...]


@dataclass(frozen=True, slots=True)
class Setup:
    """What all answers are compared with."""

    shaper: Shaper
    profiles: tuple[str, ...]
    tokenizer: str
    tool: str | None = None  # without it, a file's name up to its first dot
    client: str | None = None


def compare(payload: Payload, setup: Setup) -> Comparison:
    """Count an answer exactly, as sent and as each profile shapes it."""
    exact = counter(setup.tokenizer).exact
    raw = exact(payload.as_sent(setup.client))
    costs = []
    for profile in setup.profiles:
        text, milliseconds = _timed(_shape(payload, profile, setup))
        costs.append(_cost(profile, exact(text), milliseconds, raw))
    return Comparison(payload.name, raw, exact(payload.compact), tuple(costs))


def _cost(profile: str, tokens: int, milliseconds: float, raw: int) -> Cost:
    return Cost(profile, tokens, round(milliseconds, 3), round(100 * (1 - tokens / raw), 1) if raw else 0.0)


def total(comparisons: Sequence[Comparison]) -> Comparison:
    """Add comparisons up."""
    raw = sum(comparison.raw for comparison in comparisons)
    costs = tuple(
        _cost(column[0].profile, sum(cost.tokens for cost in column), sum(cost.milliseconds for cost in column), raw)
        for column in zip(*(comparison.profiles for comparison in comparisons), strict=True)
    )
    return Comparison("total", raw, sum(comparison.compact for comparison in comparisons), costs)


def _shape(payload: Payload, profile: str, setup: Setup) -> Callable[[], str]:
    shaper, client = setup.shaper, setup.client
    tool = PurePath(payload.name).name.split(".")[0] if setup.tool is None else setup.tool
    if payload.is_mcp:
        # As the proxy sends it: text alone, to clients that run no programs over results.
        shape = partial(shaper.shape_result, tool=tool, client=client, profile=profile, relay=True)
        return lambda: find_client(client).shown(shape(payload.value))
    return lambda: shaper.shape(payload.value, tool=tool, profile=profile).text


def _timed(call: Callable[[], str]) -> tuple[str, float]:
    """Return a text and how many milliseconds it takes to make, the median of a few runs."""
    spent, text = [], ""
    for _ in range(_RUNS):
        start = perf_counter()
        text = call()
        spent.append(1000 * (perf_counter() - start))
    return text, median(spent)


def tokens(
    files: Annotated[list[str], FILES],
    *,
    tokenizer: Annotated[str, TOKENIZER] = "o200k_base",
    exact: Annotated[bool, EXACT] = False,
) -> Answer:
    """Count the tokens of files; each number says whether it is exact or an estimate."""
    with _counting(failed=1):
        chosen = counter(tokenizer)
        texts = {file: text_of(read_bytes(file)) for file in files}
        counts = {file: TokenCount(chosen.exact(text)) if exact else chosen.count(text) for file, text in texts.items()}
    whole = sum(counts.values())
    rows = [(int(count), count.label, file) for file, count in counts.items()]
    told = [
        {"file": file, "tokens": int(count), "method": count.method, "error_bound": count.error_bound}
        for file, count in counts.items()
    ]
    elsewhere = [{"family": other.family, "about": other.label, "source": other.source} for other in multipliers()]
    data = {"tokenizer": tokenizer, "files": told, "total": whole, "elsewhere": elsewhere}
    return Answer(data, columns([*rows, (whole, "", "total")] if len(rows) > 1 else rows))
