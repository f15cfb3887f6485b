"""What a response says about what was left out of it: in its envelope, or in a line below bare data."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from enum import IntEnum
from math import inf
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.redaction import names_without_secrets, without_secrets
from shaping.response import EMPTY, EXPAND, TOOL_WARNING, Listed, Omission, Shaped, Warned, counted, is_never_sent
from shaping.tokens import counter, upper_bound
from shaping.tokens.sampling import is_within

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shaping.budget.cut_text import CutText
    from shaping.present import Presented
    from shaping.settings.plan import Plan
    from shaping.store.result_files import ResultFile


# What a config or a profile asks to be dropped is not news under `minimal`; what a rule or a budget took is.
_UNASKED: Final = frozenset({"links", "opaque", "bulk", "boilerplate", "items", "string", "depth"})
# What a member is called at the end of its path.
_LAST: Final = re.compile(r"((?:[^.\[\]\"\s]{1,40}\.)?[^.\[\]\"\s]{1,40})(?:\[[\d:]*\])*$")
ROOMY: Final = 400  # tokens of a budget that has room for the names of SQL tables, or of files
_OPEN: Final = "\n("  # begins a line below the data
_MOST: Final = 150  # tokens of the line below a cut list
_LEAST_BYTES: Final = 2  # of that line that one token stands for: it is words, and one ref
_BYTES: Final = 4  # of JSON that one token stands for, at the most
# What is counted, where it is not called as the reason is.
_COUNTED: Final = {"string": "characters", "depth": "members"}
# How the reader of each surface asks for what was left out.
_ASK: Final = {"mcp": f"{EXPAND} ref={{}}", "command": "shaping expand {}", "python": "ref {}"}
_DROPPED_LINE: Final = 24  # tokens of the line that says how many lines the config drops, and their ref
_SCHEMA: Final = {"mcp": 'sql="schema"', "command": "--sql schema", "python": 'sql="schema"'}
_LENGTH: Final = 150  # characters of what is said of columns
_FEW: Final = 6  # different values that are counted one by one
_LOOKED_AT: Final = 20_000  # records; the counts of more would take longer than a reader gains
_IDENTIFIER: Final = re.compile(r"(?:^|_)id$|[a-z]Id$|^ID$")  # its range says nothing
_VALUE: Final = 24  # characters of one value
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d.*)?")
_PLAIN: Final = re.compile(r"(?!(?:null|true|false)$)(?=\S)[^,;\"\\\x00-\x1f]*[^\W\d_][^,;\"\\\x00-\x1f]*(?<=\S)")


@dataclass(frozen=True, slots=True)
class _Size:
    """How many things of each kind a line names."""

    lists: int  # of which it is said how much is shown
    columns: int
    tables: int
    members: int  # of each kind that was left out


_WHOLE: Final = _Size(lists=4, columns=9, tables=9, members=3)
# The first that is within the tokens of the line is written.
_SIZES: Final = (
    _WHOLE,
    *(_Size(*most) for most in ((4, 3, 3, 3), (3, 2, 2, 3), (3, 2, 2, 2), (2, 2, 2, 1), (2, 1, 2, 1), (2, 1, 1, 1))),
    _Size(1, 0, 0, 0),
)


def omission_members(response: Presented) -> dict[str, Any]:
    """Return the envelope members that tell of omissions: nothing, one short line, or the list with prices."""
    plan = response.plan
    ref = response.ref if response.says_ref else None
    if plan.omissions == "list":
        listed = plan.dialect != "none" and response.omissions
        priced = response.original.priced(response.omissions, with_ref=response.says_ref) if listed else ()
        return {"omissions": priced, "ref": ref} if priced and response.expandable else {"omissions": priced}
    if plan.dialect != "none" and response.truncated and response.original.file is not None:
        return {"omissions": _rest_in_file(response)} | ({"ref": ref} if ref and response.cleaned.saved > 0 else {})
    if not response.expandable:
        return _members_gone(response)
    if ref is None:
        return {}
    # Bare data has no member for the line: it stands below the data.
    return {"omissions": _line(_unasked(response), plan) if plan.dialect != "none" else "", "ref": ref}


def notice(response: Presented) -> str:
    """Describe below bare data what was left out and how to ask for it; nothing where nothing unasked is missing."""
    if response.call.page is not None:
        return _page_notice(response)
    if response.terse:
        return "\n(cut)" if response.truncated else ""
    omitted, noted = _omission_notice(response), tool_notice(response)
    return f"{noted[:-1]}; {omitted.removeprefix(_OPEN)}" if omitted and noted else noted or omitted


def tool_notice(response: Presented) -> str:
    """Write what the tool said by `note` as a line below its data."""
    warnings = tool_warnings(response)
    return f"{_OPEN}warning: {'; '.join(warnings)})" if warnings else ""


def tool_warnings(response: Presented) -> list[str]:
    """Return what the tool said by `note`."""
    if not response.cleaned.warnings or is_never_sent("warnings", response.plan.envelope):
        return []
    return [warned.message for warned in response.cleaned.warnings if warned.code == TOOL_WARNING]


def _omission_notice(response: Presented) -> str:
    count, most = counter(response.plan.tokenizer).exact, _most_tokens(response)
    lines = (_notice(response, size) for size in _SIZES)
    # The smallest goes out where even that is longer, as by the names of its lists.
    # A line that is surely short is not counted, for which a vocabulary would be loaded or looked through.
    fits = (line for line in lines if upper_bound(line) <= _LEAST_BYTES * most or count(line) <= most)
    return next(fits, "") or _notice(response, _SIZES[-1])


def _most_tokens(response: Presented) -> float:
    """Return how long the line may be: no longer than what was cut, which `max_items` may make one number."""
    plan = response.plan
    if isinstance(response.fitted.value, str):
        return inf  # the files of a diff are listed whole
    if not response.truncated or (plan.max_items is None and plan.max_string is None):
        return _MOST
    cut = len(orjson.dumps(response.cleaned.value)) - len(orjson.dumps(response.fitted.value))
    return min(_MOST, (cut + max(response.cleaned.saved, 0)) / _BYTES)


def _notice(response: Presented, size: _Size) -> str:
    parts = [*missing_fields(response), *_lists(response, size)]
    if response.truncated and response.original.file is not None:
        # What noise rules took is not in the file.
        parts += [
            _rest_in_file(response),
            *([_ask(response)] if response.expandable and response.cleaned.saved > 0 else []),
        ]
    elif response.expandable and response.worth_a_line:
        parts += _columns(response, size)
        parts += _unlisted(response, size)
        parts += [] if response.ref is None else [_ask(response)]
        parts += [f"cursor={response.cursor}"] if response.truncated and response.cursor else []
    elif response.worth_a_line:
        parts += _unlisted(response, size)
    return f"\n({'; '.join(parts)})" if parts else ""


class Detail(IntEnum):
    """How much is said of a text that was cut: how much is missing and where it is, where it is, or only that it is."""

    FULL, REF_ONLY, BARE = range(3)


def describe_cut_lines(
    cut: CutText, dropped: int, plan: Plan, detail: Detail, *, ref: str | None, file: ResultFile | None
) -> list[str]:
    """Describe how much of a text's lines a budget or `drop_lines` left out, and how to get it."""
    if cut.whole and (ref is None or not dropped):
        return []
    ask = f": {_ASK['command'].format(ref)}" if ref and detail != Detail.BARE else ""
    if file is not None and not cut.whole and detail == Detail.FULL:
        ask = f"; {file}"
    if cut.whole:
        return [f"{counted(dropped, 'line')} left out{ask}"]
    if detail != Detail.FULL:
        return [f"cut{ask}"]
    errors = f", {cut.missing_errors:,} of them errors" if cut.missing_errors else ""
    sections = cut.list_sections() if plan.max_tokens is None or plan.max_tokens >= ROOMY else ""
    of_what = f" (of {sections})" if sections else ""
    return [f"{cut.missing:,} of {counted(cut.missing + cut.shown, 'line')} left out{errors}{of_what}{ask}"]


