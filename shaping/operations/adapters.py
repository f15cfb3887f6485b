"""MCP servers and programs as operations: one for each tool of a server, one for each command line."""

from __future__ import annotations

import logging
import re
import subprocess
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import anyio

from shaping.agent.interpret import read_response
from shaping.envelope import Envelope, command_envelope, mcp_envelope
from shaping.errors import ErrorDetail, ToolError, from_exception, make_error
from shaping.errors.detail import from_exit_code
from shaping.mcp.errors import error_from_text
from shaping.operations.schemas import JsonSchema
from shaping.operations.spec import Spec, make_spec
from shaping.parsers.json import read_json, read_json_or_text
from shaping.response import import_extra

log = logging.getLogger("shaping")
CONNECT_SECONDS = 30.0
TASK_TTL_MS = 600_000  # how long a server keeps the result of a task
POLL_MS = 1000  # between two questions about a task, where the server does not say
# JSON-RPC's numbers, and the one the SDK uses for a connection that is gone.
CODES = {-32602: "BAD_ARGUMENT", -32601: "NOT_FOUND", -32600: "BAD_ARGUMENT", -32000: "UNAVAILABLE"}


@dataclass(frozen=True, slots=True)
class McpConfig:
    """Where an MCP server is: `command` with `args`, `env` and `cwd` to start, or `url` with `headers`."""

    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] | None = field(default=None, repr=False)
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if (self.command is None) == (self.url is None):
            raise ValueError("an MCP server is reached by a command or by a url: give exactly one of the two")

    def client(self) -> Any:
        """Return a FastMCP client of the server, not yet connected."""
        transports = import_extra("fastmcp.client.transports", "mcp", "an MCP server")
        if self.url is not None:
            transport = transports.StreamableHttpTransport(self.url, headers=dict(self.headers))
        else:
            env = None if self.env is None else dict(self.env)
            transport = transports.StdioTransport(
                self.command, list(self.args), env=env, cwd=self.cwd, keep_alive=False
            )
        return import_extra("fastmcp", "mcp", "an MCP server").Client(transport)


async def send_raw(session: Any, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Send a request of a client and return its result as it came: the SDK's own calls refuse unknown blocks.

    `ClientSession` stamps the protocol version onto a message, then sends it: private API of the SDK without a public
    equivalent, as of mcp 2.3.0. tests/mcp/test_private_api.py fails when it moves.
    """
    message: dict[str, Any] = {"method": method, "params": params}
    options: dict[str, Any] = {}
    session._stamp(message, options)  # noqa: SLF001 (see above)
    result: dict[str, Any] = await session._dispatcher.send_raw_request(method, message["params"], options)  # noqa: SLF001 (see above)
    return result


class McpServer:
    """One connected server and its tools as operations."""

    def __init__(self, name: str, client: Any, tools: list[dict[str, Any]]) -> None:
        self.name = name
        self._client = client
        self.operations: tuple[tuple[Spec, Callable[..., Any]], ...] = tuple(_operation(self, tool) for tool in tools)

    async def call(self, tool: str, given: Mapping[str, Any], *, as_task: bool) -> dict[str, Any]:
        """Call a tool and return its result as the protocol's JSON; a task is waited for."""
        params = {"name": tool, "arguments": dict(given), **({"task": {"ttl": TASK_TTL_MS}} if as_task else {})}
        try:
            result = await send_raw(self._client.session, "tools/call", params)
            if isinstance(result.get("task"), dict):
                result = await self._await_task(result["task"])
        except import_extra("mcp", "mcp", "an MCP server").MCPError as refused:
            code = CODES.get(refused.error.code, "INTERNAL_ERROR")
            raise ToolError(code, f"{self.name}: {refused.error.message}") from None
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, RuntimeError) as lost:
            raise ToolError("UNAVAILABLE", f"the connection to {self.name} is closed") from lost
        if result.get("resultType") == "input_required":
            raise ToolError("PRECONDITION", f"{self.name}.{tool} asks its user for input, and there is nobody to ask")
        return result

    async def _await_task(self, task: dict[str, Any]) -> dict[str, Any]:
        """Poll a task until it has ended, and return its result."""
        meta = {"taskId": task["taskId"]}
        while task.get("status") in {"working", "submitted"}:
            await anyio.sleep(max(task.get("pollInterval") or POLL_MS, 1) / 1000)
            task = await send_raw(self._client.session, "tasks/get", meta)
        return await send_raw(self._client.session, "tasks/result", meta)


