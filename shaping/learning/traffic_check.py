"""Checks of recorded traffic: answer contracts, and what changed since the rules were made.

A contract is a question of a config, and what a model reads must answer it as the tool's own data does.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.learning.drift import Baseline, Drift, baseline_path, find_drift, findings_path, keep_findings
from shaping.learning.fields import covers, found_in, jmespath_names, names
from shaping.learning.statistics import TrafficStatistics, parallel, statistics_of
from shaping.learning.traffic import SURFACES, ToolCall, Usage, traffic_files
from shaping.paths import parse
from shaping.paths.selection import matches
from shaping.response import Omission, Shaped, cut_end
from shaping.settings.patterns import is_for
from shaping.settings.sources import GIVEN_NAME
from shaping.shaper import Shaper

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shaping.settings.loading import LoadedConfig
    from shaping.settings.model import AnswerContract

_SHOWN: Final = 120  # characters of an answer in a message
_SAYS_NOTHING: Final[tuple[Any, ...]] = (None, "", [], {})
_LIMITS: Final[Mapping[str, str]] = {"items": "max_items or max_tokens", "string": "max_string or max_tokens"}


@dataclass(frozen=True, slots=True)
class ContractFailure:
    """A question that is answered differently: by the data, by what is read of it, and because of which rule."""

    tool: str
    question: str
    path: str
    raw: str
    read: str
    reason: str
    calls: int = 1

    def __str__(self) -> str:
        many = f" ({self.calls:,} calls)" if self.calls > 1 else ""
        answers = f"{self.raw} in the tool's data and {self.read} in what the model reads"
        return f"{self.tool}: {self.question!r} is {answers}{many}; {self.reason}"


@dataclass(slots=True)
class ContractReport:
    """What came of asking: how many answers were compared, and where they differ."""

    asked: int = 0
    failures: dict[tuple[str, str, str], ContractFailure] = field(default_factory=dict)
    answered: frozenset[tuple[str, str]] = frozenset()  # questions, with their paths, that some call has an answer to

    def merge(self, other: ContractReport) -> ContractReport:
        """Return what came of both."""
        merged = dict(self.failures)
        for key, one in other.failures.items():
            both = (one, merged.get(key, one))
            calls = one.calls + (merged[key].calls if key in merged else 0)
            merged[key] = replace(min(both, key=lambda each: (each.raw, each.read)), calls=calls)
        return ContractReport(self.asked + other.asked, dict(sorted(merged.items())), self.answered | other.answered)


def unanswered(config: LoadedConfig, report: ContractReport) -> list[str]:
    """Name the contracts that no call could answer: they would be kept whatever a rule took."""
    overrides = config.config.tool_overrides or {}
    return [
        f"{pattern}: {contract.question!r}: no recorded answer of this tool has anything at {_place(contract)}"
        for pattern, one in overrides.items()
        for contract in one.answers or ()
        if (contract.question, _place(contract)) not in report.answered
    ]


def check_call(shaper: Shaper, call: ToolCall) -> ContractReport:
    """Ask all questions of one call, of its data (or its text, for patterns) and of what a model reads of that."""
    report = ContractReport()
    overrides = shaper.loaded_config.config.tool_overrides or {}
    contracts = [one for name, rules in overrides.items() if is_for(call.name, name) for one in rules.answers or ()]
    for of_text in {one.pattern is not None for one in contracts}:
        for raw in [call.text_before()] if of_text else call.data():
            shaped = shaper.shape(raw, tool=call.name, surface=SURFACES[call.form], as_json=False)
            read = call.text_after(shaper) if of_text else shaped.data
            for contract in (one for one in contracts if (one.pattern is not None) == of_text):
                report.asked += 1
                answers = answer(contract, raw), answer(contract, read)
                if answers[0] not in _SAYS_NOTHING:
                    report.answered |= {(contract.question, _place(contract))}
                if (failure := _compared(contract, *answers, shaped, shaper.loaded_config)) is not None:
                    report = report.merge(
                        ContractReport(0, {(failure.tool, failure.question, failure.reason): failure})
                    )
    return report


def _compared(
    contract: AnswerContract, raw: Any, read: Any, shaped: Shaped, config: LoadedConfig
) -> ContractFailure | None:
    wanted = raw if contract.expected is None else contract.expected
    if _same(wanted, read):
        return None
    place, tool, reason = _place(contract), shaped.plan.tool, f"{_text(wanted)} is expected"
    if _same(wanted, raw):
        gone = f"{place} is left out" if contract.path else "something it is computed from is left out"
        reason = f"{gone} by {_rule(contract, shaped, tool, config)}"
    return ContractFailure(tool, contract.question, place, _text(raw), _text(read), reason)


def answer(contract: AnswerContract, data: Any) -> Any:
    """Return the answer that some data gives to a question, or to a pattern some text."""
    if contract.jmespath is None:
        found = list(matches(data, parse(contract.path).steps)) if contract.path else found_in(contract.pattern, data)
        return found[0] if len(found) == 1 else found
    import jmespath  # noqa: PLC0415 (an extra; `shaping check` ends before this without it)

    try:
        return jmespath.search(contract.jmespath, data)
    except jmespath.exceptions.JMESPathError:  # such as the length of a list that is not there
        return None


def _place(contract: AnswerContract) -> str:
    return contract.path or contract.jmespath or contract.pattern or ""


def _rule(contract: AnswerContract, shaped: Shaped, tool: str, config: LoadedConfig) -> str:
    """Name the rule that takes the answer: where it stands in the config, or which part of the profile it is."""
    asked = {*jmespath_names(contract.jmespath or "")}
    for omission in shaped.omissions:
        named = covers(omission.path, contract.path) if contract.path else not asked.isdisjoint(names(omission.path))
        if named or contract.pattern or omission.path == "**" or not names(omission.path):
            return _named(omission, shaped, tool, config)
    return f"the profile {shaped.plan.profile}"


def _named(omission: Omission, shaped: Shaped, tool: str, config: LoadedConfig) -> str:
    if omission.reason in {"fields", "private"}:
        choices = {one.name: one for one in config.explain(tool, surface=shaped.plan.surface)}
        for name in ("private", "exclude_fields"):
            for path in choices[name].value:
                if covers(path, omission.path):
                    return f"{name} {path!r}, {choices[name].origins[-1]}"
        return f"include_only, {choices['include_only'].origins[-1]}"
    limit = _LIMITS.get(omission.reason, "max_tokens" if omission.reason == "depth" else "")
    return limit or f"the noise rule {omission.reason!r} of the profile {shaped.plan.profile}"


def _same(one: Any, other: Any) -> bool:
    """Compare two answers; what is null or empty is told by its name, and so is as good as what is not there."""
    if one in _SAYS_NOTHING or other in _SAYS_NOTHING:
        return one in _SAYS_NOTHING and other in _SAYS_NOTHING
    return bool(_plain(one) == _plain(other))


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value if item not in _SAYS_NOTHING]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item not in _SAYS_NOTHING}
    return value


def _text(value: Any) -> str:
    if value == []:
        return "missing"
    return cut_end(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode(), _SHOWN)


@dataclass(frozen=True, slots=True)
class TrafficCheck:
    """What a check of some traffic found."""

    calls: int
    contracts: ContractReport
    unanswered: tuple[str, ...]  # contracts that no call of the traffic could answer
    drift: tuple[Drift, ...]
    compared: bool  # whether there was a baseline to compare with


def check_traffic(
    folder: Path, config: LoadedConfig, *, progress: Callable[[str, int, int], None] = lambda *_: None
) -> TrafficCheck:
    """Read the traffic, ask the contracts of every call, and compare with the baseline beside the config."""
    own = [file for file in config.files if file != GIVEN_NAME]
    baseline = Baseline.read(baseline_path(Path(own[0]))) if own else None
    traffic, merged, todo = TrafficStatistics(), ContractReport(), traffic_files(folder)
    with parallel(sum(path.stat().st_size for path in todo)) as run:
        for done, (some, report) in enumerate(run(partial(_check_file, _given(config)), todo), 1):
            traffic, merged = traffic.merge(some), merged.merge(report)
            progress("answers", done, len(todo))
    drift = find_drift(traffic.ordered(), config, baseline, whole=True)
    path = findings_path()
    if path is not None:
        with suppress(OSError):  # the page shows it where it can be written; the check has its result all the same
            keep_findings(drift, [*merged.failures.values()], time.time(), path)
    calls = sum(one.calls for one in traffic.tools.values())
    return TrafficCheck(calls, merged, tuple(unanswered(config, merged)), tuple(drift), baseline is not None)


def _check_file(config: Path | Mapping[str, Any], path: Path) -> tuple[TrafficStatistics, ContractReport]:
    """Read a recording once, for what its calls are like and for the contracts of a config."""
    shaper, report = Shaper(config, watch=False), ContractReport()

    def check(call: ToolCall) -> None:
        nonlocal report
        if not call.failed:
            report = report.merge(check_call(shaper, call))

    return statistics_of(Usage(), path, check), report


def _given(config: LoadedConfig) -> Path | Mapping[str, Any]:
    """Return a config as other processes can be given it: its file, so that failures name the place of a rule."""
    document = [document for document in config.sources.configs if document.data][-1]  # one not allowed ends in {}
    return document.data if document.file == GIVEN_NAME else Path(document.file)
