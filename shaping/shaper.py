"""Shaper: one call's way through the two phases, clean and present."""

from __future__ import annotations

from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from shaping import envelope as envelopes
from shaping.cleaning import CleaningError, clean, data_in, envelope_in, may_be_envelope, misspelt
from shaping.cleaning.call import clean_call, clean_envelope
from shaping.present import present
from shaping.present.unshaped import after_fault, when_not_enabled, when_observing, when_off
from shaping.redaction import log_fault
from shaping.response import CallContext, Facts, Shaped, ShapedDict, ShapedList, Warned, required
from shaping.settings.chooser import PlanChooser
from shaping.store import Store, open_store
from shaping.store.expand import Recalled, recall
from shaping.store.keeper import Keeper, Originals
from shaping.values import json_digest, reads_once

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

    from shaping.cleaning import Cleaned
    from shaping.envelope import Envelope
    from shaping.errors import ErrorDetail
    from shaping.parsers import Parsed
    from shaping.present.expansion import Databases
    from shaping.settings.choices import Channels, Surface
    from shaping.settings.plan import Overrides, Plan


_NO_CONTEXT = CallContext()
_PLAIN = frozenset({dict, list, str})


class Shaper(PlanChooser):
    """Shapes what tools return, as the config says.

    `config` is a path, a mapping, or nothing: then `response_config.json` is looked for as the command line does, and
    an edit of the file takes effect within half a second. `tier` is the caller's, for rules that go by it;
    `tool_version`, `capabilities` and `session_id` go into the envelope. With `expandable` an answer that leaves
    something out names a ref by which `expand` returns it; `names_itself` is for a server whose name no user chose.
    `Shaper().shape(value, tool="search").text` is what a model should read.
    """

    def __init__(
        self,
        config: str | PathLike[str] | Mapping[str, Any] | None = None,
        *,
        tier: str | None = None,
        tool_version: str | None = None,
        capabilities: Sequence[str] = (),
        session_id: str | None = None,
        expandable: bool = False,
        store: Store | None = None,
        recorder: Callable[[Shaped], None] | None = None,
        watch: bool = True,
        environ: Mapping[str, str] | None = None,
        names_itself: bool = False,
    ) -> None:
        """Make a shaper; `store` keeps originals in place of the config's, `recorder` is told of each response."""
        super().__init__(config, tier=tier, watch=watch, environ=environ, names_itself=names_itself)
        self.facts = Facts(tier, tool_version, tuple(capabilities), session_id, expandable)
        self._recorder = recorder
        self._keeper = None if store is None else Keeper(store)
        self._originals = Originals(self.keeper, lambda: self.loaded_config.store.ttl_seconds)
        self._databases: Databases | None = None
        self._looked: set[tuple[str, str]] = set()  # tools in whose answers the fields to keep were looked for

    def shape(
        self,
        value: Any,
        *,
        tool: str = "",
        surface: Surface = "python",
        profile: str | None = None,
        default_profile: str | None = None,
        overrides: Overrides | None = None,
        error: ErrorDetail | None = None,
        request_id: str | None = None,
        duration_ms: float | None = None,
        if_none_match: str | None = None,
        upgrade_hints: tuple[Mapping[str, str], ...] = (),
        warnings: tuple[Warned, ...] = (),
        source: Envelope[Any] | None = None,
        owner: str | None = None,
        as_json: bool = False,
    ) -> Shaped:
        """Shape one value that a tool returned.

        A `profile` is what this call asks for; a `default_profile` stands where block and environment name none.
        `error` says why the call failed; `source` is an envelope whose meta the answer keeps; `owner` alone may expand
        what was left out. A budget counts `text`, or with `as_json` the JSON of `value`, whichever is sent. Fields, a
        budget or an encoding for some calls are a block's: `with shaping.using(max_tokens=300): …`.
        """
        plan, wrong = self.choose(
            tool, surface=surface, profile=profile, overrides=overrides, default_profile=default_profile
        )
        call = CallContext(
            error=error,
            request_id=request_id,
            duration_ms=duration_ms,
            if_none_match=if_none_match,
            upgrade_hints=upgrade_hints,
            warnings=(*warnings, *wrong),
            source=source,
            owner=owner,
            as_json=as_json,
        )
        return self.shape_by(plan, value, call)

    def shape_by(self, plan: Plan, value: Any, call: CallContext = _NO_CONTEXT) -> Shaped:
        """Shape one value by a plan that was chosen before, as that of the MCP session in which a tool was listed."""
        if type(value) not in _PLAIN:  # nearly every value is plain, and needs no further look
            if isinstance(value, Shaped):
                return value
            if isinstance(value, (ShapedDict, ShapedList)):
                if value.digest is not None and value.digest == json_digest(value):
                    return value.shaped
                value = dict(value) if isinstance(value, dict) else list(value)
        mode = self.mode
        if mode == "off" or (mode == "observe" and reads_once(value)):
            return when_off(value, plan, call)
        shaped = self._clean_and_present(plan, value, call) if plan.enabled else when_not_enabled(value, plan, call)
        if self._recorder is not None:
            try:
                self._recorder(shaped)
            except Exception as fault:  # noqa: BLE001 (what is recorded must not cost the tool's answer either)
                log_fault("recording the answer of %r failed with %s\n%s", plan.tool, fault)
        return shaped if mode == "on" else when_observing(value, shaped)

    def _clean_and_present(self, plan: Plan, value: Any, call: CallContext) -> Shaped:
        """Clean the value, then present it; a fault in either never costs the tool's answer."""
        started = perf_counter() if plan.debug else 0.0
        try:
            read = _read(value, plan, call)
        except Exception as fault:  # noqa: BLE001 (a fault of ours, whatever it is, must not cost the tool's answer)
            return after_fault(value, plan, call, fault)
        try:
            cleaned = clean(read.data, read.plan, read.call)
            if cleaned.original is not None and cleaned.original is not read.data:
                read = read._replace(data=cleaned.original)  # a generator is used up once it is opened
            if cleaned.warnings:
                self._log_warnings(cleaned.warnings, plan.tool, known=call.warnings)
            told = any(warned.code == "NO_SUCH_FIELD" for warned in call.warnings)
            if read.plan.fields is not None and read.plan.fields.include and not told:
                self._look_for_fields(cleaned, read.plan)
            timings = {"clean": round((perf_counter() - started) * 1000, 3)} if plan.debug else {}
            response = present(
                cleaned, read.plan, read.call, self.facts, self._originals, timings=timings, may_cut=not read.is_log
            )
            if response is None:
                # The records of a log would be cut at their end; cut as a text, it keeps the lines that report errors.
                response = self._clean_and_present(plan.replace(parse=()), value, call)
        except CleaningError as fault:
            return after_fault(fault.original, read.plan, read.call, fault.cause)
        except Exception as fault:  # noqa: BLE001 (a fault of cleaning or presenting must not cost it either)
            return after_fault(read.data, read.plan, read.call, fault)
        return response

    def _log_warnings(self, warnings: tuple[Warned, ...], tool: str, *, known: tuple[Warned, ...]) -> None:
        """Log the warnings that are about the config, but for those that came with the value."""
        for warned in warnings:
            if warned.code in {"UNREADABLE_TEXT", "NO_SUCH_FIELD", "PRIVATE_PATH"} and warned not in known:
                self._tell(f"{tool!r}: {warned.message}")

    def _look_for_fields(self, cleaned: Cleaned, plan: Plan) -> None:
        """Log fields to keep that the first answer of a tool has under another spelling; later ones may lack any."""
        if (plan.tool, plan.config_hash) in self._looked or not (value := cleaned.plain_raw(plan)):
            return
        self._looked.add((plan.tool, plan.config_hash))
        for message in misspelt(value, plan):
            self._tell(f"{plan.tool!r}: include_only: {message}")

    def shape_result(
        self,
        result: Mapping[str, Any],
        *,
        tool: str = "",
        client: str | Mapping[str, object] | None = None,
        channels: Channels | None = None,
        schema: Mapping[str, Any] | None = None,
        profile: str | None = None,
        default_profile: str | None = None,
        relay: bool = False,
        call: CallContext = _NO_CONTEXT,
    ) -> dict[str, Any]:
        """Shape the wire form of an MCP result: dict in, dict out, both channels from one source.

        `client` is the clientInfo of whoever reads it, or its name; `schema` the tool's output schema. A `relay` is
        not the server itself: without a word of the config it sends one channel. The profiles are those of `shape`.
        """
        from shaping.mcp.result import shape_in_context, unlisted_context  # noqa: PLC0415 (only MCP surfaces come this way)

        plan, wrong = self.choose(tool, surface="mcp", profile=profile, default_profile=default_profile)
        plan = plan if channels is None else plan.replace(channels=channels)
        call = call._replace(warnings=(*call.warnings, *wrong))
        context = unlisted_context(self, plan, call, client, schema=schema, relay=relay)
        return shape_in_context(result, context).wire

    def expand(
        self,
        ref: str,
        path: str | None = None,
        cursor: str | None = None,
        max_tokens: int | None = None,
        *,
        surface: Surface = "python",
        owner: str | None = None,
        render_page: Callable[[Shaped], str] | None = None,
        sql: str | None = None,
        search: str | None = None,
    ) -> Shaped:
        """Return what was left out: the exact values under a path, within the tool's budget, paged by cursor.

        `sql` asks a SELECT of its records instead, `search` finds a text or a /pattern/ in it. The budget is for a
        page's text; where something else of it goes out, `render_page` says what.
        """
        from shaping.present.expansion import expanded_page, present_hits  # noqa: PLC0415 (only what was left out is expanded: costs 10 ms)

        if sql is not None:
            return self.query(ref, sql, max_tokens, surface=surface, owner=owner)
        keeper = self.keeper(surface)
        kept = recall(keeper, ref, owner=owner or self.facts.session_id)
        plan = self.plan(kept.meta.get("tool", ""), surface=surface)
        if search is not None:
            plan = plan.replace(max_tokens=max_tokens or plan.max_tokens)
            return present_hits(kept, search, plan, self._clean_and_present, cursor=cursor)
        return expanded_page(
            kept,
            ref,
            plan,
            required(keeper.secret),
            path=path,
            cursor=cursor,
            max_tokens=max_tokens,
            shape=self._clean_and_present,
            render_page=render_page,
        )

    def query(
        self,
        ref: str,
        sql: str,
        max_tokens: int | None = None,
        *,
        surface: Surface = "python",
        owner: str | None = None,
    ) -> Shaped:
        """Run one SELECT over the records of an answer that is kept; `schema` in its place lists tables and columns."""
        from shaping.present.expansion import Databases, present_rows  # noqa: PLC0415 (only what was left out is asked: costs 10 ms)

        owner = owner or self.facts.session_id

        def recalled() -> tuple[Recalled, Plan]:
            kept = recall(self.keeper(surface), ref, owner=owner)
            return kept, self.plan(kept.meta.get("tool", ""), surface=surface)

        if self._databases is None:
            self._databases = Databases()
        key = (ref, owner or "", surface, self.loaded_config.hash)
        plan, rows = self._databases.query(key, sql, recalled)
        return present_rows(rows, plan.replace(max_tokens=max_tokens or plan.max_tokens), self._clean_and_present)

    def keeper(self, surface: Surface) -> Keeper:
        """Return what writes to this shaper's store; the surface of the first call decides which."""
        if self._keeper is None:
            self._keeper = Keeper(open_store(self.loaded_config.store_for(surface), environ=self._environ))
        return self._keeper

    def close(self) -> None:
        """Stop what runs in the background for this shaper alone; what is kept in a shared store stays."""
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None
        if self._databases is not None:
            self._databases.close()


