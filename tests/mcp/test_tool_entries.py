from __future__ import annotations

import json
import logging
from typing import Any

import orjson
import pytest

from shaping import tokens
from shaping.clients import UNKNOWN_CLIENT, KnownClient, find_client
from shaping.mcp.output_schema import advertised_schema
from shaping.mcp.tool_entries import EXPAND_TOOL, expand_entry, tool_entry
from shaping.shaper import Shaper

ISSUE = {
    "type": "object",
    "properties": {"number": {"type": "integer", "minimum": 1}, "title": {"type": "string"}},
    "required": ["number", "title"],
    "additionalProperties": False,
}
TOOL = {"name": "search", "description": "Search issues. It is slow.", "inputSchema": {"type": "object"}}


def shaper(**override: Any) -> Shaper:
    return Shaper({"tool_overrides": {"search": override}})


def test_a_schema_shows_what_is_kept_and_promises_nothing_that_a_call_may_leave_out() -> None:
    plan = shaper(include_only=["number"]).plan("search", surface="mcp")
    assert advertised_schema(plan, ISSUE) == {"type": "object", "properties": {"number": {"type": "integer"}}}


@pytest.mark.parametrize("mark", [{"x-fastmcp-wrap-result": True}, {"title": "searchOutput"}], ids=["fastmcp", "sdk"])
def test_the_schema_inside_a_frameworks_wrapper_is_projected_and_the_wrapper_stays(mark: dict[str, Any]) -> None:
    plan = shaper(include_only=["number"]).plan("search", surface="mcp")
    declared = {
        "type": "object",
        "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/Issue"}}},
        "required": ["result"],
        "$defs": {"Issue": ISSUE},
        **mark,
    }
    schema = advertised_schema(plan, declared)
    assert schema is not None
    assert schema["type"] == "object"
    assert {key: schema[key] for key in mark} == mark
    assert "title" not in json.dumps(schema["properties"])
    assert "title" not in json.dumps(schema.get("$defs", {}))


def test_a_field_that_no_answer_can_have_is_reported_when_the_tool_is_listed(caplog: pytest.LogCaptureFixture) -> None:
    one = shaper(include_only=["number", "titel"])
    with caplog.at_level(logging.WARNING, logger="shaping"):
        tool_entry(
            {**TOOL, "outputSchema": ISSUE}, one.plan("search", surface="mcp"), UNKNOWN_CLIENT, one.loaded_config.config
        )
    assert caplog.messages == ["of 'search', include_only names what its output schema does not have: titel"]


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"$ref": "https://x.example/schema"}, "is not advertised: the reference 'https://x.example/schema' leads out"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/gone"}}}, "is not advertised: the reference"),
        ({"type": "object", "properties": True}, "cannot be read (AttributeError)"),
    ],
)
def test_a_tool_whose_schema_cannot_be_followed_is_listed_without(
    schema: dict[str, Any], says: str, caplog: pytest.LogCaptureFixture
) -> None:
    one = shaper(include_only=["a.b"])
    with caplog.at_level(logging.WARNING, logger="shaping"):
        found = tool_entry(
            {**TOOL, "outputSchema": schema},
            one.plan("search", surface="mcp"),
            UNKNOWN_CLIENT,
            one.loaded_config.config,
        )
    assert found is not None
    assert "outputSchema" not in found.wire
    assert says in caplog.messages[0]


def test_an_envelope_wraps_the_schema_too() -> None:
    plan = shaper(dialect="lean").plan("search", surface="mcp")
    schema = advertised_schema(plan, ISSUE)
    assert schema is not None
    assert schema["properties"]["data"]["properties"].keys() == {"number", "title"}


