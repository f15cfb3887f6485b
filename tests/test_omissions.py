from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import orjson
import pytest

from shaping import Shaper, tokens, using
from shaping.encoders.table import decode
from shaping.present.notices import missing
from shaping.response import Omission, Warned, grouped

NOISY = [
    {
        "id": n,
        "title": f"Issue number {n} about something",
        "state": "open",
        "node_id": f"MDU6SXNzdWU5MD{n:04d}",
        "url": f"https://api.example.com/repos/acme/widgets/issues/{n}",
        "events_url": f"https://api.example.com/repos/acme/widgets/issues/{n}/events",
        "html_url": f"https://example.com/acme/widgets/issues/{n}",
    }
    for n in range(20)
]


def test_what_the_config_left_out_is_listed_with_its_price_under_standard() -> None:
    shaper = Shaper({"tool_overrides": {"t": {"exclude_fields": ["[].title"]}}})
    value = shaper.shape(NOISY, tool="t", profile="standard").value
    (title,) = (omission for omission in value["omissions"] if omission["path"] == "[].title")
    assert title["count"] == 20
    assert title["reason"] == "fields"
    assert title["tokens"] > 20


def test_nulls_and_empties_are_told_as_one_entry_each() -> None:
    records = [{"a": None, "b": []}, {"a": None, "c": None, "d": 1}] * 20
    value = Shaper({}).shape(records, profile="standard").value
    assert value["omissions"] == [
        {"path": "**", "count": 60, "reason": "null"},
        {"path": "[].b", "count": 20, "reason": "empty", "tokens": 22},
    ]


def test_a_long_list_of_paths_ends_in_one_entry_for_the_rest() -> None:
    many = [Omission(f"variants.v{n}.sku", 1, "fields") for n in range(100)]
    told = grouped(many)
    assert len(told) == 41
    assert told[-1] == Omission("**", 60, "fields")
    assert sum(omission.count for omission in told) == 100


def test_minimal_says_nothing_where_the_reader_cannot_expand() -> None:
    value = Shaper({}).shape(NOISY).value
    assert set(value) == {"data"}


def test_minimal_says_in_one_line_what_rules_took_and_how_to_get_it_back() -> None:
    shaper = Shaper({}, expandable=True)
    shaped = shaper.shape(NOISY, tool="t")
    assert set(shaped.value) == {"data", "ref", "omissions"}
    assert shaped.value["omissions"].startswith("left out: ")
    assert "\n" not in shaped.value["omissions"]
    assert shaper.expand(shaped.value["ref"], "[3].url").value == {"data": NOISY[3]["url"]}


def test_bare_data_has_the_line_below_it() -> None:
    shaper = Shaper({}, expandable=True)
    with using(dialect="none"):
        shaped = shaper.shape(NOISY, tool="t")
    last = shaped.text.splitlines()[-1]
    assert last.startswith("(left out: ")
    assert last.endswith(f"ref {shaped.ref})")
    assert shaped.notice == "\n" + last


def test_a_line_that_would_cost_more_than_it_saved_is_not_written() -> None:
    small: list[dict[str, Any]] = [{"id": n, "title": "x" * 300, "url": f"https://a.example/{n}"} for n in range(2)]
    assert "omissions" not in Shaper({}, expandable=True).shape(small, tool="t").value


@pytest.mark.parametrize("dialect", ["lean", "none", "flat", "invariant", "sourced"])
def test_a_cut_list_says_how_many_of_how_many_are_shown(dialect: str) -> None:
    shaper = Shaper({}, expandable=True)
    with using(dialect=dialect, max_tokens=400):
        shaped = shaper.shape({"rows": [{"n": n, "word": f"word{n}"} for n in range(500)]}, tool="t")
    (listed,) = shaped.shown
    assert (listed.path, listed.total) == ("rows", 500)
    assert 0 < listed.shown < 500
    assert shaped.truncated
    assert str(listed.total) in shaped.text
    assert shaped.cursor is not None
    assert shaped.cursor in shaped.text
    page = shaper.expand(shaped.ref or "", cursor=shaped.cursor)
    assert page.data[0] == {"n": listed.shown, "word": f"word{listed.shown}"}


def wide(many: int) -> dict[str, Any]:
    """Give a map of which a small budget takes members, beside a list of which it takes the tail."""
    members = {f"package {n}": f"version 1.{n}, the last that was released" for n in range(many)}
    return {"packages": members, "rows": [{"n": n, "word": f"word{n}"} for n in range(500)]}


