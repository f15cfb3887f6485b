from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from shaping.pytest import AssertTokens

pytest_plugins = ["pytester"]
ANSWER = {"items": [{"name": f"item {number}", "note": None} for number in range(40)]}


def test_an_answer_within_its_price_passes_and_tells_what_it_costs(assert_tokens: AssertTokens) -> None:
    assert 0 < assert_tokens(ANSWER, tool="search", max=2_000, config={}) <= 2_000


def test_an_answer_over_its_price_fails_with_what_it_costs_and_how_it_reads(assert_tokens: AssertTokens) -> None:
    with pytest.raises(AssertionError) as caught:
        assert_tokens(ANSWER, tool="search", max=5, config={})
    message = str(caught.value)
    assert message.startswith("the answer of search costs ")
    assert "more than 5; unshaped it costs" in message
    assert "item 0" in message


def test_a_short_answer_is_shown_whole(assert_tokens: AssertTokens) -> None:
    with pytest.raises(AssertionError, match=r"the answer of the tool costs (?s:.*)one two three"):
        assert_tokens("one two three", max=1, config={})


def test_the_config_decides_what_is_priced(assert_tokens: AssertTokens) -> None:
    config = {"tool_overrides": {"search": {"include_only": ["total"]}}}
    assert assert_tokens({"total": 1, **ANSWER}, tool="search", max=20, config=config) < 20


PRICES = """
    def test_price(assert_tokens):
        assert assert_tokens({"a": 1}, tool="search", max=50, config={}) > 0

    def test_too_dear(assert_tokens):
        assert_tokens("word " * 500, tool="search", max=50, config={})
"""


def test_a_run_that_asks_for_the_plugin_has_the_fixture(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PRICES)
    result = pytester.runpytest_subprocess("-q", "-p", "shaping.pytest")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*the answer of search costs * more than 50*"])


def test_a_conftest_can_ask_for_the_plugin(pytester: pytest.Pytester) -> None:
    pytester.makeconftest('pytest_plugins = ["shaping.pytest"]')
    pytester.makepyfile(PRICES)
    pytester.runpytest_subprocess("-q").assert_outcomes(passed=1, failed=1)


def test_an_installation_declares_no_plugin_that_pytest_loads_by_itself() -> None:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    assert "pytest11" not in project.get("entry-points", {})


def test_a_run_that_does_not_ask_for_the_plugin_loads_nothing_of_ours(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import sys

        def test_nothing_is_loaded(request):
            assert not [name for name in sys.modules if name.split(".")[0] == "shaping"]
            assert not [name for name in request.fixturenames if "envelope" in name or "token" in name]
    """)
    # Installations of 0.1 declared two plugins, and an environment made then still names them.
    pytester.runpytest_subprocess("-q", "-p", "no:shaping", "-p", "no:shaping-tokens").assert_outcomes(passed=1)
