from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from shaping.surfaces.pipes import _Lines, _reader, _Texts, _writer

pytestmark = pytest.mark.anyio


async def test_lines_come_and_texts_go_without_a_thread() -> None:
    inbound, ours = os.pipe()
    theirs, outbound = os.pipe()
    reader, source = await _reader(inbound)
    lines, texts = _Lines(reader), _Texts(await _writer(outbound))
    os.write(ours, b'{"a": 1}\nlast \xff')
    os.close(ours)
    assert [line async for line in lines] == ['{"a": 1}\n', "last \ufffd"]
    await texts.write("é\n")
    await texts.flush()
    assert os.read(theirs, 100) == "é\n".encode()
    texts._writer.close()
    source.close()
    os.close(theirs)


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
        done = subprocess.run(program, capture_output=True, text=True, timeout=60, check=True, **given)
    assert done.stdout == '{"jsonrpc":"2.0","id":1,"result":{}}\n'
    assert "a stray line" in done.stderr
