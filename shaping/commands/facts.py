"""The line of facts below a command's plain text: what the text itself does not say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shaping.response import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shaping.commands.cut import CutOutputs
    from shaping.commands.process import ProcessExit
    from shaping.envelope import Envelope
    from shaping.errors import ErrorDetail
    from shaping.settings import Plan
    from shaping.store.files import ResultFile

# How much is said of a cut: its size and the way to the rest, the way alone, or only that something is cut.
FULL, REF_ONLY, BARE = range(3)
# Warnings that other facts state more shortly.
_STATED: Final = frozenset({"REDACTED", "ERRORS_CUT", "BUDGET"})


def facts_of(envelope: Envelope[Any], own: Envelope[Any] | None, ended: ProcessExit, plan: Plan) -> Iterator[str]:
    """List the failure, redactions, warnings, and what the program's own envelope says about its data."""
    if envelope.error is not None:
        yield _failure(envelope.error, own, ended, plan)
    if any(warned.code == "REDACTED" for warned in envelope.warnings):
        yield "secrets redacted"
    yield from (warned.message for warned in envelope.warnings if warned.code not in _STATED)
    meta = envelope.meta
    if meta.not_modified:
        yield "not modified"
    elif meta.etag:
        yield f"etag {meta.etag}"
    if own is not None:
        if own.meta.truncated:
            yield f"there is more: --cursor {own.meta.cursor}" if own.meta.cursor else "there is more"
        if own.meta.request_id:
            yield f"request_id {own.meta.request_id}"
        yield from (str(hint) for hint in own.meta.upgrade_hints)


def cut_facts(
    cuts: CutOutputs, ref: str | None, dropped: int, notice: int, file: ResultFile | None = None
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
        yield f"{missing:,} of {lines} left out{errors}{ask}"


def _failure(error: ErrorDetail, own: Envelope[Any] | None, ended: ProcessExit, plan: Plan) -> str:
    if own is not None and own.error is not None:
        return " ".join(filter(None, (f"{error.code}: {error.message}", error.hint)))
    if ended.timed_out:
        return error.message
    how = f"ended by {ended.signal}" if ended.signal else f"exit code {ended.exit_code}"
    return f"{how}: {error.code}" if ended.exit_code in dict(plan.exit_codes) else how