@pytest.mark.parametrize("profile", ["minimal", "standard"])
@pytest.mark.parametrize("expandable", [True, False])
def test_a_cut_of_both_lists_and_members_tells_of_both_below_bare_data(profile: str, expandable: bool) -> None:
    with using(dialect="none", max_tokens=600):
        shaped = Shaper({}, expandable=expandable).shape(wide(60), tool="t", profile=profile, surface="mcp")
    (rows,) = shaped.shown
    gone = 60 - len(shaped.data["packages"])
    assert gone > 0
    columns = "in all n 0..499; " if expandable else ""
    told = f"\n(rows: {rows.shown} of 500 shown; {columns}left out: {gone} members (packages)"
    asked = f"; shaping_expand ref={shaped.ref}; cursor={shaped.cursor})" if expandable else ")"
    assert shaped.notice == told + asked
    assert tokens.exact(shaped.text) <= 600


def test_what_rules_took_is_told_beside_the_tail_of_a_list() -> None:
    with using(dialect="none", max_tokens=300):
        shaped = Shaper({}, expandable=True).shape(NOISY * 20, tool="t")
    told = r"\n\(items: \d+ of 400 shown; left out: 800 links \(url, events_url\), 400 opaque"
    assert re.match(told, shaped.notice)
    assert tokens.exact(shaped.text) <= 300


@pytest.mark.parametrize("dialect", ["lean", "flat", "invariant", "sourced"])
def test_members_that_a_budget_took_are_told_to_who_cannot_expand(dialect: str) -> None:
    with using(dialect=dialect, max_tokens=600):
        shaped = Shaper({}).shape(wide(60), tool="t")
    assert f"left out: {60 - len(shaped.data['packages'])} members (packages)" in shaped.text
    assert tokens.exact(shaped.text) <= 600


def test_what_is_held_back_is_told_by_its_reason_and_cannot_be_asked_for() -> None:
    override = {"private": ["secret"], "exclude_when_tier": {"free": ["paid"]}, "exclude_fields": ["noise"]}
    shaper = Shaper({"tool_overrides": {"t": override}}, tier="free", expandable=True)
    raw = {"a": 1, "secret": 2, "paid": 3, "noise": 4}
    shaped = shaper.shape(raw, tool="t", profile="standard")
    assert shaped.value["omissions"] == [
        {"path": "secret", "count": 1, "reason": "private"},
        {"path": "paid", "count": 1, "reason": "tier"},
        {"path": "noise", "count": 1, "reason": "fields", "tokens": 1, "ref": shaped.ref},
    ]
    assert shaped.ref is not None
    assert shaper.expand(shaped.ref).data == {"a": 1, "noise": 4}


def test_what_is_left_out_of_an_object_is_priced_as_in_plain_data() -> None:
    @dataclass
    class Answer:
        a: int = 1
        b: str = "word"

    shaper = Shaper({"tool_overrides": {"t": {"exclude_fields": ["b"]}}})
    shaped = shaper.shape(Answer(), tool="t", profile="standard")
    assert shaped.value["omissions"][0]["tokens"] > 0


def test_what_is_asked_back_comes_in_pages_within_the_tools_budget() -> None:
    shaper = Shaper({"global": {"max_tokens": 80}}, expandable=True)
    shaped = shaper.shape({"rows": [f"row number {n * n}" for n in range(100)]}, tool="t")
    rows, cursor, pages = [], None, 0
    while pages == 0 or cursor is not None:
        page = shaper.expand(shaped.ref or "", None if cursor else "rows", cursor)
        assert tokens.exact(page.text) <= 80
        rows += page.data
        cursor, pages = page.cursor, pages + 1
    assert rows == [f"row number {n * n}" for n in range(100)]
    assert pages > 5


def test_what_saves_less_than_telling_of_it_is_not_left_out() -> None:
    small = [{"id": n, "title": "x" * 300, "avatar_url": f"https://img.example/{n}.png"} for n in range(2)]
    assert Shaper({}, expandable=True).shape(small, tool="t").value == {"data": small}


def test_the_line_names_the_first_of_what_was_left_out() -> None:
    kinds = ("followers", "gists", "events", "teams")
    rows = [
        {
            "id": n,
            "etag": f'"{n:032x}"',
            "owner": {"login": f"u{n}", **{f"{kind}_url": f"https://api.example.com/u{n}/{kind}" for kind in kinds}},
        }
        for n in range(5)
    ]
    told = Shaper({}, expandable=True).shape(rows, tool="t").value["omissions"]
    assert told == "left out: 20 links (owner.followers_url, owner.gists_url, owner.events_url, …), 5 opaque (etag)"


