"""Rules are shown the members of the kinds that they declare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from shaping.noise import NoiseRule, reduce
from shaping.noise.rules import RULES
from shaping.response import Omission

if TYPE_CHECKING:
    from shaping.noise.records import Kind, Records

EXAMPLES: dict[Kind, Any] = {
    "link": {"at": "https://x.dev/a"},
    "long": {"at": "word " * 90},
    "opaque": {"etag": "abcdef0123456789"},
    "base64": {"at": "Ab1/" * 31},
    "markup": {"at": "<p>a paragraph of it</p>"},
    "hex": {"at": "0f" * 32},
    "nested": {"at": [1]},
    "plain": {"at": 1},
}


def dropping(kind: Kind, shown: list[list[Any]], **about: Any) -> NoiseRule:
    """Return a rule that drops the member of the example, and notes what it was shown."""

    def apply(records: Records) -> None:
        shown.append(list(records.rows))
        for key in records.members(kind):
            if key in EXAMPLES[kind]:
                records.drop_member(key, "bulk")

    return NoiseRule("mine", frozenset({kind}), apply, **about)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_a_rule_from_outside_runs_wherever_a_member_of_its_kind_stands(kind: Kind) -> None:
    example = EXAMPLES[kind]
    (key,) = example
    shown: list[list[Any]] = []
    value: Any = {"deep": {"one": {"id": 1, **example}}, "many": [{"id": n, **example} for n in range(3)]}
    reduced, left_out = reduce(value, ("mine",), rules=(*RULES, dropping(kind, shown)))
    assert value["many"] in shown
    assert [value["deep"]["one"]] in shown
    assert reduced == {"deep": {"one": {"id": 1}}, "many": [{"id": n} for n in range(3)]}
    assert left_out == [Omission(f"deep.one.{key}", 1, "bulk"), Omission(f"many[].{key}", 3, "bulk")]


def test_a_rule_is_not_shown_records_without_its_kind_and_name_nor_fewer_than_it_asks_for() -> None:
    shown: list[list[Any]] = []
    value: Any = {"a": {"id": 1}, "rows": [{"id": 1, "at": "https://x.dev/a"}, {"id": 2, "at": "https://x.dev/b"}]}
    # A member of the name is there, and one of the kind, but no member of both.
    by_name = dropping("link", shown, named="id".__eq__)
    reduce(value, ("mine",), rules=(dropping("hex", shown), dropping("link", shown, least=3), by_name))
    assert shown == []
    reduce(value, ("mine",), rules=(dropping("link", shown, named="at".__eq__, least=2),))
    assert shown == [value["rows"]]


def test_a_rule_runs_only_where_its_group_is_asked_for() -> None:
    shown: list[list[Any]] = []
    value: Any = [{"id": 1, "at": "https://x.dev/a"}]
    assert reduce(value, ("links",), rules=(dropping("link", shown),)) == (value, [])
    assert shown == []
