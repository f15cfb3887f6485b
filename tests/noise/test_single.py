"""Noise below single records that have none themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shaping.noise import reduce

if TYPE_CHECKING:
    from shaping.response import Json


def test_noise_is_taken_from_below_a_record_that_has_none_and_what_is_left_empty_goes() -> None:
    page: Json = {"id": 1, "text": "<p>Read <b>this</b> one</p>"}
    value: Json = {"total": 1, "deep": {"page": page, "kept": {"n": 1}}, "tags": ["a"]}
    reduced, omissions = reduce(value, ("boilerplate",))
    assert reduced == {
        "total": 1,
        "deep": {"page": {"id": 1, "text": "Read this one"}, "kept": {"n": 1}},
        "tags": ["a"],
    }
    assert [(omission.path, omission.reason) for omission in omissions] == [("deep.page.text", "boilerplate")]


def test_what_held_nothing_but_links_goes_from_the_record_around_it() -> None:
    start = "https://api.tracker.dev/repositories/some-long-owner/some-long-name/issues/1"
    api: Json = {f"{name}_url": f"{start}/{name}" for name in ("comments", "events", "labels", "timeline")}
    value: Json = {"id": 1, "name": "first", "n": 2, "inner": {"api": api, "kept": 1, "size": 3}}
    reduced, _ = reduce(value, ("links",))
    assert reduced == {"id": 1, "name": "first", "n": 2, "inner": {"kept": 1, "size": 3}}


def _issue(number: int) -> Json:
    api = f"https://api.tracker.dev/repos/acme/doors/issues/{number}"
    page = f"https://tracker.dev/acme/doors/pull/{number}"
    return {
        "id": 900 + number,
        "node_id": f"PR_kwDOADYVqs57oSc{number}",
        "number": number,
        "title": f"Door {number} squeaks",
        "html_url": page,
        "user": {"login": f"user{number}", "id": 10 + number, "node_id": f"MDQ6VXNlcjYzNzk5{number}="},
        "reactions": {"url": f"{api}/reactions", "total_count": number, "heart": 0},
        "pull_request": {"html_url": page, "diff_url": f"{page}.diff", "patch_url": f"{page}.patch"},
    }


def test_a_single_record_loses_what_records_of_a_list_lose() -> None:
    kinds = ("links", "opaque")
    single: Any = reduce(_issue(41), kinds)[0]
    only: Any = reduce([_issue(41)], kinds)[0]
    several: Any = reduce([_issue(41), _issue(42)], kinds)[0]
    assert [single] == only == several[:1]
    assert "node_id" not in single
    assert single["reactions"] == {"total_count": 41, "heart": 0}


def test_the_only_checksum_is_an_answer() -> None:
    file: Json = {"id": 7, "name": "doors.zip", "sha256": "9f" * 32, "etag": '"33a64df551425fcc55e4d42a148795d9"'}
    assert reduce(file, ("opaque",))[0] == file
