"""A command's envelope: data or text within its budget, a coded error where it failed, a ref to all that it printed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.context import mode
from shaping.envelope import command_envelope
from shaping.redaction import redact_text
from shaping.surfaces.command.cut import Cut, Cutter, Rules
from shaping.surfaces.command.faults import TIMED_OUT, fault_of
from shaping.surfaces.command.kept import Kept
from shaping.surfaces.command.ran import Ran, Read, read
from shaping.surfaces.command.recognise import Found, recognise, speaks_contract
from shaping.tokens import counter
from shaping.types import Warned

if TYPE_CHECKING:
    from shaping.envelope import Envelope
    from shaping.errors import ErrorDetail
    from shaping.settings import Plan
    from shaping.shaper import Shaper
    from shaping.types import Shaped

_REF: Final = "r_" + "x" * 26  # as long as any ref, for the price of one
_TRIES: Final = 8


def answer(shaper: Shaper, plan: Plan, ran: Ran) -> Envelope[Any]:
    """Make the envelope for a command that has ended."""
    return _Answer(shaper, plan, ran).made()


def ending(shaper: Shaper, plan: Plan, ran: Ran, data: Any) -> Envelope[Any]:
    """Make the envelope that closes a stream: how the command ended, and a ref to all that it printed."""
    return _Answer(shaper, replace(plan, parse=()), ran).ended(data)


def wire_of(envelope: Envelope[Any], plan: Plan) -> Any:
    """Write an envelope as the plan says."""
    # Where there is an etag, somebody asked for it.
    return envelope.render(plan.dialect, include=plan.envelope | {"etag"}, debug=plan.debug)


def _own(shaped: Shaped, source: Envelope[Any]) -> Envelope[Any]:
    """Give the command's own envelope even where shaping is off or failed: how a command ended must not be lost."""
    envelope = shaped.envelope
    if envelope.meta.source == "command":
        return envelope
    return source.model_copy(update={"data": shaped.data, "warnings": (*source.warnings, *shaped.warnings)})


