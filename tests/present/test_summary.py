from __future__ import annotations

import orjson

from shaping import Shaper, using
from shaping.present.notices import summarize_columns
from shaping.tokens import exact

RECORDS = [
    {
        "id": number,
        "state": "open" if number % 3 else "closed",
        "draft": number == 7,
        "score": number / 4,
        "created_at": f"2026-01-{number % 28 + 1:02}T10:00:00Z",
        "title": f"Title {number}",
        "milestone": None,
    }
    for number in range(1, 3001)
]


def test_columns_of_few_values_are_counted_and_numbers_and_times_ranged() -> None:
    assert summarize_columns(RECORDS) == (
        "state: open 2,000, closed 1,000",
        "draft: false 2,999, true 1",
        "score 0.25..750",
        "created_at 2026-01-01..2026-01-28",
    )


def test_a_wide_table_is_told_in_few_words() -> None:
    wide = [{f"column_{at}": number * at for at in range(1, 200)} for number in range(100)]
    assert 0 < exact("; ".join(summarize_columns(wide))) <= 150


def test_what_is_no_list_of_records_has_no_columns() -> None:
    assert [summarize_columns(other) for other in ([], [1, 2, 3], [{"a": 1}], [{"a": 1}, 2])] == [()] * 4


def test_long_values_and_free_text_are_not_counted() -> None:
    assert summarize_columns([{"note": "x" * 40}, {"note": "y" * 40}] * 10) == ()


def test_what_columns_hold_is_not_told_where_that_costs_more_than_the_cut_saves() -> None:
    shaper = Shaper({"global": {"max_items": 3}}, expandable=True)

    def shaped(count: int) -> str:
        text = orjson.dumps(RECORDS[:count]).decode()
        result = shaper.shape_result({"content": [{"type": "text", "text": text}]}, tool="list", channels="text")
        return str(result["content"][0]["text"])

    assert "in all" not in shaped(5)
    assert "3 of 40 shown; in all state: open 27, closed 13; " in shaped(40)


def test_a_value_that_would_read_as_several_as_none_or_as_another_type_is_quoted() -> None:
    values = ["US", "US", "NO, Oslo", "NO, Oslo", "", "", "true", "true", "12", "12", "in progress", "in progress"]
    assert summarize_columns([{"place": value} for value in values]) == (
        'place: US 2, "NO, Oslo" 2, "" 2, "true" 2, "12" 2, in progress 2',
    )


def test_a_cut_answer_in_python_names_what_noise_rules_took() -> None:
    avatar = "https://cdn.example.com/a/{}.png?size=200"
    orders = [
        {
            "id": n,
            "self": f"https://api.example.com/orders/{n}",
            "customer": {"name": f"C {n}", "avatar": avatar.format(n)},
        }
        for n in range(60)
    ]
    shaper = Shaper()
    with using(max_tokens=300):
        shaped = shaper.shape({"orders": orders}, tool="list")
    assert (shaped.truncated, "left out: 120 links (customer.avatar, self)" in shaped.text) == (True, True)
    assert shaped.tokens.after <= 300
