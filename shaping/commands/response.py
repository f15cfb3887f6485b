"""A command's response within its token budget: plain text as the command wrote it, or an envelope."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping import envelope as envelopes
from shaping.budget.lines import Cutter, CutText, NumberedLines
from shaping.cleaning import may_be_envelope, replaced, unmatched
from shaping.cleaning.call import clean_envelope
from shaping.commands.failure import error_of, not_started
from shaping.commands.output import (
    BARE,
    FULL,
    LEFT_OPEN,
    REF_ONLY,
    CleanedOutput,
    CleanedOutputs,
    CommandResponse,
    CutOutputs,
    Finished,
    Invocation,
    OutputCutter,
    protected_text,
    within_tokens,
)
from shaping.commands.storage import OutputStore, PartWriter, StoredOutput
from shaping.errors.texts import scrub_value
from shaping.parsers import Parsed
from shaping.present.notices import ROOMY
from shaping.present.wrap import tag_of
from shaping.redaction import redact_text
from shaping.response import CallContext, Shaped, Warned, counted
from shaping.shaper import Shaper, for_rows
from shaping.store.files import ResultFile, result_file, results_folder
from shaping.tokens import cheap, counter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from os import PathLike

    from shaping.commands.process import NotStartedError, ProcessExit
    from shaping.envelope import Envelope
    from shaping.errors import ErrorDetail
    from shaping.settings import Plan


_REF: Final = "r_" + "x" * 26  # a placeholder as long as any ref, to price a response before it is stored
_CURSOR: Final = f"{_REF}:999999//stdout~{'xY' * 6}"
_TRIES: Final = 8
_REF_AND_CURSOR: Final = 40  # tokens
_SPARE: Final = 4  # tokens that may be added where text and envelope join
_NO_TEXT: Final = CutOutputs(CutText("", 0, whole=False), CutText("", 0, whole=False))
# A form that loses the layout must save this much; JSON and its like need only not be dearer.
_TABLE_PAYS: Final = 0.85
_SURE: Final = 1.3  # by how much a guess of tokens must differ, for two writings of the same data
# What the meta of a program's own envelope says about its data, and is passed on.
_PASSED_ON: Final = (
    "request_id", "session_id", "schema_version", "not_modified", "truncated", "shown", "cursor", "ref", "etag",
    "tool_version", "tier", "capabilities", "upgrade_hints", "omissions", "extensions",
)  # fmt: skip


# Warnings that other facts state more shortly, or that were logged to standard error when the config was read.
_STATED: Final = frozenset({"REDACTED", "ERRORS_CUT", "BAD_CONFIG"})


def make_shaper(config: str | PathLike[str] | None, environ: Mapping[str, str]) -> Shaper:
    """Make the shaper of one command."""
    return Shaper(config, expandable=True, watch=False, environ=environ)


def respond(shaper: Shaper, plan: Plan, cleaned: CleanedOutputs, parsed: Parsed | None) -> CommandResponse:
    """Return the response of a command that has ended; `parsed` is the data that it printed, where it did."""
    if plan.enabled or plan.dialect != "none":
        return _Response(shaper, plan, cleaned, parsed).respond()
    in_envelope, finished = replace(plan, dialect="invariant"), cleaned.finished
    return CommandResponse(
        lambda: _Response(shaper, in_envelope, cleaned, parsed).respond().envelope,
        finished.ended.exit_code,
        protected_text(finished.stdout.text(), plan),
        protected_text(finished.stderr.text(), plan),
    )


def respond_to_stream(shaper: Shaper, plan: Plan, finished: Finished, data: Any) -> Envelope[Any]:
    """Return the envelope that ends a stream: how the command ended, and a ref to all that it printed."""
    return _Response(shaper, plan, CleanedOutputs(finished, plan, off=shaper.mode == "off"), None).end_of_stream(data)


def not_started_response(problem: NotStartedError, invocation: Invocation, plan: Plan) -> CommandResponse:
    """Return the response for a command that could not be started."""
    error, code = not_started(problem.__cause__, invocation.argv, invocation.environ)
    envelope = envelopes.command_envelope(
        None, exit_code=code, argv=invocation.argv[:1], error=error, duration_ms=0, extensions={"exit_code": code}
    )
    if plan.dialect == "none":
        words = f"{error.message}. {error.hint or ''}".strip() + "\n"
        return CommandResponse(lambda: envelope, code, "", words, started=False)
    return replace(_wire(envelope, plan, code), started=False)


def part_writer(shaper: Shaper, plan: Plan) -> PartWriter:
    """Return a writer to the store for what memory has no room for."""
    return PartWriter(OutputStore(shaper), plan.redact)


def render_wire(envelope: Envelope[Any], plan: Plan) -> Any:
    """Render an envelope in the plan's dialect."""
    # There is an etag only where one was asked for.
    return envelope.render(plan.dialect, include=plan.envelope | {"etag"}, debug=plan.debug)


