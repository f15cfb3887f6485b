"""Shaper: the stages in order, and one call's way through them."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from shaping.cleaning.prune import prune
from shaping.cleaning.redact import cleaned, redact
from shaping.cleaning.select import fields
from shaping.envelope import Envelope
from shaping.errors import scrub
from shaping.fallback import observed, reads_once, unshaped, untouched
from shaping.keeping import keep, original_path
from shaping.parsers import EXACT, parse
from shaping.response import Call, Draft, Shaped, ShapedDict, ShapedList, Stage, Warned
from shaping.settings import context
from shaping.settings.context import choose_plan
from shaping.settings.live import LiveConfig, shared
from shaping.stages.encode import encode
from shaping.stages.fit import fit
from shaping.stages.measure import measure
from shaping.stages.wrap import wrap
from shaping.values.intake import intake

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from os import PathLike

    from shaping.settings import LoadedConfig, Overrides, Plan, Surface
    from shaping.settings.model import Channels
    from shaping.settings.problems import ConfigError
    from shaping.store.keeper import Keeper

STAGES: tuple[Stage, ...] = (intake, fields, prune, redact, fit, wrap, encode, measure)

logger = logging.getLogger("shaping")


@dataclass(frozen=True, slots=True)
class Facts:
    """What only the application knows about its tools."""

    tier: str | None = None
    tool_version: str | None = None
    capabilities: tuple[str, ...] = ()
    session_id: str | None = None
    expandable: bool = False  # whether the reader has a way to ask for what was left out


class Shaper:
    """Shapes what tools return, as the config says."""

    def __init__(
        self,
        config: str | PathLike[str] | Mapping[str, Any] | None = None,
        *,
        tier: str | None = None,
        tool_version: str | None = None,
        capabilities: Sequence[str] = (),
        session_id: str | None = None,
        expandable: bool = False,
        watch: bool = True,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._environ = os.environ if environ is None else environ
        self._live = _live(config, self._environ)
        if watch:  # a command that shapes once has no use for the next config
            self._live.start()
        self.facts = Facts(tier, tool_version, tuple(capabilities), session_id, expandable)
        self._keeper: Keeper | None = None
        self._told: set[str] = set()

    @property
    def mode(self) -> context.Mode:
        """Whether the environment has shaping on, off or observing."""
        return context.mode(self._environ, self._tell)

    @property
    def generation(self) -> LoadedConfig:
        """The config as it is now; hold on to it to see one config throughout."""
        return self._live.current

    @property
    def warnings(self) -> tuple[Warned, ...]:
        """What is wrong with the config now, for every answer that is shaped without it."""
        return () if self._live.problem is None else (_problem(self._live.problem),)

    def plan(
        self,
        tool: str,
        *,
        surface: Surface = "python",
        profile: str | None = None,
        request: Overrides | None = None,
        default_profile: str | None = None,
    ) -> Plan:
        """Give the compiled choices for a call of this tool made now."""
        return self.choose(tool, surface=surface, profile=profile, request=request, default_profile=default_profile)[0]

    def shape(
        self,
        value: Any,
        *,
        tool: str = "",
        surface: Surface = "python",
        profile: str | None = None,
        request: Overrides | None = None,
        default_profile: str | None = None,
        **about: Any,
    ) -> Shaped:
        """Shape one value; `about` is what the caller knows of the call (see `Call`).

        A `profile` is what this call asks for; a `default_profile` stands where block and environment name none.
        """
        plan, warnings = self.choose(
            tool, surface=surface, profile=profile, request=request, default_profile=default_profile
        )
        if warnings:
            about["warnings"] = (*about.get("warnings", ()), *warnings)
        return self.shape_by(plan, value, **about)

    def shape_by(self, plan: Plan, value: Any, **about: Any) -> Shaped:
        """Shape one value by a plan that is already chosen, as a session keeps the one it was advertised by."""
        if isinstance(value, Shaped):
            return value
        if isinstance(value, (ShapedDict, ShapedList)):
            return value.shaped
        mode = self.mode
        if mode == "off" or (mode == "observe" and reads_once(value)):
            return untouched(value, plan, Call(plan.tool, **about), self)
        draft = _draft(plan, value, about, self)
        try:
            shaped = _run(draft)
        except Exception as fault:  # noqa: BLE001 (a fault of ours, whatever it is, must not cost the tool's answer)
            shaped = unshaped(draft, fault)
        return shaped if mode == "on" else observed(value, shaped)

    def choose(
        self,
        tool: str,
        *,
        surface: Surface = "python",
        profile: str | None = None,
        request: Overrides | None = None,
        default_profile: str | None = None,
        generation: LoadedConfig | None = None,
    ) -> tuple[Plan, tuple[Warned, ...]]:
        """Give the compiled choices for a call made now, and what is to be warned of: a bad config, a wrong wish."""
        plan, wrong = choose_plan(
            generation or self._live.current,
            tool,
            surface,
            profile=profile,
            request=request,
            default=default_profile,
            tier=self.facts.tier,
            environ=self._environ,
        )
        for warned in wrong:
            self._tell(warned.message)
        return plan, (*self.warnings, *wrong)

    def _tell(self, message: str) -> None:
        """Log what is asked for wrongly once, for whoever set a variable and wonders why nothing happens."""
        if message not in self._told and len(self._told) < 100:
            self._told.add(message)
            logger.warning("%s", scrub(message))

    def shape_result(
        self,
        result: Mapping[str, Any],
        *,
        tool: str = "",
        client: str | Mapping[str, object] | None = None,
        channels: Channels | None = None,
        **about: Any,
    ) -> dict[str, Any]:
        """Shape the wire form of an MCP result: dict in, dict out, both channels from one source."""
        from shaping.mcp.result import shape_result  # noqa: PLC0415 (only MCP surfaces come this way)

        return shape_result(self, result, tool=tool, client=client, channels=channels, **about)

    def keep(self, draft: Draft) -> str | None:
        """Keep what a response left out, so that it can be expanded, and give its ref."""
        if draft.ref is None:
            draft.ref = keep(draft, self.keeper(draft.plan.surface), self.generation.config.store.ttl_seconds)
        return draft.ref

    def cursor(self, draft: Draft, position: tuple[str, int] | None) -> str | None:
        """Write the cursor for the list that was cut first, where the rest of it can be expanded."""
        ref = self.keep(draft) if position is not None else None
        secret = self.keeper(draft.plan.surface).secret
        if ref is None or secret is None or position is None:
            return None
        from shaping.store.expand import cursor_at  # noqa: PLC0415 (most answers are whole)
        from shaping.store.pages import Position  # noqa: PLC0415 (the same)

        path, shown = position
        return cursor_at(secret, ref, original_path(draft, path), Position(offset=shown))

    def expand(
        self,
        ref: str,
        path: str | None = None,
        cursor: str | None = None,
        max_tokens: int | None = None,
        *,
        surface: Surface = "python",
        owner: str | None = None,
        written: Callable[[Shaped], str] | None = None,
    ) -> Shaped:
        """Give back what was left out: the exact values under a path, within the tool's budget, paged by cursor.

        The budget is for a page's text; where something else of it goes out, `written` says what.
        """
        from shaping.keeping import expanded  # noqa: PLC0415 (asked for after few answers)

        return expanded(
            self,
            self.keeper(surface),
            ref,
            path=path,
            cursor=cursor,
            max_tokens=max_tokens,
            surface=surface,
            owner=owner or self.facts.session_id,
            written=written,
        )

    def keeper(self, surface: Surface) -> Keeper:
        """Give what writes to this shaper's store, opened when something is first kept."""
        if self._keeper is None:
            from shaping.store import Keeper, open_store  # noqa: PLC0415 (most processes keep nothing)

            self._keeper = Keeper(open_store(self.generation.store_for(surface), environ=self._environ))
        return self._keeper

    def close(self) -> None:
        """Stop what runs in the background for this shaper alone; what is kept in a shared store stays."""
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None


