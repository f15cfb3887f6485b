"""Drift: what a server's answers are today against what they were when the rules for them were made."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import orjson
from pydantic import BaseModel, ValidationError

from shaping.errors import nearest
from shaping.learning.fields import covers, leads_to
from shaping.learning.statistics import ToolStatistics, TrafficStatistics
from shaping.learning.traffic import ToolCall, Usage
from shaping.paths import deep_path
from shaping.settings.files import ledger_path, replace_file
from shaping.settings.patterns import is_for
from shaping.settings.plan import full_name

if TYPE_CHECKING:
    from shaping.settings.loading import LoadedConfig
    from shaping.shaper import Shaper

logger = logging.getLogger("shaping")

DriftKind: TypeAlias = Literal["unmatched", "new", "type", "values", "vanished", "description", "schema"]
_NEW_SHARE: Final = 0.05  # of a tool's bytes from which a new field is told
_ENUM: Final = 12  # values of a field that may be a closed set
_ENUM_SEEN: Final = 30  # values that were seen before that is believed
_DEFINED: Final[tuple[DriftKind, ...]] = ("description", "schema")
_EVERY: Final = 10  # recorded calls after which a watch compares again
_MOST: Final = 2_000  # calls that a watch takes, so that a long session holds no more
_PATHS: Final = ("include_only", "exclude_fields")  # not private: a recording has no private fields


@dataclass(frozen=True, slots=True)
class Drift:
    """One change: of which tool, at which path, in words, and the rule that answers it."""

    kind: DriftKind
    tool: str
    path: str
    message: str
    rule: str = ""

    def __str__(self) -> str:
        return f"{self.tool}: {self.message}" + (f"; {self.rule}" if self.rule else "")


class Baseline(BaseModel, frozen=True):
    """What traffic was like: the fields of each tool, and hashes of its description and schemas."""

    version: Literal[1] = 1
    tools: Mapping[str, Mapping[str, Any]]
    definitions: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, traffic: TrafficStatistics) -> Baseline:
        """Take the present traffic as what is usual."""
        tools = {one.name: {"calls": one.calls, "fields": _fields(one)} for one in traffic.tools.values()}
        definitions = {
            server: {tool["name"]: _definition(tool) for tool in tools_of}
            for server, (_, tools_of) in traffic.definitions.items()
        }
        return cls(tools=tools, definitions=definitions)

    def written(self) -> str:
        """Write it as JSON, in an order that gives small differences."""
        return orjson.dumps(self.model_dump(), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode() + "\n"

    @classmethod
    def read(cls, path: Path) -> Baseline | None:
        """Read a baseline; None where there is none."""
        try:
            return cls.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            return None


def baseline_path(config: Path) -> Path:
    """Return where the baseline of a config stands: beside it."""
    return config.with_name(f"{config.stem}.traffic.json")


def find_drift(
    traffic: TrafficStatistics, config: LoadedConfig, baseline: Baseline | None, *, whole: bool = False
) -> list[Drift]:
    """List what changed since the baseline, and the paths of a config that match nothing.

    Of `whole` traffic, and not the first calls of a session, also rules that match no tool, and what holds for all.
    """
    rules: dict[str, tuple[str, Any]] = {
        pattern: (pattern, one) for pattern, one in (config.config.tool_overrides or {}).items()
    }
    found: list[Drift] = []
    if whole:
        found += _without_tool(traffic, [*rules])
        if config.config.global_ is not None:
            rules["global"] = ("**", config.config.global_)
    for named, (pattern, one) in rules.items():
        fields = {path for tool in traffic.tools.values() if is_for(tool.name, pattern) for path in tool.fields if path}
        found += _unmatched(named, one, sorted(fields), whole=whole)
    if baseline is not None:
        for tool in traffic.tools.values():
            if (before := baseline.tools.get(tool.name)) is not None:
                found += _changed_fields(tool, before["fields"], config)
        found += _changed_definitions(traffic, baseline)
    return sorted(found, key=lambda drift: (drift.tool, drift.kind, drift.path))


def _without_tool(traffic: TrafficStatistics, patterns: list[str]) -> Iterator[Drift]:
    tools = {one.name for one in traffic.tools.values()}
    tools |= {full_name(tool["name"], server) for server, (_, tools) in traffic.definitions.items() for tool in tools}
    for pattern, near in idle_rules(patterns, tools):
        rule = f"write {near!r}" if near else "take them out"
        yield Drift("unmatched", pattern, "", "these rules match no tool of this traffic", rule)


def idle_rules(patterns: Iterable[str], tools: Collection[str]) -> Iterator[tuple[str, str | None]]:
    """List the patterns that match none of some tools, each with the tool that may have been meant."""
    for pattern in patterns:
        if not any(is_for(tool, pattern) for tool in tools):
            names = {tool if "/" in pattern else tool.rpartition("/")[2] for tool in tools}
            yield pattern, next(iter(nearest(pattern, sorted(names), n=1)), None)


def _unmatched(named: str, rules: Any, fields: Sequence[str], *, whole: bool) -> Iterator[Drift]:
    """Report the paths of some rules that match none of the fields; private ones, where they match something deeper."""
    listed = [(key, path) for key in _PATHS for path in getattr(rules, key, None) or ()]
    listed += [("redact.paths", path) for path in getattr(rules.redact, "paths", None) or ()]
    for key, path in listed if fields else ():
        if not any(leads_to(path, one) for one in fields):
            near = nearest(path, fields, n=1)
            rule = f"write {near[0]!r}, or take the path out of {key}" if near else f"take it out of {key}"
            yield Drift("unmatched", named, path, f"{key} {path!r} matches nothing in this traffic", rule)
    for path in rules.private or () if whole else ():
        deep = deep_path(path)
        if not any(leads_to(path, one) for one in fields) and any(leads_to(deep, one) for one in fields):
            message = f"private {path!r} matches nothing but deeper in this traffic"
            yield Drift("unmatched", named, path, message, f"write {deep!r}")


def _changed_fields(one: ToolStatistics, before: Mapping[str, Any], config: LoadedConfig) -> Iterator[Drift]:
    total = sum(found.bytes for found in one.fields.values()) or 1
    choices = {choice.name: choice.value for choice in config.explain(one.name, surface="mcp")}
    dropped = (*choices["exclude_fields"], *choices["private"])
    for path, found in one.fields.items():
        drift = partial(Drift, tool=one.name, path=path)
        known = before.get(path)
        if known is None:
            share = found.bytes / total
            if share >= _NEW_SHARE and not any(covers(rule, path) for rule in dropped):
                said = f"{path or 'a text'} is new and is {share:.0%} of the answer"
                yield drift("new", message=said, rule=_rule(path, choices))
            continue
        types = {*found.types} - {"null"}
        if known["types"] and types and not types <= {*known["types"]}:
            was, now = " or ".join(known["types"]), " or ".join(sorted(types))
            said = f"{path or 'the answer'} was {was} and is {now} now"
            yield drift("type", message=said, rule=f"check rules for {path!r}")
        if known["values"] is None:
            continue
        if found.distinct is None:
            said = f"{path} was one of {len(known['values'])} values and is free now"
            yield drift("values", message=said, rule="check what reads them")
        elif fresh := sorted(found.distinct - {*known["values"]}):
            said = f"{path} has values that it never had: {', '.join(fresh[:5])}"
            yield drift("values", message=said, rule="check what reads them")


def _rule(path: str, choices: Mapping[str, Any]) -> str:
    if choices["include_only"] is not None:
        return f'it is left out; to show it, add "{path}" to include_only'
    return f'to leave it out, add "exclude_fields": ["{path}"]'


def _changed_definitions(traffic: TrafficStatistics, baseline: Baseline) -> Iterator[Drift]:
    for server, (_, tools) in traffic.definitions.items():
        now = {tool["name"]: _definition(tool) for tool in tools}
        for name, before in baseline.definitions.get(server, {}).items():
            tool = f"{server}/{name}"
            if name not in now:
                gone = "the server no longer has this tool"
                yield Drift("vanished", tool, "", gone, "take its rules out of the config")
                continue
            for kind in _DEFINED:
                if before[kind] != now[name][kind]:
                    yield Drift(kind, tool, "", f"its {kind} changed", "run `shaping suggest` on new traffic")


def _fields(one: ToolStatistics) -> dict[str, Any]:
    return {
        path: {"types": sorted(found.types - {"null"}), "values": _closed(found.distinct, found.values)}
        for path, found in sorted(one.fields.items())
    }


def _closed(distinct: frozenset[str] | None, values: int) -> list[str] | None:
    """Return the values of a field where they are few and were seen often: then a new one is news."""
    return sorted(distinct) if distinct and len(distinct) <= _ENUM and values >= _ENUM_SEEN else None


def _definition(tool: Mapping[str, Any]) -> dict[str, str]:
    schemas = [tool.get("inputSchema"), tool.get("outputSchema")]
    return {"description": _hash(tool.get("description")), "schema": _hash(schemas)}


def _hash(value: Any) -> str:
    return hashlib.blake2b(orjson.dumps(value, option=orjson.OPT_SORT_KEYS), digest_size=8).hexdigest()


def findings_path() -> Path | None:
    """Return where the last findings are kept for `shaping ui`: beside the ledger; None where that is off."""
    ledger = ledger_path()
    return None if ledger is None else ledger.with_name("drift.json")


def keep_findings(drift: list[Drift], failures: list[Any], time: float, path: Path) -> None:
    """Keep what a check found, as JSON: `time`, `drift` and `contracts`."""
    data = {"time": time, "drift": [asdict(one) for one in drift], "contracts": [asdict(one) for one in failures]}
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace_file(path, orjson.dumps(data, option=orjson.OPT_INDENT_2))


class DriftWatch:
    """Takes the lines of a recorder, on its thread, and compares them with the baseline beside the config."""

    def __init__(self, shaper: Shaper) -> None:
        self._shaper = shaper
        self._traffic = TrafficStatistics()
        self._calls = 0
        self._told: dict[str, Drift] = {}

    def __call__(self, line: Mapping[str, Any]) -> None:
        """Take a line that was recorded."""
        if "tools" in line:
            self._traffic.define(time.time(), line["server"], line["tools"])
            self._look()
            return
        self._calls += 1
        if self._calls > _MOST:
            return
        call = ToolCall(line["tool"], line["result"], line["form"], line["server"], line["client"])
        self._traffic.add(call, Usage())
        if self._calls % _EVERY == 0:
            self._look()

    def _look(self) -> None:
        config = self._shaper.loaded_config
        baseline = Baseline.read(baseline_path(Path(config.files[0]))) if config.files else None
        if baseline is None:
            return
        fresh = [one for one in find_drift(self._traffic, config, baseline) if str(one) not in self._told]
        for one in fresh:
            self._told[str(one)] = one
            logger.warning("the traffic has changed: %s", one)
        if fresh and (path := findings_path()) is not None:
            keep_findings([*self._told.values()], [], time.time(), path)
