"""Boilerplate: wrapping goes, what it wraps stays."""

from __future__ import annotations

from typing import Any

import pytest

from shaping.noise import reduce, reduce_text
from shaping.noise.unwrap import unwrap


def test_tracking_goes_and_the_rest_of_the_link_stays() -> None:
    assert unwrap("https://x.dev/a?utm_source=n&utm_medium=e&id=7#top") == "https://x.dev/a?id=7#top"
    assert unwrap("https://x.dev/a?id=7&fbclid=abc") == "https://x.dev/a?id=7"
    assert unwrap("https://x.dev/a?gclid=abc") == "https://x.dev/a"
    assert unwrap("https://x.dev/a?q=utm&page=2") == "https://x.dev/a?q=utm&page=2"
    assert unwrap("https://x.dev/a?utm_source=n&amp;utm_medium=e&amp;id=7") == "https://x.dev/a?id=7"
    assert unwrap("https://x.dev/a?id=7&amp;utm_medium=e&amp;utm_source=n#top") == "https://x.dev/a?id=7#top"
    assert unwrap("Did it work? See https://x.dev/?gclid=a. Or not?") == "Did it work? See https://x.dev/. Or not?"


def test_html_around_text_becomes_text_with_its_links() -> None:
    html = '<p>See <a href="https://x.dev/1">the docs</a> &amp; <b>try</b>.</p><ul><li>one</li><li>two</li></ul>'
    assert unwrap(html) == "See the docs (https://x.dev/1) & try.\n- one\n- two"
    assert unwrap('<div><img src="a.png" alt="a chart"><a href="https://x.dev">https://x.dev</a></div>') == (
        "a charthttps://x.dev"
    )
    shown = '<a href="https://x.dev"><span class="hidden">https://</span><span>x.dev</span></a>'
    pictured = '<a href="https://x.dev"><img src="a.png" alt="a chart"></a>'
    assert unwrap(f"{shown} and {pictured}") == "https://x.dev and a chart (https://x.dev)"


@pytest.mark.parametrize("text", ["use <b> for bold</b> text", "<p>```html\n<p>x</p>\n```</p>", "a < b", "x</y"])
def test_text_about_tags_stays(text: str) -> None:
    assert unwrap(text) is text


@pytest.mark.parametrize(
    "record",
    [
        {"rule": "no-bare-img", "source": "<p>one</p><p>two</p>"},
        {"title": "Home", "html": "<p>one</p><p>two</p>"},
        {"path": "site/index.html", "content": "<p>one</p><p>two</p>"},
        {"name": "readme.md", "text": "<p>one</p><p>two</p>"},
    ],
)
def test_markup_stays_where_it_is_what_was_asked_for(record: dict[str, Any]) -> None:
    assert reduce([record, record], ("boilerplate",)) == ([record, record], [])


def test_inline_images_become_a_note() -> None:
    text = "logo: ![x](data:image/png;base64," + "iVBORw0KGgo" * 20 + ") end"
    assert unwrap(text) == "logo: ![x]([image/png, 165 bytes]) end"


def test_the_ends_of_lines_stay_as_they_are() -> None:
    text = "a  \nb\t\r\n\r\n\r\nc\r\n"
    assert unwrap(text) is text


def test_strings_in_records_and_lists_are_unwrapped_and_counted() -> None:
    value: Any = {
        "posts": [{"id": n, "text": "<p>Hello</p>" * 2} for n in range(3)],
        "notes": ["<p>a note in HTML</p>", "b"],
    }
    reduced, omissions = reduce(value, ("boilerplate",))
    assert reduced == {"posts": [{"id": n, "text": "Hello\nHello"} for n in range(3)], "notes": ["a note in HTML", "b"]}
    assert [(omission.path, omission.count, omission.reason) for omission in omissions] == [
        ("posts[].text", 3, "boilerplate"),
        ("notes[]", 1, "boilerplate"),
    ]


def test_markup_that_was_asked_for_stays_in_a_text() -> None:
    page = "<html><body><p>Hello</p></body></html>"
    assert reduce_text(page, ("boilerplate",)) == (page, [])


def test_a_diff_keeps_its_blanks() -> None:
    diff = "@@ -1,2 +1,2 @@\n \n-a  \n+b\n"
    assert unwrap(diff) is diff


@pytest.mark.parametrize(
    "tag", ["<svg ", "<!-- ", "<a x ", "<a href=x>", "<img x ", "<img alt=", "<br ", "<li ", "<!doctype "]
)
def test_a_page_of_tags_without_ends_is_read_in_one_go(tag: str) -> None:
    # Reading on to the end of the page at each of them took minutes, far more than a test may.
    text = "<p>hello</p>" + tag * (190_000 // len(tag))
    assert unwrap(text).startswith("hello")
    markup: Any = {"id": 1, "body": "hello", "body_html": text}
    assert reduce(markup, ("boilerplate",))[0]["id"] == 1  # type: ignore[index,call-overload]  # a record stays one


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>a</p><SCRIPT>x<b</Script >b", "a\nb"),
        ("<p>a</p><!-- <svg> -->b<svg><path/></svg>c", "a\nbc"),
        ("<!DOCTYPE html><p>a</p><style>p{}", "a\np{}"),
        ("<p><a name=n>one</a> <a class=c href='/x'><b>two</b></a></p>", "one two (/x)"),
        ("<p><img src=s alt='a cat'>!<br/>x</p>", "a cat!\nx"),
    ],
)
def test_what_a_page_does_not_show_goes_and_what_it_shows_stays(markup: str, text: str) -> None:
    assert unwrap(markup) == text
