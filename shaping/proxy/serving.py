"""Running a proxy: shaping is loaded on a thread, while a client over standard input and output is served already."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import sys
import threading
from collections import Counter, deque
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from shaping.child import signal_group
from shaping.proxy.messages import (
    Message,
    PipeReader,
    UnusableConfigError,
    claim_standard_streams,
    log_warning,
    open_reader,
    open_writer,
    without_secrets,
)
from shaping.proxy.relay import Relay
from shaping.proxy.upstream import Upstream, command_server

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping
    from subprocess import Popen

    from shaping.ledger import Ledger
    from shaping.mcp.mcp_shaper import MCPShaper
    from shaping.proxy.router import Router

logger = logging.getLogger("shaping")

# How long the last answers may take after a client has closed its end; it waits two seconds for all of us to be gone.
_LAST_ANSWER_SECONDS = 1.2
_LOOK_SECONDS = 0.02
_MOST_HELD = 1000  # lines of servers' logs, until the config is read
_IN_A_TERMINAL = (
    "shaping proxy waits for an MCP client's messages on standard input. Clients start it themselves: `shaping wrap`"
    " puts it into a client's config. Ctrl-C ends it.\n"
)
_LEDGER_SECONDS = 1.5  # how long the end of a session may wait for its last calls


@dataclass(frozen=True, slots=True)
class Options:
    """What a command line says about shaping."""

    config: str | None = None
    profile: str | None = None
    expand: bool = True
    for_user: bool = True  # what is left out is kept for the user, in any process, and not for one session
    record: str | None = None  # the folder in which calls are recorded
    names_itself: bool = True  # whether the user left a server unnamed: the name that it gives itself may be anything


class UnknownProfileError(ValueError):
    """A profile that the config does not have."""


def relay_command(command: list[str], process: Popen[bytes] | None, values: Mapping[str, str], *, expand: bool) -> int:
    """Serve a server that runs a command by the options of a command line; return the exit code."""
    names_itself = "--name" not in values
    options = Options(values.get("--config"), values.get("--profile"), expand=expand, names_itself=names_itself)
    seconds = float(values["--start-timeout"]) if "--start-timeout" in values else None
    try:
        make_upstream = command_server(command, values.get("--name"), seconds=seconds, process=process)
        return asyncio.run(run_relay(partial(serve_stdio, make_upstream), options))
    except ValueError as problem:
        if not _is_config_problem(problem):
            raise
        sys.stderr.write(f"{problem}\n")
        return 2 if isinstance(problem, UnknownProfileError) else 1
    finally:
        if process is not None and process.poll() is None:
            # A signal that came before the connection to it was begun: nobody else ends it.
            signal_group(process.pid, signal.SIGKILL)


async def run_relay(serve: Callable[[ShaperLoader], Coroutine[Any, Any, int]], options: Options) -> int:
    """Serve until the client leaves, or a signal comes, or shaping cannot be loaded; return the exit code.

    A config with problems is no end: clients are told of it, in answer to their calls, until it is right.
    """
    logging.basicConfig(stream=sys.stderr, format="shaping: %(message)s", level=logging.WARNING)
    # Shaping is loaded on another thread, which must not hold up a message that passes.
    sys.setswitchinterval(0.0005)
    with _ending_signal() as signalled:
        loader = ShaperLoader(options)
        serving = asyncio.create_task(serve(loader))
        loaded: asyncio.Future[Any] = asyncio.create_task(loader.wait())
        endings: set[asyncio.Future[Any]] = {serving, signalled}
        try:
            await asyncio.wait({*endings, loaded}, return_when=asyncio.FIRST_COMPLETED)
            problem = loaded.exception() if loaded.done() else None
            if problem is not None:
                logger.warning("%s", problem)
            if problem is None or _is_config_problem(problem):
                await asyncio.wait(endings, return_when=asyncio.FIRST_COMPLETED)
            if serving.done() and serving.exception() is None:
                # Only the config tells which lines of the server's log may be printed.
                await asyncio.wait({loaded, signalled}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not serving.done():
                serving.cancel()
                await asyncio.wait({serving})
            loader.close()
        if signalled.done():
            return 128 + signalled.result()
        code = serving.result() if not serving.cancelled() else 1
        if loader.mcp_shaper is None:
            await loaded  # a config with problems is told even where the client has left by now
        return code


async def serve_stdio(make_upstream: Callable[[], Upstream | Router], loader: ShaperLoader) -> int:
    """Relay between standard input and output and a server, which is started before shaping is loaded."""
    upstream = make_upstream()
    if os.isatty(0):
        sys.stderr.write(_IN_A_TERMINAL)
    given, taken = claim_standard_streams()
    reader, writer = await open_reader(given), await open_writer(taken)

    async def send(message: Message) -> None:
        try:
            await writer.send(message.line)
        except OSError:  # the client reads no more: it has left
            reader.close()

    relay = Relay(upstream, loader, send)
    try:
        await upstream.start()
        loader.start()
        await _serve_until_end(reader, relay)
    finally:
        loader.begin_to_write()
        await finish_anyway(relay.close())
        writer.close()
    # Why was logged when it happened; a client's log of exits should show it too.
    return 1 if upstream.failure is not None and not upstream.reached else 0


async def _serve_until_end(reader: PipeReader, relay: Relay) -> None:
    async def read() -> None:
        async for line in reader.lines():
            try:
                await relay.on_client_line(line)
            except Exception as fault:  # noqa: BLE001 (whatever is wrong with one message, the next one is read)
                logger.error("a message of the client was lost: %s", type(fault).__name__)  # noqa: TRY400 (a fault's text may hold a secret)

    reading = asyncio.create_task(read())
    try:
        await reader.ended.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_ANSWER_SECONDS):
                await asyncio.shield(reading)
                while relay.is_busy:  # noqa: ASYNC110 (an answer may come from the server or from a thread)
                    await asyncio.sleep(_LOOK_SECONDS)
    finally:
        reading.cancel()


async def finish_anyway(work: Coroutine[Any, Any, None]) -> None:
    """Wait for work that must not be left half done, even where a signal cancels us meanwhile."""
    task = asyncio.create_task(work)
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(task)


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


class ServerLog:
    """Prints the lines of servers' logs, as soon as a config says what is private in them."""

    def __init__(self) -> None:
        self._mcp_shaper: MCPShaper | None = None
        self._held: deque[tuple[str, Callable[[MCPShaper], None]]] = deque(maxlen=_MOST_HELD)  # "" for lines of ours

    def add(self, name: str, line: bytes) -> None:
        """Print a line of a server's log with its name before it, or hold it until that can be done."""
        self._print(name, partial(print_line, name, line))

    def warn(self, ours: str, quoted: str) -> None:
        """Log a sentence of ours and what it quotes, as soon as what is private can be taken out of that."""
        self._print("", partial(_log_quoting, ours, quoted))

    def print_by(self, mcp_shaper: MCPShaper) -> None:
        """Print what is held and what comes from now on, without what this config says is private."""
        self._mcp_shaper = mcp_shaper
        while self._held:
            self._held.popleft()[1](mcp_shaper)

    def _print(self, name: str, print_by: Callable[[MCPShaper], None]) -> None:
        if self._mcp_shaper is None:
            self._held.append((name, print_by))
        else:
            print_by(self._mcp_shaper)

    def close(self) -> None:
        """Report the lines that are still held; our own say why it ended, as the error does that ends it."""
        for name, lines in Counter(name for name, _ in self._held if name).items():
            logger.warning("lines of the log of %s withheld, because the config was not read: %d", name, lines)