def test_who_has_no_ref_is_told_of_links_first_and_of_nulls_and_empties_apart() -> None:
    rows = [{**row, "assignee": None, "labels": [], "team": {}, "next": None} for row in NOISY]
    shaped = Shaper({}).shape(rows, tool="t")
    empty = "40 null (assignee, next), 40 empty (labels, team)"
    assert missing(shaped) == f"left out: 40 links (url, events_url), 20 opaque (node_id), {empty}"


@pytest.mark.parametrize(
    ("value", "limit", "said"),
    [
        ({"log": "word " * 3000}, {"max_tokens": 100}, r"left out: 14,\d\d\d characters \(log\)"),
        ({"rows": ["word " * 30] * 3}, {"max_items": 2}, r"left out: 1 item( \(rows\))?"),
        ({"rows": [1] * 3000}, {"max_items": 2}, r"left out: 2,998 items( \(rows\))?"),
    ],
)
def test_what_is_counted_is_named_in_its_right_number(value: Any, limit: dict[str, int], said: str) -> None:
    shaped = Shaper({"global": limit}).shape(value, tool="t")
    assert re.fullmatch(said, missing(shaped))


def test_a_short_answer_that_stays_json_tells_of_its_links_too() -> None:
    named = enumerate(("Door", "Lamp", "Chair", "Shelf", "Bed"))
    shaped = Shaper({}).shape(
        [{"id": n, "title": f"{name} squeaks", "url": f"https://api.example.com/{n}/a"} for n, name in named]
    )
    data, line = shaped.text.splitlines()
    assert json.loads(data)[0] == {"id": 0, "title": "Door squeaks"}
    assert line == "(left out: 5 links (url))"


def test_neither_what_was_asked_for_nor_what_is_private_is_named_to_who_has_no_ref() -> None:
    override = {"private": ["secret"], "exclude_fields": ["noise"]}
    shaped = Shaper({"tool_overrides": {"t": override}}).shape({"a": 1, "secret": None, "noise": None}, tool="t")
    assert missing(shaped) == ""


def test_a_secret_in_a_name_is_not_told_to_who_has_no_ref() -> None:
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    told = missing(Shaper({}).shape({"a": 1, token: None}))
    assert told.startswith("left out: 1 null (")
    assert token not in told


def test_bare_data_tells_nothing_itself_so_the_line_does() -> None:
    with using(profile="standard", dialect="none"):
        shaped = Shaper({}).shape({"a": 1, "b": None})
    assert missing(shaped) == "left out: 1 null (b)"


RECORDS: list[dict[str, Any]] = [
    {"id": n, "title": f"Issue {n}", "assignee": None, "milestone": None, "labels": [], "user": {"company": None}}
    for n in range(5)
]


@pytest.mark.parametrize("profile", ["minimal", "standard"])
@pytest.mark.parametrize("value", [RECORDS, {"items": RECORDS, "total": 5}])
def test_null_and_empty_members_are_named_once_below_a_list(profile: str, value: Any) -> None:
    with using(dialect="none"):
        shaped = Shaper({}).shape(value, tool="t", profile=profile)
    assert shaped.absent == {"null": ("assignee", "milestone", "user.company"), "empty": ("labels",)}
    assert shaped.text.endswith("\nnull: assignee, milestone, user.company; empty: labels")
    assert "null" not in orjson.dumps(shaped.data).decode()


def test_members_that_only_some_records_lack_are_told_from_those_that_all_lack() -> None:
    records = [
        {"n": n, "note": None, "body": None if n % 2 else "text", "labels": [] if n % 3 else ["bug"], "files": []}
        for n in range(12)
    ]
    with using(dialect="none"):
        shaped = Shaper({}).shape(records, tool="t")
    last = "null: note; null if missing: body; empty: files; empty if missing: labels"
    assert shaped.text.splitlines()[-1] == last
    rows: Any = decode(shaped.text)
    assert [set(row) for row in rows[:3]] == [{"n", "body", "labels"}, {"n"}, {"n", "body"}]


def test_a_member_that_is_null_in_some_records_and_empty_in_others_is_called_neither_alone() -> None:
    values: list[Any] = [None, [], {}, {"ref": "main"}]
    records = [{"n": n, "payload": values[n % 4], "note": values[n % 3]} for n in range(12)]
    with using(dialect="none"):
        shaped = Shaper({}).shape(records, tool="t")
    assert shaped.text.splitlines()[-1] == "null or empty: note; null or empty if missing: payload"
    assert decode(shaped.text) == shaped.data