def _operation(server: McpServer, tool: Mapping[str, Any]) -> tuple[Spec, Callable[..., Any]]:
    output = _valid_schema(tool.get("outputSchema"), f"{server.name}.{tool['name']}")
    # Only an explicit hint makes a query: what a server does not say may change something.
    reads = (tool.get("annotations") or {}).get("readOnlyHint") is True
    spec = make_spec(
        tool["name"],
        namespace=server.name,
        type="query" if reads else "mutation",
        operation_type="query" if reads else "command",
        description=tool.get("description") or tool.get("title") or "",
        input=_valid_schema(tool.get("inputSchema"), f"{server.name}.{tool['name']}"),
        output=output,
        origin={"server": server.name, "tool": tool["name"]},
    )
    accepts = JsonSchema(output).accepts if output else None
    as_task = (tool.get("execution") or {}).get("taskSupport") == "required"

    async def handler(given: Any) -> Envelope[Any]:
        return read_tool_result(await server.call(tool["name"], given, as_task=as_task), accepts, tool["name"])

    return spec, handler


def _valid_schema(schema: Any, where: str) -> dict[str, Any] | None:
    """Return a schema that compiles; for any other return None and log a warning."""
    if not isinstance(schema, dict) or not schema:
        return None
    try:
        JsonSchema(schema).accepts(None)
    except ImportError:
        raise
    except Exception as problem:  # noqa: BLE001  the library raises its own kinds for each thing a schema can get wrong
        log.warning("%s has a schema that cannot be used (%s); any value is taken", where, type(problem).__name__)
        return None
    return schema


def read_tool_result(
    result: Mapping[str, Any], accepts: Callable[[Any], bool] | None = None, tool: str = ""
) -> Envelope[Any]:
    """Wrap a tool's result: structured content is the data, else JSON text that fits the schema, else the blocks."""
    content = result.get("content") or []
    meta: dict[str, Any] = {
        "content": content,
        "structured_content": result.get("structuredContent"),
        "protocol_meta": result.get("_meta"),
    }
    data, error = meta["structured_content"], None
    if result.get("isError") is True:
        accepts, error = None, read_response(result, "mcp").error
        if error is None or error.code == "INTERNAL_ERROR":
            error = error_from_text("" if error is None else error.message, tool)
        else:
            # What the server did not send, the registry knows of the code.
            fields = error.model_dump(exclude_none=True, exclude={"code", "message", "redirect", "extensions"})
            error = make_error(error.code, error.message, **fields, redirect=error.redirect, foreign=True)
    return mcp_envelope(_parse_content(content, accepts) if data is None else data, error=error, **meta)


def _parse_content(content: list[Any], accepts: Callable[[Any], bool] | None) -> Any:
    if accepts is None or any(block.get("type") != "text" for block in content):
        return content
    try:
        data = read_json("".join(block.get("text", "") for block in content))
    except ValueError:
        return content
    return data if accepts(data) else content


@asynccontextmanager
async def from_mcp(name: str, config: McpConfig) -> AsyncIterator[McpServer]:
    """Connect to an MCP server while the context is open; its tools are operations of the namespace `name`.

    `async with from_mcp("github", McpConfig(url=...)) as server: registry.add(server.operations)`.
    """
    async with config.client() as client:
        tools = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in await client.list_tools()]
        yield McpServer(name, client, tools)


