from __future__ import annotations

import base64
import html
import json
import random
import re
import time
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import Phase, given, settings, strategies as st

from shaping.paths.spelling import visible_text
from shaping.redaction import redact, redact_json
from shaping.redaction.credentials import CREDENTIALS
from shaping.redaction.engine import _precise, _whole, encodable
from shaping.redaction.text import assigned, prefilter, secrets

if TYPE_CHECKING:
    from collections.abc import Callable

HOSTILE = [
    *["a", "A", "0", "-", "_", ".", "%", "=", ":", " ", "/", "@", '"', "\\", "\n", "é"],
    *[
        "%3A",
        "x=y;",
        "a:",
        "://",
        "://a:",
        "://a:b",
        "a@",
        "AAAA",
        "eyJ",
        "eyJhbGciOi.",
        "sk-",
        "value",
        "SG.aaaaaaaaaaaaaaaa",
    ],
    *["-----BEGIN PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1234"],
    *[
        "password=",
        "secret_key=",
        "authorization:",
        "basic ",
        "bearer ",
        "user=a ",
        "user=aaa;password",
        "postgres://a:",
    ],
]


@pytest.mark.parametrize("rule", CREDENTIALS.rules, ids=lambda rule: rule.name)
def test_no_pattern_takes_more_than_linear_time(rule: Any) -> None:
    # Not a timing of speed: a pattern that is quadratic needs minutes for this, a linear one milliseconds.
    start = time.process_time()
    for text in HOSTILE:
        list(rule.spans(text * (6_000 // len(text))))
    assert time.process_time() - start < 10


def test_the_whole_way_of_a_text_is_linear() -> None:
    start = time.process_time()
    for text in HOSTILE:
        secrets(text * (6_000 // len(text)))
        assigned(text * (6_000 // len(text)))
    assert time.process_time() - start < 10


def test_many_opaque_ids_do_not_slow_what_comes_after_them() -> None:
    # One pattern for all rules takes half a minute here: what it learns of such ids does not fit the engine's memory.
    ids = random.Random(7)  # noqa: S311 (not to be kept secret)
    start = time.process_time()
    for _ in range(20_000):
        secrets(base64.urlsafe_b64encode(ids.randbytes(450)).decode())
    assert time.process_time() - start < 10


READABLE = [rule for rule in CREDENTIALS.rules if rule.find is None and "(?<" not in rule.pattern]  # by patterns alone


@pytest.mark.parametrize("rule", READABLE, ids=lambda rule: rule.name)
@settings(max_examples=2, deadline=None, phases=[Phase.generate], database=None)
@given(data=st.data())
def test_whatever_a_pattern_matches_passes_the_sieve_before_it(rule: Any, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(re.compile(_whole(rule).replace(r"\b", ""), re.ASCII), fullmatch=True))
    for around in (text, f"see {text}", f"{text}, and then some {'words ' * 300}"):
        assert rule in CREDENTIALS.matching(encodable(around))


def test_every_rule_has_a_plain_name_and_a_pattern_that_compiles() -> None:
    assert [rule.name for rule in CREDENTIALS.rules if not rule.name.replace("-", "").isalnum()] == []
    assert len([_precise(rule) for rule in CREDENTIALS.rules]) == len(CREDENTIALS.rules)


def test_every_rule_has_examples_and_lookalikes(planted: list[Any], lookalikes: list[tuple[str, str]]) -> None:
    rules = {rule.name for rule in CREDENTIALS.rules}
    assert {one.rule for one in planted} == rules
    assert {rule for rule, _ in lookalikes} == rules
    assert len({one.kind for one in planted}) >= 215


def test_every_example_is_found_whatever_chance_makes_of_it(many_planted: list[Any]) -> None:
    assert [one.kind for one in many_planted if one.shows_in(redact(one.text)[0])] == []


def test_no_lookalike_is_taken_for_a_secret(lookalikes: list[tuple[str, str]]) -> None:
    assert [(rule, text) for rule, text in lookalikes if redact(text)[1]] == []


HIDDEN = "\ufe0f\u034f\u180e\u200e\u202a\u2066\u061c\u3164\U000e0061\x7f\x00\x08\x9b\u2800\ufffc\u00ad"


def _between(sign: str, text: str) -> str:
    return re.sub(r"(\w{5})", rf"\g<1>{sign}", text)


# How a text stands where a tool put it: plain, escaped for JSON (by PHP, by .NET), HTML or a URL, in base64, or
# with what a reader does not see inside its words: colours as grep writes them, characters of no width.
ESCAPED: dict[str, Callable[[str], str]] = {
    "plain": str,
    "tabs": lambda text: text.replace(" ", "\t"),
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "JSON": lambda text: json.dumps({"a": text}),
    "JSON twice": lambda text: json.dumps(json.dumps({"a": text})),
    "slashes": lambda text: json.dumps({"a": text}).replace("/", "\\/"),
    "unicode": lambda text: re.sub(r"[+/=&<>'-]", lambda one: f"\\u{ord(one[0]):04X}", json.dumps(text)),
    "HTML": lambda text: html.escape(text).replace("+", "&#43;").replace("/", "&#x2F;"),
    "percent": lambda text: quote(text, safe=""),
    "percent twice": lambda text: quote(quote(text, safe=""), safe=""),
    "base64": lambda text: base64.b64encode(f"see: {text}".encode()).decode(),
    "colours": lambda text: re.sub(r"(\w{3})(\w{3})", "\x1b[01;31m\x1b[K\\1\x1b[m\x1b[K\\2", text),
    "no width": lambda text: re.sub(r"(\w{5})", "\\1\u200b", text),
    "a form": lambda text: quote_plus(f"{text}\n"),
    "entities of no width": lambda text: re.sub(r"(\w{5})", "\\1&shy;&#8203;", html.escape(text)),
    "percent of no width": lambda text: quote(re.sub(r"(\w{5})", "\\1\u2066", text), safe=""),
    "percent of HTML": lambda text: quote("".join(f"&#{ord(one)};" for one in text)),
    "escapes of Rust": lambda text: "".join(f"\\u{{{ord(one):x}}}" for one in text),
    "escapes of Python": lambda text: "".join(f"\\U{ord(one):08x}" for one in text),
    "escapes of a shell": lambda text: "".join(f"\\{ord(one):03o}" for one in text),
    "links of a terminal": lambda text: re.sub(r"(\w{5})", "\x1b]8;;http://x\x1b\\\\\\1\x1b]8;;\x1b\\\\", text),
    "half pairs in JSON": lambda text: json.dumps(_between("\U000e0061", text)),
    "other blanks": lambda text: text.replace(" ", "\xa0"),
    **{f"U+{ord(one):04X}": partial(_between, one) for one in HIDDEN},
}


@pytest.mark.parametrize("escaping", ESCAPED)
def test_every_way_through_the_rules_finds_the_same(escaping: str, planted: list[Any]) -> None:
    """A text alone, as a member, as written JSON, and in the middle of a page are one text to the rules."""
    differ, shown = [], []
    for one in planted:
        text = ESCAPED[escaping](one.text)
        alone = redact(text)[0]
        member = redact({"x": [text]})[0]["x"][0]
        written = json.loads(redact_json(json.dumps({"x": [text]}).encode()))["x"][0]
        inside = redact(f"begin\n{text}\nend")[0]
        if not alone == member == written == inside.removeprefix("begin\n").removesuffix("\nend"):
            differ.append((one.kind, alone, member, written, inside))
        if one.shows_in(visible_text(alone)) or "[redacted:" not in alone:
            shown.append((one.kind, text))
    assert (differ, shown) == ([], [])


@pytest.mark.parametrize("before", ["", "a line of a log\n" * 100])
@pytest.mark.parametrize("around", ["{}", "50%25 of {}", "a\\n{}"])
def test_half_of_a_surrogate_pair_hides_nothing(before: str, around: str, planted: list[Any]) -> None:
    texts = {one: before + around.format(_between("\udc80", one.text)) for one in planted}
    assert [one.kind for one, text in texts.items() if one.shows_in(redact(text)[0].replace("\udc80", ""))] == []
    assert [one.kind for one, text in texts.items() if one.shows_in(redact([text])[0][0].replace("\udc80", ""))] == []


def test_tests_of_some_rules_together_are_not_kept_for_ever() -> None:
    # A server chooses which rules its answers may match, and there are very many ways to choose some.
    for pair in combinations(CREDENTIALS.rules[:30], 2):
        secrets("a", CREDENTIALS.only(pair))
    assert prefilter.cache_info().currsize <= 256


@settings(max_examples=300, deadline=None)
@given(
    number=st.integers(0, 10_000),
    before=st.text(alphabet="\t\r\n \"'\\/&%<>=:,;{}[]()aZ9é", max_size=8),
    after=st.text(alphabet="\t\r\n \"'\\/&%<>=:,;{}[]()é", max_size=8),
)
def test_what_one_way_finds_every_way_finds(planted: list[Any], number: int, before: str, after: str) -> None:
    text = before + planted[number % len(planted)].text + after
    alone = redact(text)[0]
    assert redact({"x": text})[0]["x"] == alone
    assert json.loads(redact_json(json.dumps({"x": text}).encode()))["x"] == alone
    assert redact(alone)[0] == alone
