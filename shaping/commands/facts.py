"""The line of facts below a command's plain text: how it failed, what was redacted, what was cut and how to get it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from shaping.response import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shaping.commands.cut import CutOutputs
    from shaping.commands.process import ProcessExit
    from shaping.envelope import Envelope
    from shaping.errors import ErrorDetail
    from shaping.response import Warned
    from shaping.settings import Plan
    from shaping.store.files import ResultFile

# How much is said of a cut: its size and the way to the rest, the way alone, or only that something is cut.
FULL, REF_ONLY, BARE = range(3)
# Warnings that other facts state more shortly.
_STATED: Final = frozenset({"REDACTED", "ERRORS_CUT", "BUDGET"})


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What there is to say of a run besides its output: its error, its warnings, and the program's own envelope."""

    error: ErrorDetail | None
    warnings: Sequence[Warned]
    own: Envelope[Any] | None
    etag: str | None
    not_modified: bool

    @classmethod
    def of(cls, envelope: Envelope[Any], own: Envelope[Any] | None) -> RunFacts:
        """Take the facts from an envelope."""
        return cls(envelope.error, envelope.warnings, own, envelope.meta.etag, envelope.meta.not_modified)

    def words(self, ended: ProcessExit, plan: Plan) -> Iterator[str]:
        """List the failure, redactions, warnings, and what the program's own envelope says about its data."""
        if self.error is not None:
            yield _failure(self.error, self.own, ended, plan)
        if any(warned.code == "REDACTED" for warned in self.warnings):
            yield "secrets redacted"
        yield from (warned.message for warned in self.warnings if warned.code not in _STATED)
        if self.not_modified:
            yield "not modified"
        elif self.etag:
            yield f"etag {self.etag}"
        if self.own is not None:
            meta = self.own.meta
            if meta.truncated:
                yield f"there is more: --cursor {meta.cursor}" if meta.cursor else "there is more"
            if meta.request_id:
                yield f"request_id {meta.request_id}"
            yield from (str(hint) for hint in meta.upgrade_hints)


def cut_facts(
    cuts: CutOutputs, ref: str | None, dropped: int, notice: int, file: ResultFile | None = None, *, roomy: bool = True
) -> Iterator[str]:
    """Describe how much a budget or `drop_lines` left out of a text, and how to get it."""
    if cuts.whole and (ref is None or not dropped):
        return
    ask = f": shaping expand {ref}" if ref and notice != BARE else ""
    if file is not None and notice == FULL:
        ask = f"; {file}"
    if cuts.whole:
        yield f"{counted(dropped, 'line')} left out{ask}"
    elif notice != FULL:
        yield f"cut{ask}"
    else:
        missing = cuts.out.missing + cuts.err.missing
        lines = counted(missing + cuts.out.shown + cuts.err.shown, "line")
        errors = f", {cuts.missing_errors:,} of them errors" if cuts.missing_errors else ""
        sections = cuts.out.list_sections() if roomy else ""
        of_what = f" (of {sections})" if sections else ""
        yield f"{missing:,} of {lines} left out{errors}{of_what}{ask}"


def _failure(error: ErrorDetail, own: Envelope[Any] | None, ended: ProcessExit, plan: Plan) -> str:
    if own is not None and own.error is not None:
        return " ".join(filter(None, (f"{error.code}: {error.message}", error.hint)))
    if ended.timed_out:
        return error.message
    how = f"ended by {ended.signal}" if ended.signal else f"exit code {ended.exit_code}"
    return f"{how}: {error.code}" if ended.exit_code in dict(plan.exit_codes) else how
