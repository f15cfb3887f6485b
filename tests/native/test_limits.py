"""Values that are wide, or that change while they are read, cost neither the process nor its memory."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from shaping import native
from shaping.encoders import table
from shaping.noise import reduce
from shaping.noise.batch import MISSING

pytestmark = pytest.mark.skipif(not (native.table and native.rules), reason="the native core is not built here")

RULES = ("links", "opaque", "bulk", "boilerplate")


class Clearing:
    """Garbage that empties some lists when it is collected."""

    def __init__(self, *lists: list[Any]) -> None:
        self.lists = lists
        self.itself = self

    def __del__(self) -> None:
        for one in self.lists:
            one[:] = []


class Changing(str):
    """A name that is found by another's hash, and empties a list when they are compared."""

    __slots__ = ("emptied",)
    emptied: list[Any]

    def __eq__(self, other: object) -> bool:
        self.emptied.clear()
        return False

    def __hash__(self) -> int:
        return hash("a")


@pytest.fixture
def collecting() -> Iterator[Callable[..., Any]]:
    """Collect garbage in whatever a function allocates first."""

    def call(function: Callable[..., Any], *arguments: Any) -> Any:
        gc.disable()
        Clearing(*(one for one in arguments if isinstance(one, list)))
        # Lists that are gone are used again, without a look for garbage.
        kept.extend([] for _ in range(200))
        gc.enable()
        gc.set_threshold(1)
        return function(*arguments)

    before, kept = gc.get_threshold(), list[Any]()
    yield call
    gc.set_threshold(*before)
    gc.enable()


def test_lists_that_a_finalizer_empties_are_read_no_further(collecting: Callable[..., Any]) -> None:
    rules: Any = native.rules
    assert collecting(rules.fine, ["passed"] * 9) in ([], [True] * 9)
    assert collecting(rules.may_be_wrapped, ["<p>one</p>"] * 9) in (None, [True] * 9)
    assert collecting(rules.emptied, [{}] * 9, [1] * 9, [True] * 9, MISSING) in (None, ([], 0), ([MISSING] * 9, 9))
    assert collecting(rules.spread, [{}] * 9, [[1]] * 9) in ([], [{}] * 9)


def test_records_that_a_name_takes_away_are_copied_all_the_same() -> None:
    odd = Changing("a")
    row: Any = {odd: 1, "b": 2}
    came: list[Any] = [row]
    odd.emptied = came
    rows: list[Any] = [row]
    native.rules.put_back(came, rows, "a", [5], MISSING)  # type: ignore[union-attr]
    assert (list(row.values()), list(rows[0].values()), rows[0] is row) == ([1, 2], [1, 2, 5], False)


def test_a_place_that_a_name_takes_away_is_not_written_to() -> None:
    odd = Changing("a")
    rows: list[Any] = [{odd: 1, "b": 2}]
    odd.emptied = rows
    with pytest.raises(IndexError):
        native.rules.put_back(rows, rows, "a", [5], MISSING)  # type: ignore[union-attr]
    assert rows == []


def test_a_member_that_goes_while_names_are_asked_is_not_written_to() -> None:
    held = [1]
    row: dict[str, Any] = {"first": "long enough", "gone": held}
    lists: tuple[list[str], ...] = tuple([] for _ in range(8))

    def hints(_: str) -> int:
        row.pop("gone", None)
        return 0

    assert native.rules.sort([row], lists, hints) is None  # type: ignore[union-attr]
    assert (held, lists) == ([1], ([],) * 8)


def test_names_are_asked_about_no_more_often_than_is_worth_it() -> None:
    rows = [{f"name {n}": "long enough" for n in range(20_000)} for _ in range(3)]
    asked: list[str] = []

    def hints(name: str) -> int:
        asked.append(name)
        return 0

    assert native.rules.quiet([rows], hints) is False  # type: ignore[union-attr]
    assert native.rules.noisy([{"a": rows}], ["a"], hints, False) == ["a"]  # type: ignore[union-attr]
    assert len(asked) == 2 * 16_384


WIDE: dict[str, Any] = {
    # Each would take minutes or all memory, if columns were compared with all others or made for all records.
    "records of their own members": {f"r{n}": {f"k{n}": n, f"j{n}": 1} for n in range(20_000)},
    "two rows of many columns": [{f"c{n}": n + row for n in range(100_000)} for row in range(2)],
    "rows of their own columns": [{f"k{n}": n} for n in range(2_000)],
    "many members told once": [
        {"by": {"id": row % 20, **{f"m{n}": f"some text of row {row % 20} and {n}" for n in range(4_000)}}}
        for row in range(50)
    ],
    "many records side by side": [
        {f"g{n}": {"a": row, "b": row * n, "c": 1} for n in range(2_000)} for row in range(3)
    ],
}


@pytest.mark.parametrize("what", WIDE)
def test_wide_values_are_written_as_python_writes_them(what: str) -> None:
    assert native.table is not None
    text = native.table.encode(WIDE[what], True, True, False)
    if what == "rows of their own columns":  # takes Python seconds
        assert table.decode(text) == WIDE[what]
    else:
        assert text == table.encode_in_python(WIDE[what], near=False)


@pytest.mark.parametrize("what", WIDE)
def test_wide_values_are_reduced_as_python_reduces_them(
    core_off: Callable[[], AbstractContextManager[None]], what: str
) -> None:
    with core_off():
        expected = reduce(WIDE[what], RULES)
    assert reduce(WIDE[what], RULES) == expected


@pytest.mark.parametrize("ending", ["", "b"])
def test_a_target_that_a_text_nearly_has_everywhere_is_looked_for_in_python(
    core_off: Callable[[], AbstractContextManager[None]], ending: str
) -> None:
    value: Any = [{"body_html": f'<a href="{"a" * 40_000}{ending}">a</a>', "body": "a" * 90_000}]
    with core_off():
        expected = reduce(value, RULES)
    assert reduce(value, RULES) == expected
    said = native.rules.says_the_same(value[0]["body_html"], value[0]["body"])  # type: ignore[union-attr]
    assert said is (None if ending else False)


@pytest.mark.parametrize("name", ["body_html", "bodyHTML", "BODY_HtMl", "body_xtml", "tml"])
@pytest.mark.parametrize("value", [None, 0, False, 1, "", "short", "<p>longer text</p>"])
def test_a_name_that_says_html_is_heard_whatever_it_holds(
    core_off: Callable[[], AbstractContextManager[None]], name: str, value: Any
) -> None:
    rows: Any = [{"body": "longer text", name: value, "n": n} for n in range(3)]
    with core_off():
        expected = reduce(rows, RULES)
    assert reduce(rows, RULES) == expected
