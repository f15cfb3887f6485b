"""What survives shaping, without a model: the corpus's score, and every question answered from what the model reads.

    python -m benchmarks.fidelity [--profile minimal] [--misses]

Beyond the score, the text itself is decoded and each question answered by its path from the decoded value, so that a
value tied to the wrong record counts as lost; and what is not kept is asked back by one expand.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import corpus
from benchmarks.results import markdown_table, write_section
from shaping import Shaper
from shaping.encoders import decode, lines
from shaping.encoders.table.cells import quoted
from shaping.errors import ToolError
from shaping.parsers import EXACT, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.corpus import Payload

README = Path(__file__).parents[1] / "README.md"
NUMBERS = re.compile(r"(?<=<!-- numbers -->\n).*?(?=<!-- end numbers -->)", re.DOTALL)
_FILTER = re.compile(r"\[\?\([^]]*\)\]|\[\*\]")
# The lines below the data: what was null or empty, by name, and what else was left out.
_NAMED = re.compile(r"\n(?:null|empty): [^\n]*(?=(?:\n\(left out: [^\n]*\))?\s*\Z)")
_BELOW = re.compile(r"(?:\n(?:null|empty): [^\n]*)?(?:\n\(left out: [^\n]*\))?\s*\Z")
_QUOTED = re.compile(r"\['((?:[^'\\]|\\.)*)'\]")


@dataclass(frozen=True, slots=True)
class Row:
    """One payload's figures."""

    name: str
    before: int
    compact: int
    after: int
    kept: int
    answered: int
    held: int  # kept by the score, or answered by path from the decoded text
    recovered: int
    lost: tuple[str, ...]


def shape(shaper: Shaper, payload: Payload) -> dict[str, Any]:
    """Return a result as a client that reads text gets it."""
    return shaper.shape_result(payload.result, tool=payload.tool, channels="text")


def measure(payload: Payload, profile: str) -> tuple[Row, dict[str, Any]]:
    """Shape one payload and look at what is left of it."""
    lib = corpus.library()
    shaped = shape(Shaper({"global": {"profile": profile}}), payload)
    kept = {q["id"] for q in payload.questions if lib.score_question(q, payload.result, shaped)["value"]}
    answered = {q["id"] for q in payload.questions if is_answered(lib, q, payload.result, shaped, kept=q["id"] in kept)}
    missing = [q for q in payload.questions if q["id"] not in kept | answered]
    back = {q["id"] for q in missing if _comes_back(lib, q, payload, profile)}
    row = Row(
        payload.name,
        lib.tokens(lib.model_view(payload.result)),
        lib.tokens(_compact(payload.result)),
        lib.tokens(lib.model_view(shaped)),
        len(kept),
        len(answered),
        len(kept | answered),
        len(back),
        tuple(q["id"] for q in missing if q["id"] not in back),
    )
    return row, shaped


def _compact(result: dict[str, Any]) -> str:
    """Return a result's texts with the data among them as compact JSON: what no shaped text may exceed."""
    texts = [block["text"] for block in result["content"] if block.get("type") == "text"]
    return "\n".join(text if (found := parse(text, EXACT)) is None else quoted(found.value) for text in texts)


def is_answered(
    lib: Any, question: dict[str, Any], original: dict[str, Any], shaped: dict[str, Any], *, kept: bool
) -> bool:
    """Answer a question by its path from what the model reads; one about a text by its evidence in the decoded text."""
    if not question.get("paths") or question["decode"] in {"text", "result"}:
        return kept or bool(lib.score_question(question, original, _with_whole_lines(shaped))["value"])
    if question.get("absent") and _is_named_absent(lib, question, shaped):
        return True
    try:
        document = _document(question["decode"], shaped)
        source = lib.decode(original, question["decode"])
        return all(lib.path_eval(document, path) == lib.path_eval(source, path) for path in question["paths"])
    except (ValueError, TypeError, KeyError, IndexError):
        return False


def _with_whole_lines(shaped: dict[str, Any]) -> dict[str, Any]:
    """Decode the lines of texts that are written short."""
    blocks = [
        {**block, "text": lines.decode(block["text"])} if block.get("type") == "text" else block
        for block in shaped["content"]
    ]
    return {**shaped, "content": blocks}


def _is_named_absent(lib: Any, question: dict[str, Any], shaped: dict[str, Any]) -> bool:
    """Return whether the line below the data names every member that was null or empty."""
    named = _NAMED.search("\n" + lib.model_view(shaped))
    words = set(re.findall(r"[\w-]+", named[0])) if named else set()
    return all(path.rpartition(".")[2] in words for path in question["paths"])


def _document(how: str, shaped: dict[str, Any]) -> Any:
    """Decode the shaped text of the part of a result that a question is about."""
    texts = [block["text"] for block in shaped["content"] if block.get("type") == "text"]
    values = [value for value in map(_decoded, texts) if value is not None]
    if how.startswith("blocks") and not (len(values) == 1 and isinstance(values[0], list)):
        return values
    return values[0]


def _decoded(text: str) -> Any:
    text = _BELOW.sub("", text, count=1)  # these lines are about the data, and not of it
    try:
        value = decode(text, "table")
    except ValueError:
        return None
    return value if isinstance(value, dict | list) else None


