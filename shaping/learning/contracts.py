"""Answer contracts: what a model reads must answer a config's questions as the tool's own data does."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.learning.fields import covers
from shaping.learning.replay import SURFACES
from shaping.paths import parse
from shaping.paths.selection import matches
from shaping.response import cut_end
from shaping.settings.resolve import fits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shaping.learning.traffic import ToolCall
    from shaping.response import Omission, Shaped
    from shaping.settings import LoadedConfig
    from shaping.settings.model import AnswerContract
    from shaping.shaper import Shaper

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
            before = merged.get(key)
            merged[key] = one if before is None else _together(before, one)
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


def contracts_for(config: LoadedConfig, tool: str) -> list[AnswerContract]:
    """Return the questions that a config has for a tool."""
    overrides = config.config.tool_overrides or {}
    return [answer for pattern, one in overrides.items() if fits(tool, pattern) for answer in one.answers or ()]


def check_call(shaper: Shaper, call: ToolCall) -> ContractReport:
    """Ask all questions of one call, of its data and of what a model reads of that."""
    report = ContractReport()
    contracts = contracts_for(shaper.generation, call.name)
    for data in call.data() if contracts else ():
        shaped = shaper.shape(data, tool=call.name, surface=SURFACES[call.form], as_json=False)
        for contract in contracts:
            report.asked += 1
            if answer(contract, data) not in _SAYS_NOTHING:
                report.answered |= {(contract.question, _place(contract))}
            if (failure := _compared(contract, data, shaped, call.name, shaper.generation)) is not None:
                report = report.merge(ContractReport(0, {(failure.tool, failure.question, failure.reason): failure}))
    return report


def _compared(
    contract: AnswerContract, data: Any, shaped: Shaped, tool: str, config: LoadedConfig
) -> ContractFailure | None:
    raw, read = answer(contract, data), answer(contract, shaped.data)
    wanted = raw if contract.expected is None else contract.expected
    if _same(wanted, read):
        return None
    path = _place(contract)
    if not _same(wanted, raw):
        return ContractFailure(tool, contract.question, path, _text(raw), _text(read), f"{_text(wanted)} is expected")
    reason = f"{path} is left out by {_rule(contract, shaped, tool, config)}"
    return ContractFailure(tool, contract.question, path, _text(raw), _text(read), reason)


def answer(contract: AnswerContract, data: Any) -> Any:
    """Return the answer that some data gives to a question."""
    if contract.path is not None:
        found = list(matches(data, parse(contract.path).steps))
        return found[0] if len(found) == 1 else found
    import jmespath  # noqa: PLC0415 (an extra; a config that names one is refused without it)

    return jmespath.search(contract.jmespath or "", data)


def _place(contract: AnswerContract) -> str:
    return contract.path or contract.jmespath or ""


def _rule(contract: AnswerContract, shaped: Shaped, tool: str, config: LoadedConfig) -> str:
    """Name the rule that takes the answer: where it stands in the config, or which part of the profile it is."""
    for omission in shaped.omissions:
        if contract.path is None or omission.path == "**" or covers(omission.path, contract.path):
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
    return cut_end(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode(), _SHOWN)


def _together(one: ContractFailure, other: ContractFailure) -> ContractFailure:
    return replace(min((one, other), key=lambda each: (each.raw, each.read)), calls=one.calls + other.calls)


def total(reports: Iterable[ContractReport]) -> ContractReport:
    """Add reports up."""
    merged = ContractReport()
    for one in reports:
        merged = merged.merge(one)
    return merged
