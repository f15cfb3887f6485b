"""The short way through a place with one record leads to the same as the long one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given, strategies as st

from shaping.noise import reduce
from shaping.noise.batch import Batch
from shaping.noise.single import members_inside

if TYPE_CHECKING:
    from shaping.response import Json

names = st.sampled_from(
    ["id", "name", "etag", "node_id", "_links", "url", "body", "tags", "odd.key", "status", "owner"]
)
texts = st.sampled_from(
    [
        *(
            "",
            "x",
            "//",
            "git@",
            "a@b",
            "a/b",
            "</p>",
            "a\nb",
            "https://x.dev/a",
            "//x/y",
            "git@x.dev:a/b",
            "see git@x",
        ),
        *(
            "abcdefgh",
            "a" * 64,
            "a " * 32,
            "a " * 160,
            "a " * 161,
            "one line\nand another one",
            "see https://x.dev now",
        ),
        *("<p>a paragraph of it</p>", "2026-10-11T10:00:00Z", "see https://x.dev now"),
    ]
)
values = texts | st.sampled_from([None, 1, 2.5, True, [], {}, [1], {"a": "b"}])
records = st.dictionaries(names, values, max_size=8)


@given(records)
def test_a_record_goes_the_short_way_only_where_sorting_its_members_finds_nothing(row: dict[str, Any]) -> None:
    inside = members_inside(row)
    batch = Batch([row], listed=False, nested=False, arguments=frozenset())
    batch.sort()
    assert inside is None or (inside == batch.inside and batch.is_quiet())


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
