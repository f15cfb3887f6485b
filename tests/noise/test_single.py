"""Noise below single records that have none themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
