"""Writes one named section of RESULTS.md, with the recipe that made its numbers, and leaves the others alone."""

from __future__ import annotations

import os
import platform
import re
import shlex
import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RESULTS = Path(__file__).parent / "RESULTS.md"
HEADER = """# Results

Every section is written by the command in its recipe. Trust ratios, not milliseconds.

Some recipes name a folder that is not in this repository:

- `../shared/corpus`, or where `SHAPING_CORPUS` points: recorded results of tools with questions about them. What we
  recorded by running a tool is in `benchmarks/payloads` too; with it anybody can repeat Tokens. The others are files of
  public repositories that may not be copied here. **So with this repository alone nobody can repeat the numbers of
  Fidelity, Peers, Reading, Asking and Suggestions (corpora).** To try the same on results of your own, make a folder of
  that form: `payloads` and `more`, each with results as MCP clients receive them and a `manifest.json` (see
  `benchmarks/corpus.py`), and beside them `corpuslib.py` and `score.py`, which count tokens and look for answers.
- The folders of Reading: `python -m benchmarks.reading write DIR` writes packets from the corpus. Fresh sessions of a
  model see one packet each and nothing else, and write their answers into a second folder. The packets quote the
  corpus, so they are not here; those of the recorded run, and its answers, were not kept.
- The folders of Asking by readers are made alike: `python -m benchmarks.asking --packets DIR --key DIR`.
- `--folder` of `benchmarks/learning.py` is empty before the run, which fills it.

Peers and Fidelity ask the same questions. Peers calls an answer recoverable where the kept original holds it, Fidelity
only where one expand of its path returns it.
"""


def write_section(name: str, body: str, *, recipe: dict[str, str], path: Path = RESULTS) -> None:
    """Replace a section between its markers, or add it at the end."""
    section = f"<!-- {name} -->\n## {name}\n\n{_table(recipe | machine())}\n\n{body.strip()}\n<!-- end {name} -->\n"
    text = path.read_text(encoding="utf-8") if path.exists() else HEADER
    present = re.compile(f"<!-- {re.escape(name)} -->.*?<!-- end {re.escape(name)} -->\n", re.DOTALL)
    kept, replaced = present.subn(lambda _: section, text)
    path.write_text(kept if replaced else f"{text.rstrip()}\n\n{section}", encoding="utf-8")


def machine() -> dict[str, str]:
    """Say when, by what command and on what the numbers were made."""
    script = Path(sys.argv[0]).resolve()
    shown = script.relative_to(Path.cwd()) if script.is_relative_to(Path.cwd()) else script.name
    return {
        "command": f"`{shlex.join(['python', str(shown), *sys.argv[1:]])}`",
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "versions": ", ".join(f"{name} {_version(name)}" for name in ("shaping", "orjson", "regex")),
    }


@contextmanager
def compiled_modules() -> Iterator[None]:
    """Let programs that are started meanwhile keep their compiled modules, as an installed package has them."""
    # A command may still enter its run into the ledger when it has answered.
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        before = dict(os.environ)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def markdown_table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Write rows as a Markdown table, numbers to the right."""
    lines = [head, ("---", *("---:" for _ in head[1:])), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _table(recipe: dict[str, str]) -> str:
    return "\n".join(f"- {name}: {value}" for name, value in recipe.items())


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