def describe_dropped(count: int) -> str:
    """Say how many lines the config drops: a cut shows in its place, a dropped line does not."""
    return f"left out: {counted(count, 'line')} by drop_lines"


def pays_to_say(dropped: Sequence[str], plan: Plan) -> bool:
    """Whether lines that the config drops cost more than the line that says so."""
    return not is_within("\n".join(dropped), _DROPPED_LINE, counter(plan.tokenizer).exact)


def errors_cut(count: int) -> list[Warned]:
    """Warn of lines that report an error and are not shown."""
    said = f"{count:,} line{' that tells' if count == 1 else 's that tell'} of errors did not fit the budget"
    return [Warned("ERRORS_CUT", said)] if count else []


def missing_fields(response: Presented) -> list[str]:
    """Say that a list of fields matches nothing, where whoever asked for them was not told."""
    found, told = response.cleaned.warnings, response.call.warnings
    if not found:
        return []
    return [warned.message for warned in found if warned.code == "NO_SUCH_FIELD" and warned not in told]


def noise_notice(response: Presented) -> str:
    """Name below data without an envelope what noise rules took, for a reader who was given no ref to ask for it."""
    if response.expandable or response.terse or response.call.page is not None or not response.cleaned.saved:
        return ""
    return "".join(f"\n({line})" for line in _unlisted(response, _WHOLE))