def _problem(problem: ConfigError) -> Warned:
    """Warn in the response too: what runs is not what the file says, private paths included."""
    return Warned("BAD_CONFIG", f"the config has problems and is not in use as written: {problem}")


def _draft(plan: Plan, value: Any, about: dict[str, Any], shaper: Shaper) -> Draft:
    if isinstance(value, Envelope):
        # A tool that answers with an envelope of its own has said what the data is, and whether the call failed.
        value, about = value.data, {"error": value.error, "source": value, **about}
    if type(value) is str and "json" in plan.parse and (parsed := parse(value, EXACT)) is not None:
        # JSON in a string is data: fields, private paths and noise rules hold inside it.
        about = {"shown": partial(str, value), **about}
        value = parsed.value
    call = cleaned(Call(plan.tool, **about), plan)
    draft = Draft(plan, call, value, shaper, list(call.warnings))
    if call.written is not None:
        draft.plain = value
    if call.cursor is not None:
        draft.truncated, draft.cursor = True, call.cursor
    return draft


def _run(draft: Draft) -> Shaped:
    value = draft.raw
    for stage in _timed(STAGES) if draft.plan.debug else STAGES:
        value = stage(value, draft)
    return Shaped(value, draft)


def _timed(stages: tuple[Stage, ...]) -> Iterator[Stage]:
    """Give each stage with a clock around it; debug shows what the stages before the envelope took."""

    def timed(value: Any, draft: Draft, stage: Stage) -> Any:
        started = perf_counter()
        value = stage(value, draft)
        draft.timings[stage.__name__] = round((perf_counter() - started) * 1000, 3)
        return value

    return (partial(timed, stage=stage) for stage in stages)


def _live(config: str | PathLike[str] | Mapping[str, Any] | None, environ: Mapping[str, str]) -> LiveConfig:
    """Find the live config: a mapping is its own, a path must be good now, a search falls back with a warning."""
    if isinstance(config, Mapping):
        return LiveConfig(config, environ=environ, strict=True)
    live = shared(config, environ=environ, strict=config is not None)
    if config is not None and live.problem is not None:
        raise live.problem
    return live
