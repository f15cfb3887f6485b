from __future__ import annotations

import copy
import json
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from shaping import tokens
from shaping.cli.demo import issues
from shaping.clients import find_client
from shaping.mcp import result as module
from shaping.mcp.mcp_shaper import MCPShaper
from shaping.mcp.sessions import Session, ToolRequest
from shaping.response import CallContext
from shaping.shaper import Shaper

if TYPE_CHECKING:
    from collections.abc import Mapping

shape_result = Shaper.shape_result

TOKEN = "ghp_" + "a1B2" * 9
CONFIG: dict[str, Any] = {
    "tool_overrides": {
        "search": {"include_only": ["items[].number", "items[].user.login"]},
        "listing": {"include_only": ["number"]},
        "safe": {"private": ["secret"]},
        "cut": {"max_string": 200},
        "flat": {"dialect": "flat"},
    }
}
PAGE = {"items": [{"number": 1, "title": "a", "user": {"login": "ada", "id": 7}}], "total": 1}
KEPT = {"items": [{"number": 1, "user": {"login": "ada"}}]}
IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
LINK = {"type": "resource_link", "uri": "file:///a", "name": "a"}


@pytest.fixture(scope="module")
def shaper() -> Shaper:
    return Shaper(CONFIG)


def text(value: Any) -> dict[str, Any]:
    return {"type": "text", "text": value if isinstance(value, str) else json.dumps(value, indent=2)}


def without_meta(result: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in result.items() if key != "_meta"}


def test_both_channels_are_written_in_step_from_one_source(shaper: Shaper) -> None:
    result = {"content": [text(PAGE)], "structuredContent": PAGE}
    assert without_meta(shape_result(shaper, result, tool="search")) == {
        "content": [{"type": "text", "text": json.dumps(KEPT, separators=(",", ":"))}],
        "structuredContent": KEPT,
    }


ANY: dict[str, Any] = {"type": "object"}


@pytest.mark.parametrize("form", [{"separators": (",", ":")}, {}, {"indent": 2}, {"ensure_ascii": True}, None])
def test_data_is_shaped_and_kept_alike_however_its_mirror_is_printed(form: dict[str, Any] | None) -> None:
    shaper = Shaper({}, expandable=True)
    page = {"items": issues(8), "more": None, "ünïcode": ["é", 1.0, -0.0, 2**63, True, []]}
    alone = shape_result(shaper, {"content": [], "structuredContent": page}, tool="list")
    content = [] if form is None else [text(json.dumps(page, **form))]
    shaped = shape_result(shaper, {"content": content, "structuredContent": page}, tool="list")
    assert shaped["structuredContent"] == alone["structuredContent"]
    assert shaped["_meta"] == alone["_meta"]
    assert [block["text"] for block in shaped["content"]] == [shaper.shape(page, tool="list", surface="mcp").text]
    shaper.close()


def test_what_a_result_left_out_can_be_asked_back_at_once_and_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shaping.store.keeper._QUIET", 600)
    shaper = Shaper({}, expandable=True)
    page = {"items": issues(8)}
    shaped = shape_result(shaper, {"content": [text(page)], "structuredContent": page}, tool="list")
    assert shaped["structuredContent"] != page
    assert shaper.expand(shaped["_meta"]["shaping"]["ref"], surface="mcp").data == page
    shaper.close()


def test_json_in_a_text_block_is_shaped_where_it_stands(shaper: Shaper) -> None:
    assert without_meta(shape_result(shaper, {"content": [text(PAGE)]}, tool="search")) == {
        "content": [{"type": "text", "text": json.dumps(KEPT, separators=(",", ":"))}]
    }


@pytest.mark.parametrize("channels", ["both", "structured"])
def test_a_config_that_asks_for_structured_content_gets_it_from_text_too(shaper: Shaper, channels: Any) -> None:
    shaped = shape_result(shaper, {"content": [text(PAGE)]}, tool="search", channels=channels)
    assert shaped["structuredContent"] == KEPT
    assert len(shaped["content"]) == (1 if channels == "both" else 0)


