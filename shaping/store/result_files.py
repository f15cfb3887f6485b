"""Results as files of the workspace, for readers with tools for files: private, bounded, ignored by version control."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import Any, Final

import orjson

from shaping.settings.files import cache_directory, delete_oldest, link_in_tree

MAX_DAYS: Final = 7.0
MAX_BYTES: Final = 200_000_000  # of all files together; the oldest go first
_MOST_OF_IT: Final = 0.6  # the share of a value that one list in it has to be, so that it is written line by line
_WORD: Final = re.compile(r"[^\w.-]+")
_OURS: Final = re.compile(r"-\d{8}-\d{6}-[0-9a-f]{8}\.(?:jsonl?|txt)$")  # the name of a file of ours
_TIME: Final = f"{'[0-9]' * 8}-{'[0-9]' * 6}"
_COLUMNS: Final = 8  # that are named
_LOOKED_AT: Final = 1_000  # records from which columns and an example are taken
_FEW: Final = 12  # different values of a column that is good for an example
_LONGEST: Final = 30  # characters of a value in an example


@dataclass(frozen=True, slots=True)
class ResultFile:
    """A file with all of an answer: where it is, what stands in it, and a command that searches it."""

    path: Path
    about: str
    example: str
    content: bytes = field(repr=False)

    def __str__(self) -> str:
        return f"all of it as {self.about}: {self.example}"

    def write(self, *, max_days: float = MAX_DAYS, max_bytes: int = MAX_BYTES) -> bool:
        """Write the file and delete old ones; False where that cannot be done."""
        try:
            _prepare(self.path.parent)
            ours = (file for file in self.path.parent.iterdir() if _OURS.search(file.name))
            delete_oldest(ours, max_bytes - len(self.content), time.time() - max_days * 86_400)
            flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
            with os.fdopen(os.open(self.path, flags, 0o600), "wb") as out:
                out.write(self.content)
        except OSError:
            return False
        return True


def results_folder() -> Path:
    """Return where results are written: in the working tree, or in the user's cache outside of one.

    A link in the working tree is not followed: old files would be deleted wherever it leads.
    """
    here = Path.cwd()
    root = next((directory for directory in (here, *here.parents) if (directory / ".git").exists()), None)
    folder = None if root is None else root / ".shaping" / "results"
    if folder is None or link_in_tree(folder, here) is not None:
        return cache_directory(os.environ) / "results"
    return folder


def result_file(value: Any, tool: str, folder: Path) -> ResultFile:
    """Describe the file that an answer goes into, as JSON lines, JSON or text; `write` writes it."""
    content, suffix, (about, example) = _content(value)
    digest = blake2b(content, digest_size=4).hexdigest()
    name = _WORD.sub("_", tool)[:60] or "result"
    # The same answer again names the same file, so that its text is the same too, and prompt caches hold.
    earlier = folder.glob(f"{name}-{_TIME}-{digest}{suffix}")
    path = min(earlier, default=folder / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{digest}{suffix}")
    return ResultFile(path, about, example.replace("FILE", quote(str(path))), content)


def _content(value: Any) -> tuple[bytes, str, tuple[str, str]]:
    """Return the bytes of an answer, the suffix of its file, what stands in it, and a command with FILE in it."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace"), ".txt", ("text", f"grep -n -i {_word_in(value)} FILE")
    path, records = _largest_list(value)
    whole = orjson.dumps(value)
    lines = b"".join(orjson.dumps(record) + b"\n" for record in records) if records else b""
    if len(lines) >= _MOST_OF_IT * len(whole) and all(type(record) is dict for record in records):
        columns = list(dict.fromkeys(chain.from_iterable(records[:_LOOKED_AT])))
        more = ", …" if len(columns) > _COLUMNS else ""
        about = f"JSON lines{f' of {path}' if path else ''} ({', '.join(columns[:_COLUMNS])}{more})"
        return lines, ".jsonl", (about, _search(records[:_LOOKED_AT], columns))
    indented = orjson.dumps(value, option=orjson.OPT_INDENT_2)
    return indented, ".json", ("JSON", "grep -n WORD FILE")


def _word_in(text: str) -> str:
    """Choose a word that the text has, so that the command finds something: what went wrong, else any."""
    return "error" if "error" in text.casefold() else next(iter(re.findall(r"[A-Za-z]{4,}", text)), ".")


def _largest_list(value: Any) -> tuple[str, Sequence[Any]]:
    """Find the longest list that is reached without going through another one."""
    return max(_lists(value, ""), key=lambda pair: len(pair[1]), default=("", ()))


def _lists(value: Any, path: str) -> Iterator[tuple[str, Sequence[Any]]]:
    if type(value) is list:
        yield path, value
    elif type(value) is dict:
        for key, member in value.items():
            yield from _lists(member, f"{path}.{key}" if path else key)


def _search(records: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Write a command that finds records by a value of a column that many of them share."""
    for column in columns:
        values = [record.get(column) for record in records]
        words = Counter(value for value in values if isinstance(value, str) and 0 < len(value) <= _LONGEST)
        if words and len(words) <= _FEW and sum(words.values()) * 2 > len(records) > len(words):
            key, word = orjson.dumps(column).decode(), orjson.dumps(words.most_common(1)[0][0]).decode()
            return f"grep -F {quote(f'{key}:{word}')} FILE"
    return "grep -F WORD FILE"


def _prepare(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with suppress(FileExistsError), (folder / ".gitignore").open("x") as ignore:  # follows no link
        ignore.write("*\n")
