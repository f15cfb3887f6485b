from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import anyio
import pytest

from shaping.proxy.former.child import Child
from shaping.proxy.former.head_start import HeadStart

if TYPE_CHECKING:
    from anyio.abc import Process

pytestmark = pytest.mark.anyio
WAITING = [sys.executable, "-c", "import sys; sys.stdin.read()"]


async def gone(process: Process) -> None:
    while process.returncode is None:  # noqa: ASYNC110 - wait() also waits for the pipes, which are closed here
        await anyio.sleep(0.01)


async def test_a_process_that_was_begun_is_handed_over_once() -> None:
    early = HeadStart()
    await early.begin(WAITING)
    process = early.take()
    assert process is not None
    assert (process.returncode, early.take()) == (None, None)
    with anyio.fail_after(60):
        await early.stop()  # which has nothing left to end
        assert process.returncode is None
        process.kill()
        await process.wait()
    await process.aclose()


async def test_a_process_that_nobody_took_is_ended() -> None:
    early = HeadStart()
    await early.begin(WAITING)
    process = early._process
    assert process is not None
    with anyio.fail_after(60):
        await early.stop()
        await gone(process)
    assert early.take() is None


@pytest.mark.parametrize("command", [["/no/such/program"], ["nul\0"]])
async def test_what_cannot_be_started_is_left_to_who_wants_to_talk_to_it(command: list[str]) -> None:
    early = HeadStart()
    await early.begin(command)
    assert early.take() is None
    await early.stop()


async def test_a_child_is_the_process_that_was_begun_and_after_it_a_new_one() -> None:
    early = HeadStart()
    await early.begin(WAITING)
    child = Child(WAITING, name="waiting", early=early)
    first, second = await child._start(), await child._start()
    assert first.pid != second.pid
    assert early.take() is None
    with anyio.fail_after(60):
        for process in (first, second):
            await child._stop(process)
            await gone(process)
