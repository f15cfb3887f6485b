from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from typer.testing import CliRunner

from shaping.cli.app import build

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "paths": {
        "/orders/{id}": {
            "get": {
                "operationId": "get_order",
                "summary": "Gets an order.",
                "tags": ["orders"],
                "parameters": [{"in": "path", "name": "id", "required": True, "schema": {"type": "integer"}}],
                "responses": {"200": {"content": {"application/json": {"schema": {"type": "object"}}}}},
            },
            "delete": {"operationId": "drop_order", "parameters": [{"in": "path", "name": "id", "required": True}]},
        }
    },
}
MODULE = """
from shaping.operations.spec import operation

@operation(type="query")
def double(n: int) -> int:
    return n * 2
"""


class Orders(BaseHTTPRequestHandler):
    """An API with orders, to whoever has the token."""

    def do_GET(self) -> None:
        known = self.headers.get("Authorization") == "Bearer T0ken"
        if self.path == "/openapi.json":
            body = json.dumps(DOCUMENT)
        else:
            body = json.dumps({"id": 7, "note": None, "total": 12.5} if known else {"message": "who are you"})
        self.send_response(200 if known or self.path == "/openapi.json" else 401)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def api() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Orders) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join(60)


@pytest.fixture
def document(tmp_path: Path) -> str:
    path = tmp_path / "orders.json"
    path.write_text(json.dumps(DOCUMENT))
    return str(path)


def run(*arguments: str, **environ: str) -> Any:
    return CliRunner().invoke(build(), ["serve", *arguments], env=environ)


def test_what_would_be_served_is_listed_with_its_cost(document: str) -> None:
    done = run("--openapi", document, "--namespace", "shop", "--read-only", "--list")
    assert (done.exit_code, done.stdout) == (0, "shop.get_order\tquery\tGets an order.\n")
    assert done.stderr.startswith("1 operation, ")


def test_a_subscription_is_listed_and_not_counted_among_the_tools(tmp_path: Path) -> None:
    answer = {"content": {"text/event-stream": {"schema": {"type": "string"}}}}
    ticks = {"operationId": "ticks", "responses": {"200": {"description": "Ticks.", **answer}}}
    path = tmp_path / "ticks.json"
    path.write_text(json.dumps({**DOCUMENT, "paths": {**DOCUMENT["paths"], "/ticks": {"get": ticks}}}))
    whole = run("--openapi", str(path), "--list")
    alone = run("--openapi", str(path), "--list", "--id", "ticks")
    assert "ticks\tsubscription\t" in whole.stdout
    assert whole.stderr.startswith("3 operations with 1 subscription, which MCP has no form for, ")
    assert alone.stderr == "1 operation with 1 subscription, which MCP has no form for, 0 tokens of tool definitions\n"


def test_a_program_gets_the_list_in_an_envelope(document: str) -> None:
    done = run("--openapi", document, "--read-only", "--list", "--json")
    told = json.loads(done.stdout)["data"]
    assert (done.exit_code, told["tokens"] > 0) == (0, True)
    assert told["operations"] == [{"id": "get_order", "type": "query", "description": "Gets an order."}]


def test_a_list_that_is_too_long_asks_for_a_choice(document: str) -> None:
    done = run("--openapi", document, "--max-tool-tokens", "5")
    assert done.exit_code == 1
    assert "Choose some: --tag" in done.stderr
    listed = run("--openapi", document, "--max-tool-tokens", "5", "--list")
    assert listed.exit_code == 0
    assert "Choose some: --tag" in listed.stderr
    assert len(listed.stdout.splitlines()) > 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "give --openapi or --scan: there is nothing to serve"),
        (["--tag", "none"], 1, "nothing matches that choice"),
        (["--header", "bad"], 2, "a header is given as 'Name: value'"),
        (["--bearer", "NO_SUCH_VARIABLE"], 2, "the environment variable NO_SUCH_VARIABLE is not set"),
        (["--bearer", "A", "--basic", "B"], 2, "give one of --bearer, --api-key and --basic"),
        (["--http", "nowhere"], 2, "'nowhere' is not an address"),
        (["--api", "nowhere"], 2, "'nowhere' is not an address"),
        (["--http", "99999999"], 2, "99999999 is not a port; expected 1 to 65535"),
        (["--openapi", "/no/such/file"], 2, "cannot read /no/such/file: No such file or directory\n"),
        (["--openapi", "http://127.0.0.1:1/x"], 1, "the document could not be fetched"),
    ],
)
def test_what_cannot_be_served_says_why(document: str, arguments: list[str], code: int, message: str) -> None:
    start = ["--openapi", document] if arguments and arguments[0] != "--openapi" else []
    done = run(*start, *arguments)
    assert (done.exit_code, message in done.stderr) == (code, True), done.stderr


