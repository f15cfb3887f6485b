"""What a table looks like: the examples a reader would be shown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from shaping.encoders.table import decode, encode
from shaping.encoders.table.cells import quoted
from shaping.encoders.table.header import TableError
from shaping.encoders.table.shorten import as_float32, to_float32


def test_records_are_rows_under_one_header_with_their_number() -> None:
    value: Any = [{"name": "lark", "version": "1.3.1"}, {"name": "pytest", "version": "9.2.0"}]
    assert encode(value) == "[2]:\nname,version\nlark,1.3.1\npytest,9.2.0"


def test_what_is_the_same_in_every_row_is_said_once() -> None:
    value: Any = [{"id": 1, "repo": {"name": "web", "id": 7}}, {"id": 2, "repo": {"name": "web", "id": 7}}]
    assert encode(value) == "[2], all with repo{name=web,id=7}:\nid\n1\n2"


def test_a_state_stays_in_its_row_even_where_all_agree() -> None:
    value: Any = [{"id": 1, "state": "open"}, {"id": 2, "state": "open"}]
    assert encode(value) == "[2]:\nid,state\n1,open\n2,open"


def test_whose_a_record_is_stays_in_its_row_too() -> None:
    value: Any = [{"id": n, "user": {"login": "ada", "id": 7}} for n in (1, 2)]
    assert encode(value) == "[2], all with user.id=7:\nid,user.login\n1,ada\n2,ada"


def test_a_column_that_repeats_another_is_said_once_in_words() -> None:
    value: Any = [{"actor": f"a-long-enough-name-{i}", "triggering_actor": f"a-long-enough-name-{i}"} for i in range(2)]
    text = encode(value)
    assert text.startswith("[2]:\n triggering_actor={actor}\nactor\n")
    assert decode(text) == value


def test_nested_records_are_columns_and_absent_members_are_empty() -> None:
    value: Any = [{"user": {"login": "ada", "id": 1}, "n": 1}, {"n": 2, "title": "x"}]
    assert encode(value) == "[2]:\nuser{login,id},n,title\nada,1,1\n,,2,x"


def test_values_are_quoted_only_where_they_could_be_misread() -> None:
    value: Any = [{"v": each} for each in ("plain", "a,b", "1", "true", "", " x", None, 1, True, 1.5)]
    text = 'plain\n"a,b"\n"1"\n"true"\n""\n" x"\nnull\n1\ntrue\n1.5'
    assert encode(value) == f"[10]:\nv\n{text}"


def test_texts_of_several_lines_stand_indented_below_their_row_which_says_so() -> None:
    body = "first line\n\n" + "word " * 30
    value: Any = [{"n": 1, "body": body}, {"n": 2, "body": "short"}]
    text = encode(value)
    assert text == f"[2]:\nn,body\n1,below\n body, 3 lines:\n  first line\n\n  {'word ' * 30}\n2,short"
    assert decode(text) == value


def test_nested_lists_are_rows_below_their_row_with_their_columns_said_above_the_header() -> None:
    value: Any = [
        {"file": "a.py", "messages": [{"rule": "E501", "line": n, "text": "too long here"} for n in (1, 2)]},
        {"file": "b.py", "messages": [{"rule": "F401", "line": 3, "text": "unused import"}]},
        {"file": "c.py"},
    ]
    text = encode(value)
    assert text == (
        "[3]:\n messages[]: rule,line,text\nfile,messages\n"
        "a.py,below\n messages[2]:\n E501,1,too long here\n E501,2,too long here\n"
        "b.py,below\n messages[1]:\n F401,3,unused import\nc.py"
    )
    assert decode(text) == value


def test_an_object_around_records_is_an_outline() -> None:
    value: Any = {"total": 2, "page": {"next": None}, "items": [{"id": 1}, {"id": 2}]}
    assert encode(value) == 'total: 2\npage: {"next":null}\nitems[2]:\nid\n1\n2'


def test_the_header_stands_directly_above_its_first_row() -> None:
    message = {"rule": "no-var", "severity": 1, "line": 15, "column": 3, "endLine": 15, "endColumn": 40}
    value: Any = {"file": "a.js", "messages": [message, message | {"line": 16}], "errors": 0}
    text = encode(value)
    assert text == (
        "file: a.js\nmessages[2], all with rule=no-var,severity=1,column=3,endLine=15,endColumn=40:\nline\n15\n16\n"
        "errors: 0"
    )
    assert decode(text) == value


def test_columns_that_few_rows_fill_come_last() -> None:
    names = [f"odd{n}" for n in range(5)]
    value: Any = [{**(dict.fromkeys(names, 1) if n == 3 else {}), "id": n, "score": n * n} for n in range(6)]
    text = encode(value)
    assert text.splitlines()[:5] == ["[6]:", f"id,score,{','.join(names)}", "0,0", "1,1", "2,4"]
    assert decode(text) == value


def test_members_that_few_records_have_are_said_by_name_and_have_no_column() -> None:
    value: Any = [
        {"id": n, "name": f"item {n}", **({f"odd{m}": m for m in range(7)} if n == 4 else {})} for n in range(9)
    ]
    text = encode(value)
    assert text.splitlines()[1] == "id,name"
    assert " (also odd0=0,odd1=1,odd2=2,odd3=3,odd4=4,odd5=5,odd6=6)" in text.splitlines()
    assert decode(text) == value


def test_nested_records_that_have_little_in_common_are_json_below_their_row() -> None:
    value: Any = [
        {"id": n, "payload": {f"{kind}{part}": f"{kind} {part} of {n}" for part in range(6)}}
        for n, kind in enumerate(["push", "push", "push", "issue", "issue", "fork"])
    ]
    text = encode(value)
    assert text.splitlines()[2:4] == ["0,below", f" payload: {quoted(value[0]['payload'])}"]
    assert decode(text) == value


def test_a_wide_nested_record_has_a_line_of_its_own_with_its_columns_said_above_the_header() -> None:
    value: Any = [
        {
            "id": n,
            **{f"{part}{n}": n * m for m, part in enumerate("abc")},
            "user": {f"u{m}": n + m for m in range(12)},
            "repo": {f"r{m}": n * m + 1 for m in range(11)},
            "size": {"x": n, "y": n + 1},
        }
        for n in range(1, 4)
    ]
    text = encode(value)
    header = next(line for line in text.splitlines() if line.startswith("id,"))
    assert "user," in header
    assert "size{x,y}" in header
    assert len(header.split(",")) < 24
    assert " user: u0,u1,u2,u3,u4,u5,u6,u7,u8,u9,u10,u11" in text.splitlines()
    assert " user: 1,2,3,4,5,6,7,8,9,10,11,12" in text.splitlines()
    assert decode(text) == value


def test_objects_keyed_by_id_are_rows_with_their_key() -> None:
    value: Any = {"variants": {f"10{i}": {"id": f"10{i}", "price": i} for i in range(4)}}
    assert encode(value) == 'variants{4}:\n id={(key)}\n(key),price\n"100",0\n"101",1\n"102",2\n"103",3'


@pytest.mark.parametrize("name", ["null", "empty", "null if missing", "empty if missing", "null or empty if missing"])
def test_a_member_named_as_a_line_about_the_data_stays_a_member(name: str) -> None:
    value: Any = {"runs": [{"n": 1, "at": "a"}, {"n": 2, "at": "b"}], name: "no run failed", "last": 2}
    assert decode(encode(value)) == value


@pytest.mark.parametrize("name", ["(key)", "(value)"])
def test_members_named_as_the_columns_of_an_object_stay_members(name: str) -> None:
    value: Any = {f"pod-{n}": {name: f"v{n}", "cpu": n, "zone": f"eu-{n}"} for n in range(30)}
    assert decode(encode(value)) == value
    nested: Any = [{"id": n, "pods": {f"pod-{at}-{n}": value[f"pod-{at}"] for at in range(9)}} for n in range(9)]
    assert decode(encode(nested)) == nested


def test_a_list_of_one_record_is_opened_where_it_holds_records() -> None:
    value: Any = {"runs": [{"tool": "x", "results": [{"id": 1}, {"id": 2}]}]}
    assert encode(value) == "runs[only]:\n tool: x\n results[2]:\n id\n 1\n 2"


def test_a_member_that_another_one_begins_or_is_again_says_so_by_its_name() -> None:
    person = {"login": "ann", "profile": "https://x.dev/people/ann", "site_admin": False, "type": "User"}
    value: dict[str, Any] = {
        "url": "https://api.x.dev/repos/ann/tea",
        "forks_url": "https://api.x.dev/repos/ann/tea/forks",
        "keys_url": "https://api.x.dev/repos/ann/tea/keys{/key_id}",
        "statuses_url": "https://api.x.dev/repos/ann/tea/statuses/{sha}",
        "other": "https://api.x.dev/repos/ann/teapot",
        "author": person,
        "editor": dict(person),
        "flags": {**person, "site_admin": 0},
        "bare": "{url}/forks",
    }
    lines = encode(value).split("\n")
    assert {"forks_url: {url}/forks", "keys_url: {url}/keys{/key_id}", "editor: {author}"} <= set(lines)
    assert {line.split(": ")[0] for line in lines if ": {" in line and '{"' not in line} == {
        "forks_url",
        "keys_url",
        "editor",
    }
    assert decode("\n".join(lines)) == value
    assert type(decode("\n".join(lines))["flags"]["site_admin"]) is int  # type: ignore[index,call-overload]


def test_a_short_end_is_a_template_where_what_it_follows_is_long() -> None:
    rows: list[Any] = [
        {"url": f"https://api.x.dev/runs/{n}7", "jobs": f"https://api.x.dev/runs/{n}7/jobs"} for n in range(9)
    ]
    text = encode(rows)
    assert " jobs={url}/jobs" in text.split("\n")
    assert decode(text) == rows


def test_a_list_of_one_value_in_every_row_is_that_value() -> None:
    rows: list[Any] = [
        {"id": f"13454346528{n}", "text": f"post {n}", "edits": [f"13454346528{n}"], "tags": [n]} for n in range(9)
    ]
    rows[4].pop("tags")
    text = encode(rows)
    assert text.split("\n")[:3] == ["[9]:", " edits[only]={id}", "id,text,tags[only]"]
    assert decode(text) == rows
    rows[4]["tags"] = []
    assert decode(encode(rows)) == rows
    assert "tags[only]" not in encode(rows)


def test_a_value_without_records_is_compact_json() -> None:
    value: Any = {"a": [1, 2], "b": {"c": None}}
    assert encode(value) == '{"a":[1,2],"b":{"c":null}}'


@pytest.mark.parametrize("value", [[{}, {}], [{}, {"a": {}}], [{"a": []}, {"a": [{}]}], [{"a": {}}, {"a": 1}]])
def test_empty_records_are_told_from_absent_ones(value: Any) -> None:
    assert decode(encode(value)) == value


def test_a_nest_deeper_than_any_header_is_json() -> None:
    value: Any = "x"
    for _ in range(60):
        value = [{"k": value}, {"k": 1}]
    assert decode(encode(value)) == value


@pytest.mark.parametrize(
    "text",
    [
        "[3]:\nid\n1\n2",
        "[2]\nid\n1\n2",
        "items[1]:\nid\n1\n  odd[1]:\n  x",
        "[1]:\na,,b\n1",
        '[1]:\na\n"x',
        '[1]:\na\n"x"y',
        "[1]:\na}\nx",
        "[1]:\na\nx\nleft over",
        "a, 3 lines:\nx",
    ],
)
def test_a_text_that_was_cut_or_changed_is_refused(text: str) -> None:
    with pytest.raises(TableError):
        decode(text)


ROWS: Any = [{"id": n, "v": f"w{n}"} for n in range(3)]


@pytest.mark.parametrize(
    "value",
    [
        pytest.param([{"runs": ROWS}], id="a list of one record at the root"),
        pytest.param({"a": {"b": {"c": ROWS, "d": "x: y"}, "e": 1}}, id="objects in objects"),
        pytest.param({"page": "\n".join("line" for _ in range(9)), "n": 1}, id="a page in an object"),
        pytest.param([{"m": {f"k{n}{i}": i for i in range(3)}} for n in range(12)], id="maps of scalars"),
        pytest.param([{"n": n, "l": [{"a": 1}, {"a": 2}]} for n in range(3)], id="the same list in every row"),
        pytest.param(
            [{"t": [{"k": "a", "v": n}, {"k": "b", "v": {"x": n}}]} for n in range(4)], id="entries with records"
        ),
        pytest.param(
            [{"t": [{"k": "ab"[n % 2], "v": 1}, {"k": "ba"[n % 2], "v": 2}]} for n in range(4)],
            id="entries in no order",
        ),
        pytest.param(
            [{"t": [{"k": f"{n}{i}", "v": i} for i in range(3)]} for n in range(12)], id="entries with too many keys"
        ),
        pytest.param([{"t": [{"k": 1, "v": n}, {"k": 2, "v": n}]} for n in range(4)], id="entries keyed by numbers"),
        pytest.param(
            [{"a": {"l": ROWS, "x": n}, "b": {"l": ROWS[:2], "x": n}} for n in range(3)],
            id="two lists of the same name",
        ),
        pytest.param(
            [
                {"n": n, "o": {"title": "long enough to be worth it " * 4, "rank": n % 2, "x": {"y": 1}}}
                for n in range(9)
            ],
            id="records that come back without a name",
        ),
        pytest.param(
            [{"n": n, "o": {} if n % 2 else {"a": n}, "p": {} if n % 2 else {"a": n}} for n in range(4)], id="empty"
        ),
        pytest.param(
            [{"n": n, "l": [{"text": "many words " * 12}] if n else None} for n in range(3)], id="a list or null"
        ),
        pytest.param([{"n": n, "l": [{"a": n}, {"b": n}] if n else "none"} for n in range(9)], id="a list or a word"),
        pytest.param(
            [{"t": [{"k": "long", "v": f"{n} many words " * 12}, {"k": "short", "v": n}]} for n in range(4)],
            id="entries of which the first stands under the row",
        ),
        pytest.param(
            [{"l": {"of": [{"x": "a" * n}, {"x": "b"}]}, "of": [{"y": n}, {"y": "c" * 20}]} for n in range(9)],
            id="a list whose name ends like the path of another",
        ),
        pytest.param(
            [{"l": [{"key": f"a-long-name-{n}", "path": f"a-long-name-{n}"}] if n else []} for n in range(4)],
            id="a member that repeats another of a list that may be empty",
        ),
    ],
)
def test_every_kind_of_nest_reads_back(value: Any) -> None:
    assert decode(encode(value)) == value


def test_records_deeper_than_a_header_goes_are_json() -> None:
    value: Any = {"id": 1}
    for _ in range(40):
        value = {"in": value, "n": 1}
    rows: Any = [value, value | {"n": 2}]
    assert decode(encode(rows)) == rows
    deep: Any = ROWS
    for _ in range(40):
        deep = {"in": deep}
    assert decode(encode(deep)) == deep


def test_lines_that_end_as_on_windows_stand_as_lines() -> None:
    value: Any = {"body": "one\r\ntwo\r\nthree\r\nfour\r\nfive\r\nsix", "id": 7}
    text = encode(value)
    assert text == "body, 6 lines:\n one\r\n two\r\n three\r\n four\r\n five\r\n six\nid: 7"
    assert decode(text) == value


def test_a_long_text_that_comes_back_is_written_below_the_first_of_its_rows() -> None:
    bot, bug = "I am a bot. " * 10, "It fails\non " + "Tuesdays " * 12
    texts = [bot, bug, bot, "thanks", bug, "One more, and that is all there is to say about it. " * 3]
    value: Any = [{"id": n, "body": text} for n, text in enumerate(texts)]
    text = encode(value)
    assert text.splitlines()[2:] == [
        "0,below",
        f" body=#1: {quoted(bot)}",
        "1,below",
        " body=#2, 2 lines:",
        *(f"  {line}" for line in bug.splitlines()),
        "2,#1",
        "3,thanks",
        "4,#2",
        f"5,{quoted(texts[-1])}",
    ]
    assert decode(text) == value
    assert "#1" not in encode(value, repeats=False)


def test_a_long_text_that_comes_back_inside_rows_is_said_once() -> None:
    note = "The same note, written by the same machine, again and again and again, for whoever may read it, or not"
    value: Any = [
        {"id": n, "notes": [{"by": f"u{m}", "at": m, "text": note if m else f"{n} {note}"} for m in range(3)]}
        for n in range(3)
    ]
    text = encode(value)
    assert text.count(note) == 4
    assert decode(text) == value


def test_a_long_list_that_comes_back_is_written_below_the_first_of_its_rows() -> None:
    seen: Any = [f"https://x.dev/{n}" for n in range(9)]
    other: Any = [f"https://y.dev/{n}" for n in range(9)]
    value: Any = [{"id": n, "refs": refs} for n, refs in enumerate([seen, ["a"], seen, other])]
    text = encode(value)
    assert text.splitlines()[2:] == ["0,below", f" refs=#1: {quoted(seen)}", '1,["a"]', "2,#1", f"3,{quoted(other)}"]
    assert decode(text) == value


def test_lists_written_as_maps_keep_their_order_behind_a_gap_too() -> None:
    tags = [{"key": name, "value": f"{name} value"} for name in ("zone", "app", "team")]
    text = "A text that is long enough to stand under its row, whatever else there is to say about that record here"
    value: Any = [
        {
            "id": n,
            "tags": tags[: 3 - n % 2],
            "note": f"{n} {text}",
            **({f"odd{m}": m for m in range(7)} if n == 4 else {}),
        }
        for n in range(5)
    ]
    value.append({"id": 5, "late": True})
    value[0] |= {"tags": [{"key": "zone", "value": "other"}, {"key": "app", "value": "one"}]}
    text = encode(value)
    assert ",,,,,," not in text
    assert decode(text) == value


def test_records_that_say_nothing_of_their_own_need_no_rows() -> None:
    rows: Any = [{"kind": "a", "size": 2}] * 3
    assert encode(rows) == "[3], all with kind=a,size=2:\n(the rows differ in nothing else)"
    assert decode(encode(rows)) == rows


def test_a_member_of_half_of_the_rows_keeps_its_place() -> None:
    wide: Any = [{f"c{n}": n * row for n in range(9) if n != 1 or row % 2} | {"last": row} for row in range(1, 10)]
    odd: Any = {"c0": 1, "last": 9}
    assert encode([*wide, odd]).splitlines()[1].startswith("c0,c1,c2,")


def test_mail_addresses_that_follow_from_a_name_are_said_once() -> None:
    names = ("ada", "ben", "cleo", "ada")
    rows: Any = [{"id": at, "name": name, "mail": f"{name}@example.com"} for at, name in enumerate(names)]
    text = encode(rows)
    assert "mail={name}@example.com" in text
    assert text.count("@") == 1
    assert decode(text) == rows


def test_links_that_follow_from_an_id_are_said_once_as_a_template() -> None:
    value: Any = [
        {
            "url": f"https://api.x.dev/items/{n}",
            "id": n,
            "user": {"login": f"user{n}", "avatar": f"https://x.dev/u/user{n}.png", "repos": "https://x.dev/{/repo}"},
        }
        for n in range(101, 105)
    ]
    text = encode(value)
    assert text.splitlines()[:4] == [
        '[4], all with user.repos="https://x.dev/{/repo}":',
        " url=https://api.x.dev/items/{id}",
        " user.avatar=https://x.dev/u/{user.login}.png",
        "id,user.login",
    ]
    assert decode(text) == value


def test_a_link_that_differs_in_one_row_is_no_template() -> None:
    value: Any = [{"id": n, "url": f"https://x.dev/items/{n if n != 3 else 'three'}"} for n in range(10, 1, -1)]
    text = encode(value)
    assert "{id}" not in text
    assert decode(text) == value


def test_times_of_one_day_are_written_without_their_date() -> None:
    value: Any = [{"n": n, "at": f"2021-02-18T14:59:{n:02}.000+08:00"} for n in range(4)]
    text = encode(value)
    assert text == ("[4]:\nn,at=2021-02-18T{}.000+08:00\n0,14:59:00\n1,14:59:01\n2,14:59:02\n3,14:59:03")
    assert decode(text) == value


def test_a_time_of_another_day_stays_whole() -> None:
    value: Any = [{"n": n, "at": f"2021-02-1{8 if n else 9}T14:59:{n:02}.000+08:00"} for n in range(9)]
    text = encode(value)
    assert text.splitlines()[1:4] == ["n,at=2021-02-18T{}.000+08:00", "0,2021-02-19T14:59:00.000+08:00", "1,14:59:01"]
    assert decode(text) == value


@pytest.mark.parametrize("odd", ["n/a", "#1", "14:59:08", "2021-02-19"])
def test_a_word_among_times_is_not_read_as_a_part_of_one(odd: str) -> None:
    value: Any = [{"n": n, "at": f"2021-02-18T14:59:{n:02}Z" if n != 4 else odd} for n in range(9)]
    assert decode(encode(value)) == value


def test_times_inside_of_links_are_read_as_a_part_of_them() -> None:
    value: Any = [{"n": n, "link": f"https://x.dev/{2010 + n}-02-18T14:59:00Z"} for n in range(9)]
    assert decode(encode(value)) == value


@pytest.mark.parametrize("zone", ["", "Z", "+02:00", "-0730", ".25Z", ".125+00:00"])
def test_the_zone_of_all_times_is_said_once(zone: str) -> None:
    value: Any = [{"n": n, "at": f"2021-02-18T14:59:{n:02}{zone}"} for n in range(4)]
    text = encode(value)
    assert text.splitlines()[1:3] == [f"n,at=2021-02-18T{{}}{zone}", "0,14:59:00"]
    assert decode(text) == value


def test_a_hash_that_comes_back_often_is_written_once() -> None:
    value: Any = [{"n": n, "sha": "cb4adab28f63313592a9a395656b8413184ea33" + "ab"[n % 4 == 1]} for n in range(10)]
    text = encode(value)
    assert text.splitlines()[:4] == ["[10]:", f" #1={value[0]['sha']}", "n,sha", "0,#1"]
    assert text.splitlines()[-1] == f"9,{value[9]['sha']}"
    assert decode(text) == value


def test_floats_of_single_precision_have_their_own_digits() -> None:
    value: Any = [
        {"n": n, "price": price} for n, price in enumerate([239.64999389648438, 242.5] * 3 + [235.05999755859375] * 5)
    ]
    text = encode(value)
    assert text.splitlines()[1:4] == [" (float32, shortest digits: price)", "n,price", "0,239.65"]
    assert decode(text) == value


@given(
    st.floats(width=32, allow_nan=False, allow_infinity=False).filter(
        lambda number: len(repr(number)) > len("0.1234567")
    )
)
def test_a_float_of_single_precision_has_no_digit_too_many(number: float) -> None:
    (short, *_) = as_float32([number] * 8, {float}) or [number]
    tried = (float(f"{number:.{digits}g}") for digits in range(1, 9))
    assert short == next((few for few in tried if to_float32(few) == number), number)


def test_what_all_lists_begin_with_is_written_once() -> None:
    value: Any = [{"n": n, "tags": ["service:checkout", "region:eu-west-1", *(["x"] * n)]} for n in range(4)]
    text = encode(value)
    assert text.splitlines()[1:5] == [
        ' tags: all begin with ["service:checkout","region:eu-west-1"], written …',
        "n,tags",
        "0,…",
        '1,…["x"]',
    ]
    assert decode(text) == value


def test_what_all_lists_have_is_written_once_in_any_order_where_order_may_go() -> None:
    tags: Any = ["service:checkout", "region:eu-west-1", "host:web-17"]
    value: Any = [{"n": n, "tags": [*tags[n % 3 :], f"span:{n}", *tags[: n % 3]]} for n in range(6)]
    assert decode(encode(value)) == value
    text = encode(value, lossless=False)
    assert text.splitlines()[1] == f" tags: all have, in any order, {quoted(tags)}, written …"
    assert text.count("region:eu-west-1") == 1
    assert [sorted(row["tags"]) for row in decode(text)] == [sorted(row["tags"]) for row in value]  # type: ignore[union-attr,call-overload,index,arg-type]


def test_a_member_that_is_a_record_here_and_a_scalar_there_is_json() -> None:
    value: Any = [{"id": n, "who": {"name": f"n{n}", "age": n} if n % 2 else "nobody"} for n in range(4)]
    assert encode(value).splitlines()[2:4] == ["0,nobody", '1,{"name":"n1","age":1}']
    assert decode(encode(value)) == value


def test_null_and_empty_records_and_lists_are_told_from_absent_ones_in_their_cell() -> None:
    filled = {"user": {"login": "ada", "id": 1, "team": "x"}, "rows": [{"a": n, "b": "some words"} for n in range(9)]}
    value: Any = [
        {"id": 0, **filled},
        {"id": 1, "user": None, "rows": []},
        {"id": 2, "user": {}, "rows": None},
        {"id": 3},
    ]
    text = encode(value)
    assert [line for line in text.splitlines() if line[0] in "0123"] == ["0,below,below", "1,null,[]", "2,{},null", "3"]
    assert decode(text) == value


@pytest.mark.parametrize(
    "value", [[{"id": 1}, {"id": 2}], {"items": [{"id": 1}, {"id": 2}], "null": 1, "empty": "x"}, {"a": 1}]
)
def test_notes_above_and_below_the_data_are_no_part_of_it(value: Any) -> None:
    notes = "\nnull: assignee, milestone; empty: labels\n(items: 2 of 9 shown)"
    assert decode(f"(2 of 9 shown)\n{encode(value)}{notes}") == value


def test_the_member_that_identifies_a_record_comes_first() -> None:
    value: Any = [{"state": "open", "labels": ["a"], "number": n, "title": f"t{n}"} for n in range(3)]
    assert "number,state," in encode(value)


@pytest.mark.parametrize("text", ["None", "True", "NaN", "7070", "007", "+1", "1.", "below", "#3", "-", "null"])
def test_a_string_that_looks_like_something_else_is_quoted(text: str) -> None:
    value: Any = [{"id": 0, "v": text, "n": None}, {"id": 1, "v": "x", "n": 7}]
    assert f'0,"{text}",null' in encode(value)
    assert decode(encode(value)) == value


def test_what_all_rows_have_is_written_in_lines_that_can_be_read() -> None:
    constants = {f"member_{n}": f"the same words in every row, part {n}" for n in range(9)}
    value: Any = [{"id": n, **constants, "in": {"a": n, **constants}} for n in range(4)]
    text = encode(value)
    lines = text.splitlines()
    assert lines[0] == "[4]:"
    assert lines[1].startswith(" all with member_0=")
    assert decode(text) == value
    assert decode(encode([{"all with x": n, "y": "z" * 9} for n in range(9)]))[3] == {"all with x": 3, "y": "z" * 9}  # type: ignore[index]


def test_all_tags_stand_together_directly_above_the_header() -> None:
    long = [f"{word} that comes back in many rows of the table" for word in ("this", "that", "else")]
    value: Any = [
        {"n": n, "a": long[n % 3], "rows": [{"m": n * m, "c": long[m % 3]} for m in range(7)]} for n in range(30)
    ]
    text = encode(value)
    lines = text.splitlines()
    tags = [at for at, line in enumerate(lines) if line.startswith(" #")]
    header = lines.index("n,a,rows")
    assert tags == list(range(header - len(tags), header))
    assert decode(text) == value


def test_a_record_that_is_all_of_its_row_stays_in_it() -> None:
    value: Any = [{"data": {f"m{m}": n * m for m in range(20)}} for n in range(3)]
    assert "below" not in encode(value)
    assert decode(encode(value)) == value


def test_records_of_several_kinds_are_a_list_for_each_kind() -> None:
    lamps: Any = [{"type": "lamp", "id": n, "on": n % 2 == 0, "color": {"x": n, "y": 0.5}} for n in range(9)]
    users: Any = [{"type": "user", "id": n, "name": f"u{n}", "mail": f"u{n}@x.dev", "roles": ["a"]} for n in range(9)]
    rooms: Any = [{"type": "room", "id": 1, "floor": 2, "walls": [{"h": 1}, {"h": 2}], "owner": "ada", "size": 4}]
    value: Any = {"items": [*lamps, *users, *rooms, {"type": "end", "id": 0, "a": 1, "b": 2, "c": 3}]}
    text = encode(value)
    assert text.splitlines()[:2] == [
        "items[20], written as 4 lists one after the other:",
        " [9], all with type=lamp,color.y=0.5:",
    ]
    assert decode(text) == value
    assert decode(encode(value["items"])) == value["items"]


def test_tags_of_a_form_that_is_not_taken_are_written_where_they_are_used() -> None:
    long = [f"{word} is a sentence that comes back in many rows of the table" for word in ("this", "that", "else")]
    rows: Any = [{"type": f"t{n // 4}", "a": long[n % 3], **{f"m{n // 4}_{m}": m for m in range(9)}} for n in range(40)]
    value: Any = {
        "scalars": {f"k{n}": f"{long[n % 3]}{'' if n % 3 else n}" for n in range(20)},
        "lists": [[n, long[n % 3], n * n] for n in range(20)],
        "rows": rows,
        "more": [{"id": n, "text": long[n % 3]} for n in range(20)],
    }
    assert decode(encode(value)) == value


def test_a_nested_record_of_which_every_member_follows_from_others_reads_back() -> None:
    value: Any = [
        {"login": f"somebody-{n}", "u": {f"l{m}": f"https://x.dev/{m}/somebody-{n}" for m in range(4)}}
        for n in range(9)
    ]
    assert decode(encode(value)) == value


def test_an_object_of_records_is_a_table_though_many_lack_a_member() -> None:
    flags: Any = {
        f"{n}x": {"on": n > 2} | ({"part": n} if n % 2 else {}) | ({"of": n} if n % 3 else {}) for n in range(8)
    }
    text = encode(flags)
    assert text.startswith("{8}:\n(key),on,")
    assert decode(text) == flags


def test_an_object_of_long_columns_with_gaps_is_no_table() -> None:
    columns: Any = {name: {str(n): n for n in range(60) if name != "d" or n % 9 == 0} for name in "abcd"}
    assert "(key)" not in encode(columns)