@pytest.mark.parametrize("declared", [{"type": "array"}, {"type": "object", "properties": {"a": {"type": "what"}}}])
def test_a_schema_that_cannot_be_told_is_withdrawn_with_one_line(
    declared: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    plan = shaper().plan("search", surface="mcp")
    with caplog.at_level(logging.WARNING, "shaping"):
        assert advertised_schema(plan, declared) is None
    assert len(caplog.records) == 1


def test_a_schema_by_reference_says_that_it_is_an_object() -> None:
    plan = shaper().plan("search", surface="mcp")
    schema = advertised_schema(plan, {"$ref": "#/$defs/Issue", "$defs": {"Issue": ISSUE}})
    assert schema is not None
    assert schema["type"] == "object"


@pytest.mark.parametrize(
    ("client", "typed", "relay", "shown"),
    [
        (UNKNOWN_CLIENT, False, False, True),
        (UNKNOWN_CLIENT, False, True, False),
        (KnownClient(reads="structured"), False, True, False),
        (KnownClient(reads="structured"), True, True, True),
        (KnownClient(code_mode=True), False, True, True),
    ],
)
def test_a_relay_shows_a_schema_only_to_a_client_that_has_a_use_for_it(
    client: KnownClient, typed: bool, relay: bool, shown: bool
) -> None:
    made = shaper(typed=typed)
    plan = made.plan("search", surface="mcp")
    found = tool_entry({**TOOL, "outputSchema": ISSUE}, plan, client, made.loaded_config.config, relay=relay)
    assert found is not None
    assert ("outputSchema" in found.wire) is shown


def test_claude_code_is_told_how_much_of_a_result_to_show_and_not_to_defer_our_tool() -> None:
    made, claude = shaper(), find_client("claude-code@2.1.325")
    found = tool_entry(TOOL, made.plan("search", surface="mcp"), claude, made.loaded_config.config)
    assert found is not None
    assert found.wire["_meta"] == {"anthropic/maxResultSizeChars": 200000}
    assert found.limit["chars"] == 200000
    assert expand_entry(claude)["_meta"] == {"anthropic/maxResultSizeChars": 200000, "anthropic/alwaysLoad": True}
    assert "_meta" not in expand_entry(UNKNOWN_CLIENT)


def test_our_tool_takes_another_name_where_a_server_has_one_of_that_name() -> None:
    assert expand_entry(UNKNOWN_CLIENT, {"shaping_expand"})["name"] == "shaping_expand_"


def config(**sections: Any) -> Any:
    return Shaper(sections).loaded_config.config


def show(sections: dict[str, Any], tool: dict[str, Any] = TOOL) -> dict[str, Any] | None:
    made = Shaper(sections)
    found = tool_entry(tool, made.plan(tool["name"], surface="mcp"), UNKNOWN_CLIENT, made.loaded_config.config)
    return found.wire if found else None


@pytest.mark.parametrize(
    ("rules", "description"),
    [
        ({"search": {"description": "Find."}}, "Find."),
        ({"sea*": {"max_description": 20}}, "Search issues."),
        ({"search": {"max_description": 9}}, "Search…"),
        ({"search": {"max_description": 100}}, "Search issues. It is slow."),
        ({"*": {"max_description": 3}}, "Sea"),
        ({"*": {"description": "All."}, "search": {"description": "One."}}, "One."),
        ({"other": {"drop": True}}, "Search issues. It is slow."),
        (
            {"*": {"codes": ["NOT_FOUND", "acme.GONE"], "max_description": 20}},
            "Search issues.\nErrors: NOT_FOUND, acme.GONE",
        ),
    ],
)
def test_descriptions_can_be_replaced_or_cut(rules: dict[str, Any], description: str) -> None:
    assert show({"tools": rules}) == {**TOOL, "description": description}


def test_a_tool_can_be_dropped_from_the_list() -> None:
    assert show({"tools": {"search": {"drop": True}}}) is None


def test_agents_get_a_control_argument_only_where_the_config_says_so() -> None:
    assert show({}) == TOOL
    shown = show({"agent_controls": True}, {"name": "search", "inputSchema": {"properties": {"q": {}}}})
    assert shown is not None
    assert shown["inputSchema"]["properties"].keys() == {"q", "_shape"}
    assert shown["inputSchema"]["properties"]["_shape"]["properties"].keys() == {"profile", "fields", "max_tokens"}


def test_the_definition_of_our_tool_costs_at_most_120_tokens() -> None:
    assert tokens.exact(orjson.dumps(EXPAND_TOOL).decode()) <= 120
