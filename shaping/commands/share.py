"""The room of an answer shared between a command's two outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shaping.commands.cut import Cut, Cutter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shaping.commands.cut import Rules

_NOTHING = Cut("", 0)
_FEW: Final = 4  # lines that tell less than the room of a cursor would hold


@dataclass(frozen=True, slots=True)
class Cuts:
    """What is shown of either output."""

    out: Cut = _NOTHING
    err: Cut = _NOTHING

    @property
    def whole(self) -> bool:
        """Whether all that was printed is shown."""
        return self.out.whole and self.err.whole

    @property
    def meagre(self) -> bool:
        """Whether hardly a line of what was printed is shown."""
        return not self.whole and self.out.shown + self.err.shown < _FEW

    @property
    def missing_errors(self) -> int:
        """How many lines that tell of an error are not shown."""
        return self.out.missing_errors + self.err.missing_errors


class Share:
    """Both outputs of a command, cut to a room together."""

    def __init__(self, out: Cutter, err: Cutter, *, failed: bool) -> None:
        self._out, self._err, self._failed = out, err, failed

    @classmethod
    def of(
        cls, out: Sequence[str], err: Sequence[str], rules: Rules, price: Callable[[str], int], *, failed: bool
    ) -> Share:
        """Make the two ready to be cut."""
        return cls(Cutter(out, rules, price), Cutter(err, rules, price), failed=failed)

    def to(self, room: int | None) -> Cuts:
        """Share the room: what went wrong may take half of it, and each takes what the other leaves."""
        if room is None:
            return Cuts(self._out.to(None), self._err.to(None))
        err = self._err.to(room // (2 if self._failed else 4))
        out = self._out.to(room - err.tokens)
        return Cuts(out, err if err.whole else self._err.to(room - out.tokens))

    def err(self, room: int | None) -> Cut:
        """Cut what went to standard error alone."""
        return self._err.to(room)

    def least(self) -> Cuts:
        """Show one line, however little room there is: the one that tells most, of the output that does."""
        out, err = self._out.least(), self._err.least()
        first, second = (err, out) if self._failed else (out, err)
        one = first if first.shown else second
        return Cuts(_unless(out, one, self._out), _unless(err, one, self._err))


def _unless(least: Cut, one: Cut, cutter: Cutter) -> Cut:
    return least if least is one or least.whole else cutter.to(0)
