"""A command's response within its token budget: plain text as the command wrote it, or an envelope."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping import envelope as envelopes
from shaping.budget.cut_text import Cutter, CutText, NumberedLines
from shaping.cleaning import may_be_envelope, replaced, unmatched
from shaping.cleaning.call import clean_envelope
from shaping.commands.capture import LEFT_OPEN, CommandResponse, Finished, plain_response, protect_output
from shaping.commands.ending import error_of, not_started
from shaping.commands.storage import StoredOutput
from shaping.errors.texts import plain_without_secrets
from shaping.parsers import Parsed
from shaping.present import pays_as_data, tag_of, wants_tag
from shaping.present.notices import Detail, describe_cut_lines, describe_dropped, errors_cut, pays_to_say
from shaping.redaction import without_secrets
from shaping.response import CallContext, Warned
from shaping.settings.plan import as_paths
from shaping.shaper import for_rows
from shaping.store.result_files import ResultFile, result_file, results_folder
from shaping.tokens import counter
from shaping.tokens.sampling import is_within

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from shaping.envelope import Envelope
    from shaping.errors import ErrorDetail
    from shaping.settings.plan import Plan
    from shaping.shaper import Shaper


_REF: Final = "r_mje4ezyohk4ousux5wk7vm2nti"  # a placeholder, as dear as any ref
_REF_AND_CURSOR: Final = f'"ref":"{_REF}","cursor":"{_REF}:'  # what is added to an envelope
_TRIES: Final = 8  # until what is said of cut lines fits beside them
_NOTHING: Final = CutText("", 0, whole=False)
_SPARE = 8  # tokens that may be added where two texts join
# Warnings that other facts state more shortly, or that were logged to standard error when the config was read.
_STATED: Final = frozenset({"REDACTED", "ERRORS_CUT", "BAD_CONFIG"})
# What the meta of a program's own envelope says about its data, and is passed on.
_PASSED_ON: Final = (
    "request_id", "session_id", "schema_version", "not_modified", "truncated", "shown", "cursor", "ref", "etag",
    "tool_version", "tier", "capabilities", "upgrade_hints", "omissions", "extensions",
)  # fmt: skip


def respond(shaper: Shaper, finished: Finished, parsed: Parsed | None) -> CommandResponse:
    """Return the response of a command that has ended; `parsed` is the data that it printed, where it did."""
    plan = finished.plan
    if finished.ended.not_started is not None:
        return not_started_response(finished)
    if plan.enabled or plan.dialect != "none":
        return _Response(shaper, plan, finished, parsed).respond()
    in_envelope = replace(plan, dialect="invariant")
    return CommandResponse(
        lambda: _Response(shaper, in_envelope, finished, parsed).respond().envelope,
        finished.ended.exit_code,
        protect_output(finished.stdout.text(), plan),
        protect_output(finished.stderr.text(), plan),
    )


def respond_to_stream(shaper: Shaper, finished: Finished, data: Any) -> Envelope[Any]:
    """Return the envelope that ends a stream: how the command ended, and a ref to all that it printed."""
    return _Response(shaper, finished.plan, finished, None).end_of_stream(data)


class _Response:
    """The response to one command: its error, the envelope that it printed itself, and its data or its text."""

    def __init__(self, shaper: Shaper, plan: Plan, finished: Finished, parsed: Parsed | None) -> None:
        if finished.off:
            plan = replace(plan, max_tokens=None)
        self._shaper, self._plan, self._finished, self._ended = shaper, plan, finished, finished.ended
        self._plain = plan.dialect == "none"
        self._counter = counter(plan.tokenizer)
        self._own = _own_envelope(parsed, plan, self._ended.child_exit_code)
        self._error = self._find_error(parsed)
        self._parsed = Parsed(self._own.data, "json") if self._own else parsed
        self._stored = StoredOutput(shaper, finished)

    def _find_error(self, parsed: Parsed | None) -> ErrorDetail | None:
        """Describe how the command failed; nothing where it did not."""
        ended, own = self._ended, self._own
        if ended.child_exit_code == 0 and not ended.timed_out and (own is None or own.error is None):
            return None
        # A damaged envelope is data, and its program still speaks the contract.
        contract = own is not None or (
            parsed is not None and may_be_envelope(parsed.value) and envelopes.recognise(parsed.value) == "invariant"
        )
        exit_table = self._shaper.loaded_config.config.exit_codes if contract else None
        return error_of(self._finished, own, exit_table)

    def respond(self) -> CommandResponse:
        if self._parsed is None:
            return self._text()
        return self._data_as_text(self._parsed) if self._plain else self._in_envelope(self._parsed)

    def end_of_stream(self, data: Any) -> Envelope[Any]:
        meta = {"ref": self._stored.text_ref} if self._finished.stdout.size else {}
        return self._envelope(data, self._stderr.text, meta)

    def _envelope(
        self, data: Any, stderr: str, meta: Mapping[str, Any], warnings: Iterable[Warned] = ()
    ) -> Envelope[Any]:
        """Return the envelope; what a command that failed printed, its data by name, goes into its error."""
        error, ended, extensions = self._error, self._ended, dict[str, Any](stderr=stderr or None)
        if error is not None:
            partial_result = error.code == "PARTIAL_FAILURE" and data
            update: dict[str, Any] = {"detail": stderr or error.detail}
            if data and not partial_result:
                update["details"] = {**(error.details or {}), **data}
            data = data.get("stdout") if partial_result else None
            data = {"stdout": data} if isinstance(data, str) else data
            error, extensions = error.model_copy(update=update), {}
        extensions = {"exit_code": ended.exit_code, "signal": ended.signal, **extensions}
        extensions = {name: value for name, value in extensions.items() if value is not None}
        extensions |= meta.get("extensions", {})
        # A program that reports an error in its envelope has failed, whatever number it exits with.
        failed = error is not None and ended.exit_code == 0
        return envelopes.command_envelope(
            data,
            exit_code=envelopes.exit_code_for(error) if failed else ended.exit_code,
            argv=[without_secrets(word) for word in self._finished.argv],
            signal=ended.signal,
            error=error,
            warnings=[*self._warnings(), *warnings],
            config_hash=self._plan.config_hash,
            **{"duration_ms": ended.duration_ms, "tool_id": self._plan.tool, **meta, "extensions": extensions},
        )

    # The outputs, cut.

    @cached_property
    def _out_cutter(self) -> Cutter:
        return Cutter(self._finished.out.lines, self._finished.rules, self._text_price)

    @cached_property
    def _err_cutter(self) -> Cutter:
        said = "\n".join(self._finished.err.lines.lines).strip()
        message = "" if self._error is None or self._plain else self._error.message
        repeated = said != "" and "\n" not in said and message.endswith(said)
        lines = NumberedLines([""]) if repeated else self._finished.err.lines
        return Cutter(lines, self._finished.rules, self._text_price)

    @cached_property
    def _stderr(self) -> CutText:
        """Standard error beside data, in its share of the budget."""
        limit = self._plan.max_tokens
        room = None if limit is None else self._stderr_share(limit)
        # No text has more tokens than bytes: one that is small by its bytes is not counted.
        small = room is None or sum(map(len, self._finished.err.lines.lines)) * 4 <= room
        return self._err_cutter.to(None if small else room)

    def _stderr_share(self, room: int) -> int:
        """Return the share of standard error: half after a failure, else a quarter."""
        return room // (4 if self._error is None else 2)

    def _cut_to(self, room: int) -> CutOutputs:
        """Share the room: standard error gets its share at most, and each takes what the other leaves."""
        err = self._err_cutter.to(self._stderr_share(room))
        out = self._out_cutter.to(room - err.tokens)
        return CutOutputs(out, err if err.whole else self._err_cutter.to(room - out.tokens))

    def _text_price(self, text: str) -> int:
        """Count the tokens of a text as it stands in the response: plain, or in the JSON of an envelope."""
        return self._counter.exact(text if self._plain else orjson.dumps(text).decode()[1:-1])

    # Text.

    def _text(self) -> CommandResponse:
        response = self._fitted()
        if self._file is not None and self._file.path.name in response.stderr and not self._file.write():
            self._file = None  # then a ref leads to the rest
            response = self._fitted()
        return response

    def _fitted(self) -> CommandResponse:
        """Try cuts of lines until one fits with what the response says of it."""
        limit, exact = self._plan.max_tokens, self._counter.exact
        out, err = self._out_cutter.to(None), self._err_cutter.to(None)
        out = replace(out, text=self._finished.text) if self._plain and out.whole else out
        whole = self._with_text(CutOutputs(out, err), Detail.FULL)
        if limit is None or is_within(whole.printed, limit, exact):
            return whole
        # Where there is hardly room for a line besides counts and a cursor, less is said of the cut.
        for detail in Detail:
            room = limit
            for tried in range(_TRIES):
                cuts = self._cut_to(room)
                response, cut = self._with_text(cuts, detail), cuts.both
                over = exact(response.printed) - limit
                if detail == Detail.FULL and cut.meagre:
                    break
                if over <= 0:
                    return response
                # What a cut leaves of its room, because no line is that short, the next one leaves again at first.
                room = max(0, (cut.tokens if tried or cut.whole else room) - over)
        # A line of text is worth more than a budget that holds none; plain text needs no line to say that it is cut.
        if self._plain:
            return self._with_text(CutOutputs(_NOTHING, _NOTHING), Detail.BARE)
        least = least_cut(self._out_cutter, self._err_cutter, failed=self._error is not None)
        return self._with_text(least, Detail.BARE)

    def _with_text(self, cuts: CutOutputs, detail: Detail) -> CommandResponse:
        """Put text into a response: as data, or into the error where there is one."""
        cut, dropped = cuts.both, (*self._finished.out.dropped, *self._finished.err.dropped)
        exact = self._finished.out.exact and self._finished.err.exact and cut.whole
        # Plain text says nothing of lines that the config drops where saying it costs more than they did.
        silent = self._plain and cut.whole and not pays_to_say(dropped, self._plan)
        ref = None if exact or silent else self._stored.text_ref
        meta: dict[str, Any] = {} if ref is None else {"ref": ref}
        if not cut.whole:
            meta["truncated"] = True
            full = detail == Detail.FULL and not self._plain
            meta["cursor"] = self._stored.cursor(ref, cuts.out.text) if full else None
        if dropped and ref is not None and detail == Detail.FULL:
            meta["omissions"] = describe_dropped(len(dropped))
        told = errors_cut(cut.missing_errors)
        out, err = cuts.out.text, cuts.err.text
        if self._plain and out and not (cuts.out.whole or out.endswith("\n")):
            out += "\n"  # the line of facts is a line of its own
        value = {name: text for name, text in (("stdout", out), ("stderr", err)) if text} or {"stdout": ""}
        asked = self._finished.options.get("etag")
        etag = tag_of(value) if self._error is None and wants_tag(self._plan, asked) else None
        same = etag is not None and etag == asked

        def envelope() -> Envelope[Any]:
            if self._error is not None:
                return self._envelope({"stdout": out} if out else {}, err, meta, told)
            said = {**meta, "etag": etag, "not_modified": same}
            return self._envelope(None if same else value, "", said, told)

        if not self._plain:
            return self._wire(envelope())
        more = describe_cut_lines(cut, len(dropped), self._plan, detail, ref=ref, file=self._file)
        return self._printed(envelope, *(("", "") if same else (out, err)), told, more, etag=etag, same=same)

    @cached_property
    def _file(self) -> ResultFile | None:
        """The file that all of standard output goes into, where the config asks for one."""
        if self._plan.overflow != "file" or not self._finished.out.lines.whole:
            return None
        return result_file("\n".join(self._finished.out.lines.lines), self._plan.tool, results_folder())

    # Data, as the text that `shaping shape` prints.

    def _data_as_text(self, parsed: Parsed) -> CommandResponse:
        """Print data as a table where that is no dearer than the command's own text, or where field rules apply."""
        plan, error, err = self._plan, self._error, self._stderr.text

        def envelope() -> Envelope[Any]:
            return self._in_envelope(parsed).envelope

        plan = _plan_beside(self._printed(envelope, "", err).printed, plan)
        plan = replace(plan, fields=plan.fields if error is None else plan.error_fields)
        tag = self._finished.options.get("etag") if error is None else None
        context = CallContext(if_none_match=tag)
        shaped = self._shaper.shape_by(for_rows(plan, parsed), parsed.value, context)
        if not self._filters:
            text = self._finished.text
            layout = not parsed.exact and text == "\n".join(self._finished.out.lines.lines)
            if not pays_as_data(shaped, text, layout=layout):
                return self._text()
        if shaped.notice:
            self._stored.keep_streams(shaped.ref)
        etag, same = shaped.etag, tag is not None and shaped.etag == tag
        if self._own is not None:
            etag, same = etag or self._own.meta.etag, same or self._own.meta.not_modified
        text = "" if same or (self._own and parsed.value is None) else shaped.text
        text = f"{text}\n" if text and not text.endswith("\n") else text
        return replace(self._printed(envelope, text, err, shaped.warnings, etag=etag, same=same), shaped=shaped)

    @property
    def _filters(self) -> bool:
        plan = self._plan
        rules = plan.fields if self._error is None else plan.error_fields
        return self._own is not None or rules is not None or plan.private is not None

    # Data in an envelope.

    def _in_envelope(self, parsed: Parsed) -> CommandResponse:
        """Put data into an envelope; that of a command that failed into its error, shaped by the same rules."""
        error, plan, err = self._error, self._plan, self._stderr
        if error is None:
            source = self._envelope(parsed.value, err.text, {})
            context = CallContext(source=source, if_none_match=self._finished.options.get("etag"), as_json=True)
            plan = _plan_beside(_REF_AND_CURSOR, plan)
        else:
            source = self._envelope({"stdout": None}, err.text, {"ref": _REF})
            context, plan = CallContext(as_json=True), _plan_beside(self._wire(source).printed, plan)
            plan = replace(plan, fields=plan.error_fields, dialect="none")
        shaped = self._shaper.shape_by(plan, parsed.value, context)
        envelope = shaped.envelope
        whole = parsed.exact and shaped.data == parsed.value and self._finished.err.exact and err.whole
        ref = envelope.meta.ref or (None if whole or envelope.meta.not_modified else shaped.ref)
        self._stored.keep_streams(ref)
        update = self._stored.members(envelope, ref) | self._passed_on(envelope)
        if error is None:
            told = envelope.model_copy(update={"meta": envelope.meta.model_copy(update=update)})
            return replace(self._wire(told), shaped=shaped)
        meta = {"truncated": envelope.meta.truncated, "omissions": envelope.meta.omissions} | update
        # A program that follows the contract says by null that there is no data besides its error.
        details = {} if self._own and parsed.value is None else {"stdout": shaped.data}
        return self._wire(self._envelope(details, err.text, meta, shaped.warnings))

    # What is said besides.

    @property
    def _failure(self) -> str:
        """How the command failed, in a few words; nothing where it did not."""
        ended, error = self._ended, self._error
        if error is None:
            return ""
        if self._own is not None and self._own.error is not None:
            return " ".join(filter(None, (f"{error.code}: {error.message}", error.hint)))
        if ended.timed_out:
            return error.message
        return f"{ended}: {error.code}" if ended.child_exit_code in self._plan.exit_codes else str(ended)

    def _own_facts(self) -> Iterator[str]:
        """List what the program's own envelope says about its data."""
        if self._own is None:
            return
        meta = self._own.meta
        if meta.truncated:
            yield f"there is more: --cursor {meta.cursor}" if meta.cursor else "there is more"
        if meta.request_id:
            yield f"request_id {meta.request_id}"
        yield from (str(hint) for hint in meta.upgrade_hints)

    def _passed_on(self, ours: Envelope[Any]) -> dict[str, Any]:
        """Return what a program's own envelope says about its data; where we cut the data, our cursor comes first."""
        if self._own is None:
            return {}
        names = (one for one in _PASSED_ON if not (ours.meta.truncated and one in {"shown", "cursor", "ref"}))
        said = {name: value for name in names if (value := getattr(self._own.meta, name))}
        if "extensions" in said:
            said["extensions"] = {**said["extensions"], **ours.meta.extensions}
        return said

    def _warnings(self) -> Iterator[Warned]:
        yield from self._shaper.warnings
        outputs = [("stdout", self._finished.out), ("stderr", self._finished.err)]
        for name, one in outputs if self._parsed is None else outputs[1:]:
            yield from (replaced(rule, name) for rule in dict.fromkeys(one.redacted))
        if self._ended.left_open:
            yield Warned("LEFT_OPEN", LEFT_OPEN)
        if self._parsed is None and self._selects and self._finished.out.lines.lines != [""]:
            yield Warned("NOT_DATA", "the output is text: rules for fields do not apply to it")
        if self._parsed is not None:
            asked = as_paths(self._finished.options.get("fields") or ())
            yield from unmatched(self._parsed.value, asked, self._plan.private)
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
        return _in_dialect(envelope, self._plan, self._ended.exit_code)

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
        """Write a response as plain text, with its warnings and what the program's own envelope says about its data."""
        warnings = [*self._warnings(), *warnings]
        told = [warned.message for warned in warnings if warned.code not in _STATED]
        tag = ["not modified"] if same else [f"etag {etag}"] if etag else []
        return plain_response(
            envelope,
            self._ended,
            (out, err),
            failure=self._failure,
            redacted=any(warned.code == "REDACTED" for warned in warnings),
            more=[*told, *tag, *self._own_facts(), *more],
        )