def _ask(response: Presented) -> str:
    return _ASK[response.plan.surface].format(response.ref)


def _rest_in_file(response: Presented) -> str:
    line = str(response.original.file)
    return line if response.plan.redact.off else without_secrets(line)


def _lists(response: Presented, size: _Size) -> list[str]:
    """Say of each list that was cut how much is shown, of those inside one record only some."""
    lists = sorted(response.shown, key=lambda one: "[" in one.path)
    more = [f"{counted(len(lists) - size.lists, 'more list')} cut"] if len(lists) > size.lists else []
    return [*map(_list_shown, lists[: size.lists]), *more]


def _list_shown(one: Listed) -> str:
    told = f"{one.path or 'items'}: {one.shown} of {one.total} shown"
    if one.first is None:
        return told
    return f"{told}, the first {one.first} and then {one.shown - one.first} of {one.errors} more that report errors"


def missing(shaped: Shaped) -> str:
    """Describe in one short line what is missing of a response that does not say it itself, nulls and empties last."""
    plan = shaped.plan
    if plan.omissions == "list" and plan.dialect != "none":
        return ""
    gone = [each for each in shaped.omissions if each.reason in _UNASKED | EMPTY]
    return _line(sorted(gone, key=lambda each: each.reason in EMPTY), plan) if gone else ""


def _unasked(response: Presented) -> list[Omission]:
    taken = (*response.cleaned.omissions, *response.fitted.omissions)
    return [omission for omission in taken if omission.reason in _UNASKED]


def _members_gone(response: Presented) -> dict[str, Any]:
    """Name, for a reader who cannot expand, the members that a cut answer lacks: lists and texts say it in their place.

    Below an answer that is whole, what noise rules took stands in a line of its own.
    """
    if response.plan.dialect == "none" or not response.truncated:
        return {}
    gone = [each for each in _unasked(response) if each.reason not in {"items", "string"}]
    return {"omissions": _line(gone, response.plan)} if gone else {}


def _columns(response: Presented, size: _Size) -> list[str]:
    """Describe what the first list that was cut holds in all: what can be asked in SQL without reading it."""
    # A list inside one record says little of all of them.
    lists = sorted(
        (one for one in response.shown if "[" not in one.path and "*" not in one.path), key=lambda one: -one.total
    )
    if not lists:
        return []
    told, budget = response.original.columns(lists[0].path)[: size.columns], response.plan.max_tokens
    # In a small budget rows say more than the names of tables, which are told on request.
    roomy = budget is None or budget >= ROOMY
    tables = response.original.tables(tuple(one.path for one in lists), size.tables) if roomy and size.tables else ""
    if tables.endswith("…"):
        tables += f"; {_SCHEMA[response.plan.surface]} lists all"
    return [*([f"in all {'; '.join(told)}"] if told else []), *([f"sql tables {tables}"] if tables else [])]


