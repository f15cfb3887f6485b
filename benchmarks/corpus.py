"""The payloads that benchmarks share, read where they lie, and the score that goes with them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

CORPUS = Path(os.environ.get("SHAPING_CORPUS", Path(__file__).parents[2] / "shared" / "corpus"))
PAYLOADS = CORPUS / "payloads"
MORE = CORPUS / "more"


@dataclass(frozen=True)
class Payload:
    """One recorded result, as an MCP client receives it, and five questions about it."""

    file: str
    tool: str
    questions: tuple[dict[str, Any], ...]
    folder: Path = PAYLOADS

    @cached_property
    def result(self) -> dict[str, Any]:
        """The result as the server sent it."""
        found: dict[str, Any] = json.loads((self.folder / self.file).read_text(encoding="utf-8"))
        return found

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.file.removesuffix(".json")


def payloads(folder: Path = PAYLOADS) -> list[Payload]:
    """Return every payload of a folder of the corpus, or stop with a sentence where it is not there."""
    if not folder.exists():
        sys.exit(f"no corpus at {CORPUS}; set SHAPING_CORPUS to the directory that holds payloads/ and score.py")
    listed = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["payloads"]
    return [Payload(one["file"], one["tool"], tuple(one["questions"]), folder) for one in listed]


def library() -> Any:
    """Return the corpus's own functions for paths, evidence and tokens."""
    sys.path.insert(0, str(CORPUS))
    import corpuslib  # type: ignore[import-not-found] # noqa: PLC0415 (it lies beside the payloads, not in a package)

    return corpuslib


def write(directory: Path, shaped: dict[str, Any]) -> None:
    """Write shaped results where the score looks for them: a result as JSON, a text as it is."""
    directory.mkdir(parents=True, exist_ok=True)
    for file, result in shaped.items():
        if isinstance(result, str):
            (directory / file.replace(".json", ".txt")).write_text(result, encoding="utf-8")
        else:
            (directory / file).write_text(json.dumps(result, ensure_ascii=False), encoding="utf-8")


def score(directory: Path, *flags: str, folder: Path = PAYLOADS) -> str:
    """Run the corpus's own score over a directory of shaped results."""
    command = [sys.executable, str(CORPUS / "score.py"), str(folder), "--shaped", str(directory), *flags]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
