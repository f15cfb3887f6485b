from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from shaping.surfaces.pipes import _Lines, _reader, _Texts, _writer, until_left

pytestmark = pytest.mark.anyio


async def test_lines_come_and_texts_go_without_a_thread() -> None:
    inbound, ours = os.pipe()
    theirs, outbound = os.pipe()
    reader, source = await _reader(inbound)
    lines, texts = _Lines(reader), _Texts(await _writer(outbound), source.close)
    os.write(ours, b'{"a": 1}\nlast \xff')
    os.close(ours)
    assert [line async for line in lines] == ['{"a": 1}\n', "last \ufffd"]
    await texts.write("é\n")
    await texts.flush()
    assert os.read(theirs, 100) == "é\n".encode()
    texts._writer.close()
    source.close()
    os.close(theirs)


async def test_a_client_that_reads_no_more_has_left() -> None:
    inbound, ours = os.pipe()
    theirs, outbound = os.pipe()
    reader, source = await _reader(inbound)
    lines, texts = _Lines(reader), _Texts(await _writer(outbound), source.close)
    os.close(theirs)
    with anyio.fail_after(30):
        while not source.is_closing():
            await texts.write("x" * 70_000)
            await anyio.lowlevel.checkpoint()
        assert [line async for line in lines] == []
    texts._writer.close()
    os.close(ours)


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
from shaping.surfaces.pipes import own_pipes

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