def test_a_list_becomes_an_object_where_only_an_object_may_stand(shaper: Shaper) -> None:
    shaped = shape_result(shaper, {"content": [text([{"number": 1, "a": 2}])]}, tool="listing", channels="both")
    assert shaped["structuredContent"] == {"result": [{"number": 1}]}


def test_blocks_of_one_list_are_joined_and_the_order_of_all_others_stays(shaper: Shaper) -> None:
    result = {"content": [IMAGE, text({"number": 1, "a": 0}), LINK, text({"number": 2, "a": 0}), IMAGE]}
    assert shape_result(shaper, result, tool="listing")["content"] == [
        IMAGE,
        {"type": "text", "text": '[{"number":1},{"number":2}]'},
        LINK,
        IMAGE,
    ]


def test_a_relay_sends_structured_content_only_to_a_client_that_runs_programs_over_it(shaper: Shaper) -> None:
    result = {"content": [text(PAGE)], "structuredContent": PAGE}
    seen = {
        (client, relay): "structuredContent" in shape_result(shaper, result, tool="search", client=client, relay=relay)
        for client in ("claude-code", "opencode", "codex-mcp-client", "nobody")
        for relay in (True, False)
    }
    assert {client for (client, relay), structured in seen.items() if relay and structured} == {"codex-mcp-client"}
    assert all(structured for (_, relay), structured in seen.items() if not relay)


def test_data_without_a_text_gets_one_for_clients_that_show_nothing_else(shaper: Shaper) -> None:
    result = {"content": [IMAGE], "structuredContent": PAGE}
    said = {"type": "text", "text": json.dumps(KEPT, separators=(",", ":"))}
    assert shape_result(shaper, result, tool="search", client="claude-code", relay=True)["content"] == [said, IMAGE]
    assert shape_result(shaper, result, tool="search", client="gemini-cli-mcp-client")["content"] == [said, IMAGE]
    assert shape_result(shaper, result, tool="search", client="claude-code")["content"] == [IMAGE]


def test_structured_content_says_what_was_left_out_of_it() -> None:
    shaper = Shaper({"global": {"max_tokens": 200}}, expandable=True)
    page = {"items": issues(12)}
    shaped = shape_result(shaper, {"content": [text(page)], "structuredContent": page}, tool="list", schema=ANY)
    assert "of 12 shown" in shaped["structuredContent"]["_shaping"]
    assert "shaping_expand ref=r_" in shaped["structuredContent"]["_shaping"]
    assert shaped["content"][0]["text"].splitlines()[0] == f"({shaped['structuredContent']['_shaping']})"
    shaper.close()


@pytest.mark.parametrize(
    ("client", "most"),
    [
        ("copilot-cli", {"bytes": 20480}),
        ("qwen-cli-mcp-client-x", {"chars": 28000}),
        ("opencode", {"bytes": 51200, "lines": 2000}),
        ("@cline/core", {"chars": 8000}),
    ],
)
def test_a_result_is_cut_to_what_its_client_shows_and_says_so_first(client: str, most: dict[str, int]) -> None:
    shaper = Shaper({}, expandable=True)
    rows = [{"id": number, "note": f"{number * 7919} stands in the margin of page {number}"} for number in range(1875)]
    shaped = shape_result(shaper, {"content": [text(rows)]}, tool="rows", client=client, relay=True)
    said = shaped["content"][0]["text"]
    assert find_client(client).excess(shaped, most) <= 1
    assert len(said) > min(most.values()) / 3
    assert "of 1875 shown" in said.splitlines()[0]
    assert "shaping_expand ref=r_" in said.splitlines()[0]
    shaper.close()