# Both outputs, cut to one number of tokens.


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


def least_cut(out_cutter: Cutter, err_cutter: Cutter, *, failed: bool) -> CutOutputs:
    """Show the most important line of either output, however little room there is."""
    out, err = out_cutter.least(), err_cutter.least()
    first, second = (err, out) if failed else (out, err)
    one = first if first.shown else second
    return CutOutputs(_unless(out, one, out_cutter), _unless(err, one, err_cutter))


def _unless(least: CutText, one: CutText, cutter: Cutter) -> CutText:
    return least if least is one or least.whole else cutter.to(0)


def _plan_beside(said: str, plan: Plan) -> Plan:
    """Return the plan for data that goes out with a text beside it, which takes its part of the budget."""
    if plan.max_tokens is None:
        return plan
    return plan.replace(max_tokens=max(1, plan.max_tokens - counter(plan.tokenizer).exact(said) - _SPARE))


def render_wire(envelope: Envelope[Any], plan: Plan) -> Any:
    """Render an envelope in the plan's dialect."""
    # There is an etag only where one was asked for.
    return envelope.render(plan.dialect, include=plan.envelope | {"etag"}, debug=plan.debug)


def _in_dialect(envelope: Envelope[Any], plan: Plan, code: int) -> CommandResponse:
    """Return the response that is an envelope in the plan's dialect."""
    wire = orjson.dumps(render_wire(envelope, plan)).decode()
    return CommandResponse(lambda: envelope, code, f"{wire}\n")


def _own_envelope(parsed: Parsed | None, plan: Plan, exit_code: int) -> Envelope[Any] | None:
    """Return the envelope that a program printed itself, in any of our wire forms, without secrets outside its data."""
    if parsed is None or parsed.format != "json" or not may_be_envelope(parsed.value):
        return None
    paths = () if plan.fields is None else plan.fields.paths
    # Data goes the way of all data, redaction included.
    wire = {name: value if name == "data" else plain_without_secrets(value) for name, value in parsed.value.items()}
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


def not_started_response(finished: Finished) -> CommandResponse:
    """Return the response for a command that could not be started."""
    code, environ = finished.ended.exit_code, finished.options.get("env")
    error = not_started(finished.ended.not_started, finished.argv, os.environ if environ is None else environ)
    envelope = envelopes.command_envelope(
        None, exit_code=code, argv=finished.argv[:1], error=error, duration_ms=0, extensions={"exit_code": code}
    )
    if finished.plan.dialect == "none":
        words = f"{error.message}. {error.hint or ''}".strip() + "\n"
        return CommandResponse(lambda: envelope, code, "", words, started=False)
    return replace(_in_dialect(envelope, finished.plan, code), started=False)
