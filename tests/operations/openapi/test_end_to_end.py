"""Generated calls to a real server made from a document: every answer is an envelope that validates.

The project's bar is a thousand of them: `SHAPING_STORM=1000 pytest` runs them all.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import socket
import threading
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import jsonschema_rs
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from shaping.envelope import Envelope
from shaping.operations.openapi import from_openapi
from shaping.operations.openapi.client import HttpConfig
from shaping.operations.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request

COUNT = int(os.environ.get("SHAPING_STORM", "200"))
CONFIG = Path(__file__).parents[3] / "config"
ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 0},
        "items": {"type": "array", "items": {"$ref": "#/components/schemas/Item"}},
        "note": {"type": "string", "nullable": True},
        "state": {"type": "string", "enum": ["open", "paid"], "default": "open"},
    },
    "required": ["id"],
}
ITEM = {
    "type": "object",
    "properties": {
        "sku": {"type": "string"},
        "count": {"type": "integer"},
        "part_of": {"$ref": "#/components/schemas/Item"},
    },
}


def answers(schema: Any) -> dict[str, Any]:
    return {"200": {"content": {"application/json": {"schema": schema}}}, "404": {}, "429": {}}


def parameter(name: str, place: str, schema: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": place, "schema": schema, "required": place == "path", **more}


DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.3",
    "components": {"schemas": {"Order": ORDER, "Item": ITEM}},
    "paths": {
        "/orders": {
            "get": {
                "operationId": "list_orders",
                "parameters": [
                    parameter("limit", "query", {"type": "integer", "minimum": 1, "maximum": 50}),
                    parameter("tag", "query", {"type": "array", "items": {"type": "string"}}),
                    parameter("X-Trace", "header", {"type": "string", "enum": ["a", "b"]}),
                ],
                "responses": answers({"type": "array", "items": {"$ref": "#/components/schemas/Order"}}),
            },
            "post": {
                "operationId": "add_order",
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}},
                },
                "responses": answers({"$ref": "#/components/schemas/Order"}),
            },
        },
        "/orders/{id}": {
            "parameters": [parameter("id", "path", {"type": "string"})],
            "get": {"operationId": "get_order", "responses": answers({"$ref": "#/components/schemas/Order"})},
            "put": {
                "operationId": "put_order",
                "requestBody": {
                    "content": {
                        "application/x-www-form-urlencoded": {
                            "schema": {
                                "type": "object",
                                "properties": {"id": {"type": "integer"}, "note": {"type": "string"}},
                            }
                        }
                    }
                },
                "responses": answers({"$ref": "#/components/schemas/Order"}),
            },
            "delete": {"operationId": "drop_order", "responses": {"204": {}}},
        },
    },
}


def generated(schema: Any, dice: random.Random, depth: int = 0) -> Any:
    """Make a value that fits a schema."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return generated(DOCUMENT["components"]["schemas"][name], dice, depth + 1)
    if "enum" in schema:
        return dice.choice(schema["enum"])
    match schema.get("type"):
        case "object":
            required = schema.get("required", ())
            chosen = [n for n in schema["properties"] if n in required or (depth < 4 and dice.random() < 0.6)]
            return {name: generated(schema["properties"][name], dice, depth + 1) for name in chosen}
        case "array":
            return [generated(schema["items"], dice, depth + 1) for _ in range(dice.randrange(3))]
        case "integer":
            return dice.randint(max(0, schema.get("minimum", 0)), schema.get("maximum", 99))
        case _:
            return dice.choice(["x", "a b", "ü/ö", "%2F", "{id}", "0"])


def answer(schema: Any, dice: random.Random, turn: int) -> Response:
    """Answer as servers do: mostly right, sometimes not."""
    match turn % 10:
        case 0:
            return JSONResponse({"message": "no such order"}, 404)
        case 1:
            return JSONResponse({}, 429, headers={"Retry-After": "1"})
        case 2:
            return PlainTextResponse("<html>", [500, 502, 200][turn // 10 % 3])
        case 3:
            return Response(b"{broken", media_type="application/json")
        case 4:
            return JSONResponse(dice.choice([None, "odd", {"id": "many"}, [1], {}]))
        case _:
            return JSONResponse(generated(schema, dice))


@contextmanager
def running(dice: random.Random) -> Iterator[str]:
    """Serve every path of the document."""
    routes = []
    turns = itertools.count()  # every kind of answer has its turn, in whatever order the calls arrive
    for path, item in DOCUMENT["paths"].items():
        for method, operation in item.items():
            if method != "parameters":
                content = operation["responses"].get("200", {}).get("content")
                schema = content["application/json"]["schema"] if content else None

                async def serve(request: Request, schema: Any = schema) -> Response:
                    await request.body()
                    return answer(schema, dice, next(turns)) if schema else Response(status_code=204)

                routes.append(Route(path, serve, methods=[method.upper()]))
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen()
        server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level="critical", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
        server.should_exit = True
        thread.join(60)


async def storm(url: str, count: int, dice: random.Random) -> list[Envelope[Any]]:
    api = from_openapi(DOCUMENT, HttpConfig("shop", base_url=url))
    registry = Registry()
    registry.add(api)
    envelopes: list[Envelope[Any]] = []

    async def worker(number: int) -> None:
        for _ in range(number):
            spec = dice.choice(registry.list())
            given = generated({**spec.input.json, "$defs": None}, dice) if dice.random() < 0.9 else {"odd": 1}
            envelopes.append(await registry.execute(spec.id, given, shape=False))

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(worker, count // 10)
    await api.aclose()
    return envelopes


def test_every_generated_call_gives_an_envelope_that_validates() -> None:
    dice = random.Random(20261116)  # noqa: S311  the same calls each time
    with running(dice) as url:
        envelopes = anyio.run(storm, url, COUNT, dice)
    wire_schema = jsonschema_rs.validator_for(json.loads((CONFIG / "envelope.sourced.schema.json").read_text()))
    for envelope in envelopes:
        Envelope[Any].model_validate(envelope.model_dump())
        wire_schema.validate(envelope.render("sourced", include={"warnings", "request_id", "duration_ms"}))
    codes = Counter(envelope.error.code if envelope.error else "ok" for envelope in envelopes)
    assert len(envelopes) == COUNT
    assert set(codes) == {
        "ok",
        "BAD_ARGUMENT",
        "NOT_FOUND",
        "RATE_LIMITED",
        "INTERNAL_ERROR",
        "UNAVAILABLE",
        "BAD_RESPONSE",
    }
    assert any(warned.code == "OUTPUT_MISMATCH" for envelope in envelopes for warned in envelope.warnings)
