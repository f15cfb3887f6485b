"""Both outputs of a command, cut to one number of tokens."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from shaping.budget.lines import CutText
from shaping.present.notices import Detail
from shaping.tokens.sampling import is_within

if TYPE_CHECKING:
    from collections.abc import Callable

    from shaping.budget.lines import Cutter
    from shaping.commands.output import CommandResponse

_TRIES: Final = 8  # until what is said of cut lines fits beside them
_NOTHING: Final = CutText("", 0, whole=False)


@dataclass(frozen=True, slots=True)
class CutOutputs:
    """What is shown of either output."""

    out: CutText
    err: CutText

    @property
    def both(self) -> CutText:
        """The counts of both; the sections are those of standard output."""
        out, err = self.out, self.err
        return CutText(
            "",
            out.tokens + err.tokens,
            out.whole and err.whole,
            out.shown + err.shown,
            out.missing + err.missing,
            out.missing_errors + err.missing_errors,
            out.list_sections,
        )


class OutputCutter:
    """Cuts both outputs of a command to one number of tokens; `short` is standard output where all of it is shown."""

    def __init__(self, out: Cutter, err: Cutter, *, failed: bool, short: Callable[[], str] | None = None) -> None:
        self._out, self._err, self._failed, self._short = out, err, failed, short

    def to(self, room: int | None) -> CutOutputs:
        """Share the room: standard error gets its share at most, and each takes what the other leaves."""
        if room is None:
            out, err = self._out.to(None), self._err.to(None)
            return CutOutputs(replace(out, text=self._short()) if self._short and out.whole else out, err)
        err = self._err.to(stderr_share(room, failed=self._failed))
        out = self._out.to(room - err.tokens)
        return CutOutputs(out, err if err.whole else self._err.to(room - out.tokens))

    def least(self) -> CutOutputs:
        """Show the most important line of either output, however little room there is."""
        out, err = self._out.least(), self._err.least()
        first, second = (err, out) if self._failed else (out, err)
        one = first if first.shown else second
        return CutOutputs(_unless(out, one, self._out), _unless(err, one, self._err))


def stderr_share(room: int, *, failed: bool) -> int:
    """Return the share of standard error: half after a failure, else a quarter."""
    return room // (2 if failed else 4)


def _unless(least: CutText, one: CutText, cutter: Cutter) -> CutText:
    return least if least is one or least.whole else cutter.to(0)


def fit_outputs(
    cutter: OutputCutter,
    limit: int | None,
    exact: Callable[[str], int],
    respond: Callable[[CutOutputs, Detail], CommandResponse],
    *,
    plain: bool,
) -> CommandResponse:
    """Try cuts of lines until one fits with what the response says of it."""
    whole = respond(cutter.to(None), Detail.FULL)
    if limit is None or is_within(whole.printed, limit, exact):
        return whole
    # Where there is hardly room for a line besides counts and a cursor, less is said of the cut.
    for detail in Detail:
        room = limit
        for tried in range(_TRIES):
            cuts = cutter.to(room)
            response, cut = respond(cuts, detail), cuts.both
            over = exact(response.printed) - limit
            if detail == Detail.FULL and cut.meagre:
                break
            if over <= 0:
                return response
            # What a cut leaves of its room, because no line is that short, the next one leaves again at first.
            room = max(0, (cut.tokens if tried or cut.whole else room) - over)
    # A line of text is worth more than a budget that holds none; plain text needs no line to say that it is cut.
    return respond(CutOutputs(_NOTHING, _NOTHING) if plain else cutter.least(), Detail.BARE)
