from __future__ import annotations

import json
from typing import Any

from shaping import Shaper
from shaping.ledger.call_texts import SentPart, find_texts, keep_texts, marked_leaves, marked_lines
from shaping.response import Omission


def marked(value: Any, *omissions: tuple[str, int, Any], read: str = "") -> list[tuple[str, str | None]]:
    part = SentPart(value, tuple(Omission(*each) for each in omissions))
    return [(line.text.strip(), line.reason) for line in marked_lines(part, read)]


def test_what_was_left_out_of_each_record_is_marked_with_its_reason() -> None:
    records = [{"id": 1, "url": "u1", "note": None}, {"id": 2, "url": "u2", "note": "kept"}]
    lines = marked(records, ("[].url", 2, "links"), ("[].note", 1, "null"))
    assert [line for line in lines if line[1]] == [
        ('"url": "u1",', "links"),
        ('"note": null', "null"),
        ('"url": "u2",', "links"),
    ]
    assert ('"note": "kept"', None) in lines


def test_the_tail_of_a_list_is_marked_and_its_head_is_not() -> None:
    lines = marked({"rows": [10, 20, 30, 40]}, ("rows[2:4]", 2, "items"))
    assert [text for text, reason in lines if reason == "items"] == ["30,", "40"]


def test_of_the_sizes_of_a_picture_those_are_marked_that_were_left_out() -> None:
    images = [{"url": f"https://img.dev/{width}.jpg", "width": width, "height": width} for width in (300, 640, 64)]
    songs: Any = [{"id": n, "name": f"Song {n}", "images": images} for n in range(6)]
    shaped = Shaper({}, expandable=True).shape(songs, tool="list", surface="mcp")
    assert "(left out: 12 links (images)" in shaped.text
    lines = list(marked_lines(SentPart(songs[:1], shaped.omissions)))
    assert [line.reason for line in lines if "img.dev" in line.text] == ["links", None, "links"]


def test_a_subtree_that_was_left_out_is_one_line() -> None:
    assert ('"owner": {"login":"a","id":1}', "fields") in marked(
        {"owner": {"login": "a", "id": 1}}, ("owner", 1, "fields")
    )


def test_keys_with_dots_are_found() -> None:
    assert ('"a.b": null', "null") in marked({"a.b": None}, ('"a.b"', 1, "null"))


def test_lines_of_a_text_that_the_model_did_not_read_are_marked() -> None:
    lines = marked("one\nnoise\ntwo", read="one\ntwo\n(1 line left out)")
    assert lines == [("one", None), ("noise", "text"), ("two", None)]


def test_a_line_that_was_only_rewritten_is_not_marked() -> None:
    sent = "tests/a.py::test_one PASSED [ 10%]\ntests/a.py::test_two PASSED [ 20%]\nDEBUG nothing happened here"
    lines = marked(sent, read="PASSED tests/a.py: test_one | test_two")
    assert [reason for _, reason in lines] == [None, None, "text"]


def test_a_line_that_was_read_without_its_colours_or_in_a_short_form_is_not_marked() -> None:
    sent = "\n".join(f"\x1b[32mok {n}\x1b[0m" for n in range(3))
    assert marked(sent, read="ok 0\nok 1\nok 2") == [(f"ok {n}", None) for n in range(3)]
    steps = "\n".join(f"train_{n}: step{n * 100} {n}ms" for n in range(3))
    assert not any(
        reason for _, reason in marked(steps, read="#1=train_{}: step{} {}ms\n#1 0 0 0\n#1 1 100 1\n#1 2 200 2")
    )


def test_the_fields_of_a_value_are_given_by_one_path_for_all_records() -> None:
    part = SentPart([{"id": 1, "url": "u"}, {"id": 2, "url": "v"}], (Omission("[].url", 2, "links"),))
    assert [(leaf.path, leaf.value, leaf.reason) for leaf in marked_leaves(part)] == [
        ("[].id", 1, None),
        ("[].url", "u", "links"),
        ("[].id", 2, None),
        ("[].url", "v", "links"),
    ]


def test_the_omissions_of_a_real_response_mark_all_that_is_missing() -> None:
    records = [
        {"id": n, "name": f"n{n}", "self_url": f"https://api.example.com/items/{n}", "gone": None} for n in range(30)
    ]
    shaped = Shaper({"tool_overrides": {"t": {"exclude_fields": ["name"]}}}).shape(records, tool="t")
    lines = marked(records, *((each.path, each.count, each.reason) for each in shaped.omissions))
    reasons = {reason for _, reason in lines if reason}
    assert {"fields", "null"} <= reasons
    assert sum(reason == "fields" for _, reason in lines) == 30


def test_a_link_that_the_model_read_is_not_marked_with_those_that_went() -> None:
    api = "https://a.example/api"
    rows = [
        {
            "id": n,
            "links": {"self": f"{api}/{n}", "image": f"https://c.example/{n}.png", "next": f"{api}/{n + 1}"},
            "n": n,
        }
        for n in range(8)
    ]
    shaped = Shaper({}).shape(rows, tool="t")
    assert "(left out: 16 links (links.self, links.next))" in shaped.text
    lines = marked(rows, *((each.path, each.count, each.reason) for each in shaped.omissions))
    assert {text.split('"')[1]: reason for text, reason in lines if "https" in text} == {
        "self": "links",
        "image": None,
        "next": "links",
    }


def test_nothing_was_left_out_of_an_answer_that_went_out_as_it_was() -> None:
    shaper = Shaper({}, expandable=True)
    person: dict[str, Any] = {"name": "Ada Lovelace", "manager": None, "tags": [], "team": "core"}
    shaped = shaper.shape(person, tool="person", surface="mcp")
    assert shaped.omissions
    keeper = shaper.keeper("mcp")
    ref = keep_texts(keeper, json.dumps(person), [shaped], ttl=60)
    shortened = keep_texts(keeper, "name: Ada Lovelace\nteam: core", [shaped], ttl=60)
    assert keeper.flush(timeout=30)
    whole, cut = (find_texts(keeper.store, one) for one in (ref, shortened))
    assert whole is not None
    assert whole.sent == (SentPart(person, ref=shaped.ref),)
    assert cut is not None
    assert cut.sent[0].omissions
    shaper.close()
