"""A command's answer as it goes out: the envelope in its wire form, or the two outputs alone."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.cleaning.redact import replaced
from shaping.commands.cut import CutOutputs, CutText, OutputCutter, Rules, price
from shaping.commands.errors import TIMED_OUT, error_of
from shaping.commands.output import CleanedOutput, Finished, read
from shaping.commands.storage import StoredOutput
from shaping.envelope import command_envelope
from shaping.errors.detail import scrub_value
from shaping.parsers import Parsed, parse
from shaping.paths.selection import unmatched
from shaping.redaction import redact_text
from shaping.response import CallContext, Warned, counted, required
from shaping.settings.context import mode
from shaping.tokens import counter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaping.commands.output import Finished
    from shaping.envelope import Envelope
    from shaping.errors import ErrorDetail
    from shaping.response import Shaped
    from shaping.settings import Plan
    from shaping.shaper import Shaper


def render_wire(envelope: Envelope[Any], plan: Plan) -> Any:
    """Write an envelope as the plan says."""
    # Where there is an etag, somebody asked for it.
    return envelope.render(plan.dialect, include=plan.envelope | {"etag"}, debug=plan.debug)


def plain_outputs(envelope: Envelope[Any]) -> tuple[str, str]:
    """Give what the dialect `none` prints: standard output, and what is said beside it."""
    error = envelope.error
    stdout: Any = envelope.data if error is None else (error.details or {}).get("stdout")
    stderr = None if error is None else error.detail or error.message + "\n"
    if isinstance(stdout, dict) and stdout.keys() <= {"stdout", "stderr"}:
        stdout, stderr = stdout.get("stdout"), stdout.get("stderr") or stderr
    if stdout is None or isinstance(stdout, str):
        return stdout or "", stderr or ""
    return orjson.dumps(stdout).decode() + "\n", stderr or ""


def rendered_text(envelope: Envelope[Any], plan: Plan) -> str:
    """Give all that is read of an answer, which is what its budget is for."""
    if plan.dialect == "none":
        return "".join(plain_outputs(envelope))
    return orjson.dumps(render_wire(envelope, plan)).decode()


_CONTRACT = frozenset({"ok", "data", "error", "warnings", "meta"})


def _follows_contract(value: Any) -> bool:
    """Whether a program printed the invariant envelope, so that its exit codes are those of our registry."""
    return isinstance(value, dict) and value.keys() == _CONTRACT and isinstance(value["meta"], dict)


def _clean(contract: dict[str, Any]) -> dict[str, Any]:
    """Take the secrets out of what a program says of itself; its data goes the way of all data."""
    return {name: said if name == "data" else scrub_value(said) for name, said in contract.items()}


class _Parts:
    """One command that has ended, ready to be answered for."""

    def __init__(self, shaper: Shaper, plan: Plan, ran: Finished) -> None:
        if mode() == "off":
            plan = replace(plan, max_tokens=None, keep_lines=(), drop_lines=())
        self._shaper, self._plan, self._ran = shaper, plan, ran
        self._rules = Rules.of(plan)
        self._counter = counter(plan.tokenizer)
        self._err = read(ran.stderr.capture, plan, self._rules)
        found = self._recognised()
        self._contract = _clean(found.value) if found and _follows_contract(found.value) else None
        self._found = Parsed(self._contract["data"], "json") if self._contract else found
        self._out = read(ran.stdout.capture, plan, self._rules) if found is None else CleanedOutput([])
        self._error = error_of(ran.ended, plan, ran.tool, self._err.lines, self._contract)
        failed = self._error is not None
        count = self._counter.exact if plan.dialect == "none" else partial(price, counter=self._counter)
        self._share = OutputCutter.of(self._out.lines, self._unsaid(), self._rules, count, failed=failed)
        self._kept = StoredOutput(shaper, plan, ran)

    def _recognised(self) -> Parsed | None:
        capture = self._ran.stdout.capture
        return parse(capture.text(), self._plan.parse) if capture.whole and capture.size else None

    def _unsaid(self) -> list[str]:
        """Give the lines of standard error, but for one that the message of the error already tells."""
        said = "\n".join(self._err.lines).strip()
        told = self._error is not None and "\n" not in said and said != "" and self._error.message.endswith(said)
        return [""] if told else self._err.lines

    def _failed(
        self, error: ErrorDetail, details: dict[str, Any], said: str, meta: dict[str, Any], warnings: list[Warned]
    ) -> Envelope[Any]:
        partial = error.code == "PARTIAL_FAILURE" and details
        update: dict[str, Any] = {"detail": said or None}
        if details and not partial:
            update["details"] = {**(error.details or {}), **details}
        data = details.get("stdout") if partial else None
        data = {"stdout": data} if isinstance(data, str) else data
        return self._envelope(data, error.model_copy(update=update), meta, warnings)

    def _stderr(self, share: int) -> CutText:
        room = None if self._plan.max_tokens is None else self._plan.max_tokens // share
        # What is small by its bytes alone is never counted.
        small = room is None or sum(len(line) for line in self._err.lines) * 4 <= room
        return self._share.err(None if small else room)

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
            replaced(rule, name)
            for name, one in (("stdout", self._out), ("stderr", self._err))
            for rule in dict.fromkeys(one.redacted)
        ]
        if self._ran.ended.left_open:
            told.append(Warned("LEFT_OPEN", "something it started still runs with its outputs open; they were let go"))
        if self._found is None and self._plan.fields is not None and self._out.lines != [""]:
            told.append(Warned("NOT_DATA", "the output is text: rules for fields do not apply to it"))
        if self._found is not None and self._ran.asked.fields:
            told += [Warned("NO_SUCH_FIELD", said) for said in self._unmatched]
        if self._contract:
            told += [Warned("", str(said)) for said in self._contract["warnings"] or ()]
        return [*self._shaper.warnings, *told, *self._kept.warnings]

    @cached_property
    def _unmatched(self) -> list[str]:

        value = None if self._found is None else self._found.value
        return unmatched(value, self._ran.asked.fields, self._plan.private)

    def _left(self, bare: Envelope[Any], spare: int = 24) -> int | None:
        limit = self._plan.max_tokens
        if limit is None:
            return None
        # Where the envelope is next to nothing, its bytes will do for its tokens, and no vocabulary is loaded.
        size = self._bytes(bare)
        return max(1, limit - (size if size * 8 <= limit else self._price(bare)) - spare)

    def _less(self, tokens: int) -> int | None:
        limit = self._plan.max_tokens
        return None if limit is None else max(1, limit - tokens)

    def _price(self, envelope: Envelope[Any]) -> int:
        return self._counter.exact(self._written(envelope))

    def _bytes(self, envelope: Envelope[Any]) -> int:
        return len(self._written(envelope).encode())

    def _written(self, envelope: Envelope[Any]) -> str:
        return rendered_text(envelope, self._plan)


_REF: Final = "r_" + "x" * 26  # as long as any ref, for the price of one
_CURSOR: Final = f"{_REF}:999999//stdout~{'xY' * 6}"  # the same for a cursor
_TRIES: Final = 8
_EDGES: Final = 4  # tokens that may come of text and envelope meeting
_BLANK: Final = CutOutputs(CutText("", 0, whole=False), CutText("", 0, whole=False))


def respond(shaper: Shaper, plan: Plan, ran: Finished) -> Envelope[Any]:
    """Make the envelope for a command that has ended."""
    return _Response(shaper, plan, ran).made()


def respond_to_stream(shaper: Shaper, plan: Plan, ran: Finished, data: Any) -> Envelope[Any]:
    """Make the envelope that closes a stream: how the command ended, and a ref to all that it printed."""
    return _Response(shaper, replace(plan, parse=()), ran).ended(data)


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


class _Response(_Parts):
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

    def _fitted(self, limit: int, *, terse: bool) -> CutOutputs:
        room = self._left(self._told(_BLANK, _REF, terse=terse), _EDGES) or 0
        cuts = self._share.to(room)
        for _ in range(_TRIES):
            over = self._price(self._cut(cuts, terse=terse)) - limit
            if over <= 0:
                break
            room = max(0, room - over - 1)
            cuts = self._share.to(room)
        return cuts

    def _cut(self, cuts: CutOutputs, *, terse: bool = False, warnings: Sequence[Warned] = ()) -> Envelope[Any]:
        exact = self._out.exact and self._err.exact and cuts.whole
        return self._told(cuts, None if exact else self._kept.text_ref, terse=terse, warnings=warnings)

    def _told(
        self, cuts: CutOutputs, ref: str | None, *, terse: bool, warnings: Sequence[Warned] = ()
    ) -> Envelope[Any]:
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
        return _own(self._shaper.shape_by(plan, value, self._context(source)), source)

    def _context(self, source: Envelope[Any]) -> CallContext:
        return CallContext(source=source, if_none_match=self._ran.asked.etag)

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
            shaped = self._shaper.shape_by(plan, value, self._context(source))
            if not _is_mute(shaped.envelope):
                break
        return required(shaped)

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