class ShaperLoader:
    """Loads the shaper of a proxy on a thread, and closes it at the end."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.mcp_shaper: MCPShaper | None = None
        self._loaded: asyncio.Future[MCPShaper] = asyncio.get_running_loop().create_future()
        self.server_log = ServerLog()

    def start(self) -> None:
        """Begin to load."""
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._load, args=(loop,), name="shaping-loading", daemon=True).start()

    async def wait(self) -> MCPShaper:
        """Wait until everything is loaded; raise what is wrong with the config."""
        return await asyncio.shield(self._loaded)

    async def get(self) -> MCPShaper:
        """Return what answers are shaped by; raise UnusableConfigError where the config still has problems."""
        if self.mcp_shaper is not None:
            return self.mcp_shaper
        if self._loaded.done() and _is_config_problem(self._loaded.exception()):
            self._loaded = asyncio.get_running_loop().create_future()
            self.start()  # it may have been corrected
        try:
            return await self.wait()
        except Exception as problem:
            if _is_config_problem(problem):
                raise UnusableConfigError(problem) from None
            raise

    def begin_to_write(self) -> None:
        """Write what waits while the server leaves: a client that is tired of waiting for both kills us."""
        if self.mcp_shaper is not None and self.mcp_shaper.ledger is not None:
            self.mcp_shaper.ledger.flush(0)

    def close(self) -> None:
        """Write what is still to be kept, and say what was saved."""
        self.server_log.close()
        if self.mcp_shaper is None:
            return
        if self.mcp_shaper.recorder is not None:
            self.mcp_shaper.recorder.close()
        if self.mcp_shaper.ledger is not None:
            _print_savings(self.mcp_shaper.ledger)
        self.mcp_shaper.shaper.close()

    def _load(self, loop: asyncio.AbstractEventLoop) -> None:
        # Nothing that is imported is garbage, and looking for some takes an eighth of the time.
        gc.disable()
        found: MCPShaper | BaseException
        try:
            found = _make_mcp_shaper(self.options)
        except BaseException as problem:  # noqa: BLE001 (whatever it is, whoever waits is told)
            found = problem
            gc.enable()
        with contextlib.suppress(RuntimeError):  # the client has left already
            loop.call_soon_threadsafe(self._set_loaded, found)
        if not isinstance(found, BaseException):
            _warm_up(found)

    def _set_loaded(self, found: MCPShaper | BaseException) -> None:
        if isinstance(found, BaseException):
            self._loaded.set_exception(found)
            return
        self.mcp_shaper = found
        self.server_log.print_by(found)
        self._loaded.set_result(found)


def print_line(name: str, line: bytes, mcp_shaper: MCPShaper | None = None) -> None:
    """Print a line of a server's log without its secrets, and without what is private where a config is loaded."""
    text = line.decode(errors="replace").rstrip()
    text = without_secrets(text if mcp_shaper is None else mcp_shaper.protection.log_line(name, text))
    with contextlib.suppress(OSError, ValueError):  # a client that closed our log still waits for answers
        sys.stderr.write(f"[{name}] {text}\n")
        sys.stderr.flush()


