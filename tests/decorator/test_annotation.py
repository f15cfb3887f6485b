from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pydantic
import pytest
from fastmcp import Client, Context, FastMCP
from mcp import Client as SdkClient
from mcp.server.mcpserver import MCPServer
from packaging.version import Version
from pydantic import BaseModel, TypeAdapter

from shaping import Shaper, shape

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Point(NamedTuple):
    x: int
    y: str = ""


@dataclass
class Odd:
    point: Point
    ratio: float
    count: int
    # Before 2.14 pydantic fails to advertise a default that is no text.
    raw: bytes = b"\xff" if Version(pydantic.VERSION) >= Version("2.14") else b""
    by_number: dict[int, str] = field(default_factory=dict)


class Model(BaseModel):
    point: Point
    ok: str = "a name that the flat dialect has taken"


class Issue(BaseModel):
    number: int
    title: str


VALUES: dict[str, tuple[Any, Any]] = {
    "named_tuple": (Point, Point(1)),
    "named_tuples": (list[Point], [Point(1), Point(2, "b")]),
    "mapping": (dict[str, Point], {"a": Point(1)}),
    "odd": (Odd, Odd(Point(1), float("nan"), 2**70, by_number={1: "one"})),
    "model": (Model, Model(point=Point(1))),
    "integer": (int, 2**70),
    "number": (float, float("-inf")),
    "text": (str, "word"),
    "nothing": (type(None), None),
    "pair": (tuple[int, str], (1, "a")),
    "optional": (Issue | None, None),
}


def decorated(name: str, shaper: Shaper) -> Any:
    kind, value = VALUES[name]

    def tool() -> Any:
        return value

    tool.__name__, tool.__annotations__ = name, {"return": kind}
    return shape(shaper=shaper)(tool)


async def results(functions: list[Any], kind: type[Any]) -> dict[str, tuple[Any, Any]]:
    """Call every tool through a real server and client; give each one's schema and structured content."""
    server = kind("test")
    for function in functions:
        server.tool()(function)
    client: Any = Client(server) if kind is FastMCP else SdkClient(server)
    async with client:
        listed = await client.list_tools()
        found = {}
        for tool in getattr(listed, "tools", listed):
            result = await client.call_tool(tool.name, {})
            found[tool.name] = tool.output_schema, result.structured_content
        return found


@pytest.mark.parametrize("kind", [FastMCP, MCPServer])
@pytest.mark.parametrize("profile", ["minimal", "debug"])
@pytest.mark.parametrize("dialect", ["lean", "flat", "sourced", "invariant", "none"])
async def test_what_is_sent_is_valid_under_what_is_advertised(kind: Any, profile: str, dialect: str) -> None:
    shaper = Shaper({"global": {"dialect": dialect, "profile": profile}})
    for schema, sent in (await results([decorated(name, shaper) for name in VALUES], kind)).values():
        assert schema is None or jsonschema.Draft202012Validator(schema).is_valid(sent)


class Service:
    shaper = Shaper({"tool_overrides": {"*": {"exclude_fields": ["title"]}}})

    @shape(shaper=shaper)
    def method(self) -> Issue:
        return Issue(number=1, title="x")

    @shape(shaper=shaper)
    async def later(self) -> Issue:
        return Issue(number=1, title="x")

    @shape(shaper=shaper)
    @classmethod
    def of_class(cls) -> Issue:
        return Issue(number=1, title="x")


@pytest.mark.parametrize("kind", [FastMCP, MCPServer])
async def test_methods_advertise_the_projected_schema(kind: Any) -> None:
    found = await results([Service().method, Service().later, Service.of_class], kind)
    assert len(found) == 3
    for schema, sent in found.values():
        assert sent == {"data": {"number": 1}}
        assert set(schema["properties"]["data"]["properties"]) == {"number"}


async def test_a_tool_that_takes_the_frameworks_context_advertises_the_projected_schema() -> None:
    @shape(shaper=Service.shaper)
    async def search(ctx: Context) -> Issue:
        return Issue(number=1, title=ctx.request_id)

    ((schema, sent),) = (await results([search], FastMCP)).values()
    assert sent == {"data": {"number": 1}}
    assert set(schema["properties"]["data"]["properties"]) == {"number"}


@pytest.mark.parametrize("kind", [FastMCP, MCPServer])
async def test_a_generator_under_a_framework_gives_its_shaped_items(kind: Any) -> None:
    @shape(shaper=Service.shaper)
    def stream() -> Iterator[Issue]:
        yield Issue(number=1, title="x")
        yield Issue(number=2, title="x")

    server: Any = kind("test")
    server.tool()(stream)
    client: Any = Client(server) if kind is FastMCP else SdkClient(server)
    async with client:
        result = await client.call_tool("stream", {})
    items = TypeAdapter(list[Any]).validate_json(result.content[0].text)
    assert items == [{"data": {"number": 1}}, {"data": {"number": 2}}]


@pytest.mark.parametrize("dialect", ["lean", "none"])
@pytest.mark.parametrize("kind", [FastMCP, MCPServer])
async def test_an_answer_that_has_not_changed_is_valid_too(kind: Any, dialect: str) -> None:
    shaper = Shaper({"global": {"dialect": dialect}})
    tag = shaper.shape(Issue(number=1, title="x"), profile="debug").etag

    @shape(shaper=shaper, if_none_match="tag")
    def search(tag: str | None = tag) -> Issue:
        return Issue(number=1, title="x")

    ((schema, sent),) = (await results([search], kind)).values()
    assert schema is None or jsonschema.Draft202012Validator(schema).is_valid(sent)


def test_a_signature_with_another_return_annotation_keeps_that_one() -> None:
    signature = inspect.signature(Service().method)
    assert signature.replace(return_annotation=int).return_annotation is int
    assert list(signature.replace().parameters) == []


@pytest.mark.parametrize("kind", [FastMCP, MCPServer])
async def test_a_registered_tool_keeps_its_dialect_when_the_config_names_another(kind: Any, tmp_path: Path) -> None:
    config = tmp_path / "response_config.json"
    config.write_text("{}")
    shaper = Shaper(config)

    @shape(shaper=shaper)
    def rows() -> list[Issue]:
        return [Issue(number=1, title="x")]

    server: Any = kind("test")
    server.tool()(rows)
    config.write_text('{"global": {"dialect": "none"}, "tool_overrides": {"rows": {"exclude_fields": ["title"]}}}')
    shaper._live.reload()
    client: Any = Client(server) if kind is FastMCP else SdkClient(server)
    async with client:
        result = await client.call_tool("rows", {})
    assert result.structured_content == {"data": [{"number": 1}]}


def test_looking_at_a_signature_alone_pins_nothing() -> None:
    @shape(shaper=Service.shaper)
    def search() -> Issue:
        return Issue(number=1, title="x")

    assert inspect.signature(search).return_annotation is not inspect.Signature.empty
    assert search.__shaping__.pinned is None  # type: ignore[attr-defined]


def test_an_annotation_may_name_what_is_defined_further_down() -> None:
    source = """from __future__ import annotations
from shaping import shape

class Shop:
    @shape(config={})
    def find(self, question: Later) -> Later: ...

class Later(dict[str, int]): ...
"""
    names: dict[str, Any] = {"__name__": "shop"}
    exec(source, names)  # noqa: S102 (a module of the case itself)
    for find in (names["Shop"].find, names["Shop"]().find):
        signature = inspect.signature(find)
        assert signature.parameters["question"].annotation is names["Later"]
        assert issubclass(signature.return_annotation, BaseModel)