def test_parts_are_cut_together_to_what_their_client_shows() -> None:
    lines = "\n".join(f"{number}: {number * 7919} stands in the margin" for number in range(3000))
    rows = [{"id": number, "note": f"{number * 7919} stands on page {number}"} for number in range(2000)]
    result = {"content": [text("Two results:"), text({"rows": rows}), text({"lines": lines, "rows": rows[:20]})]}
    for client in ("claude-code", "codex-mcp-client", "copilot-cli"):
        shaped = shape_result(Shaper({}), result, tool="rows", client=client, relay=True)
        assert 0.85 < find_client(client).excess(shaped) <= 1
        assert shaped["content"][0] == text("Two results:")
        assert len(shaped["content"]) == 3


def test_meta_is_not_sent_to_a_client_whose_model_reads_it(shaper: Shaper) -> None:
    result = {"content": [text(PAGE)], "_meta": {"own": 1}}
    failed = {"content": [text("ENOENT: no such file")], "isError": True}
    assert shape_result(shaper, result, tool="search", client="@cline/core")["_meta"] == {"own": 1}
    assert "_meta" not in shape_result(shaper, failed, tool="search", client="gemini-cli-mcp-client")
    assert "_meta" in shape_result(shaper, result, tool="search", client="gemini-cli-mcp-client")


def test_a_list_has_structured_content_for_a_client_that_takes_it_for_a_fault(shaper: Shaper) -> None:
    result = {"content": [text([{"number": 1, "a": 2}])]}
    shaped = shape_result(shaper, result, tool="listing", client="gemini-cli-mcp-client", relay=True)
    assert shaped["structuredContent"] == {"result": [{"number": 1}]}
    assert "structuredContent" not in shape_result(shaper, result, tool="listing", client="opencode", relay=True)


def test_blocks_that_were_shaped_end_with_a_newline_for_a_client_that_joins_them(shaper: Shaper) -> None:
    records = text(json.dumps([{"id": number, "name": f"record {number}"} for number in range(9)]))
    for before, after in (([text("one"), text("two")], ["one", "two"]), ([records, text("two")], [None, "two"])):
        shaped = shape_result(shaper, {"content": before}, tool="t", client="copilot-cli", relay=True)
        own = [block["text"] for block in shaped["content"]]
        assert own == after or (own[0].endswith("\n") and own[1:] == after[1:])


def test_text_and_data_that_differ_are_sent_as_the_client_would_have_shown_them(shaper: Shaper) -> None:
    result = {"content": [text("a summary")], "structuredContent": {"mark": 1}}
    sent = {
        client: [
            block["text"] for block in shape_result(shaper, result, tool="t", client=client, relay=True)["content"]
        ]
        for client in ("claude-code@2.1.325", "gemini-cli-mcp-client@0.61.0", "somebody")
    }
    assert sent == {
        "claude-code@2.1.325": ['{"mark":1}'],
        "gemini-cli-mcp-client@0.61.0": ["a summary"],
        "somebody": ['{"mark":1}', "a summary"],
    }


def test_an_error_of_data_alone_stays_data_for_a_client_that_shows_all_of_it(shaper: Shaper) -> None:
    result = {"content": [], "structuredContent": {"mark": 1}, "isError": True}
    shaped = shape_result(shaper, result, tool="t", client="gemini-cli-mcp-client@0.61.0", relay=True)
    assert (shaped["content"], shaped["structuredContent"], shaped["isError"]) == ([], {"mark": 1}, True)


def test_json_has_short_lines_for_a_client_that_shows_whole_lines() -> None:
    shaper = Shaper({"global": {"profile": "debug"}})
    rows = [{"id": number, "text": "x" * 100} for number in range(60)]
    shaped = shape_result(shaper, {"content": [text(rows)]}, tool="t", client="opencode", relay=True)
    said = shaped["content"][0]["text"]
    assert max(map(len, said.splitlines())) < 2000
    assert json.loads(said) == rows