def _comes_back(lib: Any, question: dict[str, Any], payload: Payload, profile: str) -> bool:
    """Tell whether one expand of what was left out holds the answer."""
    shaper = Shaper({"global": {"profile": profile}}, expandable=True)
    try:
        ref = (shape(shaper, payload).get("_meta") or {}).get("shaping", {}).get("ref")
        return ref is not None and any(_holds(lib, question, shaper, ref, path) for path in _paths(question))
    finally:
        shaper.close()


def _holds(lib: Any, question: dict[str, Any], shaper: Shaper, ref: str, path: str) -> bool:
    try:
        text = shaper.expand(ref, path, surface="mcp").text
    except (LookupError, ToolError):
        return False
    return all(lib.present(text, value) for value in _evidence(question))


def _paths(question: dict[str, Any]) -> Iterator[str]:
    """Write a question's JSONPath in the path language: a filter is every element, which one expand returns."""
    for path in question.get("paths", ()):
        steps = _QUOTED.sub(r'."\1"', _FILTER.sub("[]", path))
        yield steps.removeprefix("$").removeprefix(".")


def _evidence(question: dict[str, Any]) -> Iterator[Any]:
    for evidence in question["evidence"]:
        yield from evidence.get("all_of", [evidence.get("value")])


def table_of(rows: list[Row]) -> str:
    """Write the figures of all payloads and their sum."""
    names = ("before", "compact", "after", "kept", "answered", "held", "recovered")
    sums = {name: sum(getattr(row, name) for row in rows) for name in names}
    total = Row("**all**", **sums, lost=tuple(lost for row in rows for lost in row.lost))
    head = (
        "payload",
        "as sent",
        "compact JSON",
        "shaped",
        "saved",
        "kept",
        "by path from the text",
        "by either",
        "by one expand",
        "lost",
    )
    lines: list[tuple[str, ...]] = [
        (
            row.name,
            f"{row.before:,}",
            f"{row.compact:,}",
            f"{row.after:,}",
            f"{100 * (1 - row.after / row.before):.1f}%",
            str(row.kept),
            str(row.answered),
            str(row.held),
            str(row.recovered),
            ", ".join(row.lost) or "-",
        )
        for row in [*rows, total]
    ]
    return markdown_table(head, lines)


def section(folder: Path, profile: str, *flags: str) -> tuple[str, list[Row]]:
    """Measure every payload of a folder under one profile, and write the figures."""
    measured = [measure(payload, profile) for payload in corpus.payloads(folder)]
    rows = [row for row, _ in measured]
    with tempfile.TemporaryDirectory() as directory:
        corpus.write(Path(directory), {f"{row.name}.json": shaped for row, shaped in measured})
        said = corpus.score(Path(directory), "-v", *flags, folder=folder)
    larger = [row.name for row in rows if row.after > row.before]
    note = f"Dearer than what was sent: {', '.join(larger) or 'none'}."
    head = f"### {folder.name}, {profile}"
    return f"{head}\n\n{table_of(rows)}\n\n{note}\n\nThe corpus's own score: `{said.splitlines()[-1]}`", rows


def sentence(rows: list[Row], questions: int) -> str:
    """Say in words what a set of payloads comes to."""
    saved = 100 * (1 - sum(row.after for row in rows) / sum(row.before for row in rows))
    kept = sum(row.held for row in rows)
    lost = sum(len(row.lost) for row in rows)
    back = questions - kept - lost
    rest = [f"{back} after one more call"] * bool(back) + [f"{lost} not at all"] * bool(lost)
    return f"**{saved:.0f}% of the tokens**; of {questions} questions about them, " + ", ".join(
        [f"{kept} can be answered from the text", *rest]
    )


def numbers(sets: list[tuple[list[Row], int]]) -> str:
    """Return the two sentences of the README that hold numbers."""
    first, more = (sentence(rows, questions) for rows, questions in sets)
    measured = "No config; tokens of o200k_base; written by `benchmarks/fidelity.py`."
    sentences = (
        f"- On {len(sets[0][0])} recorded results of real tools it saves {first}.",
        f"- On {len(sets[1][0])} results of other tools it saves {more}. ({measured})",
    )
    wrapped = (textwrap.fill(one, 120, subsequent_indent="  ", break_on_hyphens=False) for one in sentences)
    return "\n".join(wrapped) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", default="minimal,standard")
    parser.add_argument("--misses", action="store_true")
    options = parser.parse_args()
    flags = ["--misses"] if options.misses else []
    sections, sets = [], []
    for profile in options.profile.split(","):
        for folder in (corpus.PAYLOADS, corpus.MORE):
            text, rows = section(folder, profile, *flags)
            print(text, flush=True)
            sections.append(text)
            if profile == "minimal":
                sets.append((rows, sum(len(payload.questions) for payload in corpus.payloads(folder))))
    if options.profile == "minimal,standard":
        recipe = {"payloads": "../shared/corpus, payloads and more", "tokenizer": "o200k_base", "config": "none"}
        write_section("Fidelity", "\n\n".join(sections), recipe=recipe)
        README.write_text(NUMBERS.sub(lambda _: numbers(sets), README.read_text()))


if __name__ == "__main__":
    main()
