from __future__ import annotations

import pytest

from shaping.errors import ToolError
from shaping.store.search import search

LOG = "\n".join(f"line {n}: {'ERROR disk full' if n % 50 == 0 else 'ok'}" for n in range(1, 501))


def test_lines_are_found_with_their_numbers_and_context() -> None:
    found = search(LOG, "error disk", most=2)
    assert found.total == 10
    assert found.shown[0]["line"] == 50
    assert found.shown[0]["text"].splitlines()[2] == "line 50: ERROR disk full"


def test_context_is_never_shown_twice() -> None:
    shown = search("a\nhit\nhit\nb\nc\nd", "hit").shown
    lines = [line for hit in shown for line in hit["text"].splitlines()]
    assert lines == ["a", "hit", "hit", "b", "c"]


def test_values_are_found_with_their_paths_and_counted_whole() -> None:
    data = {"items": [{"id": n, "title": f"Fix crash {n}" if n % 2 else "Docs"} for n in range(1, 101)]}
    found = search(data, "crash", most=3)
    assert (found.total, found.shown[1]) == (
        50,
        {"path": "items[2].title", "value": "Fix crash 3", "record": "id=3"},
    )


def test_a_pattern_stands_between_slashes() -> None:
    assert search(LOG, r"/line (1|2)00:/").total == 2
    assert search("a/b/c", "/b/").total == 1


def test_a_long_value_is_shown_around_the_hit() -> None:
    value = search({"body": "x" * 5000 + "needle" + "y" * 5000}, "needle").shown[0]["value"]
    assert "needle" in value
    assert len(value) < 200


@pytest.mark.parametrize("wanted", ["", "/(/"])
def test_what_cannot_be_searched_for_is_refused(wanted: str) -> None:
    with pytest.raises(ToolError):
        search(LOG, wanted)


def test_a_pattern_that_does_not_end_is_ended() -> None:
    with pytest.raises(ToolError, match="longer than"):
        search("a" * 60 + "!", "/(a|a|aa)+$/")


def test_hits_go_on_where_the_page_before_ended() -> None:
    pages = [search(LOG, "ERROR", start=start, most=4) for start in (0, 4, 8)]
    assert [hit["line"] for page in pages for hit in page.shown] == list(range(50, 501, 50))
    assert [(page.first, page.last, page.total) for page in pages] == [(0, 4, 10), (4, 8, 10), (8, 10, 10)]
    values = search([f"crash {n}" for n in range(10)], "crash", start=7, most=20)
    assert [hit["path"] for hit in values.shown] == ["[7]", "[8]", "[9]"]
