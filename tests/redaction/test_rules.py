from __future__ import annotations

import re
import time
from typing import Any

import pytest
from hypothesis import Phase, given, settings, strategies as st

from shaping.redaction.credentials import CREDENTIALS
from shaping.redaction.hide import hide
from shaping.redaction.names import hide_assigned
from shaping.redaction.rules import _precise, _replace, _whole

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
        _replace(rule, text * (6_000 // len(text)))
    assert time.process_time() - start < 10


def test_the_whole_way_of_a_text_is_linear() -> None:
    start = time.process_time()
    for text in HOSTILE:
        hide(text * (6_000 // len(text)))
        hide_assigned(text * (6_000 // len(text)), "mark")
    assert time.process_time() - start < 10


READABLE = [rule for rule in CREDENTIALS.rules if rule.name != "private-key"]  # whose lookaround makes no examples


@pytest.mark.parametrize("rule", READABLE, ids=lambda rule: rule.name)
@settings(max_examples=2, deadline=None, phases=[Phase.generate], database=None)
@given(data=st.data())
def test_whatever_a_pattern_matches_passes_the_sieve_before_it(rule: Any, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(re.compile(_whole(rule).replace(r"\b", ""), re.ASCII), fullmatch=True))
    for around in (text, f"see {text}", f"{text}, and then some {'words ' * 300}"):
        assert CREDENTIALS.hinted(around.encode())
        assert rule in CREDENTIALS.matching(around.encode())


def test_every_rule_has_a_plain_name_and_a_pattern_that_compiles() -> None:
    assert [rule.name for rule in CREDENTIALS.rules if not rule.name.replace("-", "").isalnum()] == []
    assert len([_precise(rule) for rule in CREDENTIALS.rules]) == len(CREDENTIALS.rules)
