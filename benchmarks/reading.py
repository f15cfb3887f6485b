"""Can a model that was told nothing about the format read it? Packets to answer, and a score for the answers.

    python -m benchmarks.reading write DIR [--profile standard] [--payloads 24] [--questions 10]
    python -m benchmarks.reading score DIR ANSWERS [--reader NAME] [--record]

`write` makes two packets of each payload with the same questions, `NAME.shaped.md` and `NAME.raw.md` (compact JSON, the
control), the ones with most of the table's features first, and `key.json` with the answers, which no reader may see. A
reader gets one packet, and nothing else, and answers with a JSON object of question numbers and answers; these files
(`NAME.shaped.json`, `NAME.raw.json`) go into ANSWERS. `score` compares, and `--record` writes RESULTS.md.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import corpus
from benchmarks.results import markdown_table, write_section
from shaping import Shaper
from shaping.encoders.table.cells import quoted
from shaping.parsers import parse
from shaping.tokens import exact

if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS = ("path", "position", "count", "absent", "relation", "usual", "lines")
_LARGEST = 12_000  # tokens of a text that a reader is still asked to read
_FAR = 12  # index from which a question is about counting and not about reading
_MANY, _MOSTLY = 8, 0.6  # rows of a table, and the part of them that must have a value alike
_FEATURES = re.compile(
    r"^ *== |\(but |\" to \"|\[only\]|\bbelow\b|=.*\{|#\d+|\(also |\bin runs:| lists:|\bby \w+:", re.MULTILINE
)
_HEAD = """Below is the answer of a tool, then questions about it. Answer from the text alone, without any program.
Paths are as in JavaScript, from the root: `items[0].name` is the member `name` of the first element of `items`, and
`[0].id` is the member `id` of the first element where the root is a list.
Answer with one JSON object of question numbers and answers, nothing else, as in {"1": "text", "2": 7, "3": "absent"}.
"""


@dataclass(frozen=True, slots=True)
class Question:
    """What a reader is asked, and the answer."""

    kind: str
    text: str
    answer: Any


def questions(value: Any, seed: str, count: int) -> list[Question]:
    """Ask about a value: as many kinds as it has, by turns."""
    dice = random.Random(seed)  # noqa: S311 (questions, not secrets)
    made = {kind: list(ask(value)) for kind, ask in _ASK.items()}
    for found in made.values():
        dice.shuffle(found)
    chosen: list[Question] = []
    while len(chosen) < count and any(made.values()):
        chosen += [found.pop() for found in made.values() if found][: count - len(chosen)]
    return chosen


def answer(value: Any, path: str) -> Any:
    """Return what stands at a path, as the questions write them."""
    for name, in_quotes, index in re.findall(r'([^.\[\]]+)|\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]', path):
        value = value[int(index)] if index else value[json.loads(f'"{in_quotes}"') if in_quotes else name]
    return value


def is_right(given: Any, expected: Any) -> bool:
    """Compare an answer as a teacher would: quotes, spaces around it and 1.0 for 1 are no mistakes."""
    if isinstance(expected, bool) or expected is None:
        return _plain(given) == _plain(expected)
    if isinstance(expected, int | float):
        try:
            return float(given) == float(expected)
        except (TypeError, ValueError):
            return False
    return _plain(given) == _plain(expected)


def _plain(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.strip().strip('"').strip().replace("\r", "")


def _step(path: str, name: str) -> str:
    if not re.fullmatch(r"[\w$-]+", name):
        return f"{path}[{json.dumps(name, ensure_ascii=False)}]"
    return f"{path}.{name}" if path else name


def _walk(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every place of a value with its path."""
    yield path, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in inner:
        yield from _walk(member, f"{path}[{key}]" if isinstance(value, list) else _step(path, str(key)))


def _is_near(path: str) -> bool:
    """Tell whether no index of a path is so high that finding the element is mere counting."""
    return all(int(index) < _FAR for index in re.findall(r"\[(\d+)\]", path))


def _is_short(value: Any) -> bool:
    return (
        not isinstance(value, dict | list)
        and value not in (None, "")
        and len(str(value)) < 120
        and "\n" not in str(value)
    )