def _log_quoting(ours: str, quoted: str, mcp_shaper: MCPShaper) -> None:
    """Log a sentence of ours, which may have a word that is also the name of a private field, and what it quotes."""
    log_warning(ours, mcp_shaper.protection.log_line("", quoted))


def _is_config_problem(problem: BaseException | None) -> bool:
    """Return whether a failure to load is a mistake of the user's, which words can tell."""
    # Only a ConfigError lists problems; its class is loaded on a thread, and not where loading failed.
    return isinstance(problem, UnknownProfileError) or hasattr(problem, "problems")


def _warm_up(mcp_shaper: MCPShaper) -> None:
    """Load what the first answer needs, and let garbage be looked for only in what is made from now on."""
    mcp_shaper.warm_up()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()


def _make_mcp_shaper(options: Options) -> MCPShaper:
    """Load shaping by a command line's options."""
    from shaping.mcp.mcp_shaper import open_proxy_shaper  # noqa: PLC0415 (loaded on a thread: costs 350 ms)

    environ = dict(os.environ) | ({"SHAPING_PROFILE": options.profile} if options.profile else {})
    mcp_shaper = open_proxy_shaper(options, environ)
    profiles = mcp_shaper.shaper.loaded_config.profiles
    if options.profile is not None and options.profile not in profiles:
        raise UnknownProfileError(f"there is no profile {options.profile!r}; there are {', '.join(profiles)}")
    return mcp_shaper


def _print_savings(ledger: Ledger) -> None:
    """Close the ledger of a session, and print what the session saved where a tool was called."""
    in_time = ledger.close(_LEDGER_SECONDS)
    totals = ledger.totals()
    if totals.calls or totals.expansions:
        with contextlib.suppress(OSError, ValueError):  # nobody reads our log any more
            late = "" if in_time else "; the ledger was not written in time, and the last calls may be missing"
            sys.stderr.write(f"{totals}{late}\n")
            sys.stderr.flush()
