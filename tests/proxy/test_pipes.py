from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import mcp_types
import pytest
from mcp.shared.message import SessionMessage

from shaping.proxy.former.pipes import listening, speaking, until_left

pytestmark = pytest.mark.anyio


PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
PONG = SessionMessage(mcp_types.JSONRPCResponse(jsonrpc="2.0", id=1, result={"said": "é"}))


async def test_messages_come_and_go_without_a_thread() -> None:
    inbound, ours = os.pipe()
    theirs, outbound = os.pipe()
    heard = await listening(inbound)
    said = await speaking(outbound, heard.hang_up)
    os.write(ours, f"{PING}\nchatter \n{PING}".encode())
    os.close(ours)
    async with heard, said:
        first, chatter, last = [item async for item in heard]
        assert [getattr(item, "message", None) for item in (first, last)] == [
            mcp_types.JSONRPCRequest(jsonrpc="2.0", id=1, method="ping")
        ] * 2
        assert isinstance(chatter, ValueError)
        await said.send(PONG)
    assert os.read(theirs, 100) == '{"jsonrpc":"2.0","id":1,"result":{"said":"é"}}\n'.encode()
    with pytest.raises(anyio.ClosedResourceError):
        await said.send(PONG)
    os.close(theirs)


async def test_messages_of_many_tasks_are_written_one_after_the_other() -> None:
    theirs, outbound = os.pipe()
    said = await speaking(outbound, lambda: None)
    long = SessionMessage(mcp_types.JSONRPCResponse(jsonrpc="2.0", id=1, result={"said": "x" * 100_000}))
    lines: list[bytes] = []

    def read() -> None:
        with os.fdopen(theirs, "rb") as wire:
            lines.extend(wire)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.to_thread.run_sync, read)
        async with said, anyio.create_task_group() as senders:
            for _ in range(10):
                senders.start_soon(said.send, long)
    assert lines == [long.message.model_dump_json().encode() + b"\n"] * 10


async def test_a_client_that_reads_no_more_has_left() -> None:
    inbound, ours = os.pipe()
    theirs, outbound = os.pipe()
    heard = await listening(inbound)
    said = await speaking(outbound, heard.hang_up)
    os.close(theirs)
    with anyio.fail_after(60):
        while not heard.left.is_set():
            await said.send(PONG)
            await anyio.lowlevel.checkpoint()
        assert [item async for item in heard] == []
    await said.aclose()
    os.close(ours)


async def test_what_is_under_way_ends_soon_after_the_client_left_though_nobody_listens() -> None:
    inbound, ours = os.pipe()
    heard = await listening(inbound)
    os.close(ours)
    with anyio.fail_after(60):
        async with heard, until_left(heard) as listened:
            assert listened is heard
            await anyio.sleep_forever()


async def test_what_is_under_way_ends_soon_after_the_client_left() -> None:
    inner, outer = anyio.create_memory_object_stream[str](2)
    heard: list[str] = []
    await inner.send("a")
    await inner.aclose()
    with anyio.fail_after(30):
        async with outer, until_left(outer) as listened:
            heard += [item async for item in listened]
            await anyio.sleep_forever()
    assert heard == ["a"]


async def test_what_ends_by_itself_is_not_waited_for() -> None:
    inner, outer = anyio.create_memory_object_stream[str](0)
    with anyio.fail_after(30):
        async with inner, outer, until_left(outer):
            pass


SCRIPT = """
import anyio, sys
from mcp.shared.message import SessionMessage
import mcp_types
from shaping.proxy.former.pipes import own_pipes

async def main():
    async with own_pipes() as (read, write):
        print("a stray line")
        async for item in read:
            answer = mcp_types.JSONRPCResponse(jsonrpc="2.0", id=item.message.id, result={})
            await write.send(SessionMessage(answer))
        await write.aclose()

anyio.run(main)
"""


@pytest.mark.parametrize("how", ["pipe", "file"])
def test_a_stray_print_does_not_land_between_two_messages(how: str, tmp_path: object) -> None:
    request = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
    file = f"{tmp_path}/request"
    with open(file, "w+") as stored:  # noqa: PTH123 - a handle is what the program is given
        stored.write(request)
        stored.seek(0)
        given: dict[str, Any] = {"input": request} if how == "pipe" else {"stdin": stored}
        program = [sys.executable, "-c", SCRIPT]
        done = subprocess.run(program, capture_output=True, text=True, timeout=300, check=True, **given)
    assert done.stdout == '{"jsonrpc":"2.0","id":1,"result":{}}\n'
    assert "a stray line" in done.stderr