def test_a_mark_that_a_server_wrote_is_not_believed(shaper: Shaper) -> None:
    result = {"content": [text(PAGE)], "structuredContent": PAGE}
    mark = shape_result(shaper, {**result, "structuredContent": {**PAGE, "n": 1}}, tool="search")["_meta"]
    marks: list[dict[str, Any]] = [{"shaping": {}}, {"shaping": {"tag": "0" * 24}}, mark]
    for forged in marks:
        assert shape_result(shaper, {**result, "_meta": forged}, tool="search")["structuredContent"] == KEPT
    members: list[dict[str, Any]] = [{"resultType": "task"}, {"task": {}}, {"inputRequests": {}}]
    for more in members:
        assert shape_result(shaper, {**result, **more}, tool="search")["structuredContent"] == KEPT


@pytest.mark.parametrize(
    ("said", "structured"),
    [
        ({"number": 1, "user": {"login": "ada"}, "body": None}, {"number": 1, "user": {"login": "ada"}}),
        ({"user": {"login": "ada"}, "number": 1}, {"number": 1, "user": {"login": "ada"}, "body": None}),
        ({"Number": 1, "User": {"Login": "ada"}}, {"number": 1, "user": {"login": "ada"}}),
        ({"number": 1.0}, {"number": 1, "user": {"login": "ada"}}),
        ({"number": 1, "user": {"login": "ada"}}, {"number": 1}),
    ],
)
def test_channels_that_differ_in_nulls_order_or_spelling_are_sent_once(
    shaper: Shaper, said: dict[str, Any], structured: dict[str, Any]
) -> None:
    shaped = shape_result(shaper, {"content": [text(said)], "structuredContent": structured}, tool="t", relay=True)
    [sent] = [json.loads(block["text"]) for block in shaped["content"]]
    assert {key: value for key, value in sent.items() if value is not None} == {"number": 1, "user": {"login": "ada"}}


def test_a_tool_that_is_not_enabled_answers_as_it_came_but_for_what_is_private() -> None:
    shaper = Shaper({"tool_overrides": {"pdf": {"private": ["email"], "enabled": False}}})
    data = {"bytes": "QUJD" * 5000, "pages": None, "email": "x"}
    result = {"content": [], "structuredContent": data}
    assert shape_result(shaper, result, tool="pdf", relay=True) == {
        **result,
        "structuredContent": {"bytes": data["bytes"], "pages": None},
    }


def test_prose_is_left_alone_apart_from_secrets(shaper: Shaper) -> None:
    result = {"content": [text("Two  spaces,\nkept."), text(f"key {TOKEN}")]}
    assert shape_result(shaper, result, tool="search")["content"] == [
        text("Two  spaces,\nkept."),
        text("key [redacted:github-token]"),
    ]


def test_prose_is_cut_to_a_budget(shaper: Shaper) -> None:
    shaped = shape_result(shaper, {"content": [text("word " * 500)]}, tool="cut")
    assert len(shaped["content"][0]["text"]) < 400


def test_text_repeated_under_one_member_stays_in_step_with_it(shaper: Shaper) -> None:
    told = f"[FILE] a\n{TOKEN}"
    shaped = shape_result(shaper, {"content": [text(told)], "structuredContent": {"content": told}}, tool="read")
    assert shaped["content"][0]["text"] == shaped["structuredContent"]["content"] == "[FILE] a\n[redacted:github-token]"


def test_json_packed_into_one_member_is_shaped_and_packed_again(shaper: Shaper) -> None:
    packed = json.dumps([{"number": 1, "a": 2}], indent=2)
    shaped = shape_result(shaper, {"content": [text(packed)], "structuredContent": {"content": packed}}, tool="listing")
    assert shaped["structuredContent"] == {"content": '[{"number":1}]'}
    assert shaped["content"] == [{"type": "text", "text": '[{"number":1}]'}]