def test_null_and_empty_members_of_records_under_ids_are_named_once_as_those_of_a_list() -> None:
    records: dict[str, Any] = {
        f"0f3c{n:04}-58f6-4a1b-9c2d-7d11e0a9{n:04}": {
            "state": "up",
            "cpu": n,
            "note": None,
            "disk": {"mount": "/", "used": None if n % 2 else n},
            "tags": [],
        }
        for n in range(12)
    }
    with using(dialect="none"):
        for value in (records, {"pods": records, "total": 12}):
            shaped = Shaper({}).shape(value, tool="t")
            assert shaped.text.splitlines()[-1] == "null: note; null if missing: disk.used; empty: tags"
        mixed = [{"id": 1, "pods": records}, {"id": 2, "pods": [1]}]
        assert "note" in Shaper({}).shape(mixed, tool="t").text


def test_null_and_empty_members_of_one_record_are_named_too() -> None:
    with using(dialect="none"):
        shaped = Shaper({}).shape(RECORDS[0] | dict.fromkeys(("closed_by", "closed_at", "locked_at")), tool="t")
    last = "null: assignee, milestone, closed_by, closed_at, locked_at, user.company; empty: labels"
    assert shaped.text.splitlines()[-1] == last


@pytest.mark.parametrize("profile", ["minimal", "standard"])
def test_an_object_of_nulls_is_not_called_empty(profile: str) -> None:
    records = [{"id": n, "name": f"m{n}", "silenced": {"*": None} if n == 1 else {}} for n in range(40)]
    shaped = Shaper({}).shape(records, tool="t", profile=profile)
    assert shaped.absent == {"empty": ("silenced",), "null": ('silenced."*"',)}


@pytest.mark.parametrize(
    "value",
    [
        {"id": 4, "name": "x", "deleted_at": None},
        {"id": 4, "mount": {"a": None, "b": [], "c": "kv"}, "auth": None},
        [{"id": n, "nextLink": None} for n in range(3)],
    ],
)
def test_nulls_stay_in_the_envelope_where_listing_their_absence_costs_more(value: Any) -> None:
    shaped = Shaper({}).shape(value, tool="t", profile="standard")
    assert shaped.data == value
    assert shaped.tokens.after <= shaped.tokens.before


def test_a_list_of_left_out_fields_that_costs_more_than_it_saves_is_not_written() -> None:
    shaper = Shaper({"tool_overrides": {"t": {"exclude_fields": ["b", "c"]}}})
    shaped = shaper.shape({"a": "one", "b": 2, "c": 3}, tool="t", profile="standard")
    assert shaped.text == '{"a":"one"}'
    assert [each["path"] for each in shaped.value["omissions"]] == ["b", "c"]


def test_a_text_keeps_its_lines_beside_warnings() -> None:
    text = "[uwsgi]\nmaster = true\n\n[database]\nurl = postgresql://app:h7Gk29sLq0@db1:5432/app\npool = 20"
    shaper = Shaper({})
    marked = text.replace("h7Gk29sLq0", "[redacted:database-url]")
    assert shaper.shape(text, tool="t", profile="standard").text == marked
    warned = shaper.shape(text, tool="t", profile="standard", warnings=(Warned("STALE", "from a cache"),))
    assert warned.text == f"{marked}\n(STALE: from a cache)"
    assert [each.code for each in warned.warnings] == ["STALE", "REDACTED"]


def test_a_text_that_a_budget_cut_keeps_its_lines_in_an_envelope() -> None:
    text = "\n".join(f"{n} a line of the report" for n in range(2000))
    with using(profile="standard", max_tokens=500):
        shaped = Shaper({}).shape(text, tool="t")
    assert shaped.text.startswith("0 a line of the report\n1 a line of the report\n")
    assert "left out: " in shaped.text.splitlines()[-1]
    assert tokens.exact(shaped.text) <= 500


def test_names_that_would_cost_more_than_they_saved_are_not_written() -> None:
    value = {"id": 1, "title": "x" * 200, "b": None}
    with using(dialect="none"):
        shaped = Shaper({}).shape(value, tool="t")
    assert shaped.absent == {"null": ("b",)}
    assert shaped.absent_line == ""
    assert tokens.exact(shaped.text) <= tokens.exact(orjson.dumps(value).decode())