def test_a_folder_without_operations_is_said_to_have_none(tmp_path: Path) -> None:
    done = run("--scan", str(tmp_path), "--list")
    assert (done.exit_code, done.stderr) == (1, "no operations were found: there is nothing to serve\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"swagger": "2.0"}', "is not OpenAPI 3: openapi is '2.0'"),
        ('{"name": 1}', "x.json is not OpenAPI 3: openapi is None; expected '3.0.x' or '3.1.x'\n"),
        ("[1]", "x.json is not OpenAPI 3: openapi is None; expected '3.0.x' or '3.1.x'\n"),
        ("{", "x.json is neither JSON nor YAML: "),
    ],
)
def test_a_document_that_is_not_openapi_says_so(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "x.json").write_text(text)
    done = run("--openapi", str(tmp_path / "x.json"))
    assert (done.exit_code, said in done.stderr) == (2, True), done.stderr


def test_a_port_that_is_taken_is_all_that_is_told(document: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        done = [run("--openapi", document, way, place) for way in ("--http", "--api")]
    assert [(one.exit_code, one.stderr) for one in done] == [
        (1, f"cannot listen at {place}: Address already in use\n")
    ] * 2


def test_a_config_with_problems_is_refused(document: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"nonsense": 1}')
    done = run("--openapi", document, "--config", str(tmp_path / "config.json"))
    assert (done.exit_code, "nonsense" in done.stderr) == (1, True)


def test_modules_of_a_directory_are_served_and_broken_ones_are_named(tmp_path: Path) -> None:
    (tmp_path / "double.py").write_text(MODULE)
    (tmp_path / "broken.py").write_text("def (")
    done = run("--scan", str(tmp_path), "--list")
    assert (done.exit_code, done.stdout) == (0, "double\tquery\t\n")
    assert "broken.py: SyntaxError" in done.stderr


PROGRAM = "import sys; from shaping.cli.app import main; sys.argv = ['shaping', *sys.argv[1:]]; main()"


def test_an_http_api_is_an_mcp_server_whose_answers_are_shaped(document: str, api: str, tmp_path: Path) -> None:
    (tmp_path / "response_config.json").write_text('{"tool_overrides": {"get_order": {"exclude_fields": ["total"]}}}')
    arguments = ["--openapi", document, "--base-url", api, "--bearer", "ORDERS_TOKEN"]
    command = ["-c", PROGRAM, "serve", *arguments, "--config", str(tmp_path / "response_config.json")]

    async def main() -> tuple[list[str], Any]:
        async with Client(
            StdioTransport(sys.executable, command, env={"ORDERS_TOKEN": "T0ken", "SHAPING_LEDGER": "off"})
        ) as client:
            names = [tool.name for tool in await client.list_tools()]
            return names, await client.call_tool("get_order", {"id": 7}, raise_on_error=False)

    names, result = anyio.run(main)
    assert names[:2] == ["get_order", "drop_order"]
    assert (result.is_error, json.loads(result.content[0].text)) == (False, {"id": 7, "note": None})


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def served(api: str, option: str, place: str, port: int) -> Iterator[str]:
    """Run the command; give its address once it answers."""
    arguments = ["--openapi", f"{api}/openapi.json", "--header", "Authorization: Bearer T0ken", option, str(port)]
    command = [sys.executable, "-c", PROGRAM, "serve", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            assert process.stderr.readline().startswith("2 operations, ")
            address = process.stderr.readline().removeprefix("serving ").strip()
            assert address.partition("?")[0] == f"http://127.0.0.1:{port}/{place}"
            deadline = time.monotonic() + 120
            while not is_open(port):
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.05)
            yield address
        finally:
            process.terminate()


def test_an_http_api_is_served_as_plain_http_too(api: str, free_port: Callable[[], int]) -> None:
    with served(api, "--api", "operations", free_port()) as printed:
        address, _, token = printed.partition("?token=")
        kind = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{address}/get_order", b'{"id": 7}', kind, method="POST")  # noqa: S310  loopback
        with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310  loopback
            assert json.loads(answer.read()) == {"data": {"id": 7, "total": 12.5}}
        assert token
        for headers in ({**kind, "Host": "evil.example"}, {**kind, "Origin": "http://evil.example"}, {}):
            request = urllib.request.Request(f"{address}/get_order", b"", headers, method="POST")  # noqa: S310  loopback
            with pytest.raises(urllib.error.HTTPError, match=r"421|403|415"):
                urllib.request.urlopen(request, timeout=120)  # noqa: S310  loopback


def test_an_http_api_is_served_as_mcp_over_http_too(api: str, free_port: Callable[[], int]) -> None:
    async def main(address: str) -> Any:
        async with Client(address) as client:
            return await client.call_tool("get_order", {"id": 7}, raise_on_error=False)

    with served(api, "--http", "mcp", free_port()) as address:
        result = anyio.run(main, address)
    assert (result.is_error, json.loads(result.content[0].text)) == (False, {"id": 7, "note": None, "total": 12.5})