def test_debug_says_how_and_at_what_cost(shaper: Shaper) -> None:
    result = {"content": [text(PAGE)], "structuredContent": PAGE, "_meta": {"own": 1}}
    meta = shape_result(
        shaper, result, tool="search", profile="debug", call=CallContext(duration_ms=50.5, request_id="r1")
    )["_meta"]
    assert meta["own"] == 1
    mark = meta["shaping"]
    assert (mark["profile"], mark["config"]) == ("debug", shaper.loaded_config.hash)
    assert (mark["tool_id"], mark["duration_ms"], mark["request_id"]) == ("search", 50.5, "r1")
    assert {"tier", "tool_version", "capabilities", "upgrade_hints"} <= mark.keys()
    assert mark["tokens"]["before"] > 0


def test_what_a_client_would_have_paid_depends_on_what_it_reads(shaper: Shaper) -> None:
    result = {"content": [text(PAGE)], "structuredContent": PAGE}
    marks = {
        client: shape_result(shaper, result, tool="search", client=client, profile="debug")["_meta"]["shaping"]
        for client in ("claude-code", "opencode", "copilot-cli")
    }
    costs = {client: mark["tokens"]["before"] for client, mark in marks.items()}
    assert costs["claude-code"] < costs["opencode"] < costs["copilot-cli"]


def test_shaping_twice_is_shaping_once(shaper: Shaper) -> None:
    once = shape_result(shaper, {"content": [text(PAGE)], "structuredContent": PAGE}, tool="search")
    assert shape_result(shaper, once, tool="listing") == once


@pytest.mark.parametrize(
    "result",
    [
        {"resultType": "input_required", "inputRequests": {"a": {}}},
        {"resultType": "task", "taskId": "1"},
        {"task": {"taskId": "1", "status": "working"}},
    ],
)
def test_what_is_not_an_answer_yet_passes_untouched(shaper: Shaper, result: dict[str, Any]) -> None:
    assert shape_result(shaper, result, tool="search") == result


def test_an_error_is_the_tools_own_words_with_the_code_before_them(shaper: Shaper) -> None:
    result = {"content": [text("ENOENT: no such file"), IMAGE], "structuredContent": {"path": "file"}, "isError": True}
    shaped = shape_result(shaper, result, tool="search")
    assert without_meta(shaped) == {
        "content": [{"type": "text", "text": "FILE_NOT_FOUND: ENOENT: no such file"}, IMAGE],
        "isError": True,
    }
    assert shaped["_meta"]["shaping/error"]["code"] == "FILE_NOT_FOUND"


def test_an_error_whose_words_tell_no_code_is_those_words(shaper: Shaper) -> None:
    result = {"content": [text("Error calling tool 't': the widget squeaks")], "isError": True}
    assert shape_result(shaper, result, tool="t")["content"] == [text("the widget squeaks")]


def test_an_errors_text_has_the_budget_of_an_answer_and_can_be_asked_back() -> None:
    shaper = Shaper({}, expandable=True)
    lines = "\n".join(f"Traceback line {number}: frame {number * 31}" for number in range(400))
    whole = shape_result(shaper, {"content": [text(lines)], "isError": True}, tool="t")["content"][0]["text"]
    assert whole == lines
    cut = shape_result(shaper, {"content": [text(lines * 40)], "isError": True}, tool="t")["content"][0]["text"]
    assert tokens.exact(cut) <= 20000
    ref = re.search(r"shaping_expand ref=(r_\w+)", cut)
    assert ref is not None
    assert shaper.expand(ref[1], surface="mcp").data
    shaper.close()


def test_json_in_an_error_stays_json(shaper: Shaper) -> None:
    result = {"content": [], "structuredContent": {"code": "TIMEOUT", "message": "late"}, "isError": True}
    shaped = shape_result(shaper, result, tool="t")
    assert json.loads(shaped["content"][0]["text"]) == {"code": "TIMEOUT", "message": "late"}


