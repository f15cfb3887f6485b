"""What an operation makes of the answers of a real server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest

from shaping.operations.openapi import from_openapi
from shaping.operations.openapi.client import HttpConfig
from shaping.operations.registry import Registry

if TYPE_CHECKING:
    from shaping.envelope import Envelope


def asked(server: str, path: str, method: str = "get", **config: Any) -> Envelope[Any]:
    async def main() -> Envelope[Any]:
        described = {"openapi": "3.0.0", "paths": {path: {method: {"operationId": "op", "responses": {}}}}}
        api = from_openapi(described, HttpConfig(base_url=server, **config))
        registry = Registry()
        registry.add(api)
        try:
            return await registry.execute("op", shape=False)
        finally:
            await api.aclose()

    return anyio.run(main)


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("/kind/text", "hello"),
        ("/kind/binary", {"base64": "AAE=", "bytes": 2}),
        ("/kind/unknown-json", {"a": [1]}),
        ("/kind/unknown-text", "plain words"),
        ("/kind/problem", {"a": 1}),
        ("/status/204", None),
        ("/status/301", {"error": {"message": "status 200"}}),
    ],
)
def test_data_is_read_by_its_content_type(server: str, path: str, data: Any) -> None:
    envelope = asked(server, path)
    assert (envelope.ok, envelope.data, envelope.meta.source) == (True, data, "http")


def test_repeated_headers_are_kept(server: str) -> None:
    meta = asked(server, "/kind/cookies").meta.model_dump()
    assert [value for name, value in meta["headers"] if name == "set-cookie"] == ["a=1", "b=2"]
    assert (meta["status"], meta["content_type"]) == (200, "application/json")


@pytest.mark.parametrize(
    ("asking", "code", "message", "retry"),
    [
        (("/status/404", "get"), "NOT_FOUND", "HTTP 404: status 404", (False, None)),
        (("/status/429", "get"), "RATE_LIMITED", "HTTP 429: slow down", (True, 7)),
        (("/status/503", "get"), "UNAVAILABLE", "HTTP 503: status 503", (True, None)),
        (("/status/503", "post"), "UNAVAILABLE", "HTTP 503: status 503", (False, None)),
        (("/status/500", "get"), "INTERNAL_ERROR", "HTTP 500 Internal Server Error", (False, None)),
        (("/status/401", "get"), "AUTH_REQUIRED", "HTTP 401: status 401", (False, None)),
        (("/status/302", "get"), "BAD_RESPONSE", "the API redirects to another place", (False, None)),
        (("/status/308", "get"), "BAD_RESPONSE", "the API redirected more than 5 times", (False, None)),
        (
            ("/kind/broken", "get"),
            "BAD_RESPONSE",
            "the API answered with application/json, but the body is not in that form",
            (False, None),
        ),
    ],
)
def test_an_http_error_is_a_coded_error(
    server: str, asking: tuple[str, str], code: str, message: str, retry: Any
) -> None:
    error = asked(server, *asking).error
    assert error is not None
    assert (error.code, error.message, (error.retryable, error.retry_after)) == (code, message, retry)


def test_what_the_server_said_about_an_error_stays_as_data(server: str) -> None:
    envelope = asked(server, "/status/404")
    assert (envelope.data, envelope.meta.model_dump()["status"]) == ({"error": {"message": "status 404"}}, 404)


def test_a_slow_server_is_a_timeout(server: str) -> None:
    error = asked(server, "/slow", timeout=0.05).error
    assert error is not None
    assert (error.code, error.retryable) == ("TIMEOUT", True)


def test_a_server_that_is_not_there_is_unavailable() -> None:
    error = asked("http://127.0.0.1:1", "/x").error
    assert error is not None
    assert error.code == "UNAVAILABLE"


def test_an_api_without_an_address_says_so() -> None:
    error = asked("", "/x").error
    assert error is not None
    assert error.message == "the API's address is ''; pass base_url"


def test_connections_are_pooled_and_closed(server: str) -> None:
    async def main() -> None:
        described = {"openapi": "3.0.0", "paths": {"/x": {"get": {"operationId": "op"}}}}
        api = from_openapi(described, HttpConfig(base_url=server))
        registry = Registry()
        registry.add(api)
        await registry.execute("op", shape=False)
        pool = api.client._client
        await registry.execute("op", shape=False)
        assert api.client._client is pool
        await api.aclose()
        await api.aclose()
        assert pool is not None
        assert pool.is_closed

    anyio.run(main)
