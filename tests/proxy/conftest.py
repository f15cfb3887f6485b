from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from shaping.proxy.messages import Message
from shaping.proxy.relay import Relay
from shaping.proxy.serving import Options, ShaperLoader


class Driver:
    """A client in this process: it sends lines, and keeps the lines that come back."""

    def __init__(self, upstream: Any, loader: ShaperLoader, owner: str | None = None) -> None:
        self.upstream = upstream
        self.relay = Relay(upstream, loader, self._receive, owner=owner)
        self.lines: list[bytes] = []
        self.sent: list[bytes] = []
        self._number = 0
        self._arrived = asyncio.Condition()

    async def _receive(self, message: Message) -> None:
        async with self._arrived:
            self.lines.append(message.line)
            self._arrived.notify_all()

    async def send(self, message: dict[str, Any]) -> None:
        line = json.dumps(message, separators=(", ", ": ")).encode()
        self.sent.append(line)
        await self.relay.on_client_line(line)

    async def until(self, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait for a message, and give the first that is meant."""
        async with asyncio.timeout(120), self._arrived:
            while True:
                for line in self.lines:
                    message: dict[str, Any] = json.loads(line)
                    if holds(message):
                        return message
                await self._arrived.wait()

    async def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and give the whole answer."""
        self._number += 1
        number = self._number
        body: dict[str, Any] = {"jsonrpc": "2.0", "id": number, "method": method}
        await self.send(body if params is None else {**body, "params": params})
        return await self.until(lambda message: message.get("id") == number and "method" not in message)

    async def greet(self, version: str = "2025-06-18", name: str = "driver") -> dict[str, Any]:
        info = {"name": name, "version": "1"}
        answer = await self.ask("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": info})
        if "result" in answer:
            await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return await self.ask("tools/call", {"name": tool, "arguments": arguments})

    async def failure(self, tool: str, **arguments: Any) -> str:
        """Call a tool that fails and give what its model reads."""
        result = (await self.call(tool, **arguments))["result"]
        assert result["isError"] is True
        return str(result["content"][0]["text"]).strip()

    async def text(self, tool: str, **arguments: Any) -> Any:
        """Call a tool and give the JSON in its first text."""
        return json.loads((await self.call(tool, **arguments))["result"]["content"][0]["text"])


Connect = Callable[..., AbstractAsyncContextManager[Driver]]


@pytest.fixture
def connect(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Connect:
    """Put a relay in front of a server, given as what makes its upstream."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))

    @asynccontextmanager
    async def connected(
        make: Any,
        *,
        config: Any = None,
        log: Any = None,
        greet: bool = True,
        record: Any = None,
        names_itself: bool = True,
    ) -> AsyncIterator[Driver]:
        loader = ShaperLoader(
            Options(config=None if config is None else str(config), record=record, names_itself=names_itself)
        )
        loader.start()
        driver = Driver(make(), loader)
        if log is not None:
            monkeypatch.setattr(driver.relay, "on_log_line", log)
        try:
            if greet:
                await driver.greet()
            yield driver
        finally:
            await driver.relay.close()
            await loader.get()
            loader.close()

    return connected


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
