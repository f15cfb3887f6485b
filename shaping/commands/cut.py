"""Both outputs of a command cut to one number of tokens, and what is said of the cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shaping.budget.lines import FEW, Cutter, CutText
from shaping.response import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shaping.store.files import ResultFile

# How much is said of a cut: its size and the way to the rest, the way alone, or only that something is cut.
FULL, REF_ONLY, BARE = range(3)
_NOTHING = CutText("", 0)


@dataclass(frozen=True, slots=True)
class CutOutputs:
    """What is shown of either output."""

    out: CutText = _NOTHING
    err: CutText = _NOTHING

    @property
    def whole(self) -> bool:
        """Whether all that was printed is shown."""
        return self.out.whole and self.err.whole

    @property
    def meagre(self) -> bool:
        """Whether hardly a line of what was printed is shown."""
        return not self.whole and self.out.shown + self.err.shown < FEW

    @property
    def missing_errors(self) -> int:
        """How many lines that report an error are not shown."""
        return self.out.missing_errors + self.err.missing_errors

    def describe(
        self, ref: str | None, dropped: int, notice: int, file: ResultFile | None = None, *, roomy: bool = True
    ) -> Iterator[str]:
        """Describe how much a budget or `drop_lines` left out of a text, and how to get it."""
        if self.whole and (ref is None or not dropped):
            return
        ask = f": shaping expand {ref}" if ref and notice != BARE else ""
        if file is not None and notice == FULL:
            ask = f"; {file}"
        if self.whole:
            yield f"{counted(dropped, 'line')} left out{ask}"
        elif notice != FULL:
            yield f"cut{ask}"
        else:
            missing = self.out.missing + self.err.missing
            lines = counted(missing + self.out.shown + self.err.shown, "line")
            errors = f", {self.missing_errors:,} of them errors" if self.missing_errors else ""
            sections = self.out.list_sections() if roomy else ""
            of_what = f" (of {sections})" if sections else ""
            yield f"{missing:,} of {lines} left out{errors}{of_what}{ask}"


class OutputCutter:
    """Cuts both outputs of a command to one number of tokens."""

    def __init__(self, out: Cutter, err: Cutter, *, failed: bool) -> None:
        self._out, self._err, self._failed = out, err, failed

    def to(self, room: int | None) -> CutOutputs:
        """Share the room: standard error gets half after a failure, else a quarter; each takes what is left."""
        if room is None:
            return CutOutputs(self._out.to(None), self._err.to(None))
        err = self._err.to(room // (2 if self._failed else 4))
        out = self._out.to(room - err.tokens)
        return CutOutputs(out, err if err.whole else self._err.to(room - out.tokens))

    def least(self) -> CutOutputs:
        """Show the most important line of either output, however little room there is."""
        out, err = self._out.least(), self._err.least()
        first, second = (err, out) if self._failed else (out, err)
        one = first if first.shown else second
        return CutOutputs(_unless(out, one, self._out), _unless(err, one, self._err))


def _unless(least: CutText, one: CutText, cutter: Cutter) -> CutText:
    return least if least is one or least.whole else cutter.to(0)
