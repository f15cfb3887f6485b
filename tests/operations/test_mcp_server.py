"""A registry behind a real MCP client."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

import anyio
import pytest
from fastmcp import Client

from shaping.envelope import local_envelope
from shaping.errors import ToolError, make_error
from shaping.operations.access import Access, Identity
from shaping.operations.mcp_server import mcp_server
from shaping.operations.registry import Registry
from shaping.operations.spec import make_spec
from shaping.shaper import Shaper

ORDER = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "note": {"type": ["string", "null"]}, "items": {"type": "array"}},
    "required": ["id"],
}


def registry(config: dict[str, Any] | None = None) -> Registry:
    def missing(_: Any) -> Any:
        raise ToolError("NOT_FOUND", "no such order", details={"id": 7})

    async def ticks(_: Any) -> Any:
        yield 1

    made = Registry(shaper=Shaper(config=config or {}))
    base = {"namespace": "shop", "operation_type": "query"}
    made.register(
        make_spec(
            "get",
            **base,
            description="Gets.",
            input={"type": "object", "properties": {"id": {"type": "integer"}}},
            output=ORDER,
        ),
        lambda given: {"id": given["id"], "note": None, "items": [], "extra": 1},
    )
    made.register(make_spec("list", **base, output={"type": "array"}), lambda _: [{"id": 1}, {"id": 2}])
    made.register(make_spec("text", **base), lambda _: "plain words")
    made.register(make_spec("missing", **base, codes=["NOT_FOUND"]), missing)
    made.register(make_spec("mine", **base, access=Access(scopes=("read",))), lambda _, context: context.identity.id)
    made.register(make_spec("add", namespace="shop", operation_type="command", type="mutation"), lambda given: given)
    made.register(make_spec("ticks", **base, type="subscription"), ticks)
    return made


async def asked(server: Any, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    async with Client(server) as client:
        return [await client.call_tool(name, given, raise_on_error=False) for name, given in calls]


def test_what_mcp_has_no_form_for_is_named(caplog: pytest.LogCaptureFixture) -> None:
    mcp_server(registry())
    assert [record.getMessage() for record in caplog.records if record.name == "shaping"] == [
        "MCP has no form for subscriptions; not served: shop.ticks"
    ]


def test_the_server_gives_our_version_not_that_of_its_framework() -> None:
    assert mcp_server(registry()).version == version("shaping")


def test_operations_are_listed_as_tools_and_subscriptions_are_not() -> None:
    async def main() -> Any:
        async with Client(mcp_server(registry(), expand=False)) as client:
            return await client.list_tools()

    tools = anyio.run(main)
    assert [tool.name for tool in tools] == [
        "shop_get",
        "shop_list",
        "shop_text",
        "shop_missing",
        "shop_mine",
        "shop_add",
    ]
    assert [tool.annotations.read_only_hint for tool in tools] == [True] * 5 + [False]
    assert tools[3].description.endswith("Errors: NOT_FOUND")


def test_answers_are_shaped_and_errors_are_coded() -> None:
    config = {"global": {"profile": "minimal"}}

    async def main() -> list[Any]:
        calls: list[tuple[str, dict[str, Any]]] = [
            ("shop_get", {"id": 3}),
            ("shop_list", {}),
            ("shop_text", {}),
            ("shop_missing", {}),
            ("shop_get", {"id": "x"}),
        ]
        return await asked(mcp_server(registry(config), expand=False), *calls)

    got, listed, text, missing, wrong = anyio.run(main)
    # A null stays where a line that names it would cost more.
    assert (got.is_error, json.loads(got.content[0].text)) == (False, {"id": 3, "note": None, "items": []})
    assert (listed.is_error, text.content[0].text) == (False, "plain words")
    assert (missing.is_error, "NOT_FOUND" in missing.content[0].text) == (True, True)
    assert (wrong.is_error, "BAD_ARGUMENT" in wrong.content[0].text) == (True, True)


ISSUE = {"field": "title", "code": "missing"}


@pytest.mark.parametrize(
    ("data", "beside"),
    [
        ({"message": "Invalid", "errors": [ISSUE]}, {"message": "Invalid", "errors": [ISSUE]}),
        ([ISSUE], {"body": [ISSUE]}),
        ({"message": "Invalid"}, None),
        ("<html>", None),
        ({}, None),
        (None, None),
    ],
)
def test_what_came_beside_an_error_is_told_with_it(data: Any, beside: Any) -> None:
    made = registry()
    error = make_error("BAD_ARGUMENT", "HTTP 422: Invalid")
    answer = local_envelope(data, "shop.refuse", error=error)
    made.register(make_spec("refuse", namespace="shop", operation_type="query"), lambda _: answer)

    async def main() -> Any:
        return await asked(mcp_server(made, expand=False), ("shop_refuse", {}))

    [result] = anyio.run(main)
    words, _, more = result.content[0].text.partition("\n")
    assert (result.is_error, result.structured_content, words) == (True, None, "BAD_ARGUMENT: HTTP 422: Invalid")
    assert (json.loads(more) if more else None) == beside


def test_a_typed_server_advertises_what_it_sends() -> None:
    async def main() -> Any:
        async with Client(mcp_server(registry(), typed=True, expand=False)) as client:
            tools = await client.list_tools()
            result = await client.call_tool("shop_get", {"id": 3})
            return {tool.name: tool.output_schema for tool in tools}, result

    schemas, result = anyio.run(main)
    assert (schemas["shop_get"] is not None, schemas["shop_list"]) == (True, None)
    assert result.structured_content["id"] == 3


def test_who_calls_is_told_by_the_server() -> None:
    async def main() -> list[Any]:
        async def identify() -> Identity:
            return Identity("ann", frozenset({"read"}))

        known = mcp_server(registry(), identify=identify, expand=False)
        return [
            *await asked(known, ("shop_mine", {})),
            *await asked(mcp_server(registry(), expand=False), ("shop_mine", {})),
        ]

    known, unknown = anyio.run(main)
    assert (known.is_error, known.content[0].text) == (False, "ann")
    assert (unknown.is_error, "AUTH_REQUIRED" in unknown.content[0].text) == (True, True)


def test_only_what_was_chosen_is_served() -> None:
    made = registry()

    async def main() -> Any:
        chosen = [spec for spec in made.list() if spec.name == "text"]
        async with Client(mcp_server(made, chosen, expand=False)) as client:
            return await client.list_tools()

    assert [tool.name for tool in anyio.run(main)] == ["shop_text"]


@pytest.mark.parametrize("value", [{"when": 1}, [1], None, 7])
def test_any_answer_has_a_text(value: Any) -> None:
    made = Registry(shaper=Shaper(config={}))
    made.register(make_spec("op", operation_type="query"), lambda _: value)
    (result,) = anyio.run(asked, mcp_server(made, expand=False), ("op", {}))
    assert result.is_error is False
