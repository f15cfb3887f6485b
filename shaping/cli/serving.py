"""How `shaping proxy` runs as a process: put together while its server starts, and ended by its client or a signal."""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from shaping.proxy.former.head_start import HeadStart
    from shaping.proxy.former.proxy import Proxy


def run(build: Callable[[HeadStart], tuple[Proxy, Any]], command: list[str] | None) -> None:
    """Serve what `build` puts together, from a server's command that is started at once."""
    import anyio  # noqa: PLC0415 (an extra)

    # Nothing that is imported is garbage, and looking for some takes an eighth of the time.
    gc.disable()
    try:
        built = anyio.run(_served, build, command)
    finally:
        gc.enable()
    # Why was logged when it happened; a client's log of exits should show it too.
    if built.outage is not None:
        raise typer.Exit(1)


async def _served(build: Callable[[HeadStart], tuple[Proxy, Any]], command: list[str] | None) -> Proxy:
    """Serve until the client leaves or a signal comes; the server starts while we are still being put together."""
    import anyio  # noqa: PLC0415 (an extra)

    from shaping.proxy.former.head_start import HeadStart  # noqa: PLC0415 (the same)

    early = HeadStart()
    with anyio.open_signal_receiver(*_endings()) as signals:
        try:
            if command:
                await early.begin(command)
            built, serve = build(early)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_end_on_signal, signals, built, early)
                await serve()
                tasks.cancel_scope.cancel()
        finally:
            await early.stop()
    return built


def settle() -> None:
    """Go over from being put together to serving."""
    # What is imported by now stays for good, and a call makes no cycles worth a look every few hundred objects.
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()
    # What is kept for later is written on another thread, which must not hold up the answer that is going out.
    sys.setswitchinterval(0.0005)


async def _end_on_signal(signals: AsyncIterator[signal.Signals], built: Proxy, early: HeadStart) -> None:
    async for number in signals:
        await built.end()
        await early.stop()
        # The thread that reads our input cannot be interrupted; everything that has to end has ended.
        os._exit(128 + number)


def _endings() -> list[signal.Signals]:
    """List the signals to end on; a hang-up only where nobody asked to survive it, as nohup does."""
    endings = [signal.SIGTERM, signal.SIGINT]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        endings.append(signal.SIGHUP)
    return endings
