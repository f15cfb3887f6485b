from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings, strategies as st

from shaping import Shaper, tokens, using
from shaping.errors import ToolError
from shaping.paths import compile_fields, parse, select
from shaping.paths.grammar import Index, Name, Slice
from shaping.settings.plan import Overrides
from shaping.store.backends import MemoryStore, StoreError
from shaping.store.expand import Expanded, Recalled, cursor_at, expand, listed, recall
from shaping.store.keeper import Keeper, make_ref
from shaping.store.pages import Page, Position, page
from shaping.tokens import counter

ROOM = 10**8  # bytes, more than any test needs
SECRET = b"s" * 32
COUNTER = counter("o200k_base")
REF = make_ref(SECRET, "tool", b"content")


def render(one: Expanded) -> str:
    return orjson.dumps({"path": one.path, "value": one.value, "cursor": one.cursor}).decode()


def ask(value: Any, **wishes: Any) -> Expanded:
    return expand(Recalled(value, {}), REF, SECRET, render=render, counter=COUNTER, **wishes)


def pages(value: Any, path: str | None = None, **wishes: Any) -> list[Expanded]:
    found = [ask(value, path=path, **wishes)]
    while found[-1].cursor is not None:
        found.append(ask(value, cursor=found[-1].cursor, **wishes))
    return found


def assembled(parts: list[Expanded]) -> Any:
    whole: Any = None
    for part in parts:
        whole = _with(whole, parse(part.path).steps if part.path else (), part.value)
    return whole


def _with(whole: Any, steps: tuple[Any, ...], value: Any) -> Any:
    match steps:
        case ():
            return value if whole is None else {**whole, **value}
        case (Slice(),):
            return value if whole is None else whole + value
        case (Name(key), *rest):
            whole = whole or {}
            return {**whole, key: _with(whole.get(key), tuple(rest), value)}
        case (Index(at), *rest):
            whole = whole or []
            old = whole[at] if at < len(whole) else None
            return [*whole[:at], _with(old, tuple(rest), value)]
    raise AssertionError(steps)


LONG = {
    "id": 7,
    "items": [{"n": n, "body": f"line {n} " * 8} for n in range(60)],
    "text": "one two three " * 400,
    "map": {f"key {n}": [n] * 5 for n in range(50)},
    "deep": {"er": [[["x" * 3000], "y"], {}, [], None, 1.5]},
}


@pytest.mark.parametrize("budget", [80, 200, 1000, 5000, None])
def test_all_pages_together_are_the_original(budget: int | None) -> None:
    found = pages(LONG, max_tokens=budget)
    assert assembled(found) == LONG
    assert all(budget is None or COUNTER.exact(render(one)) <= budget for one in found)
    assert (len(found) == 1) is (budget in (5000, None))


@pytest.mark.parametrize("every", [2, 3, 5, 7, 11])
@pytest.mark.parametrize("limit", [1000, 2000, 4000])
def test_a_page_of_an_object_is_found_by_the_size_of_each_of_its_members(every: int, limit: int) -> None:
    value = {f"k{n}": "x" * (3 if n % every == 0 else 400) for n in range(2000)}
    tried: list[int] = []

    def cost(one: Page) -> float:
        tried.append(len(orjson.dumps(one.value)))
        return tried[-1] / 4

    page(value, Position(), cost, limit)
    assert max(tried) < limit * 4 * 2


def test_key_order_survives_paging() -> None:
    assert orjson.dumps(assembled(pages(LONG, max_tokens=120))) == orjson.dumps(LONG)


def test_what_fits_comes_whole_and_without_a_cursor() -> None:
    assert ask({"a": [1, 2]}, max_tokens=100) == Expanded({"a": [1, 2]}, "", None)


def test_a_path_chooses_what_comes_back() -> None:
    assert ask(LONG, path="items[3]").value == LONG["items"][3]  # type: ignore[index]  # the shape is known here
    assert ask(LONG, path="items[].n").value == list(range(60))
    assert ask(LONG, path="items[58:100]").value == LONG["items"][58:]  # type: ignore[index]  # the same


