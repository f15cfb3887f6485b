from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Response
from fastapi.responses import StreamingResponse

from shaping.integrations.asgi import ASGIShaping
from shaping.ledger import LedgerDatabase
from shaping.ledger.writer import _ledger_of_process
from shaping.tokens import exact
from tests.integrations.answers import issues, ref_in

CONFIG = {"tool_overrides": {"GET /repos/{repo}/titles": {"include_only": ["title"]}}}


def application() -> FastAPI:
    app = FastAPI()

    @app.get("/repos/{repo}/issues")
    def list_issues(repo: str, response: Response) -> list[dict[str, Any]]:
        response.headers["etag"] = '"raw"'
        response.headers["vary"] = "Origin"
        return issues()

    @app.get("/repos/{repo}/titles")
    def list_titles(repo: str) -> list[dict[str, Any]]:
        return issues()

    @app.get("/missing")
    def missing(response: Response) -> dict[str, Any]:
        response.status_code = 404
        return {"detail": "no repository", "hint": None}

    @app.get("/stream")
    def stream() -> StreamingResponse:
        async def chunks() -> AsyncIterator[bytes]:
            yield b'{"a": '
            yield b"null}"

        return StreamingResponse(chunks(), media_type="application/json")

    return app


@pytest.fixture
def get() -> Any:
    return calling(ASGIShaping(application(), CONFIG, routes=["/repos/*/titles"], expand_path="/shaping/expand"))


def calling(shaped: ASGIShaping) -> Any:
    """Return a function that calls an application by a path."""

    def call(path: str, **headers: str) -> httpx.Response:
        async def go() -> httpx.Response:
            transport = httpx.ASGITransport(app=shaped)
            async with httpx.AsyncClient(transport=transport, base_url="http://api.test") as http:
                return await http.get(path, headers={name.replace("_", "-"): value for name, value in headers.items()})

        return asyncio.run(go())

    return call


def test_an_ordinary_request_gets_the_api_as_it_is(get: Any) -> None:
    response = get("/repos/a/issues")
    assert (response.json(), response.headers["etag"]) == (issues(), '"raw"')
    assert response.headers["vary"] == "Origin, Accept, Shaping-Profile"


def test_a_request_that_names_a_profile_gets_shaped_json(get: Any) -> None:
    response = get("/repos/a/issues", shaping_profile="minimal")
    assert response.headers["content-type"] == "application/json"
    assert response.json()[0]["title"] == "Widget 1 turns the wrong way"
    assert "comments_url" not in response.json()[0]
    assert "links" in response.headers["shaping-left-out"]


def test_a_request_for_plain_text_gets_what_a_model_reads(get: Any) -> None:
    response = get("/repos/a/issues", accept="text/plain")
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.text.count("\n") < 40
    ref = ref_in(response.text)
    assert "issues/1" in get(f"/shaping/expand?ref={ref}&path=[0].url").text
    query = "SELECT count(*) AS n FROM items"
    assert get(f"/shaping/expand?ref={ref}&sql={query}").text == f'[{{"n":{len(issues())}}}]'
    assert "[0].title" in get(f"/shaping/expand?ref={ref}&search=Widget 1 turns").text


def test_a_route_is_shaped_by_the_config_of_its_template(get: Any) -> None:
    assert get("/repos/a/titles").json()[0] == {"title": "Widget 1 turns the wrong way"}
    assert get("/repos/a/titles", shaping_profile="off").json() == issues()


def test_an_etag_is_that_of_the_shaped_answer(get: Any) -> None:
    first = get("/repos/a/issues", shaping_profile="minimal")
    assert first.headers["etag"] != '"raw"'
    again = get("/repos/a/issues", shaping_profile="minimal", if_none_match=first.headers["etag"])
    assert (again.status_code, again.content) == (304, b"")
    other = get("/repos/a/issues", shaping_profile="standard", if_none_match=first.headers["etag"])
    assert other.status_code == 200


def test_what_is_private_on_a_route_leaves_neither_in_an_error_nor_by_the_clients_wish() -> None:
    app = FastAPI()

    @app.get("/users/{name}")
    def user(name: str, response: Response) -> dict[str, Any]:
        response.status_code = 200 if name == "ada" else 404
        return {"name": name, "email": "ada@example.com", "none": None}

    rules = {"tool_overrides": {"GET /users/{name}": {"private": ["email"]}}}
    get = calling(ASGIShaping(app, rules, routes=["/users/*"]))
    assert get("/users/ada").json() == {"name": "ada"}
    assert get("/users/ada", shaping_profile="off").json() == {"name": "ada", "none": None}
    assert get("/users/bob").json() == {"name": "bob", "none": None}
    assert get("/users/bob").status_code == 404


def sending(*headers: tuple[bytes, bytes]) -> Any:
    """Return a function that calls an application which sends one and the same message of its own each time."""
    start = {"type": "http.response.start", "status": 200, "headers": list(headers)}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(start)
        await send({"type": "http.response.body", "body": b'{"name": "ada", "email": "ada@example.com"}'})

    return calling(ASGIShaping(app, {"global": {"private": ["email"]}}, routes=["/held"]))


def test_an_answer_with_header_names_in_mixed_case_is_shaped() -> None:
    response = sending((b"Content-Type", b"application/json"), (b"Content-Length", b"43"), (b"ETag", b'"raw"'))("/held")
    assert response.json() == {"name": "ada"}
    assert response.headers.get_list("content-length") == [str(len(response.content))]
    assert response.headers.get_list("content-type") == ["application/json"]
    assert '"raw"' not in response.headers["etag"]


@pytest.mark.parametrize("path", ["/held", "/other"])
@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ([], ["Accept, Shaping-Profile"]),
        ([b"accept"], ["accept, Shaping-Profile"]),
        ([b"Origin", b"Accept"], ["Origin, Accept, Shaping-Profile"]),
        ([b"Shaping-Profile, Accept"], ["Shaping-Profile, Accept"]),
        ([b"*"], ["*"]),
    ],
)
def test_an_answer_says_once_by_what_it_varies(path: str, given: list[bytes], sent: list[str]) -> None:
    get = sending((b"Content-Type", b"application/json"), *((b"Vary", words) for words in given))
    for _ in range(3):
        assert get(path).headers.get_list("vary") == sent


def test_errors_and_streams_pass(get: Any) -> None:
    assert get("/missing", shaping_profile="minimal").json() == {"detail": "no repository", "hint": None}
    assert get("/stream", shaping_profile="minimal").text == '{"a": null}'


def test_a_ref_that_is_not_known_is_a_404(get: Any) -> None:
    assert get("/shaping/expand?ref=r_x").status_code == 404


def test_shaped_answers_and_expansions_are_entered_in_the_ledger(
    get: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHAPING_LEDGER", str(tmp_path / "ledger.sqlite"))
    raw = get("/repos/a/issues")
    shaped = get("/repos/a/issues", accept="text/plain")
    unchanged = get("/repos/a/issues", accept="text/plain", if_none_match=shaped.headers["etag"])
    asked = get(f"/shaping/expand?ref={ref_in(shaped.text)}&path=[0]")
    assert _ledger_of_process(tmp_path / "ledger.sqlite", "o200k_base").close(60)
    call, expansion = LedgerDatabase(tmp_path / "ledger.sqlite").entries()
    assert unchanged.status_code == 304
    assert (call.tool, call.client) == ("GET /repos/{repo}/issues", "asgi")
    assert (call.before, call.after) == (exact(raw.text), exact(shaped.text))
    assert (expansion.kind, expansion.after) == ("expand", exact(asked.text))
