"""A command's envelope: data or text within its budget, a coded error where it failed, a ref to all that it printed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from shaping.commands.cut import Cut
from shaping.commands.making import Making
from shaping.commands.share import Cuts
from shaping.response import Warned, present
from shaping.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaping.commands.ran import Ran
    from shaping.envelope import Envelope
    from shaping.errors import ErrorDetail
    from shaping.parsers import Parsed
    from shaping.response import Shaped
    from shaping.settings import Plan
    from shaping.shaper import Shaper

_REF: Final = "r_" + "x" * 26  # as long as any ref, for the price of one
_CURSOR: Final = f"{_REF}:999999//stdout~{'xY' * 6}"  # the same for a cursor
_TRIES: Final = 8
_EDGES: Final = 4  # tokens that may come of text and envelope meeting
_BLANK: Final = Cuts(Cut("", 0, whole=False), Cut("", 0, whole=False))


def answer(shaper: Shaper, plan: Plan, ran: Ran) -> Envelope[Any]:
    """Make the envelope for a command that has ended."""
    return _Answer(shaper, plan, ran).made()


def ending(shaper: Shaper, plan: Plan, ran: Ran, data: Any) -> Envelope[Any]:
    """Make the envelope that closes a stream: how the command ended, and a ref to all that it printed."""
    return _Answer(shaper, replace(plan, parse=()), ran).ended(data)


def _own(shaped: Shaped, source: Envelope[Any]) -> Envelope[Any]:
    """Give the command's own envelope even where shaping is off or failed: how a command ended must not be lost."""
    envelope = shaped.envelope
    if envelope.meta.source == "command":
        return envelope
    return source.model_copy(update={"data": shaped.data, "warnings": (*source.warnings, *shaped.warnings)})


def _is_mute(envelope: Envelope[Any]) -> bool:
    return bool(envelope.meta.truncated) and envelope.data in ([], {}, "")


def _too_small(limit: int, shown: str) -> Warned:
    return Warned("BUDGET", f"max_tokens {limit} is too little for this envelope: {shown} is shown")


def _lost(count: int) -> list[Warned]:
    said = f"{count} line{' that tells' if count == 1 else 's that tell'} of errors did not fit the budget"
    return [Warned("ERRORS_CUT", said)] if count else []


