"""Serving one client over this process's own standard input and output, until it leaves or a signal comes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from typing import TYPE_CHECKING, Any

from shaping.proxy.child import command_server
from shaping.proxy.loading import Loading, Options, UnknownProfileError, is_config_problem
from shaping.proxy.pipes import claim_standard_streams, open_reader, open_writer
from shaping.proxy.relay import Relay
from shaping.proxy.spawn import signal_group

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping
    from subprocess import Popen

    from shaping.proxy.messages import Message
    from shaping.proxy.pipes import PipeReader
    from shaping.proxy.router import Router
    from shaping.proxy.upstream import Upstream

logger = logging.getLogger("shaping")

# How long the last answers may take after a client has closed its end; it waits two seconds for all of us to be gone.
_LAST_ANSWER_SECONDS = 1.2
_LOOK_SECONDS = 0.02


def run_relay(serve: Callable[[Loading], Coroutine[Any, Any, int]], options: Options) -> int:
    """Serve until the client leaves, or a signal comes, or shaping cannot be loaded; return the exit code.

    A config with problems is no end: clients are told of it, in answer to their calls, until it is right.
    """
    logging.basicConfig(stream=sys.stderr, format="shaping: %(message)s", level=logging.WARNING)
    # Shaping is loaded on another thread, which must not hold up a message that passes.
    sys.setswitchinterval(0.0005)
    return asyncio.run(_run(serve, options))


def run_stdio(make_upstream: Callable[[Callable[[str, bytes], None]], Upstream | Router], options: Options) -> int:
    """Serve an upstream server over standard input and output; return the exit code."""

    async def serve(loading: Loading) -> int:
        return await serve_stdio(make_upstream(loading.log), loading)

    return run_relay(serve, options)


def relay_command(command: list[str], process: Popen[bytes] | None, values: Mapping[str, str], *, expand: bool) -> int:
    """Serve a server that runs a command by the options of a command line; return the exit code."""
    options = Options(values.get("--config"), values.get("--profile"), expand=expand)
    seconds = float(values["--start-timeout"]) if "--start-timeout" in values else None
    try:
        return run_stdio(command_server(command, values.get("--name"), seconds=seconds, process=process), options)
    except ValueError as problem:
        if not is_config_problem(problem):
            raise
        sys.stderr.write(f"{problem}\n")
        return 2 if isinstance(problem, UnknownProfileError) else 1
    finally:
        if process is not None and process.poll() is None:
            # A signal that came before the connection to it was begun: nobody else ends it.
            signal_group(process.pid, signal.SIGKILL)


async def serve_stdio(upstream: Upstream | Router, loading: Loading) -> int:
    """Relay between standard input and output and a server, which is started before shaping is loaded."""
    given, taken = claim_standard_streams()
    reader, writer = await open_reader(given), await open_writer(taken)

    async def send(message: Message) -> None:
        try:
            await writer.send(message.line)
        except OSError:  # the client reads no more: it has left
            reader.close()

    relay = Relay(upstream, loading, send)
    try:
        await upstream.start()
        loading.start()
        await _serve_until_end(reader, relay)
    finally:
        await to_the_end(relay.close())
        writer.close()
    # Why was logged when it happened; a client's log of exits should show it too.
    return 1 if upstream.failure is not None and not upstream.reached else 0


async def to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Wait for work that must not be left half done, even where a signal cancels us meanwhile."""
    task = asyncio.create_task(work)
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(task)


async def _run(serve: Callable[[Loading], Coroutine[Any, Any, int]], options: Options) -> int:
    with _ending_signal() as signalled:
        loading = Loading(options)
        serving = asyncio.create_task(serve(loading))
        loaded = asyncio.create_task(loading.wait())
        endings: set[asyncio.Future[Any]] = {serving, signalled}
        try:
            await asyncio.wait({*endings, loaded}, return_when=asyncio.FIRST_COMPLETED)
            problem = loaded.exception() if loaded.done() else None
            if problem is not None:
                logger.warning("%s", problem)
            if problem is None or is_config_problem(problem):
                await asyncio.wait(endings, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not serving.done():
                serving.cancel()
                await asyncio.wait({serving})
            loading.close()
        if signalled.done():
            return 128 + signalled.result()
        code = serving.result() if not serving.cancelled() else 1
        if loading.messages is None:
            await loaded  # a config with problems is told even where the client has left by now
        return code


async def _serve_until_end(reader: PipeReader, relay: Relay) -> None:
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


async def _read(reader: PipeReader, relay: Relay) -> None:
    async for line in reader.lines():
        await relay.from_client(line)


@contextlib.contextmanager
def _ending_signal() -> Iterator[asyncio.Future[int]]:
    """Return a future of the signal that ends us; a hang-up only where nobody asked to survive it, as nohup does."""
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
