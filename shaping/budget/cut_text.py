"""Text cut to a token budget from the middle: the first and last lines stay, and the lines that report an error."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from shaping.parsers.sections import sections_of
from shaping.parsers.terminal import error_lines, find_traces
from shaping.response import counted, cut_end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from shaping.settings.plan import Plan


_MARK: Final = 9  # tokens of the line that stands for what was left out, and of what joins it
_LONGEST: Final = 400  # characters shown of a line where not every line can be shown
_AROUND: Final = 2  # lines shown around one that tells of an error, where there is room
_LENGTHS: Final = (_LONGEST, 160, 80, 40, 20)  # characters of the one line that there is room for
_LEAST: Final = 80  # characters of that line where there is no room at all
FEW: Final = 4  # lines
# Begins with what is searched for fastest; that it begins a line is looked at afterwards.
_GAP: Final = re.compile(r"… (?<=^… )([\d,]+) lines? …$", re.MULTILINE)
_LOOK: Final = 12  # characters a token; a text longer than that many for each of its tokens is not counted whole


@dataclass(frozen=True, slots=True)
class Rules:
    """The `keep_lines` and `drop_lines` of a tool."""

    keep: tuple[re.Pattern[str], ...] = ()
    drop: tuple[re.Pattern[str], ...] = ()

    @classmethod
    def of(cls, plan: Plan) -> Rules:
        """Compile what a plan says; debug drops nothing."""
        return cls(_compiled(plan.keep_lines), () if plan.debug else _compiled(plan.drop_lines))

    def important(self, lines: Sequence[str]) -> list[int]:
        """Return the indexes of lines that must stay: they report an error, or the config keeps them."""
        found = error_lines(lines)
        if not self.keep:
            return found
        return sorted({*found, *(at for at, line in enumerate(lines) if any(rule.search(line) for rule in self.keep))})

    def split(self, lines: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
        """Separate lines to show from lines that the config drops; `keep_lines` outranks `drop_lines`."""
        if not self.drop:
            return list(lines), ()
        end = len(lines) - (lines[-1:] == [""])  # nothing after the last line break is no line
        dropped = {at for at, line in enumerate(lines[:end]) if self._drops(line)}
        kept = [line for at, line in enumerate(lines) if at not in dropped]
        return kept, tuple(lines[at] for at in sorted(dropped))

    def _drops(self, line: str) -> bool:
        return any(rule.search(line) for rule in self.drop) and not any(rule.search(line) for rule in self.keep)


@dataclass(frozen=True, slots=True)
class NumberedLines:
    """Lines of an output: all of them, or those that are held of one too large to hold, with their numbers in it."""

    lines: Sequence[str]
    numbers: Sequence[int] | None = None  # None where every line is there
    lost_errors: int = 0  # lines that report an error and are not held

    @property
    def whole(self) -> bool:
        """Whether every line is there."""
        return self.numbers is None


@dataclass(frozen=True, slots=True)
class CutText:
    """Text within a budget: whether it is whole, how many lines are missing, and how many of those report errors."""

    text: str
    tokens: int
    whole: bool = True
    shown: int = 0  # lines, where it is not whole
    missing: int = 0
    missing_errors: int = 0
    # Names the files of a diff, or the parts of a log, of which lines are missing.
    list_sections: Callable[[], str] = field(default=str, compare=False)

    @property
    def meagre(self) -> bool:
        """Whether hardly a line of what there is is shown."""
        return not self.whole and self.shown < FEW


class Cutter:
    """Cuts lines to a number of tokens, counted as the text will stand in the response."""

    def __init__(self, numbered: NumberedLines, rules: Rules, price: Callable[[str], int]) -> None:
        self._numbered, self._lines, self._rules, self._price = numbered, numbered.lines, rules, price

    def to(self, room: int | None) -> CutText:
        """Cut to a room; None is room enough."""
        if not self._numbered.whole:
            return self._choice.all() if room is None else self._fitted(room)
        if room is None:
            return CutText(self._whole, 0)
        beginning = self._whole[: room * _LOOK]
        tokens = self._price(beginning)
        if tokens <= room and len(beginning) == len(self._whole):
            return CutText(self._whole, tokens)
        return self._fitted(room)

    def least(self) -> CutText:
        """Show the most important line, or its beginning, whatever it costs."""
        return self._choice.one(_LEAST) if self._whole.strip() else self.to(None)

    def _fitted(self, room: int) -> CutText:
        found = self._by_lines(room)
        if found.shown:
            return found
        ways = ((length, marked) for marked in (True, False) for length in _LENGTHS)
        tried = (self._choice.one(length, marked=marked) for length, marked in ways)
        return next((one for one in tried if one.tokens <= room), found)

    def _by_lines(self, room: int) -> CutText:
        target = room
        while True:
            found = self._choice.within(target)
            if found.tokens <= room or target <= 0:
                return found
            # Tokens run across the ends of lines: what was counted line by line can be a little more in one piece.
            target -= found.tokens - room + 1

    @cached_property
    def _whole(self) -> str:
        return "\n".join(self._lines)

    @cached_property
    def _choice(self) -> LineChoice:
        shortened = replace(self._numbered, lines=_shortened(self._lines))
        return LineChoice(shortened, self._rules, self._price)


class LineChoice:
    """Chooses the lines of a text that fit a number of tokens."""

    def __init__(self, numbered: NumberedLines, rules: Rules, price: Callable[[str], int]) -> None:
        lines = numbered.lines
        # The end of the last line is no line of its own.
        self._ends = len(lines) > 1 and not lines[-1]
        lines = lines[:-1] if self._ends else lines
        self._lines, self._price = lines, price
        self._numbers, self._lost_errors = numbered.numbers or range(len(lines)), numbered.lost_errors
        self._whole = numbered.whole
        self._count = self._numbers[len(lines) - 1] + 1 if lines else 0
        self._matter = rules.important(lines)
        # A long line that matters makes way for shorter ones that do; what only fills is taken in order.
        self._sought = {0, len(lines) - 1, *self._matter}
        self._costs: dict[int, int] = {}
        self._mark = max(_MARK, price(_gap(1000)))

    def within(self, room: int) -> CutText:
        """Choose lines in the order of what they are worth until the room is full."""
        chosen: set[int] = set()
        mark, costs, left = self._mark, self._costs, room - self._mark
        for at in chain(self._worth_most(), _from_both_ends(range(len(self._lines)))):
            if at in chosen:
                continue
            if at not in costs:
                costs[at] = self._price(f"{self._lines[at]}\n")
            cost = costs[at]
            # A line on its own costs the mark of a gap as well.
            if at - 1 not in chosen and at + 1 not in chosen:
                cost += mark
            if cost <= left:
                chosen.add(at)
                left -= cost
            elif at not in self._sought or left <= mark:
                break
        return self._told(set() if self._begins_only(chosen) else chosen)

    def all(self) -> CutText:
        """Show every line that is held."""
        return self._told(set(range(len(self._lines))))

    def _begins_only(self, chosen: set[int]) -> bool:
        """Whether only the first lines fit: then the last line alone says more."""
        return len(chosen) < FEW and len(self._lines) - 1 not in chosen and not chosen & set(self._matter)

    def one(self, length: int, *, marked: bool = True) -> CutText:
        """Show one line, no more than so many characters of it: the first that tells of an error, or the last."""
        written = (at for at in range(len(self._lines) - 1, -1, -1) if self._lines[at].strip())
        at = next(iter(self._matter), next(written, 0))
        cut = self._told({at}, length)
        if marked:
            return cut
        text = _begun(self._lines[at], length)
        return replace(cut, text=text, tokens=self._price(text))

    def _worth_most(self) -> Iterator[int]:
        """Yield the lines that are shown before the others, the most telling first; of a long text there is no end."""
        last = len(self._lines) - 1
        # Where there is room for little, what went wrong says more than how it began and ended.
        yield from (*self._matter[:1], 0, last)
        yield from _from_both_ends(self._matter)
        for step in range(1, _AROUND + 1):
            for at in _from_both_ends(self._matter):
                yield from (near for near in (at + step, at - step) if 0 <= near <= last)
        # The frames nearest to an exception say most: Python writes them last.
        for trace in find_traces(self._lines, self._matter):
            yield from reversed(trace.lines) if trace.exceptions[-1] == trace.lines[-1] else trace.lines

    def _told(self, chosen: set[int], length: int = _LONGEST) -> CutText:
        shown, after, lines, numbers = [], 0, self._lines, self._numbers
        for at in sorted(chosen):
            number = numbers[at]
            if number > after:
                shown.append(_gap(number - after))
            shown.append(_begun(lines[at], length))
            after = number + 1
        if self._count > after:
            shown.append(_gap(self._count - after))
        text = "\n".join(shown) + ("\n" if self._ends and len(self._lines) - 1 in chosen else "")
        missing = self._count - len(chosen)
        lost = len(set(self._matter) - chosen) + self._lost_errors
        cost = self._price(text)
        return CutText(text, cost, False, len(chosen), missing, lost, partial(self._list_sections, chosen))

    def _list_sections(self, chosen: set[int]) -> str:
        # Where lines are not held, what is missing of which file is not known.
        sections = sections_of(self._lines) if self._whole else None
        missing = [at for at in range(len(self._lines)) if at not in chosen]
        told = "" if sections is None else sections.list_missing(missing)
        return told if len(told) < sum(len(self._lines[at]) for at in missing) else ""


def _gap(count: int) -> str:
    return f"… {counted(count, 'line')} …"


def _from_both_ends(places: Sequence[int]) -> Iterator[int]:
    """Return the first, the last, the second, the one before the last: both ends of a report say most."""
    return islice(chain.from_iterable(zip(places, reversed(places), strict=True)), len(places))


def _begun(line: str, length: int) -> str:
    # Lines are no longer than the longest already, but for what says how much of one is missing.
    return line if length == _LONGEST else cut_end(line, length)


def _shortened(lines: Sequence[str]) -> Sequence[str]:
    """Return lines whose long ones show their beginning and their end."""
    if max(map(len, lines), default=0) <= _LONGEST:
        return lines
    half = _LONGEST // 2
    return [
        line if len(line) <= _LONGEST else f"{line[:half]} … {len(line) - 2 * half:,} characters … {line[-half:]}"
        for line in lines
    ]


@cache
def _compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(map(re.compile, patterns))


def choose_by_characters(text: str) -> LineChoice:
    """Choose lines of a text by their characters."""
    return LineChoice(NumberedLines(_shortened(text.split("\n"))), Rules(), len)


def missing_lines(before: str, after: str) -> list[range]:
    """Return which lines a cut text lacks, by its marks; none where it was not cut at line ends."""
    lines, missing, at, end = before.split("\n"), list[range](), 0, 0
    for mark in _GAP.finditer(after):
        at += after.count("\n", end, mark.start())
        end = mark.start()
        if at < len(lines) and lines[at] == mark[0]:
            continue
        missing.append(range(at, at + int(mark[1].replace(",", ""))))
        # The mark stands for lines of which only the last one ends where it does.
        at = missing[-1].stop - 1
    at += after.count("\n", end) + 1
    return missing if at in {len(lines), len(lines) - 1} else []