BARE: dict[str, Any] = {"number": 3, "body": None}
ISSUES = {
    "a,b": 1,
    "items": [
        {"number": 1, "state": "open", "body": "one", "labels": [{"name": "x"}, {"name": "y"}]},
        {"number": 2, "state": "open", "labels": []},
        {"number": 3, "state": "open", "body": None, "labels": [{"name": "z"}]},
    ],
}


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        ("items[].number,items[].body", {"items": [{"number": 1, "body": "one"}, {"number": 2}, BARE]}, ""),
        ("items[1:].number, items[1:].state", [{"number": n, "state": "open"} for n in (2, 3)], "items[1:]"),
        ("items[0].number,items[0].labels.name", {"number": 1, "labels": [{"name": "x"}, {"name": "y"}]}, "items[0]"),
        ('"a,b",items[].number', {"a,b": 1, "items": [{"number": 1}, {"number": 2}, {"number": 3}]}, ""),
        ("a,b", 1, "a,b"),
    ],
)  # fmt: skip
def test_several_paths_give_the_records_with_only_what_they_name(path: str, value: Any, where: str) -> None:
    found = ask(ISSUES, path=path)
    assert (found.value, found.path) == (value, where)


def test_the_records_of_several_paths_come_in_pages_too() -> None:
    found = pages(LONG, "items[].n,items[].body", max_tokens=300)
    assert len(found) > 1
    assert assembled(found) == {"items": LONG["items"]}


@pytest.mark.parametrize(
    ("path", "code", "says"),
    [
        ("items[].number,items[].bdy", "NOT_FOUND", "nothing at items[].bdy; did you mean items[].body?"),
        ("items[0].number,items[1].number", "BAD_ARGUMENT", "the paths cannot be read together"),
        ("items[].number,items[", "BAD_ARGUMENT", "the path cannot be read"),
    ],
)
def test_of_several_paths_the_one_that_is_wrong_is_named(path: str, code: str, says: str) -> None:
    with pytest.raises(ToolError) as refused:
        ask(ISSUES, path=path)
    assert (refused.value.detail.code, says in refused.value.detail.message) == (code, True)


def test_private_paths_are_not_among_several_either() -> None:
    private = compile_fields(exclude=["**.body"])
    with pytest.raises(ToolError, match=r"nothing at items\[\]\.body"):
        ask(ISSUES, path="items[].number,items[].body", private=private)


def test_the_pages_under_a_path_say_where_they_are() -> None:
    found = pages(LONG, "items", max_tokens=300)
    assert found[0].path.startswith("items[0:")
    assert [item for one in found for item in one.value] == LONG["items"]  # type: ignore[union-attr]  # lists all


def test_a_long_string_comes_in_slices() -> None:
    found = pages(LONG, "text", max_tokens=200)
    assert "".join(one.value for one in found) == LONG["text"]  # type: ignore[misc]  # strings all
    assert found[1].path.startswith("text[")


def test_the_cursor_of_a_cut_list_goes_on_where_it_was_cut() -> None:
    cursor = cursor_at(SECRET, REF, "items", Position((), 57))
    assert ask(LONG, cursor=cursor).value == LONG["items"][57:]  # type: ignore[index]  # the shape is known here


def test_private_paths_are_never_expanded() -> None:
    private = compile_fields(exclude=["**.body", "text"])
    assert ask(LONG, path="items[0]", private=private).value == {"n": 0}
    with pytest.raises(ToolError, match="nothing at text"):
        ask(LONG, path="text", private=private)


def test_a_changed_cursor_is_refused() -> None:
    cursor = ask(LONG, max_tokens=100).cursor
    assert cursor is not None
    other = cursor.replace("/", "9/", 1)
    with pytest.raises(ToolError) as refused:
        ask(LONG, cursor=other)
    assert refused.value.detail.code == "BAD_ARGUMENT"


