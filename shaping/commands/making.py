"""What every answer of a command is made from: how it ended, what it printed, and what an envelope of it costs."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from shaping.cleaning.redact import replaced
from shaping.commands.cut import Cut, Rules, price
from shaping.commands.faults import TIMED_OUT, fault_of
from shaping.commands.kept import Kept
from shaping.commands.ran import Ran, Read, read
from shaping.commands.share import Share
from shaping.commands.wire import text_of
from shaping.envelope import command_envelope
from shaping.parsers import Parsed, parse
from shaping.redaction import redact_text
from shaping.response import Warned
from shaping.settings.context import mode
from shaping.tokens import counter

if TYPE_CHECKING:
    from shaping.envelope import Envelope
    from shaping.errors import ErrorDetail
    from shaping.settings import Plan
    from shaping.shaper import Shaper

_CONTRACT = frozenset({"ok", "data", "error", "warnings", "meta"})


def _follows_contract(value: Any) -> bool:
    """Whether a program printed the invariant envelope, so that its exit codes are those of our registry."""
    return isinstance(value, dict) and value.keys() == _CONTRACT and isinstance(value["meta"], dict)


def _clean(contract: dict[str, Any]) -> dict[str, Any]:
    """Take the secrets out of what a program says of itself; its data goes the way of all data."""
    from shaping.errors.detail import scrub_value  # noqa: PLC0415 (few programs speak the contract)

    return {name: said if name == "data" else scrub_value(said) for name, said in contract.items()}


class Making:
    """One command that has ended, ready to be answered for."""

    def __init__(self, shaper: Shaper, plan: Plan, ran: Ran) -> None:
        if mode() == "off":
            plan = replace(plan, max_tokens=None, keep_lines=(), drop_lines=())
        self._shaper, self._plan, self._ran = shaper, plan, ran
        self._rules = Rules.of(plan)
        self._counter = counter(plan.tokenizer)
        self._err = read(ran.stderr.capture, plan, self._rules)
        found = self._recognised()
        self._contract = _clean(found.value) if found and _follows_contract(found.value) else None
        self._found = Parsed(self._contract["data"], "json") if self._contract else found
        self._out = read(ran.stdout.capture, plan, self._rules) if found is None else Read([])
        self._error = fault_of(ran.ended, plan, ran.tool, self._err.lines, self._contract)
        failed = self._error is not None
        count = self._counter.exact if plan.dialect == "none" else partial(price, counter=self._counter)
        self._share = Share.of(self._out.lines, self._unsaid(), self._rules, count, failed=failed)
        self._kept = Kept(shaper, plan, ran)

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

    def _stderr(self, share: int) -> Cut:
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
        from shaping.paths.selection import unmatched  # noqa: PLC0415 (few calls ask for fields)

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
        return text_of(envelope, self._plan)
