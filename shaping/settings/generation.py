from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from shaping.paths import PathError
from shaping.settings.model import Config, StoreConfig
from shaping.settings.plan import Call, Plan, compile_plan
from shaping.settings.presets import presets_for
from shaping.settings.request import check_call
from shaping.settings.resolve import Choice, resolve

if TYPE_CHECKING:
    from shaping.settings.plan import Overrides, Surface
    from shaping.settings.problems import Problem
    from shaping.settings.sources import Sources

Key: TypeAlias = "tuple[str, str | None, str | None, Surface, Overrides | None]"

# A server has hundreds of tools at most; what requests ask for themselves must not grow the cache without end.
_MOST_PLANS = 2048

_log = logging.getLogger("shaping.settings")


@dataclass(frozen=True, slots=True, eq=False)
class Generation:
    """One config as it was at one moment: checked, merged, and ready to give plans."""

    hash: str
    config: Config
    files: tuple[str, ...]
    sources: Sources
    warnings: tuple[Problem, ...] = ()
    _plans: dict[Key, Plan] = field(default_factory=dict, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    @classmethod
    def of(cls, sources: Sources) -> Generation:
        """Merge checked sources into a generation."""
        merged = _merge_all(sources)
        digest = hashlib.sha256(json.dumps(merged, ensure_ascii=False).encode()).hexdigest()[:12]
        return cls(digest, Config.model_validate(merged), sources.files, sources)

    @property
    def profiles(self) -> tuple[str, ...]:
        """Name the profiles that can be chosen."""
        return self.sources.profiles.names()

    def plan(
        self,
        tool: str,
        *,
        profile: str | None = None,
        tier: str | None = None,
        surface: Surface = "python",
        request: Overrides | None = None,
    ) -> Plan:
        """Give the plan for a tool, compiled at the first asking; `profile` is one chosen for the call itself."""
        # A plain tuple is made and hashed faster than a Call, and equals one: this is every call's first step.
        plan = self._plans.get((tool, profile, tier, surface, request))
        return plan or self._compiled(Call(tool, profile, tier, surface, request))

    def explain(
        self,
        tool: str,
        *,
        profile: str | None = None,
        tier: str | None = None,
        surface: Surface = "python",
        request: Overrides | None = None,
    ) -> list[Choice]:
        """List every choice for a tool with its value and where it was made."""
        return [*self._resolved(Call(tool, profile, tier, surface, request)).values()]

    def store_for(self, surface: Surface) -> StoreConfig:
        """Give the store's settings; the next `shaping expand` is another process, so a command's store is a file."""
        store = self.config.store
        kind = store.kind or ("sqlite" if surface == "command" else "memory")
        return store.model_copy(update={"kind": kind})

    def warm(self, other: Generation) -> None:
        """Compile the plans that another generation has in use, so that a swap costs the next call nothing."""
        with other._lock:
            keys = list(other._plans)
        for call in (Call(*key) for key in keys):
            if call.request is None and (call.profile is None or call.profile in self.profiles):
                self._plans.get(call) or self._compiled(call)

    def _resolved(self, call: Call) -> dict[str, Choice]:
        check_call(call, self.profiles)
        presets = presets_for(call.tool, call.surface)
        return resolve(call, self.sources.configs, self.sources.profiles, presets)

    def compile(self, call: Call) -> Plan:
        """Compile a plan afresh; raise PathError where rules that are good one by one do not go together."""
        return self._compile(call, self._resolved(call))

    def _compile(self, call: Call, choices: Mapping[str, Choice]) -> Plan:
        return compile_plan(call, choices, config_hash=self.hash, tokenizer=self.config.tokenizer)

    def _compiled(self, call: Call) -> Plan:
        choices = self._resolved(call)
        try:
            plan = self._compile(call, choices)
        except PathError as error:
            # Patterns that meet only in this tool's name rename two fields alike: the answer matters more than names.
            _log.warning("the fields of %r are not renamed, because %s", call.tool, error.reason)
            plan = self._compile(call, {**choices, "rename": Choice("rename", {}, ())})
        with self._lock:
            while len(self._plans) >= _MOST_PLANS:
                del self._plans[next(iter(self._plans))]
            return self._plans.setdefault(call, plan)


def _merge_all(sources: Sources) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for document in sources.configs:
        merged = _merge(merged, document.data)
    profiles: dict[str, Any] = {}
    for name in sources.profiles.names():
        for stanza in sources.profiles.stanzas[name]:
            profiles = _merge(profiles, {name: stanza.choices})
    return {**merged, "profiles": profiles}


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one layer over another: objects are merged key by key, anything else is replaced."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        if isinstance(under, Mapping) and isinstance(value, Mapping):
            merged[key] = _merge(under, value)
        else:
            merged[key] = value
    return merged
