from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given, settings, strategies as st

from shaping.settings.patterns import is_pattern, may_overlap, ranked


def test_the_strongest_pattern_comes_last() -> None:
    patterns = ["github.list", "*", "github.*", "git*", "github.?ist", "other", "g*b.*"]
    assert ranked("github.list", patterns) == ["*", "git*", "g*b.*", "github.*", "github.?ist", "github.list"]


def test_between_equals_the_later_is_stronger() -> None:
    assert ranked("abc", ["a*", "*c"]) == ["a*", "*c"]
    assert ranked("abc", ["*c", "a*"]) == ["*c", "a*"]


def test_a_name_that_looks_like_a_pattern_still_means_itself() -> None:
    assert ranked("a[1]", ["a[1]", "a*****"]) == ["a*****", "a[1]"]


def test_a_rule_for_every_subcommand_is_for_none_too() -> None:
    patterns = ["kubectl get *", "kube* *", "kubectl get", "kubectl get pods *", "kubectl getter *"]
    assert ranked("kubectl get", patterns) == ["kube* *", "kubectl get *", "kubectl get"]


def test_a_rule_holds_for_a_tool_that_a_proxy_renamed_because_two_servers_have_it() -> None:
    patterns = ["list_issues", "github/list_issues", "gitlab/list_issues", "github/*"]
    assert ranked("github/github_list_issues", patterns) == ["github/*", "list_issues", "github/list_issues"]
    assert ranked("slack/slack_list", ["slack/slack_list", "list"]) == ["list", "slack/slack_list"]


def test_case_matters() -> None:
    assert ranked("Search", ["search", "s*"]) == []


def test_a_pattern_is_known_by_its_wildcards() -> None:
    assert [is_pattern(text) for text in ("search", "git*", "a?", "[ab]", "kubectl get pods")] == [
        False, True, True, True, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a*", "*b", True),
        ("a*", "b*", False),
        ("a?", "?b", True),
        ("[ab]x", "[bc]x", True),
        ("[ab]x", "[ab]y", False),
        ("*_a", "*_b", False),
        ("*", "**", True),
    ],
)
def test_patterns_overlap_where_a_name_matches_both(one: str, other: str, expected: bool) -> None:
    assert (may_overlap(one, other), may_overlap(other, one)) == (expected, expected)


PATTERN = st.text(alphabet="ab?*", max_size=4).filter(is_pattern)


@given(PATTERN, PATTERN)
@settings(max_examples=200, deadline=None)
def test_no_pair_of_patterns_that_some_name_matches_is_missed(one: str, other: str) -> None:
    names = [""]
    for _ in range(6):
        names += [name + char for name in names if len(name) == max(map(len, names)) for char in "ab"]
    if any(fnmatchcase(name, one) and fnmatchcase(name, other) for name in names):
        assert may_overlap(one, other)