@pytest.mark.parametrize(
    ("path", "code", "says"),
    [
        ("a..b", "BAD_ARGUMENT", "cannot be read"),
        ("nope", "NOT_FOUND", "nothing at nope; there is: id, items, text, map, deep"),
        ("itmes[3]", "NOT_FOUND", "nothing at itmes; did you mean items?"),
        ("items[99999]", "NOT_FOUND", "nothing at items[99999]; the list has "),
        ("items[99999:]", "NOT_FOUND", "nothing at items[99999:]; the list has "),
        ("items[].zzz", "NOT_FOUND", "nothing at items[].zzz"),
        ("**.zzz", "NOT_FOUND", "nothing at **.zzz"),
        ("id.zzz", "NOT_FOUND", "nothing at id.zzz"),
    ],
)
def test_a_path_that_leads_nowhere_is_an_error_that_says_what_there_is(path: str, code: str, says: str) -> None:
    with pytest.raises(ToolError) as refused:
        ask(LONG, path=path)
    assert (refused.value.detail.code, says in refused.value.detail.message) == (code, True)
    assert "items[0].user.login" in str(refused.value.detail.hint)


@pytest.mark.parametrize(
    "path", ["none", "none[]", "none[].name", "rows[].tags", "rows[].tags[]", "rows[].tags[].name", "bare.*"]
)
def test_a_path_to_something_empty_is_no_error(path: str) -> None:
    value: dict[str, Any] = {"none": [], "rows": [{"tags": []}, {"tags": []}], "bare": {}}
    assert ask(value, path=path).value == ([[], []] if path == "rows[].tags" else [])


def test_a_member_is_found_by_the_end_of_its_path_as_a_notice_names_it() -> None:
    owners = [{"repo": {"owner": {"login": name, "url": f"/{name}"}}} for name in ("ada", "bob")]
    assert ask({"found": owners}, path="owner.url").value == ["/ada", "/bob"]
    chosen = ask({"found": owners}, path="owner.url,owner.login").value
    assert chosen == {"found": owners}
    assert ask({"url": "/top", "found": owners}, path="url").value == "/top"
    with pytest.raises(ToolError, match="nothing at owner"):
        ask({"found": owners}, path="owner.url", private=compile_fields(exclude=["**.url"]))


def test_a_single_place_that_is_not_there_is_an_error_even_in_something_empty() -> None:
    with pytest.raises(ToolError, match=r"nothing at bare\.name"):
        ask({"bare": {}}, path="bare.name")


def test_a_path_into_a_list_that_leads_nowhere_has_no_names_to_offer() -> None:
    with pytest.raises(ToolError, match="nothing at"):
        ask([1, 2], path="[7]")


def test_too_few_tokens_for_anything_is_said() -> None:
    with pytest.raises(ToolError, match="too small to show anything"):
        ask(LONG, max_tokens=5)
    with pytest.raises(ToolError, match="too small to show anything"):
        ask(12345678, max_tokens=3)


def keeper_with(payload: bytes, ttl: float = 60, **meta: str) -> Keeper:
    keeper = Keeper(MemoryStore(ROOM))
    assert keeper.keep(REF, lambda: payload, meta=meta, ttl=ttl)
    return keeper


def test_a_ref_recalls_what_was_kept_and_which_tool_gave_it() -> None:
    keeper = keeper_with(b'{"a":1}', tool="search")
    assert recall(keeper, REF) == Recalled({"a": 1}, {"tool": "search"})
    keeper.close()


@pytest.mark.parametrize("ref", ["r_unknown", "nonsense", "", None, 7, REF.upper()])
def test_a_ref_that_was_never_given_is_not_found(ref: object) -> None:
    keeper = keeper_with(b"1")
    with pytest.raises(ToolError) as refused:
        recall(keeper, ref)
    assert (refused.value.detail.code, bool(refused.value.detail.hint)) == ("REF_NOT_FOUND", True)
    keeper.close()


def test_an_expired_ref_is_not_found() -> None:
    keeper = keeper_with(b"1", ttl=0.01)
    keeper.flush()
    time.sleep(0.05)
    with pytest.raises(ToolError, match="nothing is kept"):
        recall(keeper, REF)
    keeper.close()