def _wire(envelope: Envelope[Any], plan: Plan, code: int) -> CommandResponse:
    wire = orjson.dumps(render_wire(envelope, plan)).decode()
    return CommandResponse(lambda: envelope, code, f"{wire}\n")


class _Response:
    """The response to one command, as it is being fitted to its budget."""

    def __init__(self, shaper: Shaper, plan: Plan, cleaned: CleanedOutputs, parsed: Parsed | None) -> None:
        if shaper.mode == "off":
            plan = replace(plan, max_tokens=None)
        self._shaper, self._plan, self._cleaned, self._finished = shaper, plan, cleaned, cleaned.finished
        self._plain = plan.dialect == "none"
        self._counter = counter(plan.tokenizer)
        self._err, finished = cleaned.err, cleaned.finished
        self._own = _own_envelope(parsed, plan, finished.ended.exit_code)
        self._parsed = Parsed(self._own.data, "json") if self._own else parsed
        # A damaged envelope is data, and its program still speaks the contract.
        contract = self._own is not None or (
            parsed is not None and may_be_envelope(parsed.value) and envelopes.recognise(parsed.value) == "invariant"
        )
        table = shaper.loaded_config.config.exit_codes if contract else None
        self._error = error_of(finished, plan, self._err.lines.lines, self._own, table)
        self._stored = StoredOutput(shaper, plan, finished)

    def respond(self) -> CommandResponse:
        if self._parsed is None:
            return self._text()
        return self._data_as_text(self._parsed) if self._plain else self._in_envelope(self._parsed)

    def end_of_stream(self, data: Any) -> Envelope[Any]:
        meta = {"ref": self._stored.keep_text()} if self._finished.stdout.size else {}
        if self._error is not None:
            return self._error_envelope(self._error, data, self._stderr(2).text, meta, [])
        return self._envelope(data, None, meta, [], stderr=self._stderr(4).text)

    # The outputs, cleaned.

    @property
    def _out(self) -> CleanedOutput:
        return self._cleaned.out

    @cached_property
    def _cutter(self) -> OutputCutter:
        out = Cutter(self._out.lines, self._cleaned.rules, self._text_price)
        return OutputCutter(out, self._err_cutter, failed=self._error is not None)

    @cached_property
    def _err_cutter(self) -> Cutter:
        said = "\n".join(self._err.lines.lines).strip()
        message = "" if self._error is None or self._plain else self._error.message
        repeated = said != "" and "\n" not in said and message.endswith(said)
        return Cutter(NumberedLines([""]) if repeated else self._err.lines, self._cleaned.rules, self._text_price)

    def _text_price(self, text: str) -> int:
        """Count the tokens of a text as it stands in the response: plain, or in the JSON of an envelope."""
        return self._counter.exact(text if self._plain else orjson.dumps(text).decode()[1:-1])

    def _stderr(self, part: int) -> CutText:
        room = None if self._plan.max_tokens is None else self._plan.max_tokens // part
        # No text has more tokens than bytes: one that is small by its bytes is not counted.
        small = room is None or sum(len(line) for line in self._err.lines.lines) * 4 <= room
        return self._err_cutter.to(None if small else room)

    # Text.

    def _text(self) -> CommandResponse:
        response = self._within_budget()
        if self._file is None or self._file.path.name not in response.stderr or self._file.write():
            return response
        # The file that it names cannot be written: then a ref leads to the rest.
        self._plan = replace(self._plan, overflow="ref")
        del self._file
        return self._within_budget()

    def _within_budget(self) -> CommandResponse:
        limit, whole = self._plan.max_tokens, self._cutter.to(None)
        if self._plain and whole.out.whole:
            whole = replace(whole, out=replace(whole.out, text=self._cleaned.text))
        if limit is None or within_tokens(whole.out.text + whole.err.text, self._plan, limit):
            response = self._cut(whole)
            if limit is None or within_tokens(response.printed, self._plan, limit):
                return response
        # Where there is hardly room for a line besides counts and cursor, the ref alone leads to the rest; where there
        # is none for a ref, plain text says that it is cut.
        for notice in (FULL, REF_ONLY, *([BARE] if self._plain else [])):
            if (fitted := self._fitted(limit, notice)) is not None:
                return fitted
        # A line of text is worth more than a budget that holds none; plain text needs no line to say that it is cut.
        return self._cut(_NO_TEXT if self._plain else self._cutter.least(), BARE)

    def _fitted(self, limit: int, notice: int) -> CommandResponse | None:
        """Cut the text to what its notice leaves of the budget; None where that is too little."""
        room = self._budget_besides(self._assemble(_NO_TEXT, _REF, notice), _SPARE) or 0
        for _ in range(_TRIES):
            cuts = self._cutter.to(room)
            if notice == FULL and cuts.meagre:
                return None
            response = self._cut(cuts, notice)
            over = self._counter.exact(response.printed) - limit
            if over <= 0:
                return response
            room = max(0, room - over - 1)
        return None

    def _cut(self, cuts: CutOutputs, notice: int = FULL) -> CommandResponse:
        exact = self._out.exact and self._err.exact and cuts.whole
        # Plain text says nothing of lines that the config drops where saying it costs more than they did.
        silent = self._plain and cuts.whole and not self._drop_pays
        return self._assemble(cuts, None if exact or silent else self._stored.keep_text(), notice)

    def _assemble(self, cuts: CutOutputs, ref: str | None, notice: int) -> CommandResponse:
        """Put text into a response: as data, or into the error where there is one."""
        meta: dict[str, Any] = {} if ref is None else {"ref": ref}
        if not cuts.whole:
            meta["truncated"] = True
            meta["cursor"] = None if notice != FULL or self._plain else self._cursor(ref, cuts.out.text)
        if self._dropped and ref is not None and notice == FULL:
            # A cut shows in its place; a dropped line does not.
            meta["omissions"] = f"left out: {counted(self._dropped, 'line')} by drop_lines"
        told = _lost(cuts.missing_errors)
        out, err = cuts.out.text, cuts.err.text
        if self._plain and out and not (cuts.out.whole or out.endswith("\n")):
            out += "\n"  # the line of facts is a line of its own
        value = {name: text for name, text in (("stdout", out), ("stderr", err)) if text} or {"stdout": ""}
        etag, same = self._etag(value)

        def envelope() -> Envelope[Any]:
            if self._error is not None:
                return self._error_envelope(self._error, {"stdout": out} if out else {}, err, meta, told)
            return self._envelope(None if same else value, None, {**meta, "etag": etag, "not_modified": same}, told)

        if not self._plain:
            return self._wire(envelope())
        roomy = self._plan.max_tokens is None or self._plan.max_tokens >= ROOMY
        file = None if cuts.whole or ref == _REF else self._file
        more = cuts.describe(ref, self._dropped, notice, file, roomy=roomy)
        return self._printed(envelope, *(("", "") if same else (out, err)), told, more, etag=etag, same=same)

    def _etag(self, value: dict[str, str]) -> tuple[str | None, bool]:
        """Return a tag of a text where the caller or the plan asked for one, and whether the caller has that text."""
        asked = self._finished.invocation.etag
        if self._error is not None or (asked is None and "etag" not in self._plan.envelope and not self._plan.debug):
            return None, False
        tag = tag_of(value)
        return tag, tag == asked

    @cached_property
    def _file(self) -> ResultFile | None:
        """The file that standard output goes into, where the config asks for one and all of it is held."""
        if self._plan.overflow != "file" or not self._out.lines.whole:
            return None
        return result_file("\n".join(self._out.lines.lines), self._plan.tool, results_folder())

    def _cursor(self, ref: str | None, shown: str) -> str | None:
        return _CURSOR if ref == _REF else self._stored.cursor(ref, shown)

    # Data, as the text that `shaping shape` prints.

    def _data_as_text(self, parsed: Parsed) -> CommandResponse:
        """Print data as a table where that is no dearer than the command's own text, or where field rules apply."""
        plan, error, err = self._plan, self._error, self._stderr(4).text
        room = self._budget_besides(self._printed(lambda: self._in_envelope(parsed).envelope, "", err), _SPARE)
        plan = replace(plan, max_tokens=room, fields=plan.fields if error is None else plan.error_fields)
        tag = self._finished.invocation.etag if error is None else None
        context = CallContext(if_none_match=tag)
        shaped = self._shaper.shape_by(for_rows(plan, parsed), parsed.value, context)
        if not self._filters and not self._pays(shaped.text, parsed):
            return self._text()
        if shaped.notice:
            self._stored.keep_streams(shaped.ref)
        etag, same = shaped.etag, tag is not None and shaped.etag == tag
        if self._own is not None:
            etag, same = etag or self._own.meta.etag, same or self._own.meta.not_modified
        text = "" if same or (self._own and parsed.value is None) else shaped.text
        text = f"{text}\n" if text and not text.endswith("\n") else text
        envelope, told = lambda: self._in_envelope(parsed).envelope, shaped.warnings
        return replace(self._printed(envelope, text, err, told, etag=etag, same=same), shaped=shaped)

    @property
    def _filters(self) -> bool:
        plan = self._plan
        rules = plan.fields if self._error is None else plan.error_fields
        return self._own is not None or rules is not None or plan.private is not None

    def _pays(self, text: str, parsed: Parsed) -> bool:
        own, short = "\n".join(self._out.lines.lines), self._cleaned.text
        return costs_at_most(text, short, self._plan, 1 if parsed.exact or short != own else _TABLE_PAYS)

    # Data in an envelope.

    def _in_envelope(self, parsed: Parsed) -> CommandResponse:
        """Put data into an envelope; that of a command that failed into its error, shaped by the same rules."""
        error, plan, err = self._error, self._plan, self._stderr(4 if self._error is None else 2)
        if error is None:
            source = self._envelope(parsed.value, None, {}, [], stderr=err.text)
            context = CallContext(source=source, if_none_match=self._finished.invocation.etag, as_json=True)
            # A ref, and a cursor that carries it, are added to the envelope.
            room = None if plan.max_tokens is None else max(1, plan.max_tokens - _REF_AND_CURSOR)
        else:
            source = self._error_envelope(error, {"stdout": None}, err.text, {"ref": _REF}, [])
            context, room = CallContext(as_json=True), self._budget_besides(self._wire(source))
            plan = replace(plan, fields=plan.error_fields, dialect="none")
        shaped = self._shaper.shape_by(replace(plan, max_tokens=room), parsed.value, context)
        envelope = shaped.envelope if error is not None else _command(shaped, source)
        whole = parsed.exact and shaped.data == parsed.value and self._err.exact and err.whole
        ref = envelope.meta.ref or (None if whole or envelope.meta.not_modified else shaped.ref)
        self._stored.keep_streams(ref)
        update = self._stored.members(envelope, ref) | self._passed_on(envelope)
        if error is None:
            told = envelope.model_copy(update={"meta": envelope.meta.model_copy(update=update)})
            return replace(self._wire(told), shaped=shaped)
        meta = {"truncated": envelope.meta.truncated, "omissions": envelope.meta.omissions} | update
        # A program that follows the contract says by null that there is no data besides its error.
        details = {} if self._own and parsed.value is None else {"stdout": shaped.data}
        return self._wire(self._error_envelope(error, details, err.text, meta, list(shaped.warnings)))

    def _passed_on(self, ours: Envelope[Any]) -> dict[str, Any]:
        """Return what a program's own envelope says about its data; where we cut the data, our cursor comes first."""
        if self._own is None:
            return {}
        names = (one for one in _PASSED_ON if not (ours.meta.truncated and one in {"shown", "cursor", "ref"}))
        said = {name: value for name in names if (value := getattr(self._own.meta, name))}
        if "extensions" in said:
            said["extensions"] = {**said["extensions"], **ours.meta.extensions}
        return said

    # The envelope and its price.

    def _error_envelope(
        self, error: ErrorDetail, details: dict[str, Any], err: str, meta: dict[str, Any], warnings: list[Warned]
    ) -> Envelope[Any]:
        partial_result = error.code == "PARTIAL_FAILURE" and details
        update: dict[str, Any] = {"detail": err or error.detail}
        if details and not partial_result:
            update["details"] = {**(error.details or {}), **details}
        data = details.get("stdout") if partial_result else None
        data = {"stdout": data} if isinstance(data, str) else data
        return self._envelope(data, error.model_copy(update=update), meta, warnings)

    def _envelope(
        self,
        data: Any,
        error: ErrorDetail | None,
        meta: dict[str, Any],
        warnings: list[Warned],
        stderr: str | None = None,
    ) -> Envelope[Any]:
        ended = self._finished.ended
        extensions = {"exit_code": self._finished.ended.reported, "signal": ended.signal, "stderr": stderr or None}
        extensions = {name: value for name, value in extensions.items() if value is not None}
        extensions |= meta.pop("extensions", {})
        # A program that reports an error in its envelope has failed, whatever number it exits with.
        failed = error is not None and self._finished.ended.reported == 0
        return envelopes.command_envelope(
            data,
            exit_code=envelopes.exit_code_for(error) if failed else self._finished.ended.reported,
            argv=[redact_text(word)[0] for word in self._finished.invocation.argv],
            signal=ended.signal,
            error=error,
            warnings=[*self._warnings(), *warnings],
            **{"duration_ms": ended.duration_ms, "tool_id": self._finished.tool, **meta},
            config_hash=self._plan.config_hash,
            extensions=extensions,
        )

    def _warnings(self) -> Iterator[Warned]:
        yield from self._shaper.warnings
        outputs = [("stderr", self._err), *([("stdout", self._out)] if self._parsed is None else [])]
        for name, one in reversed(outputs):
            yield from (replaced(rule, name) for rule in dict.fromkeys(one.redacted))
        if self._finished.ended.left_open:
            yield Warned("LEFT_OPEN", LEFT_OPEN)
        if self._parsed is None and self._selects and self._out.lines.lines != [""]:
            yield Warned("NOT_DATA", "the output is text: rules for fields do not apply to it")
        if self._parsed is not None:
            yield from unmatched(self._parsed.value, self._finished.invocation.fields, self._plan.private)
        if self._own is not None:
            yield from self._own.warnings
        yield from self._stored.warnings

    @property
    def _selects(self) -> bool:
        """Whether fields are chosen or dropped, other than private ones, for which every text is searched anyway."""
        fields, private = self._plan.fields, self._plan.private
        if fields is None or private is None:
            return fields is not None
        return (fields.include, fields.exclude, fields.rename) != (private.include, private.exclude, private.rename)

    def _wire(self, envelope: Envelope[Any]) -> CommandResponse:
        return _wire(envelope, self._plan, self._finished.ended.reported)

    def _printed(
        self,
        envelope: Callable[[], Envelope[Any]],
        out: str,
        err: str,
        warnings: Iterable[Warned] = (),
        more: Iterable[str] = (),
        *,
        etag: str | None = None,
        same: bool = False,
    ) -> CommandResponse:
        """Write a response as plain text, with one line of facts where there is something to say."""
        said = [*self._facts([*self._warnings(), *warnings], etag, same=same), *more]
        line = f"({'; '.join(said)})\n" if said else ""
        err = f"{err}\n" if err and not err.endswith("\n") else err
        failure = f"({said[0]})\n" if self._error is not None else ""
        return CommandResponse(envelope, self._finished.ended.reported, out, f"{err}{line}", failure=failure)

    def _facts(self, warnings: Sequence[Warned], etag: str | None, *, same: bool) -> Iterator[str]:
        """List the failure, redactions, warnings, and what the program's own envelope says about its data."""
        if self._error is not None:
            yield _failure(self._error, self._own, self._finished.ended, self._plan)
        if any(warned.code == "REDACTED" for warned in warnings):
            yield "secrets redacted"
        yield from (warned.message for warned in warnings if warned.code not in _STATED)
        if same:
            yield "not modified"
        elif etag:
            yield f"etag {etag}"
        if self._own is not None:
            meta = self._own.meta
            if meta.truncated:
                yield f"there is more: --cursor {meta.cursor}" if meta.cursor else "there is more"
            if meta.request_id:
                yield f"request_id {meta.request_id}"
            yield from (str(hint) for hint in meta.upgrade_hints)

    def _budget_besides(self, bare: CommandResponse, spare: int = 24) -> int | None:
        limit = self._plan.max_tokens
        return None if limit is None else max(1, limit - self._counter.exact(bare.printed) - spare)

    @property
    def _dropped(self) -> int:
        return len(self._out.dropped) + len(self._err.dropped)

    @cached_property
    def _drop_pays(self) -> bool:
        """Whether the lines that the config drops cost more than the notice that says so."""
        dropped = "\n".join((*self._out.dropped, *self._err.dropped))
        notice = f"(99 lines left out: shaping expand {_REF})\n"
        return not within_tokens(dropped, self._plan, self._counter.exact(notice))


