"""Shaping, loaded on a thread while messages that do not need it already pass."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shaping.ledger import Ledger
    from shaping.mcp.messages import MessageShaper
    from shaping.proxy.shaping import ClientShaping

_LEDGER_SECONDS = 1.5  # how long the end of a session may wait for its last calls; clients kill a server after 2


@dataclass(frozen=True, slots=True)
class Options:
    """What a command line says about shaping."""

    config: str | None = None
    profile: str | None = None
    expand: bool = True
    for_user: bool = True  # what is left out is kept for the user, in any process, and not for one session
    record: str | None = None  # the folder in which calls are recorded


class UnknownProfileError(ValueError):
    """A profile that the config does not have."""


class UnusableConfigError(Exception):
    """A config that cannot be used: nothing goes through before it is right, because it may hold something back."""

    def __init__(self, problem: BaseException) -> None:
        super().__init__(
            f"this was not done: {problem}\nshaping may pass nothing on before its config is right. Correct it and try"
            " again; nothing has to be restarted."
        )


def is_config_problem(problem: BaseException | None) -> bool:
    """Return whether a failure to load is a mistake of the user's, which words can tell."""
    return isinstance(problem, UnknownProfileError) or hasattr(problem, "problems")


class Loading:
    """The shaper of a proxy, once it is loaded."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.messages: MessageShaper | None = None
        self._loaded: asyncio.Future[MessageShaper] = asyncio.get_running_loop().create_future()
        self._held: list[tuple[str, bytes]] = []

    def start(self) -> None:
        """Begin to load."""
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._load, args=(loop,), name="shaping-loading", daemon=True).start()

    async def wait(self) -> MessageShaper:
        """Wait until everything is loaded; raise what is wrong with the config."""
        return await asyncio.shield(self._loaded)

    async def open(self, client: Mapping[str, Any] | None, owner: str | None) -> ClientShaping:
        """Begin the session of a client; raise UnusableConfigError where the config still has problems."""
        messages = await self.get()
        from shaping.proxy.shaping import ClientShaping  # noqa: PLC0415 (loaded by now)

        return ClientShaping(messages, client, owner)

    async def get(self) -> MessageShaper:
        """Return what answers are shaped by; raise UnusableConfigError where the config still has problems."""
        if self.messages is not None:
            return self.messages
        try:
            return await self.wait()
        except Exception as problem:
            if not is_config_problem(problem):
                raise
        try:
            found = await asyncio.get_running_loop().run_in_executor(None, make_messages, self.options)
        except Exception as problem:
            if is_config_problem(problem):
                raise UnusableConfigError(problem) from None
            raise
        return self._use(found)

    def log(self, name: str, line: bytes) -> None:
        """Print a line of a server's log with its name before it, as soon as secrets can be taken out of it."""
        if self.messages is None:
            self._held.append((name, line))
        else:
            print_line(name, line, self._clean)

    def close(self) -> None:
        """Print what is still held, write what is still to be kept, and say what was saved."""
        self._flush()
        if self.messages is None:
            return
        if self.messages.recorder is not None:
            self.messages.recorder.close()
        if self.messages.ledger is not None:
            print_savings(self.messages.ledger)
        self.messages.shaper.close()

    def _load(self, loop: asyncio.AbstractEventLoop) -> None:
        # Nothing that is imported is garbage, and looking for some takes an eighth of the time.
        gc.disable()
        try:
            messages = make_messages(self.options)
        except BaseException as problem:  # noqa: BLE001 (whatever it is, whoever waits is told)
            self._tell(loop, self._loaded.set_exception, problem)
            return
        self._tell(loop, lambda: self._loaded.set_result(self._use(messages)))
        messages.warm_up()
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        gc.enable()

    def _use(self, messages: MessageShaper) -> MessageShaper:
        """Set what answers are shaped by, unless another call was first after the config was corrected."""
        if self.messages is None:
            self.messages = messages
            self._flush()
        return self.messages

    def _flush(self) -> None:
        held, self._held = self._held, []
        for name, line in held:
            print_line(name, line, self._clean)

    def _clean(self, text: str) -> str:
        """Take secrets out of a line of a server's log, and private fields once the config that names them is read."""
        if self.messages is not None:
            from shaping.mcp.redaction import clean_said  # noqa: PLC0415 (loaded by now)

            text = clean_said(self.messages.shaper, text)
        return str(without_secrets(text))

    @staticmethod
    def _tell(loop: asyncio.AbstractEventLoop, *call: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the client has left already
            loop.call_soon_threadsafe(*call)


def make_messages(options: Options) -> MessageShaper:
    """Load shaping by a command line's options."""
    from shaping.proxy.shaping import message_shaper  # noqa: PLC0415 (loaded on a thread: costs 350 ms)

    return message_shaper(options)


def print_savings(ledger: Ledger) -> None:
    """Close the ledger of a session, and print what the session saved where a tool was called."""
    in_time = ledger.close(_LEDGER_SECONDS)
    totals = ledger.totals()
    if totals.calls or totals.expansions:
        with contextlib.suppress(OSError):  # nobody reads our log any more
            late = "" if in_time else "; the ledger was not written in time, and the last calls may be missing"
            sys.stderr.write(f"{totals}{late}\n")
            sys.stderr.flush()


def print_line(name: str, line: bytes, clean: Callable[[str], str] | None = None) -> None:
    """Print a line of a server's log without the secrets in it."""
    text = (clean or without_secrets)(line.decode(errors="replace").rstrip())
    sys.stderr.write(f"[{name}] {text}\n")
    sys.stderr.flush()


def without_secrets(said: Any) -> Any:
    """Take secrets out of what a server says by the rules that hold without a config."""
    from shaping.redaction import scrub  # noqa: PLC0415 (loaded by now, or the process ends)

    return scrub(said)