class _Reading(NamedTuple):
    """The data of a tool's answer, and the plan and the call for such data."""

    data: Any
    plan: Plan
    call: CallContext
    is_log: bool = False


def _read(value: Any, plan: Plan, call: CallContext) -> _Reading:
    """Read what a tool answered: the data of an envelope or of a text, and what either says of the call."""
    is_log = False
    if may_be_envelope(value) and call.page is None and call.source is None:
        came = value
        value, plan = envelope_in(came, plan)
        if value is not came:  # the JSON that was read is no longer that of the value
            call = call._replace(compact_json=None)
    # Plain data is none, and is not to wait for the model to be imported.
    if type(value) not in _PLAIN and isinstance(value, envelopes.Envelope):
        # A tool that answers with an envelope of its own has said what the data is, and whether the call failed.
        source = call.source or clean_envelope(value, plan)
        call = call._replace(error=call.error or source.error, source=source)
        value = value.data
    if type(value) is str and call.page is None and (parsed := data_in(value, plan)) is not None:
        call, value = call._replace(text_before=call.text_before or partial(str, value)), parsed.value
        plan, is_log = for_rows(plan, parsed), plan.fields is None and parsed.is_log
    if call.error or call.source or call.warnings or call.upgrade_hints:
        call = clean_call(call, plan)
    return _Reading(value, plan, call, is_log)


def for_rows(plan: Plan, parsed: Parsed) -> Plan:
    """Return a plan by which rows of CSV stay rows: as JSON even a few of them are dearer."""
    return plan.replace(encoding="table") if parsed.format == "csv" and plan.encoding == "auto" else plan
