"""`shaping bench` and `shaping tokens`: what shaping saves on answers that you have, and what files cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from shaping import Shaper
from shaping.cli.output import CONFIG, Answer, columns, progress, stopped
from shaping.cli.payloads import SUFFIXES, Payload, read_bytes, read_payloads, text_of
from shaping.clients import find_client
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
FILES = typer.Argument(metavar="FILE...", help="Files to count, or - for standard input.")
EXACT = typer.Option("--exact", help="Count long files exactly too, instead of by samples.")


def bench(
    places: Annotated[list[str], PLACES],
    *,
    profile: Annotated[list[str] | None, PROFILE] = None,
    tool: Annotated[str | None, TOOL] = None,
    client: Annotated[str | None, CLIENT] = None,
    config: Annotated[Path | None, CONFIG] = None,
    tokenizer: Annotated[str, TOKENIZER] = "o200k_base",
) -> Answer:
    """Measure what each profile saves on files of tool answers, counted exactly."""
    payloads = list(read_payloads(places))
    if not payloads:
        raise stopped(f"nothing to measure: no file there ends in {', '.join(SUFFIXES)}")
    shaper = Shaper(config, watch=False)
    for name in profile or ():
        shaper.loaded_config.plan("", profile=name)  # refuses one that there is not
    # Minimal and standard first, debug last.
    known = shaper.loaded_config.profiles
    every = sorted(known, key=lambda name: (name == "debug", name != "minimal", name != "standard"))
    setup = Setup(shaper, tuple(profile or every), tokenizer, tool, client)
    found: list[Comparison] = []
    with _counting(failed=2), progress() as show:
        for payload in payloads:
            show("measuring", len(found), len(payloads))
            found.append(compare(payload, setup))
    whole = total(found)
    rows: list[tuple[str | int, ...]] = [("payload", "as sent", "compact", "profile", "shaped", "saved")]
    for one in (*found, whole):
        first: tuple[str | int, ...] = (Path(one.name).name, one.raw, one.compact)
        for cost in one.profiles:
            rows.append((*first, cost.profile, cost.tokens, f"{cost.saved_percent:.1f}%"))
            first = ("", "", "")
    data = {"tokenizer": tokenizer, "payloads": [*map(asdict, found)], "total": asdict(whole)}
    return Answer(data, ["tokens", *columns(rows)])


@contextmanager
def _counting(*, failed: int) -> Iterator[None]:
    """End the command where a tokenizer is unknown, or with another code where it fails."""
    try:
        yield
    except (UnknownTokenizerError, CountingError) as problem:
        raise stopped(str(problem), 2 if isinstance(problem, UnknownTokenizerError) else failed) from None


@dataclass(frozen=True, slots=True)
class Cost:
    """What an answer costs under one profile."""

    profile: str
    tokens: int
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
    costs = (_cost(profile, exact(_shaped(payload, profile, setup)), raw) for profile in setup.profiles)
    return Comparison(payload.name, raw, exact(payload.compact), tuple(costs))


def total(found: Sequence[Comparison]) -> Comparison:
    """Add comparisons up."""
    raw = sum(one.raw for one in found)
    by_profile = zip(*(one.profiles for one in found), strict=True)
    costs = (_cost(costs[0].profile, sum(cost.tokens for cost in costs), raw) for costs in by_profile)
    return Comparison("total", raw, sum(one.compact for one in found), tuple(costs))


def _cost(profile: str, tokens: int, raw: int) -> Cost:
    return Cost(profile, tokens, round(100 * (1 - tokens / raw), 1) if raw else 0.0)


def _shaped(payload: Payload, profile: str, setup: Setup) -> str:
    """Return what a model reads of an answer; of an MCP result, as the proxy sends it."""
    tool = Path(payload.name).name.split(".")[0] if setup.tool is None else setup.tool
    if not payload.is_mcp:
        return setup.shaper.shape(payload.value, tool=tool, profile=profile).text
    result = setup.shaper.shape_result(payload.value, tool=tool, client=setup.client, profile=profile, relay=True)
    return find_client(setup.client).shown(result)


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