def costs_at_most(text: str, other: str, plan: Plan, part: float = 1.0) -> bool:
    """Return whether a text costs no more than this part of what another one costs."""
    # Where a guess of the tokens is sure enough, nothing is counted.
    if _SURE * cheap(text) < cheap(other):
        return True
    count = counter(plan.tokenizer).exact
    return count(text) <= count(other) * part


def _own_envelope(parsed: Parsed | None, plan: Plan, exit_code: int) -> Envelope[Any] | None:
    """Return the envelope that a program printed itself, in any of our wire forms, without secrets outside its data."""
    if parsed is None or parsed.format != "json" or not may_be_envelope(parsed.value):
        return None
    paths = () if plan.fields is None else (*(plan.fields.include or ()), *plan.fields.exclude)
    # Data goes the way of all data, redaction included.
    wire = {name: value if name == "data" else scrub_value(value) for name, value in parsed.value.items()}
    if exit_code and envelopes.recognise(wire) == "invariant" and wire.get("error") is None:
        wire["ok"] = True  # it gives no error: its exit code alone says how it failed
    if _tells_outcome(wire) and not any(path.partition(".")[0].removesuffix("[]") in wire for path in paths):
        wire["meta"] = {}
    envelope = envelopes.read_wire(wire, paths=paths)
    return None if envelope is None else clean_envelope(envelope, plan)


