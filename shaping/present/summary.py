"""What can be asked of a list that was cut: counts of columns with few values, ranges of numbers and times."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Final

_LENGTH: Final = 150  # characters of the line, with which all of a notice has about 150 tokens
_FEW: Final = 6  # different values that are counted one by one
_LOOKED_AT: Final = 20_000  # records; the counts of more would take longer than a reader gains
_IDENTIFIER: Final = re.compile(r"(?:^|_)id$|[a-z]Id$|^ID$")  # its range says nothing
_VALUE: Final = 24  # characters of one value
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d.*)?")


def summarize_columns(records: list[Any], longest: int = _LENGTH) -> str:
    """Describe the columns of records in one line, the most telling first; empty where there is nothing to say.

    Counts hold for all records that are given, not only for those that a reader was shown.
    """
    if not 2 <= len(records) <= _LOOKED_AT or not all(type(record) is dict for record in records):
        return ""
    names = dict.fromkeys(name for record in records[:50] for name in record)
    counted, ranges = [], []
    for name in names:
        values = [record.get(name) for record in records]
        if told := _counts(name, values):
            counted.append(told)
        elif not _IDENTIFIER.search(name) and (told := _range(name, values)):
            ranges.append(told)
    line = ""
    for told in (*counted, *ranges):
        longer = f"{line}; {told}" if line else told
        line = longer if len(longer) <= longest else line
    return line


def _counts(name: str, values: list[Any]) -> str:
    kinds = set(map(type, values))
    if not kinds <= {str, bool, type(None)} or kinds == {type(None)}:
        return ""
    found = Counter(values)
    if not 2 <= len(found) <= _FEW or len(values) < 2 * len(found):
        return ""
    if any(isinstance(value, str) and len(value) > _VALUE for value in found):
        return ""
    return f"{name}: {', '.join(f'{_word(value)} {count:,}' for value, count in found.most_common())}"


def _range(name: str, values: list[Any]) -> str:
    present = [value for value in values if value is not None]
    kinds = set(map(type, present))
    if not present or not (kinds <= {int, float} or (kinds == {str} and all(map(_TIME.fullmatch, present)))):
        return ""
    low, high = min(present), max(present)
    return "" if low == high else f"{name} {_short(low)}..{_short(high)}"


def _word(value: Any) -> str:
    return {None: "null", True: "true", False: "false"}.get(value, value) if not isinstance(value, str) else value


def _short(value: Any) -> str:
    return value[:10] if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)