def test_a_ref_works_only_for_its_owner() -> None:
    keeper = keeper_with(b"1", owner="session-1")
    assert recall(keeper, REF, owner="session-1").value == 1
    for other in ("session-2", None):
        with pytest.raises(ToolError, match="nothing is kept"):
            recall(keeper, REF, owner=other)
    keeper.close()


def test_a_store_that_cannot_be_read_is_said() -> None:
    class Broken(MemoryStore):
        def get(self, ref: str) -> Any:
            raise StoreError("not there")

    with pytest.raises(ToolError) as refused:
        recall(Keeper(Broken(ROOM)), REF)
    assert refused.value.detail.code == "UNAVAILABLE"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=12), inner, max_size=6),
    max_leaves=40,
)


@settings(max_examples=50, deadline=None)
@given(value=JSON, budget=st.integers(200, 700))
def test_any_value_comes_back_whole_in_pages(value: Any, budget: int) -> None:
    found = pages(value, max_tokens=budget)
    assert assembled(found) == value
    assert all(COUNTER.exact(render(one)) <= budget for one in found)


def test_large_mixed_values_come_back_whole_in_pages() -> None:
    dice = random.Random(3)  # noqa: S311  the same in every run
    for _ in range(5):
        value = _grown(dice, 5)
        assert assembled(pages(value, max_tokens=dice.randint(150, 900))) == value


def _grown(dice: random.Random, depth: int) -> Any:
    kind = dice.random()
    if depth == 0 or kind < 0.2:
        return dice.choice(
            [None, True, 1.5, dice.randint(0, 10**9), "word " * dice.randint(0, 200), "日本語" * dice.randint(0, 50)]
        )
    if kind < 0.6:
        return [_grown(dice, depth - 1) for _ in range(dice.randint(0, 9))]
    return {f"key {n}": _grown(dice, depth - 1) for n in range(dice.randint(0, 6))}


TOKEN = "ghp_" + "aZ7" * 12


def test_what_is_stored_is_already_redacted_and_without_private_paths() -> None:
    shaper = Shaper({"tool_overrides": {"t": {"private": ["hidden"]}}}, expandable=True)
    keeper = shaper._keeper = Keeper(MemoryStore(ROOM))
    value = {"items": [{"token": TOKEN, "n": n} for n in range(300)], "hidden": "private words", TOKEN: 1}
    shaped = shaper.shape(value, tool="t", overrides=Overrides(max_tokens=200))
    assert shaped.ref is not None
    keeper.flush()
    stored = keeper.store.get(shaped.ref)
    assert stored is not None
    assert TOKEN.encode() not in stored.payload
    assert b"private words" not in stored.payload
    assert b"[redacted:github-token]" in stored.payload
    assert TOKEN not in shaper.expand(shaped.ref).text
    shaper.close()


def test_what_a_session_left_out_is_for_that_session_alone(tmp_path: Path) -> None:
    config = {"global": {"max_items": 1}, "store": {"kind": "sqlite", "path": str(tmp_path / "store")}}
    ours, again, other, nobody = (Shaper(config, session_id=name) for name in ("one", "one", "two", None))
    ref = ours.shape([1, 2], tool="t").ref
    assert ref is not None
    assert ours.expand(ref, "[1]").data == 2
    ours.close()  # which waits for what is still to be written
    assert again.expand(ref, "[1]").data == 2
    for stranger in (other, nobody):
        with pytest.raises(ToolError, match="REF_NOT_FOUND"):
            stranger.expand(ref, "[1]")
        stranger.close()
    again.close()


def test_an_answer_goes_out_with_a_warning_where_nothing_can_be_kept() -> None:
    shaper = Shaper({}, expandable=True)
    shaper._keeper = Keeper(MemoryStore(ROOM), waiting=0)
    shaped = shaper.shape(
        [{"n": n, "text": "words " * 9} for n in range(300)], tool="t", overrides=Overrides(max_tokens=200)
    )
    assert shaped.ref is None
    assert [warning.code for warning in shaped.warnings] == ["NOT_KEPT"]
    assert shaped.truncated
    shaper.close()