def _tables(value: Any) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for path, found in _walk(value):
        if isinstance(found, list) and len(found) > 1 and all(isinstance(each, dict) for each in found):
            yield path, found


def _paths(value: Any) -> Iterator[Question]:
    for path, found in _walk(value):
        if _is_short(found) and "[" in path and _is_near(path):
            yield Question("path", f"What is `{path}`?", found)


def _positions(value: Any) -> Iterator[Question]:
    for path, rows in _tables(value):
        for name in rows[-1] if _is_near(path) else ():
            if _is_short(rows[-1][name]):
                where = f"`{path}`" if path else "the list"
                yield Question("position", f"What is `{name}` of the last element of {where}?", rows[-1][name])


def _counts(value: Any) -> Iterator[Question]:
    for path, found in _walk(value):
        if isinstance(found, list) and 1 < len(found) < 40 and _is_near(path):
            yield Question("count", f"How many elements has {f'`{path}`' if path else 'the list'}?", len(found))


def _absent(value: Any) -> Iterator[Question]:
    for path, rows in _tables(value):
        for name in dict.fromkeys(name for row in rows for name in row):
            there = [_is_short(row.get(name)) for row in rows]
            for at, row in enumerate(rows):
                if at < _FAR and _is_near(path) and not all(there) and (name not in row or there[at]):
                    text = f"What is `{_step(f'{path}[{at}]', name)}`? (`absent` where that element has no such member)"
                    yield Question("absent", text, row.get(name, "absent"))


def _relations(value: Any) -> Iterator[Question]:
    for path, rows in _tables(value):
        names = [name for name in rows[0] if len({str(row.get(name)) for row in rows}) == len(rows)]
        for name in names[:1]:
            for row in rows:
                for inner, found in _walk(row):
                    if _is_short(found) and "[" in inner and _is_near(inner) and _is_short(row.get(name)):
                        where = f"In `{path or 'the list'}`, take the element whose `{name}` is `{row[name]}`"
                        yield Question("relation", f"{where}: what is its `{inner}`?", found)


def _usual(value: Any) -> Iterator[Question]:
    """Ask for what most rows have alike, which a row need not say, and for the rows that differ."""
    for path, rows in _tables(value):
        names = [name for name in rows[0] if len({str(row.get(name)) for row in rows}) == len(rows)]
        if not names or len(rows) < _MANY or not all(_is_short(row.get(names[0])) for row in rows):
            continue
        for name in rows[0]:
            column = [row.get(name) for row in rows]
            common, times = Counter(map(str, column)).most_common(1)[0]
            if times < _MOSTLY * len(rows) or not all(map(_is_short, column)):
                continue
            others = [row for row in rows if str(row[name]) != common]
            alike = [row for row in rows if str(row[name]) == common]
            for row in [*others, *alike[-max(1, len(others)) :]]:
                where = f"In `{path or 'the list'}`, take the element whose `{names[0]}` is `{row[names[0]]}`"
                yield Question("usual", f"{where}: what is its `{name}`?", row[name])


def _lines(value: Any) -> Iterator[Question]:
    for path, found in _walk(value):
        if isinstance(found, str) and len(lines := found.split("\n")) > 2 and 0 < len(lines[1].strip()) < 100:
            yield Question("lines", f"What is the second line of the text `{path}`?", lines[1].strip())


_ASK = dict(zip(KINDS, (_paths, _positions, _counts, _absent, _relations, _usual, _lines), strict=True))


def payloads() -> Iterator[tuple[str, str, Any]]:
    """Yield the name, the tool and the data of every payload that holds data."""
    for folder in (corpus.PAYLOADS, corpus.CORPUS / "more"):
        for one in json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["payloads"]:
            result = json.loads((folder / one["file"]).read_text(encoding="utf-8"))
            text = next((block["text"] for block in result["content"] if block.get("type") == "text"), "")
            found = parse(text)
            if found is not None and isinstance(found.value, dict | list):
                yield one["file"].removesuffix(".json"), one["tool"], found.value


def without_empties(value: Any) -> Any:
    """Return a value without nulls and empties, which a text names once and not in every row."""
    if isinstance(value, dict):
        members = {key: without_empties(member) for key, member in value.items()}
        return {key: member for key, member in members.items() if member not in (None, [], {})}
    return [without_empties(each) for each in value] if isinstance(value, list) else value