def test_an_error_speaks_the_dialect_of_the_config(shaper: Shaper) -> None:
    shaped = shape_result(shaper, {"content": [text("Issue not found")], "isError": True}, tool="flat")
    told = json.loads(shaped["content"][0]["text"])
    assert (told["ok"], told["code"]) == (False, "NOT_FOUND")


def test_no_secret_leaves_by_an_error(shaper: Shaper) -> None:
    shaped = shape_result(shaper, {"content": [text(f"bad key {TOKEN}")], "isError": True}, tool="t")
    assert TOKEN not in json.dumps(shaped)


def test_a_result_without_any_text_is_only_marked(shaper: Shaper) -> None:
    assert without_meta(shape_result(shaper, {"content": [IMAGE]}, tool="t")) == {"content": [IMAGE]}


SCHEMA = {
    "type": "object",
    "properties": {"items": {"type": "array", "items": {"type": "object"}}, "total": {"type": "integer"}},
    "required": ["items", "total"],
}


def test_a_result_that_would_not_fit_its_schema_goes_out_whole_with_a_warning() -> None:
    shaper = Shaper({"tool_overrides": {"drift": {"include_only": ["number"]}}})
    schema = {"type": "object", "properties": {"number": {"type": "integer"}}}
    drifted = {"number": "one", "other": None, "key": TOKEN}
    shaped = shape_result(shaper, {"content": [], "structuredContent": drifted}, tool="drift", schema=schema)
    assert shaped["structuredContent"] == drifted | {"key": "[redacted:github-token]"}
    assert [warning["code"] for warning in shaped["_meta"]["shaping"]["warnings"]] == ["SCHEMA_MISMATCH", "REDACTED"]


def test_a_shaped_result_fits_the_projected_schema(shaper: Shaper) -> None:
    shaped = shape_result(shaper, {"content": [], "structuredContent": PAGE}, tool="search", schema=SCHEMA)
    assert shaped["structuredContent"] == KEPT
    assert "warnings" not in shaped["_meta"]["shaping"]


def test_an_unchanged_answer_is_not_sent_again(shaper: Shaper) -> None:
    result = {"content": [text(PAGE)], "structuredContent": PAGE}
    first = shape_result(shaper, result, tool="search", call=CallContext(if_none_match="none"))
    tag = first["_meta"]["shaping"]["etag"]
    again = shape_result(shaper, result, tool="search", call=CallContext(if_none_match=tag))
    assert without_meta(again) == {"content": [text("not modified")], "structuredContent": {}}
    assert again["_meta"]["shaping"]["not_modified"] is True