@pytest.mark.parametrize("value", [[], {}, None, "", [1]])
def test_a_key_with_a_comma_is_found_whatever_it_holds(value: Any) -> None:
    whole = {"c,d": value, "rows": [{"c,d": value}]}
    assert (select(whole, "c,d"), listed(whole, "c,d")) == (value, ["c,d"])
    assert listed(whole, "rows[0].c,d") == ["rows[0].c,d"]


def test_a_path_of_quotes_that_nothing_closes_is_read_once() -> None:
    # From each quote to the end of the path, this would take minutes.
    assert listed({}, "," + '"\\' * 200_000) == ["," + '"\\' * 200_000]


ISSUES_LIKE: list[dict[str, Any]] = [
    {
        "id": n,
        "node_id": f"MDU6SXNzdWU5MD{n:04d}",
        "url": f"https://api.example.com/repos/acme/widgets/issues/{n}",
        "events_url": f"https://api.example.com/repos/acme/widgets/issues/{n}/events",
        "title": f"Issue number {n} about something",
        "assignee": None,
        "labels": [],
    }
    for n in range(200)
]


@pytest.mark.parametrize("dialect", ["lean", "none"])
@pytest.mark.parametrize("profile", ["minimal", "standard"])
def test_the_next_page_of_a_cut_list_has_the_plan_of_the_first(dialect: Any, profile: str) -> None:
    shaper = Shaper({}, expandable=True)
    overrides = Overrides(max_tokens=900, dialect=dialect)
    first = shaper.shape({"items": ISSUES_LIKE}, tool="t", profile=profile, overrides=overrides)
    shown, items, cursor = len(first.data["items"]), list(first.data["items"]), first.cursor
    while cursor is not None:
        page = shaper.expand(first.ref or "", cursor=cursor, max_tokens=900)
        assert tokens.exact(page.text) <= 900
        assert page.cursor is None or len(page.data) >= 0.7 * shown
        items, cursor = items + page.data, page.cursor
    kept = {"id", "title"} if profile == "minimal" else {"id", "title", "node_id", "url", "events_url"}
    assert items == [{key: value for key, value in issue.items() if key in kept} for issue in ISSUES_LIKE]
    shaper.close()


def test_the_next_page_has_the_fields_and_names_that_the_call_asked_for() -> None:
    shaper = Shaper({"tool_overrides": {"t": {"rename": {"items[].title": "name"}}}}, expandable=True)
    overrides = Overrides(max_tokens=300, fields=("items[].id", "items[].title"))
    first = shaper.shape({"items": ISSUES_LIKE}, tool="t", overrides=overrides)
    page = shaper.expand(first.ref or "", cursor=first.cursor)
    start = len(first.data["items"])
    assert page.data[0] == {"id": start, "name": f"Issue number {start} about something"}
    shaper.close()


def test_a_private_path_that_is_new_holds_for_the_next_page_too(tmp_path: Path) -> None:
    file = tmp_path / "response_config.json"
    file.write_text("{}")
    shaper = Shaper(file, expandable=True, watch=False)
    first = shaper.shape({"items": ISSUES_LIKE}, tool="t", overrides=Overrides(max_tokens=300))
    file.write_text('{"tool_overrides": {"t": {"private": ["items[].title"]}}}')
    shaper._live.reload()
    assert "about something" not in shaper.expand(first.ref or "", cursor=first.cursor).text
    shaper.close()


