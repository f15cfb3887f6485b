"""What `shaping suggest` saves on traffic that it has not seen, and what reading much traffic costs.

python -m benchmarks.learning corpora      both corpora, split by records
python -m benchmarks.learning servers      two runs of real servers with different data
python -m benchmarks.learning large        1 GB of recordings
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from benchmarks import corpus
from benchmarks.results import markdown_table
from shaping import Shaper
from shaping.learning.replay import text_after, text_before
from shaping.learning.statistics import TrafficStatistics
from shaping.learning.suggest import suggest
from shaping.learning.traffic import ToolCall
from shaping.learning.usage import Usage, leaves, missing
from shaping.paths import parse
from shaping.paths.selection import matches
from shaping.tokens import exact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.corpus import Payload

_FILTER: Final = re.compile(r"\[\?\([^]]*\)\]|\[\*\]|\[-?\d+\]")
_QUOTED: Final = re.compile(r"\['((?:[^'\\]|\\.)*)'\]")
_CHUNKS: Final = 4  # calls that the records of the first half are dealt out to


@dataclass(frozen=True, slots=True)
class Split:
    """A payload in two halves of its records, and the fields that its questions ask for."""

    payload: Payload
    first: list[ToolCall]
    second: ToolCall
    asked: tuple[str, ...]


def split(payload: Payload) -> Split | None:
    """Split the longest list of a payload; None where it has no list of records."""
    parts = ToolCall(payload.tool, payload.result).data()
    lists = [(len(items), path) for data in parts for path, items in _lists(data)]
    indented = any("\n  " in block.get("text", "") for block in payload.result["content"])
    if not lists or max(lists)[0] < 4:
        return None
    longest, at = max(lists)
    half = longest // 2
    step = -(-half // _CHUNKS)
    firsts = [_cut(parts, at, slice(begin, min(begin + step, half))) for begin in range(0, half, step)]
    first = [_call(payload.tool, data, number, indented=indented) for number, data in enumerate(firsts)]
    second = _call(payload.tool, _cut(parts, at, slice(half, None)), 99, indented=indented)
    return Split(payload, first, second, tuple(_asked(payload)))


def _asked(payload: Payload) -> Iterator[str]:
    for question in payload.questions:
        if question["decode"] in {"text", "result"}:
            continue
        for path in question.get("paths", ()):
            steps = _QUOTED.sub(r'."\1"', _FILTER.sub("[]", path)).removeprefix("$").removeprefix(".")
            if steps:
                yield steps


def _lists(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], list[Any]]]:
    if isinstance(value, list):
        if value and all(isinstance(item, dict) for item in value):
            yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _lists(item, (*path, key))


def _cut(parts: list[Any], at: tuple[Any, ...], span: slice) -> list[Any]:
    out = []
    for data in parts:
        copy = orjson.loads(orjson.dumps(data))
        if not at:
            copy = copy[span] if isinstance(copy, list) else copy
        else:
            here = copy
            for key in at[:-1]:
                here = here.get(key, {}) if isinstance(here, dict) else {}
            if isinstance(here, dict) and isinstance(here.get(at[-1]), list):
                here[at[-1]] = here[at[-1]][span]
        out.append(copy)
    return out


def _call(tool: str, parts: list[Any], number: int, *, indented: bool) -> ToolCall:
    option = orjson.OPT_INDENT_2 if indented else 0
    texts = [data if isinstance(data, str) else orjson.dumps(data, option=option).decode() for data in parts]
    return ToolCall(tool, {"content": [{"type": "text", "text": text} for text in texts]}, time=float(number))


def corpora(target: float) -> str:
    """Suggest on the first halves, told of the questions' fields; judge on the second halves."""
    rows, whole = [], []
    for folder in (corpus.PAYLOADS, corpus.MORE):
        for payload in corpus.payloads(folder):
            found = split(payload)
            if found is None:
                whole.append(payload.name)
                continue
            rows.append(_judged(found, target))
    head = ("payload", "as sent", "minimal", "with the suggestion", "saved", "fields asked for", "kept")
    before, plain, after, asked, kept = (sum(column) for column in zip(*(row[1:] for row in rows), strict=True))
    lines = [(name, f"{b:,}", f"{p:,}", f"{a:,}", f"{1 - a / b:.1%}", str(q), str(k)) for name, b, p, a, q, k in rows]
    lines.append(
        ("**all**", f"{before:,}", f"{plain:,}", f"{after:,}", f"{1 - after / before:.1%}", str(asked), str(kept))
    )
    note = f"Not split, because they have no list of records: {', '.join(whole)}."
    return f"{markdown_table(head, lines)}\n\n{note}"


def _judged(found: Split, target: float) -> tuple[str, int, int, int, int, int]:
    tool = found.payload.tool
    answers = [{"question": path, "path": path} for path in found.asked]
    config = {"tool_overrides": {tool: {"answers": answers}}} if answers else {}
    traffic = TrafficStatistics()
    for call in found.first:
        traffic.add(call, Usage())
    (suggested,) = suggest(traffic, config=config, target=target)
    shaper = Shaper({"tool_overrides": {suggested.tool: suggested.override}}, watch=False)
    text = text_after(shaper, found.second)
    plain = text_after(Shaper({}, watch=False), found.second)
    kept = sum(not missing(_values(found.second, path), text) for path in found.asked)
    return found.payload.name, exact(text_before(found.second)), exact(plain), exact(text), len(found.asked), kept


def _values(call: ToolCall, path: str) -> set[str]:
    """Return the values of a field in a call; nulls and empties are told by their names."""
    steps = parse(path).steps
    found = [leaf for data in call.data() for one in matches(data, steps) for _, _, leaf in leaves(one)]
    return {str(leaf) for leaf in found if leaf not in (None, "", True, False)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["corpora", "servers", "large"])
    parser.add_argument("--target", type=float, default=0.85)
    asked = parser.parse_args()
    if asked.what == "corpora":
        print(corpora(asked.target))


if __name__ == "__main__":
    main()