def test_a_fault_in_shaping_loses_nothing_and_lets_no_secret_out(
    shaper: Shaper, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(module, "_success", broken)
    data = {"secret": 1, "key": TOKEN, "n": 1}
    result = {"content": [text(data), text(f"x {TOKEN}"), IMAGE], "structuredContent": data}
    shaped = shape_result(shaper, result, tool="safe")
    assert shaped["structuredContent"] == {"key": "[redacted:github-token]", "n": 1}
    assert json.loads(shaped["content"][0]["text"]) == {"key": "[redacted:github-token]", "n": 1}
    assert shaped["content"][1:] == [text("x [redacted:github-token]"), IMAGE]
    assert shaped["_meta"]["shaping"]["warnings"][0]["code"] == "SHAPING_FAULT"
    assert "ZeroDivisionError" in caplog.text


def test_a_fault_in_redaction_withholds_everything(shaper: Shaper, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(module, "_success", broken)
    monkeypatch.setattr(sys.modules["shaping.cleaning"], "redact", broken)
    shaped = shape_result(shaper, {"content": [text("fine")]}, tool="t")
    assert without_meta(shaped) == {"content": [text("[withheld: redaction failed]")], "isError": True}


def test_several_blocks_share_one_budget() -> None:
    shaper = Shaper({"global": {"max_tokens": 60}})
    shaped = shape_result(shaper, {"content": [text("alpha " * 300), text("beta " * 300)]}, tool="t")
    assert sum(len(block["text"]) for block in shaped["content"]) < 900


@pytest.mark.parametrize("budget", [64, 72, 112, 142])
def test_blocks_share_their_budget_with_the_line_ends_between_them(budget: int) -> None:
    shaper = Shaper({"global": {"max_tokens": budget, "channels": "text"}})
    records = [{"n": n, "w": "x" * (n % 3)} for n in range(99)]
    shaped = shape_result(shaper, {"content": [text("one line of prose"), text(json.dumps(records))]}, tool="t")
    assert tokens.exact("\n".join(block["text"] for block in shaped["content"])) <= budget


SCALARS = st.none() | st.booleans() | st.integers(-9, 999) | st.text(max_size=12)
DATA = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
)
BLOCKS = st.lists(st.just(IMAGE) | st.just(LINK) | st.builds(text, DATA | st.text(max_size=30)), max_size=4)


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(BLOCKS, st.none() | st.dictionaries(st.text(max_size=6), DATA, max_size=3))
def test_any_result_keeps_its_form_its_order_and_its_input(
    shaper: Shaper, content: list[Any], structured: dict[str, Any] | None
) -> None:
    result: dict[str, Any] = {"content": content}
    if structured is not None:
        result["structuredContent"] = structured
    before = copy.deepcopy(result)
    shaped = shape_result(shaper, result, tool="t")
    assert result == before
    assert [block for block in shaped["content"] if block["type"] != "text"] == [
        block for block in content if block["type"] != "text"
    ]
    assert ("structuredContent" in shaped) == (structured is not None)
    assert shape_result(shaper, shaped, tool="t") == shaped


def test_what_was_left_out_is_listed_for_programs_under_standard() -> None:
    shaper = Shaper({"tool_overrides": {"t": {"profile": "standard", "exclude_fields": ["title"]}}})
    data = {"title": "gone", "number": 1, "none": None}
    mark = shape_result(shaper, {"content": [text(data)]}, tool="t")["_meta"]["shaping"]
    assert {(entry["path"], entry["reason"]) for entry in mark["omissions"]} == {("title", "fields"), ("none", "null")}


def test_an_error_whose_data_adds_to_it_keeps_the_data(shaper: Shaper) -> None:
    result = {"content": [text("the build failed")], "structuredContent": {"line": 3}, "isError": True}
    assert shape_result(shaper, result, tool="t")["content"] == [text('the build failed\n{"line":3}')]


def test_our_tool_answers_sql_over_what_was_left_out() -> None:
    shaper = Shaper({"global": {"max_tokens": 200}}, expandable=True)
    mcp_shaper = MCPShaper(shaper, relay=True)
    session = Session(shaper.loaded_config, {"name": "x", "version": "1"})
    rows = {"items": [{"id": number, "state": "open" if number % 3 else "closed"} for number in range(90)]}
    answer = mcp_shaper.shape_result(session, ToolRequest("list", ""), {"content": [text(rows)]})
    cut = answer["content"][0]["text"]
    ref = re.search(r"ref=(r_\w+)", cut)
    assert ref is not None
    query = "SELECT count(*) AS n FROM items WHERE state = 'closed'"
    answer = mcp_shaper.expand(session, {"ref": ref[1], "sql": query})
    assert "30" in answer["content"][0]["text"]
    shaper.close()


def test_an_answer_whose_own_envelope_says_that_it_failed_is_an_error(shaper: Shaper) -> None:
    wire: dict[str, Any] = {
        "ok": False,
        "data": None,
        "error": {"code": "NOT_FOUND", "message": "no such issue"},
        "warnings": [],
    }
    shaped = shape_result(shaper, {"content": [text({**wire, "meta": {}})]}, tool="t", relay=True)
    assert shaped["isError"] is True
    told = json.loads(shaped["content"][0]["text"])
    assert (told["ok"], told["error"]["code"]) == (False, "NOT_FOUND")


@pytest.mark.parametrize(
    "result",
    [
        {"content": [], "structuredContent": {"id": 7, "state": "open"}},
        {"content": [{"type": "text", "text": '{"id":1}'}, {"type": "text", "text": '{"id":2}'}]},
        {"content": [{"type": "text", "text": "done"}]},
    ],
)
def test_a_small_result_is_not_dearer_for_a_client_whose_model_reads_all_of_it(result: dict[str, Any]) -> None:
    shaped = Shaper({}).shape_result(result, tool="t", client="google-adk@2.13.0", relay=True)
    assert len(json.dumps(shaped)) <= len(json.dumps(result))


def test_a_secret_is_taken_out_however_short_the_result_would_be_with_it() -> None:
    result = {"content": [], "structuredContent": {"key": f"ghp_{'aB3dE5fG7h' * 3}123456"}}
    shaped = Shaper({}).shape_result(result, tool="t", client="google-adk@2.13.0", relay=True)
    assert "aB3dE5fG7h" not in json.dumps(shaped)


def test_json_that_is_cheaper_with_blanks_keeps_them(shaper: Shaper) -> None:
    jobs = json.dumps([json.dumps({"id": n, "type": "mail", "tries": n % 3}) for n in range(30)])
    shaped = shape_result(shaper, {"content": [{"type": "text", "text": jobs}]}, tool="x", relay=True)
    assert shaped["content"] == [{"type": "text", "text": jobs}]
    compact = json.dumps(json.loads(jobs), separators=(",", ":"))
    assert tokens.exact(compact) > tokens.exact(jobs)


def test_json_below_a_warning_is_rewritten_for_any_saving_as_json_alone_is() -> None:
    prose = " ".join(f"word{n} and" for n in range(120))
    data = json.dumps([{"name": f"p{n}", "text": f"{n} {prose}"} for n in range(4)], indent=2)
    shaper = Shaper({"global": {"profile": "standard"}})
    result = {"content": [{"type": "text", "text": f"WARNING: no cache\n{data}"}]}
    text = shaper.shape_result(result, tool="x", channels="text")["content"][0]["text"]
    assert text.startswith('WARNING: no cache\n[{"name":"p0",')


@pytest.mark.parametrize("most", [None, 1_000_000])
def test_a_clients_limit_in_tokens_holds_though_the_config_raises_the_budget(most: int | None) -> None:
    shaper = Shaper({"global": {"max_tokens": most, "prune": []}}, expandable=True)
    # Rare characters are a token or two each, so what has few of them has many tokens.
    notes = ["".join(chr(0x4E00 + (number * 40 + at) * 7919 % 20_000) for at in range(40)) for number in range(1500)]
    rows = {"content": [text([{"id": number, "note": note} for number, note in enumerate(notes)])]}
    client = find_client("claude-code")
    shaped = shape_result(shaper, rows, tool="rows", client="claude-code", relay=True)
    shown = client.shown(shaped)
    assert tokens.count(shown) <= client.limit["tokens"]
    assert tokens.count(shown) > client.limit["tokens"] / 2
    assert "shaping_expand ref=r_" in shown.splitlines()[0]


@pytest.mark.parametrize("failed", [False, True])
@pytest.mark.parametrize("content", [[], [{"type": "text", "text": "Found 30 rows."}]])
def test_integers_beyond_64_bits_are_shaped_as_others_are(
    content: list[dict[str, Any]], failed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [{"id": n, "name": f"Row {n}", "amount": 2**90 + n, "note": None} for n in range(30)]
    result = {"content": content, "structuredContent": {"rows": rows}, "isError": failed}
    out = Shaper().shape_result(result, tool="list")
    assert not caplog.records
    assert str(2**90 + 7) in json.dumps([out["content"], out.get("structuredContent")])