class _Answer(Making):
    """One answer in the making."""

    def made(self) -> Envelope[Any]:
        if self._found is None:
            return self._of_text()
        return self._of_data(self._found) if self._error is None else self._of_failed_data(self._found, self._error)

    def ended(self, data: Any) -> Envelope[Any]:
        meta = {"ref": self._kept.text_ref} if self._ran.stdout.capture.size else {}
        if self._error is not None:
            return self._failed(self._error, data, self._stderr(2).text, meta, [])
        return self._envelope(data, None, meta, [], stderr=self._stderr(4).text)

    def _of_text(self) -> Envelope[Any]:
        envelope = self._cut(self._share.to(None))
        limit = self._plan.max_tokens
        # No text has more tokens than bytes: what is small by its bytes alone is never counted.
        if limit is None or self._bytes(envelope) <= limit or self._price(envelope) <= limit:
            return envelope
        # Where hardly a line has room beside the cursor, the ref alone leads to the rest.
        for terse in (False, True):
            cuts = self._fitted(limit, terse=terse)
            envelope = self._cut(cuts, terse=terse)
            if (terse or not cuts.meagre) and self._price(envelope) <= limit:
                return envelope
        return self._cut(self._share.least(), terse=True, warnings=[_too_small(limit, "only one line")])

    def _fitted(self, limit: int, *, terse: bool) -> Cuts:
        room = self._left(self._told(_BLANK, _REF, terse=terse), _EDGES) or 0
        cuts = self._share.to(room)
        for _ in range(_TRIES):
            over = self._price(self._cut(cuts, terse=terse)) - limit
            if over <= 0:
                break
            room = max(0, room - over - 1)
            cuts = self._share.to(room)
        return cuts

    def _cut(self, cuts: Cuts, *, terse: bool = False, warnings: Sequence[Warned] = ()) -> Envelope[Any]:
        exact = self._out.exact and self._err.exact and cuts.whole
        return self._told(cuts, None if exact else self._kept.text_ref, terse=terse, warnings=warnings)

    def _told(self, cuts: Cuts, ref: str | None, *, terse: bool, warnings: Sequence[Warned] = ()) -> Envelope[Any]:
        """Put text into an envelope: as data, or into the error where there is one."""
        dropped = self._out.dropped + self._err.dropped
        meta: dict[str, Any] = {} if ref is None else {"ref": ref}
        if not cuts.whole:
            meta["truncated"] = True
            meta["cursor"] = None if terse else self._cursor(ref, cuts.out.text)
        if dropped and ref is not None and not terse:
            # What was cut shows in its place; what a rule dropped does not.
            meta["omissions"] = f"left out: {counted(dropped, 'line')} by drop_lines"
        told = [*warnings, *_lost(cuts.missing_errors)]
        out, err = cuts.out.text, cuts.err.text
        if self._error is not None:
            return self._failed(self._error, {"stdout": out} if out else {}, err, meta, told)
        value = {name: text for name, text in (("stdout", out), ("stderr", err)) if text}
        return self._shaped_text(value or {"stdout": ""}, meta, told)

    def _cursor(self, ref: str | None, shown: str) -> str | None:
        return _CURSOR if ref == _REF else self._kept.cursor(ref, shown)

    def _shaped_text(self, value: dict[str, str], meta: dict[str, Any], warnings: list[Warned]) -> Envelope[Any]:
        # The text is cut already, and field rules are for data.
        plan = replace(self._plan, fields=None, error_fields=None, private=None, noise=(), max_tokens=None)
        source = self._envelope(value, None, meta, warnings)
        return _own(self._shaper.shape_by(plan, value, source=source, if_none_match=self._ran.asked.etag), source)

    def _of_data(self, found: Parsed) -> Envelope[Any]:
        said = self._stderr(4)
        source = self._envelope(found.value, None, {}, [], stderr=said.text)
        shaped = self._shaped_data(found.value, source)
        envelope = _own(shaped, source)
        whole = found.exact and shaped.data == found.value and self._err.exact and said.whole
        ref = envelope.meta.ref or (None if whole or envelope.meta.not_modified else shaped.ref)
        self._kept.streams(ref)
        meta = envelope.meta.model_copy(update=self._kept.members(envelope, ref))
        return self._never_mute(envelope.model_copy(update={"meta": meta}))

    def _shaped_data(self, value: Any, source: Envelope[Any]) -> Shaped:
        """Shape data, with room for a ref and a cursor that carries it; for the ref alone where nothing else fits."""
        shaped = None
        for spare in (0,) if self._plan.dialect == "none" else (40, 22):
            plan = replace(self._plan, max_tokens=self._less(spare))
            shaped = self._shaper.shape_by(plan, value, source=source, if_none_match=self._ran.asked.etag)
            if not _is_mute(shaped.envelope):
                break
        return present(shaped)

    def _never_mute(self, envelope: Envelope[Any]) -> Envelope[Any]:
        limit = self._plan.max_tokens
        if limit is None or not _is_mute(envelope):
            return envelope
        told = envelope.model_copy(update={"warnings": (*envelope.warnings, _too_small(limit, "none of the data"))})
        # A warning must not be what goes over a budget that the rest keeps.
        return told if not self._price(envelope) <= limit < self._price(told) else envelope

    def _of_failed_data(self, found: Parsed, error: ErrorDetail) -> Envelope[Any]:
        """Put the data of a command that failed into its error, shaped by the same rules."""
        said = self._stderr(2)
        bare = self._failed(error, {"stdout": None}, said.text, {"ref": _REF}, [])
        plan = replace(self._plan, fields=self._plan.error_fields, dialect="none", max_tokens=self._left(bare))
        shaped = self._shaper.shape_by(plan, found.value)
        told = shaped.envelope.meta
        whole = found.exact and shaped.data == found.value and self._err.exact and said.whole
        ref = told.ref or (None if whole else shaped.ref)
        meta = self._kept.members(shaped.envelope, ref)
        self._kept.streams(ref)
        meta |= {"truncated": told.truncated, "omissions": told.omissions}
        # A program that speaks the contract says by null that there is nothing beside its error.
        details = {} if self._contract and found.value is None else {"stdout": shaped.data}
        return self._failed(error, details, said.text, meta, list(shaped.warnings))
