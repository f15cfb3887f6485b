"""Drift: what a server's answers are today against what they were when the rules for them were made."""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import orjson

from shaping.errors import nearest
from shaping.learning.fields import covers, leads_to
from shaping.settings.files import ledger_path
from shaping.settings.resolve import fits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from shaping.learning.statistics import ToolStatistics, TrafficStatistics
    from shaping.settings import LoadedConfig

DriftKind: TypeAlias = Literal["unmatched", "new", "type", "values", "vanished", "description", "schema"]
_VERSION: Final = 1
_NEW_SHARE: Final = 0.05  # of a tool's bytes from which a new field is told
_ENUM: Final = 12  # values of a field that may be a closed set
_ENUM_SEEN: Final = 30  # values that were seen before that is believed
_DEFINED: Final[tuple[DriftKind, ...]] = ("description", "schema")
_PATHS: Final = ("include_only", "exclude_fields", "private")


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


@dataclass(frozen=True, slots=True)
class Baseline:
    """What traffic was like: the fields of each tool, and hashes of its description and schemas."""

    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    definitions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, traffic: TrafficStatistics) -> Baseline:
        """Take the present traffic as what is usual."""
        tools = {one.name: {"calls": one.calls, "fields": _fields(one)} for one in traffic.tools.values()}
        definitions = {
            server: {tool["name"]: _definition(tool) for tool in tools_of}
            for server, (_, tools_of) in traffic.definitions.items()
        }
        return cls(dict(sorted(tools.items())), definitions)

    def written(self) -> str:
        """Write it as JSON, in an order that gives small differences."""
        data = {"version": _VERSION, "tools": self.tools, "definitions": self.definitions}
        return orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode() + "\n"

    @classmethod
    def read(cls, path: Path) -> Baseline | None:
        """Read a baseline; None where there is none."""
        try:
            data = orjson.loads(path.read_bytes())
        except (OSError, orjson.JSONDecodeError):
            return None
        return cls(data["tools"], data["definitions"]) if data.get("version") == _VERSION else None


def baseline_path(config: Path) -> Path:
    """Return where the baseline of a config stands: beside it."""
    return config.with_name(f"{config.stem}.traffic.json")


def find_drift(traffic: TrafficStatistics, config: LoadedConfig, baseline: Baseline | None) -> list[Drift]:
    """List what changed since the baseline, and the paths of a config that match nothing."""
    found = [*_unmatched(traffic, config)]
    if baseline is not None:
        for one in traffic.tools.values():
            if (before := baseline.tools.get(one.name)) is not None:
                found += _changed_fields(one, before["fields"], config)
        found += _changed_definitions(traffic, baseline)
    return sorted(found, key=lambda drift: (drift.tool, drift.kind, drift.path))


def _unmatched(traffic: TrafficStatistics, config: LoadedConfig) -> Iterator[Drift]:
    for pattern, override in (config.config.tool_overrides or {}).items():
        listed = [(key, path) for key in _PATHS for path in getattr(override, key) or ()]
        yield from _without_field(pattern, listed, _fields_of(traffic, pattern))


def find_idle(traffic: TrafficStatistics, config: LoadedConfig) -> list[Drift]:
    """List rules that match no tool of whole traffic, and paths of `private` and `redact` that match none of it."""
    called = {one.name for one in traffic.tools.values()}
    defined = (
        f"{server.replace('/', '_')}/{tool['name']}"
        for server, (_, tools) in traffic.definitions.items()
        for tool in tools
    )
    tools = sorted({*called, *defined})
    overrides = config.config.tool_overrides or {}
    idle = [pattern for pattern in overrides if not any(fits(tool, pattern) for tool in tools)]
    found = [Drift("unmatched", pattern, "", *_no_tool(pattern, tools)) for pattern in idle]
    everywhere = config.config.global_
    if everywhere is not None:
        # Those of a tool's own rules are looked for among its other paths.
        hidden = [("private", path) for path in everywhere.private or ()]
        found += _without_field("global", [*hidden, *_redacted(everywhere)], _fields_of(traffic, "**"))
    for pattern, rules in overrides.items():
        found += _without_field(pattern, _redacted(rules), _fields_of(traffic, pattern))
    return found


def _redacted(rules: Any) -> list[tuple[str, str]]:
    return [("redact.paths", path) for path in getattr(rules.redact, "paths", None) or ()]


def _fields_of(traffic: TrafficStatistics, pattern: str) -> list[str]:
    """Return the fields of all tools that a pattern stands for."""
    tools = (one for one in traffic.tools.values() if fits(one.name, pattern) and one.calls > one.failed)
    return sorted({path for one in tools for path in one.fields if path})


def _without_field(tool: str, listed: Iterable[tuple[str, str]], fields: list[str]) -> Iterator[Drift]:
    """Report the paths under some keys that no field of the traffic has."""
    for key, path in listed if fields else ():
        if not any(leads_to(path, one) for one in fields):
            near = nearest(path, fields, n=1)
            rule = f"write {near[0]!r}, or take the path out of {key}" if near else f"take it out of {key}"
            yield Drift("unmatched", tool, path, f"{key} {path!r} matches nothing in this traffic", rule)


def _no_tool(pattern: str, tools: list[str]) -> tuple[str, str]:
    names = tools if "/" in pattern else [tool.rpartition("/")[2] for tool in tools]
    near = nearest(pattern, names, n=1)
    return "these rules match no tool of this traffic", f"write {near[0]!r}" if near else "take them out"


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
    total = sum(found.bytes for found in one.fields.values()) or 1
    return {
        path: {
            "types": sorted(found.types - {"null"}),
            "values": _closed(found.distinct, found.values),
            "share": round(found.bytes / total, 4),
        }
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


def findings_path(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return where the last findings are kept for `shaping ui`: beside the ledger; None where that is off."""
    ledger = ledger_path(environ)
    return None if ledger is None else ledger.with_name("drift.json")


def keep_findings(drift: list[Drift], failures: list[Any], time: float, path: Path) -> None:
    """Keep what a check found, as JSON: `time`, `drift` and `contracts`."""
    data = {"time": time, "drift": [asdict(one) for one in drift], "contracts": [asdict(one) for one in failures]}
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.write_bytes(orjson.dumps(data, option=orjson.OPT_INDENT_2))
    temporary.replace(path)
