"""Values that only a program compares are dropped: checksums, etags, node ids, cursors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shaping.noise.records import all_codes, all_match
from shaping.noise.rule import NoiseRule
from shaping.noise.vocabulary import meaning

if TYPE_CHECKING:
    from shaping.noise.records import Records

_SUM = re.compile(r"(?:sha\d+[:=-])?[0-9a-f]{64,}|(?:h1|md5|sha\d+)[:=-][A-Za-z0-9+/]{22,}={0,2}", re.IGNORECASE)


def opaque(records: Records) -> None:
    """Drop the members of records that tell a reader nothing, where another one identifies the record."""
    for key in records.members("opaque"):
        if _may_go(key, records) and _all_codes(key, records):
            records.drop_member(key, "opaque")
    for key in records.members("hex"):
        if not meaning(key).identifies and _may_go(key, records) and _all_match(_SUM, key, records):
            records.drop_member(key, "opaque")


def _may_go(key: str, records: Records) -> bool:
    return key not in records.arguments and records.identified_without(key)


def _all_codes(key: str, records: Records) -> bool:
    values = records.texts(key)
    return values is not None and all_codes(values)


def _all_match(pattern: re.Pattern[str], key: str, records: Records) -> bool:
    values = records.texts(key)
    return values is not None and all_match(pattern, values)


# The only one of its kind is an answer: the checksum of the file that was asked for.
RULE = NoiseRule("opaque", ("opaque", "hex"), opaque, least=2)
