"""Values that only a program compares are dropped; base64 is decoded where it holds text, and dropped where not."""

from __future__ import annotations

import re
from base64 import b64decode
from typing import Any

from shaping.noise.records import NoiseRule, Records, all_codes, all_match, longest
from shaping.noise.vocabulary import meaning

_SUM = re.compile(r"(?:sha\d+[:=-])?[0-9a-f]{64,}|(?:h1|md5|sha\d+)[:=-][A-Za-z0-9+/]{22,}={0,2}", re.IGNORECASE)


def opaque(records: Records) -> None:
    """Drop the members of records that tell a reader nothing, where another one identifies the record."""
    for key in records.untouched("opaque", "hex"):
        values = records.texts(key)
        if values is None or not records.identified_without(key):
            continue
        # The only checksum or token is an answer: that of the file that was asked for.
        if len(records.rows) == 1 and not meaning(key).identifies:
            continue
        is_sum = records.kinds[key] == "hex" and not meaning(key).identifies and all_match(_SUM, values)
        if is_sum or (records.kinds[key] == "opaque" and all_codes(values) and not _refers(key, records)):
            records.drop_member(key, "opaque")


def _refers(key: str, records: Records) -> bool:
    """Whether an identifier is of something else: no other identifier is the same in the same records."""
    if not meaning(key).identifies or len(records.rows) == 1:
        return False
    names = records.column(key)
    identifiers = (other for other in records.layout.identifiers if other != key)
    many, others = len(set(names)), (list(map(str, records.column(other))) for other in identifiers)
    return not any(many == len(set(other)) == len(set(zip(names, other, strict=True))) for other in others)


OPAQUE = NoiseRule("opaque", frozenset({"opaque", "hex"}), opaque)


_LETTERS = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_BLOB, _SURE = 200, 24  # letters from which they are bytes, and from which text in them is no accident
_LONGEST_TOKEN = 2000  # letters that no token or cursor has, but the picture of a page has
_DIGIT, _LETTER = re.compile("[0-9]"), re.compile("[A-Za-z]")
_CONTROL = re.compile(r"[\0-\x08\x0e-\x1a\x1c-\x1f]")


def base64(records: Records) -> None:
    """Read the text in base64; drop bytes and long tokens, or say in their place how many there are."""
    for key in records.untouched("long", "base64"):
        values, said = records.texts(key), meaning(key)
        if values is None or not all_match(_LETTERS, values):
            continue
        if (said.identifies or said.continues) and longest(values) < _LONGEST_TOKEN:
            continue  # what is handed back is needed as it is
        column = records.column(key)
        texts = [_text_of(value) if type(value) is str else None for value in column]
        if not any(texts):
            _take(key, values, records)
        # Short text in one piece is mostly a program's own.
        elif records.kinds[key] == "long" or any(map(_is_spaced, texts)):
            records.replace_column(key, [_read(*pair) for pair in zip(column, texts, strict=True)], "boilerplate")


def _text_of(code: str) -> str | None:
    """Return the text that base64 holds, or None where it holds something else."""
    if len(code) < _SURE and not code.endswith("="):
        return None
    plain = code.replace("\n", "").replace("-", "+").replace("_", "/")
    try:
        text = b64decode(plain + "=" * (-len(plain) % 4), validate=True).decode()
    except ValueError:
        return None
    return None if _CONTROL.search(text) else text


def _is_spaced(text: str | None) -> bool:
    return text is not None and (" " in text or "\n" in text)


def _read(value: Any, text: str | None) -> Any:
    """Return what a value says: its text, or how many bytes it is; a short one that is neither says itself."""
    if text is not None:
        return text
    return _size_of(value) if type(value) is str and len(value) >= _BLOB else value


def _size_of(code: str) -> str:
    return f"[base64, {len(code.replace(chr(10), '').rstrip('=')) * 3 // 4} bytes]"


def _take(key: str, values: list[str], records: Records) -> None:
    """Take bytes away, which no one reads, or say how many they are where they are all that a record has."""
    codes = list(filter(None, values))
    if not codes or min(map(len, codes)) < _BLOB or not all(map(_is_random, codes)):
        return
    if records.identified_without(key):
        records.drop_member(key, "opaque")
    elif not meaning(key).identifies:
        records.replace_texts(key, _size_of, "opaque")


def _is_random(code: str) -> bool:
    """Return whether a text is encoded bytes, not what only has the same letters: a protein, a number, a line."""
    return _DIGIT.search(code) is not None and _LETTER.search(code) is not None


BASE64_TEXT = NoiseRule("opaque", frozenset({"long", "base64"}), base64)