def _tells_outcome(wire: Mapping[str, Any]) -> bool:
    """Return whether a program prints an envelope without `meta`: `ok`, and the data or coded error that fits it."""
    error = wire.get("error")
    fits_ok = "data" in wire if error is None else isinstance(error, dict) and "code" in error
    return wire.keys() <= {"ok", "data", "error", "warnings"} and wire.get("ok") is (error is None) and fits_ok


def _command(shaped: Shaped, source: Envelope[Any]) -> Envelope[Any]:
    """Return the command's own envelope even where shaping is off or failed, with how the command ended."""
    envelope = shaped.envelope
    if envelope.meta.source == "command":
        return envelope
    return source.model_copy(update={"data": shaped.data, "warnings": (*source.warnings, *shaped.warnings)})


def _lost(count: int) -> list[Warned]:
    said = f"{count:,} line{' that tells' if count == 1 else 's that tell'} of errors did not fit the budget"
    return [Warned("ERRORS_CUT", said)] if count else []


def _failure(error: ErrorDetail, own: Envelope[Any] | None, ended: ProcessExit, plan: Plan) -> str:
    if own is not None and own.error is not None:
        return " ".join(filter(None, (f"{error.code}: {error.message}", error.hint)))
    if ended.timed_out:
        return error.message
    how = f"ended by {ended.signal}" if ended.signal else f"exit code {ended.exit_code}"
    return f"{how}: {error.code}" if ended.exit_code in dict(plan.exit_codes) else how