class McpLoader(anyio.AsyncContextManagerMixin):
    """Connects to several MCP servers at once, as an `async with` block; one that fails does not stop the others.

    In the block `operations` are those of every connected server, `servers` the servers by name, and `failures` the
    errors of those that could not be reached within `connect_seconds`. Leaving it closes them, the last one first.
    """

    def __init__(self, servers: Mapping[str, McpConfig], *, connect_seconds: float = CONNECT_SECONDS) -> None:
        self._configs = dict(servers)
        self._seconds = connect_seconds
        self.servers: dict[str, McpServer] = {}
        self.failures: dict[str, ErrorDetail] = {}

    @property
    def operations(self) -> list[tuple[Spec, Callable[..., Any]]]:
        """The operations of every server that is connected, in the order of the configuration."""
        return [pair for name in self._configs if name in self.servers for pair in self.servers[name].operations]

    @asynccontextmanager
    async def __asynccontextmanager__(self) -> AsyncGenerator[Self]:
        connections = {name: from_mcp(name, config) for name, config in self._configs.items()}
        async with AsyncExitStack() as stack:
            async with anyio.create_task_group() as tasks:
                for name, connection in connections.items():
                    tasks.start_soon(self._connect, name, connection)
            for name in self._configs:
                if name in self.servers:
                    stack.push_async_exit(connections[name])
            try:
                yield self
            finally:
                self.servers.clear()

    async def _connect(self, name: str, connection: AbstractAsyncContextManager[McpServer]) -> None:
        try:
            with anyio.fail_after(self._seconds):
                self.servers[name] = await connection.__aenter__()
        except TimeoutError:
            self.failures[name] = make_error("TIMEOUT", f"{name} did not connect within {self._seconds} seconds")
        except Exception as fault:  # noqa: BLE001  one server that fails must not take down the rest
            # FastMCP wraps what went wrong in an error of its own.
            self.failures[name] = from_exception(fault.__cause__ or fault)
            log.warning("the MCP server %s failed: %s", name, self.failures[name].message)


PLACEHOLDER = re.compile(r"\{(\w+)\}")
MAX_ERROR_TEXT = 2000  # characters of what a failing program printed that go into its error


def from_command(
    name: str, argv: Sequence[str], *, cwd: str | None = None, env: Mapping[str, str] | None = None, **more: Any
) -> tuple[Spec, Callable[..., Awaitable[Envelope[Any]]]]:
    """Make an operation that runs a program, without a shell: `from_command("blame", ["git", "blame", "{file}"])`.

    `{member}` in an argument stands for a member of the input, which the input schema requires. What the program prints
    is the data, as JSON where it is JSON; an exit code other than 0 is an error. `more` goes to `make_spec`:
    `operation_type` must be among it.
    """
    members = list(dict.fromkeys(member for argument in argv for member in PLACEHOLDER.findall(argument)))
    schema = {
        "type": "object",
        "properties": {member: {"type": ["string", "integer", "number"]} for member in members},
        **({"required": members} if members else {}),
        "additionalProperties": False,
    }
    kind = more.pop("operation_type", None)
    shape = "query" if kind in {"query", "logs", "screenshot", "window_info"} else "mutation"
    spec = make_spec(
        name, **{"input": schema, "operation_type": kind, "type": shape, "origin": {"argv": [*argv]}, **more}
    )

    async def handler(given: Mapping[str, Any]) -> Envelope[Any]:
        called = [_fill_argument(argument, given) for argument in argv]
        process = await anyio.run_process(called, check=False, cwd=cwd, env=env, stdin=subprocess.DEVNULL)
        return read_output(called, process)

    return spec, handler


def read_output(argv: Sequence[str], process: subprocess.CompletedProcess[bytes]) -> Envelope[Any]:
    """Wrap the output of a program: data is its JSON or its text, and an exit code other than 0 is an error."""
    text = process.stdout.decode("utf-8", "replace").rstrip("\n")
    data = read_json_or_text(text) if text.strip() else None
    code, error = process.returncode, None
    # Python says by a negative number that a signal ended it, a shell by 128 and more.
    signal = -code if code < 0 else None
    if code != 0:
        stderr = process.stderr.decode("utf-8", "replace").strip()[-MAX_ERROR_TEXT:]
        error = from_exit_code(code, stderr or None, signal=signal, foreign=True)
    exit_code = code if signal is None else 128 + signal
    return command_envelope(data, exit_code=exit_code, argv=argv, signal=signal, error=error)


def _fill_argument(argument: str, given: Mapping[str, Any]) -> str:
    """Put input into an argument; where it is the whole of it, it must not turn into an option."""
    text = PLACEHOLDER.sub(lambda match: str(given[match.group(1)]), argument)
    if argument.startswith("{") and text.startswith("-"):
        raise ToolError("BAD_ARGUMENT", f"{argument} begins with '-', which the program would take for an option")
    if "\0" in text:
        raise ToolError("BAD_ARGUMENT", f"{argument} has a null character", phase="validation")
    return text