def test_nulls_stay_in_their_places_where_their_names_would_cost_more_than_was_sent() -> None:
    user = {"y": 0.5, "alphas": "x", "a.b": "some longer text here", "数据_at": 1, "milestone": "2026-01-01T10:00:00Z"}
    note = {"closed_at": True, "ids": "", "[0]_at": {}, "[0]": 1}
    other = {"gammas": "milestone", "null_at": {}, "note_at": note, "数据s": 0.5}
    value = {"items": [{"states": [1, 2, 3], "user": [user, other], "name": True}], "next": None}
    shaped = Shaper({}).shape(value, tool="t")
    assert "next: null" in shaped.text.splitlines()
    assert tokens.exact(shaped.text) <= tokens.exact(orjson.dumps(value).decode())


def test_debug_names_nothing_because_nothing_is_dropped() -> None:
    shaped = Shaper({}).shape(RECORDS, tool="t", profile="debug")
    assert (shaped.absent, shaped.absent_line) == ({}, "")


def test_a_secret_in_a_name_is_not_written_among_those_that_are_null() -> None:
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    with using(dialect="none"):
        shaped = Shaper({}).shape([{"id": n, token: None, "other": None} for n in range(9)], tool="t")
    assert "null: " in shaped.text
    assert token not in shaped.text


def test_nulls_and_empties_are_counted_among_the_omissions_with_a_ref() -> None:
    shaper = Shaper({}, expandable=True)
    shaped = shaper.shape(RECORDS, tool="t", profile="standard")
    assert {(one.path, one.count, one.reason) for one in shaped.omissions} == {
        ("[].assignee", 5, "null"),
        ("[].milestone", 5, "null"),
        ("[].labels", 5, "empty"),
        ("[].user.company", 5, "null"),
    }
    assert [(one["count"], one["ref"]) for one in shaped.value["omissions"]] == [(15, shaped.ref), (5, shaped.ref)]
    assert shaper.expand(shaped.ref or "", "[].assignee").data == [None] * 5


@pytest.mark.parametrize("surface", ["python", "mcp"])
def test_what_noise_rules_took_is_named_also_where_it_cannot_be_asked_for(surface: Any) -> None:
    links = [{"id": n, "title": f"Title {n}", "url": f"https://api.example.com/items/{n}"} for n in range(40)]
    shaped = Shaper({}).shape(links, tool="t", surface=surface)
    assert shaped.text.splitlines()[-1] == "(left out: 40 links (url))"
    assert tokens.exact(shaped.text) < tokens.exact(orjson.dumps(links).decode())


@pytest.mark.parametrize("surface", ["python", "mcp"])
@pytest.mark.parametrize(
    "value", [{"a": None, "b": 1}, {"total": 0, "items": []}, [{"id": 1, "labels": []}], {"a": {"b": None}, "c": 1}]
)
def test_a_null_or_an_empty_list_that_naming_would_make_dearer_stays_in_the_text(value: Any, surface: Any) -> None:
    shaped = Shaper({}).shape(value, tool="t", surface=surface)
    assert json.loads(shaped.text) == value
    assert tokens.exact(shaped.text) <= tokens.exact(orjson.dumps(value).decode())


def test_a_config_that_drops_nulls_itself_is_taken_at_its_word() -> None:
    shaped = Shaper({"global": {"exclude_null_values": True}}).shape({"a": None, "b": 1}, tool="t")
    assert shaped.text == '{"b":1}'


def test_a_small_single_record_loses_the_plumbing_that_records_of_a_list_lose() -> None:
    api, page = "https://api.example.com/repos/acme/widgets/issues/12", "https://example.com/acme/widgets/issues/12"
    user = {"login": "ada", "id": 9, "avatar_url": "https://avatars.example.com/u/9", "events_url": f"{api}/users/9"}
    plumbing = {"url": api, "labels_url": f"{api}/labels{{/name}}", "events_url": f"{api}/events"}
    record = {"number": 12, "title": "Fix it", "html_url": page, **plumbing, "user": user}
    shaper = Shaper({}, expandable=True)
    shaped = shaper.shape(record, surface="mcp")
    assert shaped.data == {"number": 12, "title": "Fix it", "html_url": page, "user": {"login": "ada", "id": 9}}
    assert "left out: 5 links" in shaped.notice
    assert shaped.tokens.after < shaped.tokens.before
    assert shaper.expand(shaped.ref or "", "labels_url").data == plumbing["labels_url"]
    listed = shaper.shape([{**record, "number": n} for n in range(12, 15)], surface="mcp")
    assert not any(name in listed.data[0] for name in plumbing)
    few = {"number": 12, "title": "Fix it", "html_url": page, "url": api, "state": "open"}
    assert shaper.shape(few, surface="mcp").data == few