def test_a_cut_text_goes_on_where_it_was_cut() -> None:
    shaper, log = Shaper({}, expandable=True), "".join(f"line {n} of a log\n" for n in range(4000))
    first = shaper.shape({"log": log}, tool="t", overrides=Overrides(max_tokens=400))
    head = first.data["log"].partition("…")[0]
    page = shaper.expand(first.ref or "", cursor=first.cursor)
    assert log.startswith(head + page.data)
    assert page.data.startswith(f"line {head.count(chr(10))} ")
    assert first.cursor is not None
    assert first.cursor in first.text
    shaper.close()


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("log[5:9]", "one\n"),
        ("log[L2:L3]", "line two\nline three\n"),
        ("log[L3:]", "line three\nline four"),
        ("log[L4:L9]", "line four"),
        ("log[L:L1]", "line one\n"),
    ],
)
def test_a_text_takes_ranges_of_characters_and_of_lines(path: str, found: str) -> None:
    shaper = Shaper({}, expandable=True)
    log = "line one\nline two\nline three\nline four"
    ref = shaper.shape({"log": log, "n": [1, 2]}, tool="t", overrides=Overrides(max_items=1)).ref
    assert shaper.expand(ref or "", path).data == found
    shaper.close()


def test_a_range_of_lines_holds_for_a_bare_text() -> None:
    shaper = Shaper({}, expandable=True)
    ref = shaper.shape("line one\nline two\n" * 9, tool="t", overrides=Overrides(max_string=60)).ref
    assert shaper.expand(ref or "", "[L2:L2]").data == "line two\n"
    shaper.close()


@pytest.mark.parametrize(
    ("path", "code", "said"),
    [
        ("stdout[L1:L2]", "NOT_FOUND", "nothing at stdout; the data is a list of 40: begin with [0] or []"),
        ("[L1:L2]", "BAD_ARGUMENT", "[L…] takes lines of a text, and the answer is data"),
        ("[0].n[L1:L2]", "BAD_ARGUMENT", "[L…] takes lines of a text, and what is at [0].n is data"),
    ],
)
def test_lines_of_an_answer_that_is_data_are_refused_with_what_there_is(path: str, code: str, said: str) -> None:
    shaper = Shaper({}, expandable=True)
    ref = shaper.shape([{"n": n} for n in range(40)], tool="t", overrides=Overrides(max_items=1)).ref
    with pytest.raises(ToolError) as refused:
        shaper.expand(ref or "", path)
    assert (refused.value.detail.code, refused.value.detail.message.startswith(said)) == (code, True)
    shaper.close()


def test_that_a_config_is_not_in_use_is_said_whatever_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "response_config.json").write_text('{"globl": {}}')
    monkeypatch.chdir(tmp_path)
    overrides = Overrides(max_tokens=60, dialect="invariant")
    shaped = Shaper(watch=False).shape([{"id": n, "name": f"row {n}"} for n in range(300)], overrides=overrides)
    said = "response_config.json is wrong at $.globl and is not in use as written; `shaping check` says why"
    assert [warned.message for warned in shaped.warnings] == [said]


def test_the_cursor_of_a_cut_list_brings_its_other_records_where_a_list_in_a_record_was_cut_too() -> None:
    issues = [{"id": n, "labels": [f"label {n} {word} " * 9 for word in ("one", "two", "three")]} for n in range(60)]
    shaper = Shaper({}, expandable=True)
    with using(max_tokens=150, dialect="none"):
        page = shaper.shape(issues, tool="t")
    assert [one.path for one in page.shown] == ["[0].labels", ""]
    ref, shown = page.ref, {0}
    while page.cursor:
        page = shaper.expand(str(ref), cursor=page.cursor, max_tokens=600)
        shown |= {record["id"] for record in page.data}
    assert shown == set(range(60))


def test_the_members_of_a_map_that_were_cut_come_by_its_cursor() -> None:
    users = {f"user-{n:03}": {"name": f"Name {n}", "about": "word " * (n % 9)} for n in range(200)}
    shaper = Shaper({"global": {"max_tokens": 400}}, expandable=True)
    shaped = shaper.shape({"users": users, "total": 200}, tool="list", surface="mcp")
    texts, cursor = [shaped.text], shaped.cursor
    assert shaped.truncated
    while cursor is not None:
        page = shaper.expand(str(shaped.ref), cursor=cursor)
        texts, cursor = [*texts, page.text], page.cursor
    assert all(any(name in text for text in texts) for name in users)
