"""What a rule is, the two regex engines that run it, and checks of what a pattern found."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import orjson
from pydantic_core import SchemaValidator, core_schema

_PLACEHOLDER: Final = re.compile(r"[\[<{(\\]|\$[A-Z_{(]|%[(s]|\*{2}|x{5}|X{5}|\.{3}|…|(?i:your|example|changeme|dummy)")
_ABOUT: Final = re.compile(
    r"(?:(?:your|my|the|new|old|user|db|some|test|self[.])[-_+]*)?(?:password|passwd|passphrase|pass|passw|pwd|secret|token)"
    r"(?:[-_+]*(?:here|value|hash|reset|required|change|changed))*",
    re.IGNORECASE,
)
_ENOUGH_LETTERS: Final = 12  # of one case: fewer make a word that answers a question
_FEW_KINDS: Final = 5  # of characters: a prefix with a filler has fewer
_ENOUGH_KINDS: Final = 8  # of characters: words and repeated fillers have fewer
_FILLED: Final = re.compile(r"[xX]{8}|0{12}|\*{4}|\.{3}")
_WORD: Final = re.compile(r"[A-Z]?[a-z]{3,}|[A-Z]{5,}")
_NO_WORD: Final = re.compile(r"[^aeiouyAEIOUY]{4}|^[^aeiouyAEIOUY]+$")
_WORDS_SHARE: Final = 0.5  # of its characters in words: more make an identifier, not a generated value


def _is_no_template(text: str) -> bool:
    """Return whether the text is a value and not a placeholder of a template or an earlier mark."""
    return not _PLACEHOLDER.match(text)


def is_no_placeholder(text: str) -> bool:
    """Return whether the text is a value and not a placeholder, nor the word for what should stand there."""
    return _is_no_template(text) and not _ABOUT.fullmatch(text)


def is_no_filler(text: str) -> bool:
    """Return whether the text is not a placeholder, at its beginning or after a prefix."""
    return _is_no_template(text) and len(set(text)) >= _FEW_KINDS and not _FILLED.search(text)


def looks_random(text: str) -> bool:
    """Return whether the text mixes characters as generated credentials do and words do not."""
    if not is_no_filler(text) or len(set(text)) < _ENOUGH_KINDS:
        return False
    digits = any(char.isdigit() for char in text)
    letters = any(char.isalpha() for char in text)
    return (digits and letters) or (not text.islower() and not text.isupper() and not text.istitle() and letters)


def looks_generated(text: str) -> bool:
    """Return whether the text has digits and letters and is not put together of words, as names in code are."""
    if not looks_random(text) or text.isdigit() or not any(map(str.isdigit, text)) or "://" in text:
        return False
    words = (word[0] for word in _WORD.finditer(text))
    return sum(len(word) for word in words if not _NO_WORD.search(word)) <= _WORDS_SHARE * len(text)


def looks_like_base64(text: str) -> bool:
    """Return whether the text has digits, capitals and small letters, as base64 of random bytes does."""
    return looks_random(text) and all(any(map(kind, text)) for kind in (str.isdigit, str.isupper, str.islower))


def looks_like_password(text: str) -> bool:
    """Return whether the text is a password and not a word about one, as `required` or `YOUR_PASSWORD` are."""
    if not is_no_placeholder(text):
        return False
    return (
        not text.isalpha() or not (text.islower() or text.isupper() or text.istitle()) or len(text) >= _ENOUGH_LETTERS
    )


def is_jwt(text: str) -> bool:
    """Return whether the first of the dotted parts is a JSON header that names an algorithm."""
    try:
        header = orjson.loads(unbase64(text.split(".", 1)[0]))
    except ValueError:
        return False
    return isinstance(header, dict) and isinstance(header.get("alg"), str)


def is_basic_auth(text: str) -> bool:
    """Return whether the text is the base64 of `user:password`, as in a Basic header."""
    try:
        said = unbase64(text).decode()
    except ValueError:
        return False
    return ":" in said and said.isprintable()


def is_discord_id(text: str) -> bool:
    """Return whether the first of the dotted parts is the base64 of a decimal number, as in a Discord token."""
    return unbase64(text.split(".", 1)[0]).isdigit()


def unbase64(text: str) -> bytes:
    """Decode base64 of either alphabet, with or without its padding; nothing where it is none."""
    plain = text.rstrip("=").replace("+", "-").replace("/", "_")
    # A run that was cut holds up to three characters too many.
    plain = plain[: len(plain) - (len(plain) % 4 == 1)]
    try:
        return urlsafe_b64decode(plain + "=" * (-len(plain) % 4))
    except ValueError:
        return b""


Test: TypeAlias = "Callable[[str | bytes], Any]"  # truthy where one of the patterns is in the text


class Span(NamedTuple):
    """A part of a text that must not leave, and the rule that found it."""

    start: int
    end: int
    rule: str


@dataclass(frozen=True, slots=True, eq=False)  # one object a rule, found by identity: hashing its fields is slow
class Rule:
    r"""A kind of credential: its pattern, words that must stand before it, and a check of what was found.

    Patterns keep to what both engines read: no lookaround unless there is a seed, no class that means more to one of
    them (`\s`, `\w`), repeats bounded or last. They describe the plain text: escaped forms are decoded before.
    A leading `\b` means: not inside a longer word, as it would be inside base64. The group `secret` is what is
    replaced, where there is one.
    """

    name: str
    pattern: str
    near: str | None = None
    check: Callable[[str], bool] | None = None  # by default: not a placeholder
    hint: str | None = None  # what the prefilter searches for, where the pattern's own beginning is too common
    seed: str | None = None  # what the fast engine searches for in place of the pattern, where it cannot read that
    find: Callable[[str], Iterable[tuple[int, int]]] | None = None  # for what no pattern can describe

    def spans(self, text: str) -> Iterator[Span]:
        """Yield what the rule finds in a text that has one of its hints."""
        if self.find is not None:
            yield from (Span(start, end, self.name) for start, end in self.find(text))
            return
        alone = self.pattern.startswith(r"\b")
        for match in _precise(self).finditer(text):
            group = "secret" if "secret" in match.re.groupindex and match["secret"] is not None else 0
            if alone and match.start() and _BEFORE.match(text, match.start() - 1):
                continue
            if (self.check or is_no_filler)(match[group]):
                yield Span(match.start(group), match.end(group), self.name)


# Between a name and its value: quotes (escaped ones too, for JSON inside strings), colons, equals signs, arrows.
_BETWEEN: Final = r"""(?:["'\\ \t\r\n:=>,\[]|[Vv]alue){1,16}"""
_BEFORE: Final = re.compile(r"[A-Za-z0-9]")
_REPEAT: Final = re.compile(r"\[[^\]]*\](?:\{|\+|\*)")
_FOLDED: Final = "(?i:"
_ESCAPES: Final = re.compile(r"\\b|\\(?=\W)|\(\?:|[()|]")
SHORT: Final = 1024  # bytes up to which one test for everything is faster than a few
_FEW: Final = 12  # rules that are tried one by one
_NAMES: Final = 4096
_PART, _OVERLAP = 1 << 20, 1 << 10  # characters that are lowered at a time, and more than any hint has
_LETTERS: Final = 4  # of its own that a pattern must begin with, to be looked for by them alone


def mark(rule: str) -> str:
    """Return the text that stands where a secret stood."""
    return f"[redacted:{rule}]"


class Ruleset:
    """Rules in their order, with the tests that say at the speed of memory whether any of them is worth trying.

    Rust's regex engine, which pydantic carries, is linear in the input whatever the input is, and looks for all of them
    in some 0.5 ms per 100 KB where Python's needs 50 ms. It first looks for beginnings alone, a few at a time: long
    repeats side by side in one pattern make so many states that it falls back to a way that is slower than Python's.
    """

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules
        self._known: dict[str, bool] = {}  # what was asked before: objects of a list have the same names

    def matching(self, text: str) -> list[Rule]:
        """Return the rules whose pattern is in the text; their checks are still to be made."""
        if len(self.rules) <= _FEW:
            return [rule for rule, is_in in self._tests if is_in(text)]
        if len(text) < SHORT and not any(is_in(text) for is_in in self.prefilters):
            return []
        hinted = {rule for is_in, rules in self._prefilters_by_rules if is_in(text) for rule in rules}
        for part in lower_parts(text):
            hinted.update(rule for is_in, rules in self._lowercase_prefilters if is_in(part) for rule in rules)
        found = {rule for rule in hinted if _single(rule)(text)}
        return [rule for rule in self.rules if rule in found] if found else []

    def spans(self, text: str, spare: Rule | None = None) -> list[Span]:
        """Return what the rules find in a text, most specific rule first; spans may overlap."""
        return [span for rule in self.matching(encodable(text)) if rule is not spare for span in rule.spans(text)]

    def only(self, rules: Collection[Rule]) -> Ruleset:
        """Return these of the rules in their order."""
        if not rules:
            return NO_RULES
        return self if len(rules) > _FEW else _ruleset(tuple(rule for rule in self.rules if rule in rules))

    def knows(self, name: str) -> bool:
        """Return whether a field's name is one that a rule knows."""
        known = self._known.get(name)
        if known is None:
            if len(self._known) > _NAMES:
                self._known.clear()
            known = self._known[name] = bool(self._named(encodable(name)))
        return known

    @cached_property
    def _tests(self) -> tuple[tuple[Rule, Test], ...]:
        return tuple((rule, _single(rule)) for rule in self.rules)

    @cached_property
    def _named(self) -> Test:
        known = [rule.near for rule in self.rules if rule.near]
        return has_one(known) if known else _never

    @cached_property
    def prefilters(self) -> tuple[Test, ...]:
        """The tests of which one finds something in a short text that has what a rule cannot do without."""
        # All in one have so many states that opaque ids fill the engine's memory, and from then on a test takes 1,000
        # times as long: those that ignore case are apart, and a repeat that no letter begins is alone.
        groups: dict[str, list[str]] = {}
        for hint in map(_hint, self.rules):
            is_alone = hint.startswith("[") and "{" in hint
            groups.setdefault(_FOLDED if _FOLDED in hint else hint if is_alone else "", []).append(hint)
        return tuple(map(has_one, groups.values()))

    @cached_property
    def _prefilters_by_rules(self) -> tuple[tuple[Test, list[Rule]], ...]:
        return _grouped_prefilters({rule: _hint(rule) for rule in self.rules if _FOLDED not in _hint(rule)})

    @cached_property
    def _lowercase_prefilters(self) -> tuple[tuple[Test, list[Rule]], ...]:
        """The prefilters of rules that ignore case: for lower case, where the engine has words that it can skip to."""
        hints = {rule: _hint(rule) for rule in self.rules if _FOLDED in _hint(rule)}
        return _grouped_prefilters({rule: hint.replace(_FOLDED, "(?:").lower() for rule, hint in hints.items()}, most=4)


NO_RULES: Final = Ruleset(())


@lru_cache(maxsize=256)
def _ruleset(rules: tuple[Rule, ...]) -> Ruleset:
    return Ruleset(rules)


def _never(_: str | bytes) -> None:
    """Find no name."""


def encodable(text: str) -> str:
    """Return the text as the fast engine takes it: half of a surrogate pair would make it call the text clean."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def lower_parts(text: str) -> Iterator[str]:
    """Return the text with the letters of ASCII in lower case, in parts that overlap: no copy is as large as it."""
    for start in range(0, len(text), _PART):
        part = text[start : start + _PART + _OVERLAP]
        # Of other letters no rule has any, and they take much longer.
        yield part.lower() if part.isascii() else part.encode().lower().decode()


def has_one(patterns: Iterable[str]) -> Test:
    """Make the test, by the fast engine, of whether a text has a match of one of the patterns."""
    # A group's name may stand only once, and a boundary that knows Unicode is slow: Python's engine has both.
    plain = {pattern.replace("(?P<secret>", "(?:").replace(r"\b", "") for pattern in patterns}
    text = core_schema.str_schema(pattern="|".join(f"(?:{one})" for one in sorted(plain)), regex_engine="rust-regex")
    # What it matched, which is never empty, or None.
    return SchemaValidator(core_schema.with_default_schema(text, default=None, on_error="default")).validate_python


def _hint(rule: Rule) -> str:
    return rule.hint or rule.near or rule.seed or _beginning(rule.pattern)


def _grouped_prefilters(hints: dict[Rule, str], most: int = 20) -> tuple[tuple[Test, list[Rule]], ...]:
    sized: dict[int, list[Rule]] = {}
    for rule, hint in hints.items():
        sized.setdefault(min(_group_size(hint), most), []).append(rule)
    groups = [rules[at : at + size] for size, rules in sized.items() for at in range(0, len(rules), size)]
    return tuple((has_one(hints[rule] for rule in group), group) for group in groups)


def _group_size(hint: str) -> int:
    """Return how many hints of its kind the engine looks for best at a time; measured."""
    if hint.startswith("[") or len(hint) == 1:  # nothing that it could skip to, or too often
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
    return has_one([rule.seed or _whole(rule)])


@cache
def _precise(rule: Rule) -> re.Pattern[str]:
    # The boundary in front is looked at afterwards: a pattern that begins with letters is found a hundred times faster.
    return re.compile(_whole(rule).removeprefix(r"\b").replace(r"\b", "(?<![A-Za-z0-9])"), re.ASCII)
