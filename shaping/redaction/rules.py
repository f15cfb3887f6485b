"""What a rule is, and the two engines that run it: a fast one that says whether, a precise one that says where."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

from pydantic_core import SchemaValidator, core_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


Test: TypeAlias = "Callable[[str | bytes], bool]"


@dataclass(frozen=True, slots=True)
class Hit:
    """Where a rule replaced something, and how often: elements of a list alike are one hit, at `items[].token`."""

    rule: str
    path: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Rule:
    r"""A kind of credential: its pattern, words that must stand before it, and a second look at what was found.

    Patterns keep to what both engines read: no lookaround unless there is a seed, no Unicode, repeats bounded or last.
    A leading `\b` means: not inside a longer word, as it would be inside base64.
    """

    name: str
    pattern: str
    near: str | None = None
    check: Callable[[str], bool] | None = None
    seed: str | None = None  # what the fast engine looks for, where the pattern does not begin with letters of its own


# Between a name and its value: quotes (escaped ones too, for JSON inside strings), colons, equals signs, encoded too.
_BETWEEN: Final = r"""(?:["'\\\s:=>,]|%3[ADad]|%2[02C]|\+|[Vv]alue){1,16}"""
# A word may begin after an escape of JSON inside a string, where the n of a newline stands before it.
_EDGE: Final = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
_GROUP: Final = 20  # rules in one test of the second round: measured, see benchmarks/bench_redaction.py


def mark(rule: str) -> str:
    """Give the text that stands where a secret stood."""
    return f"[redacted:{rule}]"


class Ruleset:
    """Rules in their order, with the tests that say at the speed of memory whether any of them is worth trying.

    Rust's regex engine, which pydantic carries, looks for all of them in one pass of some 0.2 ms per 100 KB where
    Python's needs 50 ms, and it is linear in the input whatever the input is.
    """

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules

    @cached_property
    def hinted(self) -> Test:
        """Tell whether a text holds a credential or the name of one; false means that there is nothing to do."""
        return _test(_seed(rule.near or rule.seed or rule.pattern) for rule in self.rules)

    @cached_property
    def named(self) -> Test:
        """Tell whether a field's name is one that a rule knows."""
        return _test(_seed(rule.near) for rule in self.rules if rule.near)

    @cached_property
    def _groups(self) -> tuple[tuple[Test, tuple[Rule, ...]], ...]:
        groups = (self.rules[start : start + _GROUP] for start in range(0, len(self.rules), _GROUP))
        return tuple((_test(_whole_seed(rule) for rule in group), group) for group in groups)

    def matched(self, text: str | bytes) -> bool:
        """Tell whether a rule's whole pattern is in the text; slower than `hinted`, and seldom wrong."""
        return any(test(text) for test, _ in self._groups)

    def hide(self, text: str) -> tuple[str, list[str]]:
        """Replace what the rules find in the text by marks, and name those that found something."""
        names: list[str] = []
        subject = encodable(text)
        for rule in [rule for test, group in self._groups if test(subject) for rule in group if _single(rule)(subject)]:
            text, count = _replace(rule, text)
            names += [rule.name] * bool(count)
        return text, names


def encodable(text: str) -> str | bytes:
    """Give the text as the fast engine takes it: half of a surrogate pair would make it call the text clean."""
    return text if text.isascii() else text.encode("utf-8", "replace")


def _test(seeds: Iterable[str]) -> Test:
    text = core_schema.str_schema(pattern="|".join(sorted(set(seeds))), regex_engine="rust-regex")
    found = SchemaValidator(core_schema.with_default_schema(text, default=None, on_error="default")).validate_python
    return lambda subject: found(subject) is not None


def _whole(rule: Rule) -> str:
    return rule.pattern if rule.near is None else f"{rule.near}{_BETWEEN}(?P<secret>{rule.pattern})"


def _seed(pattern: str) -> str:
    # A group's name may stand only once, and a boundary that knows Unicode is slow: Python's engine has both.
    return "(?:" + pattern.replace("(?P<secret>", "(?:").replace(r"\b", "") + ")"


def _whole_seed(rule: Rule) -> str:
    return _seed(rule.seed or _whole(rule))


@cache
def _single(rule: Rule) -> Test:
    return _test([_whole_seed(rule)])


@cache
def _precise(rule: Rule) -> re.Pattern[str]:
    return re.compile(_whole(rule).replace(r"\b", _EDGE), re.ASCII)


def _replace(rule: Rule, text: str) -> tuple[str, int]:
    hidden = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal hidden
        group = "secret" if "secret" in match.re.groupindex and match["secret"] is not None else 0
        if rule.check is not None and not rule.check(match[group]):
            return match[0]
        hidden += 1
        start, end = match.start(group) - match.start(), match.end(group) - match.start()
        return match[0][:start] + mark(rule.name) + match[0][end:]

    return _precise(rule).sub(replace, text), hidden
