from __future__ import annotations

import pytest

from shaping.tokens.limit import assert_tokens

pytest_plugins = ["pytester"]
ANSWER = {"items": [{"name": f"item {number}", "note": None} for number in range(40)]}


def test_an_answer_within_its_price_passes_and_tells_what_it_costs() -> None:
    assert 0 < assert_tokens(ANSWER, tool="search", max=2_000, config={}) <= 2_000


def test_an_answer_over_its_price_fails_with_what_it_costs_and_how_it_reads() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_tokens(ANSWER, tool="search", max=5, config={})
    message = str(caught.value)
    assert message.startswith("the answer of search costs ")
    assert "more than 5; unshaped it costs" in message
    assert "item 0" in message


def test_a_short_answer_is_shown_whole() -> None:
    with pytest.raises(AssertionError, match=r"the answer of the tool costs (?s:.*)one two three"):
        assert_tokens("one two three", max=1, config={})


def test_the_config_decides_what_is_priced() -> None:
    config = {"tool_overrides": {"search": {"include_only": ["total"]}}}
    assert assert_tokens({"total": 1, **ANSWER}, tool="search", max=20, config=config) < 20


def test_the_fixture_is_there_for_users_tests(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        def test_price(assert_tokens):
            assert assert_tokens({"a": 1}, tool="search", max=50, config={}) > 0

        def test_too_dear(assert_tokens):
            assert_tokens("word " * 500, tool="search", max=50, config={})
    """)
    result = pytester.runpytest_inprocess("-q")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*the answer of search costs * more than 50*"])
