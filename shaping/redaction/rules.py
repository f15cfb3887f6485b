"""What a rule is, and the two engines that run it: a fast one that says whether, a precise one that says where."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pydantic_core import SchemaValidator, core_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


Test: TypeAlias = "Callable[[str | bytes], Any]"  # truthy where one of the patterns is in the text


@dataclass(frozen=True, slots=True)
class Hit:
    """Where a rule replaced something, and how often: elements of a list alike are one hit, at `items[].token`."""

    rule: str
    path: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Rule:
    r"""A kind of credential: its pattern, words that must stand before it, and a second look at what was found.

    Patterns keep to what both engines read: no lookaround unless there is a seed, no class that
    means more to one of them (`\s`, `\w`), repeats bounded or last.
    A leading `\b` means: not inside a longer word, as it would be inside base64.
    """

    name: str
    pattern: str
    near: str | None = None
    check: Callable[[str], bool] | None = None
    hint: str | None = None  # what the first look searches for, where the pattern's own beginning is too common
    seed: str | None = None  # what the fast engine searches for in place of the pattern, where it cannot read that


# Between a name and its value: quotes (escaped ones too, for JSON inside strings), colons, equals signs, encoded too.
_BETWEEN: Final = r"""(?:["'\\ \t\r\n:=>,]|%3[ADad]|%2[02C]|\+|[Vv]alue){1,16}"""
# A word may begin after an escape of JSON inside a string, where the n of a newline stands before it.
_EDGE: Final = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
_AT_EDGE: Final = re.compile(_EDGE)
_REPEAT: Final = re.compile(r"\[[^\]]*\](?:\{|\+|\*)")
_ESCAPES: Final = re.compile(r"\\b|\\(?=\W)|\(\?:|[()|]")
_SHORT: Final = 1024  # bytes up to which one look for everything is faster than a few
_LETTERS: Final = 4  # of its own that a pattern must begin with, to be looked for by them alone


def mark(rule: str) -> str:
    """Give the text that stands where a secret stood."""
    return f"[redacted:{rule}]"


class Ruleset:
    """Rules in their order, with the tests that say at the speed of memory whether any of them is worth trying.

    Rust's regex engine, which pydantic carries, is linear in the input whatever the input is, and looks for all of them
    in some 0.5 ms per 100 KB where Python's needs 50 ms. It first looks for beginnings alone, a few at a time: long
    repeats side by side in one pattern make so many states that it falls back to a way that is slower than Python's.
    """

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules

    def hinted(self, text: str | bytes) -> bool:
        """Tell whether a text holds the beginning of a credential, or the name of one; most texts do not."""
        if len(text) < _SHORT:
            return self._at_once(text) is not None
        return any(look(text) for look, _ in self._looks)

    def hints(self, text: str | bytes) -> list[Rule]:
        """Give the rules that are worth trying on a text, in no order."""
        if len(text) < _SHORT and self._at_once(text) is None:
            return []
        return [rule for look, rules in self._looks if look(text) for rule in rules]

    def among(self, hints: list[Rule], text: str | bytes) -> list[Rule]:
        """Give those of the hinted rules whose pattern is in the text."""
        found = {rule for rule in hints if _single(rule)(text)}
        return [rule for rule in self.rules if rule in found] if found else []

    def matching(self, text: str | bytes) -> list[Rule]:
        """Give the rules whose pattern is in the text; the second looks at what they found are still to be taken."""
        return self.among([rule for look, rules in self._looks if look(text) for rule in rules], text)

    def hide(self, text: str, spare: Rule | None = None) -> tuple[str, list[str]]:
        """Replace what the rules find in the text by marks, and name those that found something."""
        names: list[str] = []
        for rule in self.matching(encodable(text)):
            if rule is spare:
                continue
            text, count = _replace(rule, text)
            names += [rule.name] * bool(count)
        return text, names

    @cached_property
    def named(self) -> Test:
        """Tell whether a field's name is one that a rule knows."""
        return _test(rule.near for rule in self.rules if rule.near)

    @cached_property
    def _at_once(self) -> Test:
        return _test(map(_hint, self.rules))

    @cached_property
    def _looks(self) -> tuple[tuple[Test, list[Rule]], ...]:
        sized: dict[int, list[Rule]] = {}
        for rule in self.rules:
            sized.setdefault(_company(_hint(rule)), []).append(rule)
        groups = [rules[at : at + size] for size, rules in sized.items() for at in range(0, len(rules), size)]
        return tuple((_test(map(_hint, group)), group) for group in groups)


def encodable(text: str) -> str | bytes:
    """Give the text as the fast engine takes it: half of a surrogate pair would make it call the text clean."""
    return text if text.isascii() else text.encode("utf-8", "replace")


def _test(patterns: Iterable[str]) -> Test:
    # A group's name may stand only once, and a boundary that knows Unicode is slow: Python's engine has both.
    plain = {pattern.replace("(?P<secret>", "(?:").replace(r"\b", "") for pattern in patterns}
    text = core_schema.str_schema(pattern="|".join(f"(?:{one})" for one in sorted(plain)), regex_engine="rust-regex")
    # What it matched, which is never empty, or None.
    return SchemaValidator(core_schema.with_default_schema(text, default=None, on_error="default")).validate_python


def _hint(rule: Rule) -> str:
    return rule.hint or rule.near or rule.seed or _beginning(rule.pattern)


def _company(hint: str) -> int:
    """Tell how many hints of its kind the engine looks for best at a time; measured."""
    if "(?i" in hint:
        return 1
    return 7 if re.search(r"[{*+]", hint) else 20


def _beginning(pattern: str) -> str:
    """Cut a pattern before its first class that repeats, or before the group which that is in."""
    repeat = _REPEAT.search(pattern)
    start = pattern[: repeat.start()] if repeat else pattern
    while start.count("(") > start.count(")"):
        start = start[: start.rindex("(")]
    return start if len(_ESCAPES.sub("", start)) >= _LETTERS else pattern


def _whole(rule: Rule) -> str:
    return rule.pattern if rule.near is None else f"{rule.near}{_BETWEEN}(?P<secret>{rule.pattern})"


@cache
def _single(rule: Rule) -> Test:
    return _test([rule.seed or _whole(rule)])


@cache
def _precise(rule: Rule) -> re.Pattern[str]:
    # The boundary in front is looked at afterwards: a pattern that begins with letters is found a hundred times faster.
    return re.compile(_whole(rule).removeprefix(r"\b").replace(r"\b", _EDGE), re.ASCII)


def _replace(rule: Rule, text: str) -> tuple[str, int]:
    hidden = 0
    alone = rule.pattern.startswith(r"\b")

    def replace(match: re.Match[str]) -> str:
        nonlocal hidden
        group = "secret" if "secret" in match.re.groupindex and match["secret"] is not None else 0
        if alone and not _AT_EDGE.match(text, match.start()):
            return match[0]
        if rule.check is not None and not rule.check(match[group]):
            return match[0]
        hidden += 1
        start, end = match.start(group) - match.start(), match.end(group) - match.start()
        return match[0][:start] + mark(rule.name) + match[0][end:]

    return _precise(rule).sub(replace, text), hidden