def _unlisted(response: Presented, size: _Size) -> list[str]:
    """Describe what was left out besides the tails of lists, which are named one by one."""
    listed = {"items"} if response.shown else set()
    gone = [each for each in _unasked(response) if each.reason not in listed]
    return [_line(gone, response.plan, size.members) + _sections(response)] if gone else []


def _sections(response: Presented) -> str:
    """List what is missing of a diff or a log that was cut, by file or section, where a budget has room for it."""
    budget, cut = response.plan.max_tokens, [each for each in response.fitted.omissions if each.reason == "string"]
    if (
        response.fitted.position is None
        or not isinstance(response.fitted.value, str)
        or (budget is not None and budget < ROOMY)
    ):
        return ""
    told = response.original.missing_sections(
        response.fitted.value, response.fitted.position[1], sum(each.count for each in cut)
    )
    return f" of {told}" if told else ""


def _page_notice(response: Presented) -> str:
    call = response.call
    return f"\n({call.page}; cursor={call.cursor})" if call.cursor else ""


def _line(omissions: Iterable[Omission], plan: Plan, most: int = _WHOLE.members) -> str:
    counts: dict[str, int] = {}
    paths: dict[str, list[str]] = {}
    for omission in omissions:
        reason = omission.reason
        if reason not in counts:
            counts[reason], paths[reason] = 0, []
        counts[reason] += omission.count
        paths[reason].append(omission.path)
    names = {reason: _few(_last_names(found, most), most) for reason, found in paths.items()}
    if not plan.redact.off:
        names = {reason: some and names_without_secrets(some) for reason, some in names.items()}
    # What a rule took from a text, which has no members, is not counted.
    told = ", ".join(
        f"{_counted(count, reason)}{names[reason]}" if count > 1 or any(paths[reason]) else reason
        for reason, count in counts.items()
    )
    return f"left out: {told}"


def _last_names(paths: list[str], most: int) -> list[str]:
    """Return what the first members at some paths are called, so many and one more."""
    names: dict[str, None] = {}
    for path in paths:
        if len(names) > most:
            break
        # What is looked for has one dot at the most.
        names.update(dict.fromkeys(_LAST.findall(path, path.rfind(".", 0, max(path.rfind("."), 0)) + 1)))
    return list(names)


def _counted(count: int, reason: str) -> str:
    word = _COUNTED.get(reason, reason)
    return counted(count, word[:-1]) if word.endswith("s") else f"{count:,} {word}"


def _few(names: list[str], most: int) -> str:
    """Name the first of the members that were left out: what a reader does not know of, it cannot ask for."""
    more = ", …" if len(names) > most else ""
    return f" ({', '.join(names[:most])}{more})" if names and most else ""


def summarize_columns(records: list[Any]) -> tuple[str, ...]:
    """Describe the columns of records, the most telling first; nothing where there is nothing to say.

    Counts hold for all records that are given, not only for those that a reader was shown.
    """
    if not 2 <= len(records) <= _LOOKED_AT or not all(type(record) is dict for record in records):
        return ()
    names = dict.fromkeys(name for record in records[:50] for name in record)
    counts, ranges = [], []
    for name in names:
        values = [record.get(name) for record in records]
        if told := _counts(name, values):
            counts.append(told)
        elif not _IDENTIFIER.search(name) and (told := _range(name, values)):
            ranges.append(told)
    chosen: tuple[str, ...] = ()
    for told in (*counts, *ranges):
        longer = (*chosen, told)
        chosen = longer if len("; ".join(longer)) <= _LENGTH else chosen
    return chosen


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


def _word(value: str | bool | None) -> str:
    # A text is quoted where it would read as something else: as several values, as nothing, or as another type.
    return value if isinstance(value, str) and _PLAIN.fullmatch(value) else orjson.dumps(value).decode()


def _short(value: Any) -> str:
    return value[:10] if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)