class _Answer:
    """One answer in the making."""

    def __init__(self, shaper: Shaper, plan: Plan, ran: Ran) -> None:
        if mode() == "off":
            plan = replace(plan, max_tokens=None, keep_lines=(), drop_lines=())
        self._shaper, self._plan, self._ran = shaper, plan, ran
        self._rules = Rules.of(plan)
        self._counter = counter(plan.tokenizer)
        self._err = read(ran.stderr.capture, plan, self._rules)
        found = self._recognised()
        self._contract = found.value if found and speaks_contract(found.value) else None
        self._found = Found(self._contract["data"], "json") if self._contract else found
        self._out = read(ran.stdout.capture, plan, self._rules) if found is None else Read([])
        self._cut_out, self._cut_err = (Cutter(one.lines, self._rules, self._counter) for one in (self._out, self._err))
        self._error = fault_of(ran.ended, plan, ran.tool, self._err.lines, self._contract)
        self._kept = Kept(shaper, plan, ran)

    def made(self) -> Envelope[Any]:
        if self._found is None:
            return self._of_text()
        return self._of_data(self._found) if self._error is None else self._of_failed_data(self._found, self._error)

    def ended(self, data: Any) -> Envelope[Any]:
        meta = {"ref": self._kept.text_ref()} if self._ran.stdout.capture.size else {}
        if self._error is not None:
            return self._failed(self._error, data, self._stderr(2).text, meta, [])
        return self._envelope(data, None, meta, [], stderr=self._stderr(4).text)

    def _recognised(self) -> Found | None:
        capture = self._ran.stdout.capture
        return recognise(capture.text(), self._plan.parse) if capture.whole and capture.size else None

    def _of_text(self) -> Envelope[Any]:
        envelope = self._cut_to(None)
        limit = self._plan.max_tokens
        # No text has more tokens than bytes: what is small by its bytes alone is never counted.
        if limit is None or len(self._written(envelope)) <= limit or self._price(envelope) <= limit:
            return envelope
        room = self._left(self._told(Cut("", 0), Cut("", 0), _REF)) or 0
        for _ in range(_TRIES):
            envelope = self._cut_to(room)
            over = self._price(envelope) - limit
            if over <= 0:
                break
            room = max(0, room - over - 1)
        return envelope

    def _cut_to(self, room: int | None) -> Envelope[Any]:
        out, err = self._cuts(room)
        exact = self._out.exact and self._err.exact and out.whole and err.whole
        return self._told(out, err, None if exact else self._kept.text_ref())

    def _cuts(self, room: int | None) -> tuple[Cut, Cut]:
        """Share the room: what went wrong may take half of it, and each takes what the other leaves."""
        if room is None:
            return self._cut_out.to(None), self._cut_err.to(None)
        err = self._cut_err.to(room // (4 if self._error is None else 2))
        out = self._cut_out.to(room - err.tokens)
        return out, err if err.whole else self._cut_err.to(room - out.tokens)

    def _told(self, out: Cut, err: Cut, ref: str | None) -> Envelope[Any]:
        """Put text into an envelope: as data, or into the error where there is one."""
        dropped = self._out.dropped + self._err.dropped
        meta: dict[str, Any] = {} if ref is None else {"ref": ref}
        if not (out.whole and err.whole):
            meta["truncated"] = True
            meta["cursor"] = self._kept.cursor(ref, out.text) if ref not in (None, _REF) else None
        if dropped and ref is not None:
            # What was cut shows in its place; what a rule dropped does not.
            meta["omissions"] = f"left out: {dropped:,} line{'' if dropped == 1 else 's'} by drop_lines"
        lost = out.missing_errors + err.missing_errors
        warnings = [Warned("ERRORS_CUT", f"{lost} lines that tell of errors did not fit the budget")] if lost else []
        if self._error is not None:
            return self._failed(self._error, {"stdout": out.text} if out.text else {}, err.text, meta, warnings)
        value = {name: text for name, text in (("stdout", out.text), ("stderr", err.text)) if text}
        return self._shaped_text(value or {"stdout": ""}, meta, warnings)

    def _shaped_text(self, value: dict[str, str], meta: dict[str, Any], warnings: list[Warned]) -> Envelope[Any]:
        # The text is cut already, and field rules are for data.
        plan = replace(self._plan, fields=None, error_fields=None, private=None, noise=(), max_tokens=None)
        source = self._envelope(value, None, meta, warnings)
        return _own(self._shaper.shape_by(plan, value, source=source, if_none_match=self._ran.asked.etag), source)

    def _of_data(self, found: Found) -> Envelope[Any]:
        said = self._stderr(4)
        source = self._envelope(found.value, None, {}, [], stderr=said.text)
        plan = replace(self._plan, max_tokens=self._less(40))
        shaped = self._shaper.shape_by(plan, found.value, source=source, if_none_match=self._ran.asked.etag)
        envelope = _own(shaped, source)
        whole = found.exact and shaped.data == found.value and self._err.exact and said.whole
        ref = envelope.meta.ref or (None if whole or envelope.meta.not_modified else shaped.ref)
        self._kept.streams(ref)
        return envelope.model_copy(update={"meta": envelope.meta.model_copy(update=self._kept.members(envelope, ref))})

    def _of_failed_data(self, found: Found, error: ErrorDetail) -> Envelope[Any]:
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
        return self._failed(error, {"stdout": shaped.data}, said.text, meta, list(shaped.warnings))

    def _failed(
        self, error: ErrorDetail, details: dict[str, Any], said: str, meta: dict[str, Any], warnings: list[Warned]
    ) -> Envelope[Any]:
        partial = error.code == "PARTIAL_FAILURE" and details
        # One line that the message already tells is not told twice.
        told = said.strip() != "" and said == said.strip() + "\n" and error.message.endswith(said.strip())
        update: dict[str, Any] = {"detail": None if told else said or None}
        if details and not partial:
            update["details"] = {**(error.details or {}), **details}
        data = details.get("stdout") if partial else None
        data = {"stdout": data} if isinstance(data, str) else data
        return self._envelope(data, error.model_copy(update=update), meta, warnings)

    def _stderr(self, share: int) -> Cut:
        room = None if self._plan.max_tokens is None else self._plan.max_tokens // share
        # What is small by its bytes alone is never counted.
        small = room is None or sum(len(line) for line in self._err.lines) * 4 <= room
        return self._cut_err.to(None if small else room)

    def _envelope(
        self,
        data: Any,
        error: ErrorDetail | None,
        meta: dict[str, Any],
        warnings: list[Warned],
        stderr: str | None = None,
    ) -> Envelope[Any]:
        ended, asked = self._ran.ended, self._ran.asked
        code = TIMED_OUT if ended.timed_out else ended.exit_code
        extensions = {"exit_code": code, "signal": ended.signal, "stderr": stderr or None}
        return command_envelope(
            data,
            exit_code=code,
            argv=[redact_text(word)[0] for word in asked.argv],
            signal=ended.signal,
            error=error,
            warnings=[*self._warnings(), *warnings],
            duration_ms=ended.duration_ms,
            tool_id=self._ran.tool,
            config_hash=self._plan.config_hash,
            extensions={name: value for name, value in extensions.items() if value is not None},
            **meta,
        )

    def _warnings(self) -> list[Warned]:
        told = [
            Warned("REDACTED", f"a value matched the rule {rule} and was replaced", name)
            for name, one in (("stdout", self._out), ("stderr", self._err))
            for rule in dict.fromkeys(one.redacted)
        ]
        if self._ran.ended.left_open:
            told.append(Warned("LEFT_OPEN", "something it started still runs with its outputs open; they were let go"))
        if self._found is None and self._plan.fields is not None and self._out.lines != [""]:
            told.append(Warned("NOT_DATA", "the output is text: rules for fields do not apply to it"))
        if self._contract:
            told += [Warned("", str(said)) for said in self._contract["warnings"] or ()]
        return [*told, *self._kept.warnings]

    def _left(self, bare: Envelope[Any]) -> int | None:
        limit = self._plan.max_tokens
        if limit is None:
            return None
        # Where the envelope is next to nothing, its bytes will do for its tokens, and no vocabulary is loaded.
        size = len(self._written(bare))
        return max(1, limit - (size if size * 8 <= limit else self._price(bare)) - 24)

    def _less(self, tokens: int) -> int | None:
        limit = self._plan.max_tokens
        return None if limit is None else max(1, limit - tokens)

    def _price(self, envelope: Envelope[Any]) -> int:
        return self._counter.exact(self._written(envelope).decode())

    def _written(self, envelope: Envelope[Any]) -> bytes:
        return orjson.dumps(wire_of(envelope, self._plan))
