"""Serving one client over this process's own standard input and output, until it leaves or a signal comes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from shaping.proxy.child import Child
from shaping.proxy.loading import Loading, Options
from shaping.proxy.pipes import claim_standard_streams, open_reader, open_writer
from shaping.proxy.relay import Relay
from shaping.proxy.upstream import START_SECONDS, Upstream

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator, Sequence

    from shaping.proxy.messages import Message
    from shaping.proxy.pipes import LineReader

# How long the last answers may take after a client has closed its end; it waits two seconds for all of us to be gone.
_LAST_ANSWER_SECONDS = 1.2
_LOOK_SECONDS = 0.02


def run_command(
    command: Sequence[str],
    options: Options,
    *,
    process: subprocess.Popen[bytes] | None = None,
    start_seconds: float | None = None,
) -> int:
    """Serve a server that is a command, whose process may have been started already; return the exit code."""
    started = [process] if process is not None else []
    name = PurePath(command[0]).stem

    def upstream(loading: Loading) -> Upstream:
        def connect() -> Child:
            return Child(command, name=name, log=loading.log, process=started.pop() if started else None)

        return Upstream(name, connect, start_seconds=start_seconds or START_SECONDS)

    return run(upstream, options)


def run(make_upstream: Callable[[Loading], Upstream], options: Options) -> int:
    """Serve an upstream server until the client leaves; return the exit code."""
    logging.basicConfig(stream=sys.stderr, format="shaping: %(message)s", level=logging.WARNING)
    # Shaping is loaded on another thread, which must not hold up a message that passes.
    sys.setswitchinterval(0.0005)
    return asyncio.run(_serve(make_upstream, options))


async def _serve(make_upstream: Callable[[Loading], Upstream], options: Options) -> int:
    with ending_signal() as signalled:
        loading = Loading(options)
        upstream = make_upstream(loading)
        given, taken = claim_standard_streams()
        reader, writer = await open_reader(given), await open_writer(taken)

        async def send(message: Message) -> None:
            try:
                await writer.send(message.line)
            except OSError:  # the client reads no more: it has left
                reader.close()

        relay = Relay(upstream, loading, send)
        await upstream.start()
        loading.start()
        leaving = asyncio.create_task(_serve_until_end(reader, relay))
        loaded = asyncio.create_task(loading.wait())
        endings: set[asyncio.Future[Any]] = {leaving, signalled}
        try:
            await asyncio.wait({*endings, loaded}, return_when=asyncio.FIRST_COMPLETED)
            if not loaded.done() or loaded.exception() is None:
                await asyncio.wait(endings, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            await relay.close()
            writer.close()
            loading.close()
        if signalled.done():
            return 128 + signalled.result()
        await loaded  # a config with problems is told even where the client has left by now
    # Why was logged when it happened; a client's log of exits should show it too.
    return 1 if upstream.failure is not None and not upstream.reached else 0


async def _serve_until_end(reader: LineReader, relay: Relay) -> None:
    reading = asyncio.create_task(_read(reader, relay))
    try:
        await reader.ended.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_ANSWER_SECONDS):
                await asyncio.shield(reading)
                while relay.is_busy:  # noqa: ASYNC110 (an answer may come from the server or from a thread)
                    await asyncio.sleep(_LOOK_SECONDS)
    finally:
        reading.cancel()


async def _read(reader: LineReader, relay: Relay) -> None:
    async for line in reader.lines():
        await relay.from_client(line)


@contextlib.contextmanager
def ending_signal() -> Iterator[asyncio.Future[int]]:
    """Give a future of the signal that ends us; a hang-up only where nobody asked to survive it, as nohup does."""
    loop = asyncio.get_running_loop()
    signalled: asyncio.Future[int] = loop.create_future()
    endings = [signal.SIGTERM, signal.SIGINT]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        endings.append(signal.SIGHUP)

    def end(number: int) -> None:
        if not signalled.done():
            signalled.set_result(number)

    for number in endings:
        loop.add_signal_handler(number, end, number)
    try:
        yield signalled
    finally:
        for number in endings:
            loop.remove_signal_handler(number)
