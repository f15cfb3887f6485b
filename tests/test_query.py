from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from shaping import Shaper
from shaping.errors import ToolError

RECORDS = [
    {
        "id": number,
        "state": "open" if number % 3 else "closed",
        "url": f"https://api.example.com/items/{number}",
        "token": "ghp_" + "a1B2c3D4e5F6a1B2c3D4e5F6a1B2c3D4e5F6",
        "salary": number * 1000,
        "owner": {"login": f"user{number % 7}"},
    }
    for number in range(1, 5001)
]
CONFIG: dict[str, Any] = {"tool_overrides": {"list": {"private": ["salary"], "max_tokens": 2000}}}


@pytest.fixture(scope="module")
def shaper() -> Iterator[Shaper]:
    made = Shaper(CONFIG, expandable=True)
    yield made
    made.close()


@pytest.fixture(scope="module")
def ref(shaper: Shaper) -> str:
    found = shaper.shape(RECORDS, tool="list").ref
    assert found is not None
    return found


def test_a_cut_list_is_counted_without_being_read(shaper: Shaper, ref: str) -> None:
    answer = shaper.query(ref, "SELECT state, count(*) AS n FROM items GROUP BY state ORDER BY state")
    assert answer.data == [{"state": "closed", "n": 1666}, {"state": "open", "n": 3334}]
    assert answer.tokens.after < 60


def test_the_same_is_asked_by_expand(shaper: Shaper, ref: str) -> None:
    answer = shaper.expand(ref, sql="SELECT owner.login AS who FROM items WHERE id = 13")
    assert answer.data == [{"who": "user6"}]


def test_columns_that_were_left_out_as_noise_are_there_to_be_asked_for(shaper: Shaper, ref: str) -> None:
    answer = shaper.query(ref, "SELECT url FROM items WHERE id = 2")
    assert answer.data == [{"url": "https://api.example.com/items/2"}]


def test_private_fields_and_secrets_are_not_there_to_be_asked_for(shaper: Shaper, ref: str) -> None:
    with pytest.raises(ToolError, match="no such column: salary"):
        shaper.query(ref, "SELECT max(salary) FROM items")
    found = shaper.query(ref, "SELECT token FROM items LIMIT 1")
    assert "ghp_" not in str(found.data)
    assert "salary" not in shaper.query(ref, "schema").text


def test_an_answer_is_within_the_tools_budget(shaper: Shaper, ref: str) -> None:
    answer = shaper.query(ref, "SELECT * FROM items")
    assert int(answer.tokens.after) <= 2000
    assert "first 1,000 rows" in str(answer.warnings)


def test_values_are_searched(shaper: Shaper, ref: str) -> None:
    found = shaper.expand(ref, search="items/4999")
    [hit] = found.data["hits"]
    assert (found.data["found"], hit["path"], hit["value"]) == (1, "[4998].url", "https://api.example.com/items/4999")
    assert "id=4999" in hit["record"]


def test_lines_of_a_kept_text_are_searched_with_their_numbers(shaper: Shaper) -> None:
    ends = ("FAILED: disk" if number == 700 else "done, as planned." for number in range(1, 3001))
    text = "\n".join("so " * (number % 7 + 1) + end for number, end in enumerate(ends, 1))
    ref = shaper.shape(text, tool="list").ref
    assert ref is not None
    found = shaper.expand(ref, search="failed")
    assert "700: so FAILED: disk" in found.text
    assert "hits 1 to 1 of 1" in found.text


def test_a_ref_that_is_not_known_is_not_found(shaper: Shaper) -> None:
    with pytest.raises(ToolError, match="REF_NOT_FOUND"):
        shaper.query("r_unknown", "SELECT 1")


def test_another_owner_is_told_nothing(shaper: Shaper, ref: str) -> None:
    shaper.query(ref, "SELECT 1")
    with pytest.raises(ToolError, match="REF_NOT_FOUND"):
        shaper.query(ref, "SELECT 1", owner="somebody else")


def test_a_search_is_paged_by_its_cursor() -> None:
    shaper = Shaper({"global": {"max_tokens": 2000}}, expandable=True)
    ref = shaper.shape("\n".join(f"entry {n} has failed" for n in range(300)) * 30, tool="log").ref or ""
    first = shaper.expand(ref, search="/entry 1\\d has/")
    assert first.text.startswith("hits 1 to 20 of 300; the next: cursor=20\n")
    assert shaper.expand(ref, search="/entry 1\\d has/", cursor="280").text.startswith("hits 281 to 300 of 300\n")
    with pytest.raises(ToolError, match="number of hits before"):
        shaper.expand(ref, search="x", cursor="s5//~abc")
    shaper.close()


@pytest.mark.parametrize(
    ("amounts", "sql", "noted"),
    [
        (["1,200.50", "30", "n/a"], "SELECT sum(amount) FROM items", "amount holds text in 2 of 3 rows, as '1,200.50'"),
        (
            ["1,200", "3,000", "500"],
            "SELECT avg(i.amount) FROM items i",
            "amount holds text in 2 of 3 rows, as '1,200'",
        ),
        (["$12.50", "$3.00"], "SELECT total(amount) FROM items", "amount holds text in 2 of 2 rows, as '$12.50'"),
        (["12%", "3%", "100%"], "SELECT max(amount) FROM items", "min and max compare it as text"),
        (["1.50", "10.5", "9.25"], "SELECT max(amount) FROM items", "amount holds numbers as text"),
        ([1, "", 3], "SELECT avg(amount) FROM items", "amount holds text in 1 of 3 rows, as ''"),
    ],
)
def test_an_answer_says_that_text_was_added_up_or_compared_as_numbers(
    amounts: list[Any], sql: str, noted: str, shaper: Shaper
) -> None:
    answer = shaper.query(_ref_of(amounts, shaper), sql)
    assert noted in answer.text
    assert "use replace and CAST" in answer.text
    assert [warned.message for warned in answer.warnings if noted in warned.message]


@pytest.mark.parametrize(
    ("amounts", "sql"),
    [
        (["1,200", "n/a"], "SELECT sum(CAST(replace(amount, ',', '') AS REAL)) FROM items"),
        (["1,200", "n/a"], "SELECT sum(amount = 'n/a'), max(id) FROM items"),
        (["1,200", "n/a"], "SELECT amount, sum(id) FROM items GROUP BY amount"),
        (["2024-01-02", "2024-11-02"], "SELECT max(amount) FROM items"),
        (["open", "closed"], "SELECT min(amount) FROM items"),
        (["1.5", "20", ""], "SELECT sum(amount), max(amount) FROM items"),
    ],
)
def test_an_answer_without_text_among_its_numbers_has_no_note(amounts: list[Any], sql: str, shaper: Shaper) -> None:
    answer = shaper.query(_ref_of(amounts, shaper), sql)
    assert not answer.warnings
    assert "warning" not in answer.text


def _ref_of(amounts: list[Any], shaper: Shaper) -> str:
    records = [{"id": at, "amount": amount, "url": "https://example.com/a"} for at, amount in enumerate(amounts)]
    found = shaper.shape({"pages": 1, "items": records, "node_id": "MDU6SXNzdWUx" * 40}, tool="amounts").ref
    assert found is not None
    return found
