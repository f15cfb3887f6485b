"""What stands in a record as text and as HTML is said once."""

from __future__ import annotations

from typing import Any

import pytest

from shaping.noise import reduce
from shaping.response import Omission


def test_the_html_of_a_text_goes() -> None:
    value: Any = [
        {
            "id": n,
            "body": f"Look at [it](https://x.dev/{n}), *please* & thanks",
            "body_html": f'<div><p>Look at <a href="https://x.dev/{n}">it</a>, <em>please</em> &amp; thanks</p></div>',
        }
        for n in range(3)
    ]
    assert reduce(value, ("boilerplate",)) == (
        [{"id": row["id"], "body": row["body"]} for row in value],
        [Omission("[].body_html", 3, "boilerplate")],
    )


@pytest.mark.parametrize(
    ("markup", "text"), [("body", "body_text"), ("description", "descriptionPlain"), ("body", "plain_body")]
)
def test_html_beside_a_member_that_is_called_its_text_goes(markup: str, text: str) -> None:
    rows: Any = [{"id": n, markup: f"See <b>part {n}</b> of it", text: f"See part {n} of it"} for n in range(3)]
    assert reduce(rows, ("boilerplate",))[0] == [{"id": row["id"], text: row[text]} for row in rows]
    plain: Any = [{"id": n, markup: f"open {n}", text: f"open {n}"} for n in range(3)]
    assert reduce(plain, ("boilerplate",)) == (plain, [])


def test_a_record_that_has_neither_does_not_keep_the_html_of_others() -> None:
    value: Any = [
        {"id": 1, "title": "A café in the old town", "htmlTitle": "A <b>café</b> in the old town "},
        {"id": 2, "title": "Another one", "htmlTitle": "Another <b>one</b>"},
        {"id": 3},
    ]
    assert reduce(value, ("boilerplate",))[0] == [
        {"id": 1, "title": "A café in the old town"},
        {"id": 2, "title": "Another one"},
        {"id": 3},
    ]


def test_long_html_goes_whole_and_not_in_part() -> None:
    text = "What the report says about it. " * 100
    row: dict[str, Any] = {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "text": text, "text_html": f"<p>{text}</p>"}
    value: Any = [row | {"id": n} for n in range(3)]
    reduced, omissions = reduce(value, ("bulk", "boilerplate"))
    assert [omission.path for omission in omissions] == ["[].text_html", "[].text"]
    assert all("text_html" not in one for one in reduced)  # type: ignore[union-attr, operator]


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ("Hello", "<p>Hello and goodbye to all of you</p>"),
        ("See it", '<p>See <a href="https://x.dev/1">it</a></p>'),
        (7, "<p>seven</p>"),
    ],
)
def test_html_that_says_more_than_the_text_stays(text: Any, markup: str) -> None:
    value: Any = [{"id": n, "note": text, "note_html": markup} for n in range(2)]
    reduced: Any = reduce(value, ("boilerplate",))[0]
    assert all("note_html" in row for row in reduced)


def test_html_without_a_text_and_links_to_pages_stay() -> None:
    value: Any = [
        {"id": n, "url": f"https://x.dev/api/a/{n}", "html_url": f"https://x.dev/a/{n}", "html": f"<b>{n}</b> is bold"}
        for n in range(2)
    ]
    assert reduce(value, ("boilerplate",)) == (value, [])


def test_html_beside_the_text_that_it_was_made_of_is_dropped() -> None:
    rows: Any = [
        {"id": n, "summary": {"raw": f"* one {n}\n* two {n}", "html": f"<ul><li>one {n}</li><li>two {n}</li></ul>"}}
        for n in range(3)
    ]
    reduced: Any = reduce(rows, ("boilerplate",))[0]
    assert reduced == [{"id": row["id"], "summary": {"raw": row["summary"]["raw"]}} for row in rows]