def packets(profile: str, most: int, per: int) -> Iterator[tuple[str, str, str, list[Question]]]:
    """Yield name, shaped text, raw text and questions of each payload, the riskiest first."""
    found = []
    shaper = Shaper({"global": {"profile": profile, "dialect": "none", "max_tokens": 10**9}})
    for name, tool, value in payloads():
        clean = without_empties(value)
        shaped = shaper.shape(clean, tool=tool)
        text, asked = shaped.text, questions(shaped.data, name, per)
        if shaped.encoding == "table" and exact(text) < _LARGEST and len(asked) == per:
            found.append((len(_FEATURES.findall(text)), name, text, quoted(clean), asked))
    for _, name, text, raw, asked in sorted(found, reverse=True)[:most]:
        yield name, text, raw, asked


def write(directory: Path, profile: str, most: int, per: int) -> None:
    """Write the packets and the key."""
    directory.mkdir(parents=True, exist_ok=True)
    key: dict[str, Any] = {"profile": profile, "packets": {}}
    for name, text, raw, asked in packets(profile, most, per):
        listed = "\n".join(f"{number}. {each.text}" for number, each in enumerate(asked, 1))
        for form, body in (("shaped", text), ("raw", raw)):
            packet = f"{_HEAD}\n--- the tool's answer ---\n{body}\n--- end ---\n\n{listed}\n"
            (directory / f"{name}.{form}.md").write_text(packet, encoding="utf-8")
        tokens = {"shaped": exact(text), "raw": exact(raw)}
        key["packets"][name] = {"tokens": tokens, "questions": [asdict(each) for each in asked]}
    (directory / "key.json").write_text(json.dumps(key, ensure_ascii=False, indent=1), encoding="utf-8")
    print(
        f"{2 * len(key['packets'])} packets, {sum(len(one['questions']) for one in key['packets'].values())} questions"
    )


def score(directory: Path, answers: Path) -> tuple[str, list[str]]:
    """Compare answer files with the key; return a table by kind and the mistakes."""
    key = json.loads((directory / "key.json").read_text(encoding="utf-8"))
    right: dict[tuple[str, str], list[bool]] = {}
    tokens, wrong = {"shaped": 0, "raw": 0}, []
    for name, packet in key["packets"].items():
        for form in ("shaped", "raw"):
            file = answers / f"{name}.{form}.json"
            if not file.exists():
                continue
            tokens[form] += packet["tokens"][form]
            given = json.loads(file.read_text(encoding="utf-8"))
            for number, one in enumerate(packet["questions"], 1):
                good = is_right(given.get(str(number)), one["answer"])
                right.setdefault((one["kind"], form), []).append(good)
                if not good:
                    wrong.append(
                        f"{name}.{form} {number}. {one['text']} {one['answer']!r}, not {given.get(str(number))!r}"
                    )
    rows = [(kind, *(_share(right.get((kind, form), [])) for form in ("shaped", "raw"))) for kind in KINDS]
    total = [_share([good for (_, one), found in right.items() if one == form for good in found]) for form in tokens]
    rows += [("**all**", *total), ("tokens read", *(f"{tokens[form]:,}" for form in ("shaped", "raw")))]
    return markdown_table(("question", "shaped text", "compact JSON"), rows), wrong


def _share(found: list[bool]) -> str:
    return f"{sum(found)} of {len(found)}" if found else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("write", "score"))
    parser.add_argument("directory", type=Path)
    parser.add_argument("answers", type=Path, nargs="?")
    parser.add_argument("--profile", default="standard")
    parser.add_argument("--payloads", type=int, default=24)
    parser.add_argument("--questions", type=int, default=10)
    parser.add_argument("--reader", default="")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    if options.what == "write":
        write(options.directory, options.profile, options.payloads, options.questions)
        return
    table, wrong = score(options.directory, options.answers or options.directory)
    print(table, *wrong, sep="\n")
    if options.record:
        recipe = {
            "reader": options.reader,
            "profile": options.profile,
            "payloads": "../shared/corpus, payloads and more",
        }
        write_section("Reading", table, recipe=recipe)


if __name__ == "__main__":
    main()
