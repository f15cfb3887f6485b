"""Call a tool until there is a result: retry, refresh credentials, follow redirects, fetch pages."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import orjson

from shaping.agent.interpret import (
    AcquireCredentials,
    Decision,
    FollowRedirect,
    Form,
    GiveUp,
    Malformed,
    NextPage,
    RefreshCredentials,
    Retry,
    UseCache,
    UseData,
    interpret,
)
from shaping.errors import ToolError, registry
from shaping.settings.files import replace_file

if TYPE_CHECKING:
    from os import PathLike

    from shaping.errors.codes import ExitTable


T = TypeVar("T")
Step: TypeAlias = Callable[[], Any]


def run_sync(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in which nothing waits, so that it ends with the first send."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return cast("T", end.value)
    raise RuntimeError("a call that is not async was suspended")


def is_async(call: Callable[..., Any]) -> bool:
    """Whether a callable is async, as far as its type shows."""
    call = call.func if isinstance(call, partial) else call
    return inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(type(call).__call__)


def merge(pages: Sequence[Any]) -> Any:
    """Return one value for several pages: lists in a row, objects by their lists, else the list of pages."""
    if len(pages) == 1:
        return pages[0]
    if all(isinstance(page, list) for page in pages):
        return [item for page in pages for item in page]
    if all(isinstance(page, dict) and _lists(page) for page in pages):
        return _merge_objects(pages)
    return list(pages)


def _merge_objects(pages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Join the lists that pages have in common; of everything else the last page knows best."""
    whole = {key: value for page in pages for key, value in page.items()}
    for name in {name for page in pages for name in _lists(page)}:
        whole[name] = [item for page in pages for item in page.get(name) or []]
    return whole


def _lists(page: dict[str, Any]) -> list[str]:
    return [name for name, value in page.items() if isinstance(value, list)]


MAX_REDIRECTS = 10


def read_outcome(result: Any) -> tuple[Any, int | None]:
    """Return the wire form and the exit code of what a callable returned; only a finished process has the latter."""
    if hasattr(result, "returncode") and hasattr(result, "stdout"):
        return result.stdout, result.returncode
    return result, None


@dataclass(frozen=True, slots=True)
class Caller:
    """Calls a tool until there is a result: retries, pages, refreshes and follows redirects as the responses ask for.

    `call` returns responses in any dialect; the Caller is called with the same arguments, is as sync or async as
    `call`, and returns the last decision (`take` gives its data or raises its error). Each callback allows one kind of
    action: without `refresh`, `cache` or `redirect` the decision that asks for it is returned undone.
    """

    call: Callable[..., Any]
    refresh: Callable[[], Any] | None = None  # gets a new token where the old one expired
    cache: Callable[..., Any] | None = None  # returns the last data for the same arguments
    redirect: Callable[[str], Any] | None = None  # runs a command as it is given
    page: Callable[..., Any] | None = None  # called with the cursor and the arguments; else `call` with `cursor=`
    memory: Memory | None = None
    command: Callable[..., str | None] | None = None  # names a call for the memory; else its first argument, where text
    sleep: Callable[[float], Any] | None = None
    read: Callable[[Any], tuple[Any, int | None]] = read_outcome
    dialect: Form | None = None
    state_changing: bool = False
    exit_codes: ExitTable = "contract"  # what the numbers that a process exits with mean
    max_wait: float = 60.0
    max_pages: int = 100

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call until there is a decision that needs no further call: a Decision, or an awaitable of one."""
        attempt = _Attempt(self, args, kwargs, awaits=is_async(self.call))
        return attempt.run() if attempt.awaits else run_sync(attempt.run())


@dataclass(slots=True)
class _Attempt:
    """One use of a caller: what has been tried so far."""

    caller: Caller
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    awaits: bool
    retries: dict[str, int] = field(default_factory=dict)
    pages: list[Any] = field(default_factory=list)
    cursors: set[str] = field(default_factory=set)
    commands: list[str] = field(default_factory=list)

    async def run(self) -> Decision:
        ask = self._first()
        while True:
            decision = await self._ask(ask)
            next_call = await self._act(decision, ask)
            if not callable(next_call):
                return next_call
            ask = next_call

    async def _do(self, step: Step) -> Any:
        outcome = step()
        return await outcome if self.awaits and inspect.isawaitable(outcome) else outcome

    def _first(self) -> Step:
        """Make the call, or in its place the command that it is known to have become."""
        caller, name = self.caller, self._name()
        if name is None:
            return partial(caller.call, *self.args, **self.kwargs)
        self.commands.append(name)
        moved = caller.memory.recall(name) if caller.memory else name
        # The replacement is run as text: a call with arguments that are not in its name is not replaced.
        if moved == name or caller.redirect is None or self._values_outside(name):
            return partial(caller.call, *self.args, **self.kwargs)
        self.commands.append(moved)
        return partial(caller.redirect, moved)

    def _name(self) -> str | None:
        if self.caller.command is not None:
            return self.caller.command(*self.args, **self.kwargs)
        return self.args[0] if self.args and isinstance(self.args[0], str) else None

    async def _ask(self, ask: Step) -> Decision:
        try:
            result = await self._do(ask)
        except ToolError as error:
            result = error
        wire, exit_code = self.caller.read(result)
        return interpret(
            wire,
            exit_code,
            self.retries,
            dialect=self.caller.dialect,
            state_changing=self.caller.state_changing,
            exit_codes=self.caller.exit_codes,
        )

    async def _act(self, decision: Decision, ask: Step) -> Decision | Step:
        """Carry out a decision; return the next call to make, or the final decision."""
        caller = self.caller
        match decision:
            case Retry(after=after, error=error):
                if after > caller.max_wait:
                    return GiveUp(error, warnings=decision.warnings)
                self._count(error.code)
                await self._do(partial(caller.sleep or (asyncio.sleep if self.awaits else time.sleep), after))
                return ask
            case RefreshCredentials(error=error) if caller.refresh is not None:
                # New credentials are a change of state, which allows the other codes their retries again.
                self.retries.clear()
                self._count(error.code)
                await self._do(caller.refresh)
                return ask
            case FollowRedirect() if caller.redirect is not None:
                return self._follow(decision, caller.redirect)
            case UseCache() if caller.cache is not None:
                data = await self._do(partial(caller.cache, *self.args, **self.kwargs))
                return UseData(data, warnings=decision.warnings)
            case NextPage():
                return self._next_page(decision)
            case UseData(data=data):
                return replace(decision, data=merge([*self.pages, data]))
            case _:
                return decision

    def _count(self, code: str) -> None:
        code = registry.canonical(code)
        self.retries[code] = self.retries.get(code, 0) + 1

    def _follow(self, decision: FollowRedirect, redirect: Callable[[str], Any]) -> Decision | Step:
        if decision.command in self.commands or len(self.commands) > MAX_REDIRECTS:
            return Malformed(f"redirected in a loop: {' -> '.join([*self.commands, decision.command])}")
        if decision.permanent and self.caller.memory is not None and self.commands:
            self._remember(self.caller.memory, decision.command)
        self.commands.append(decision.command)
        self.retries.clear()
        return partial(redirect, decision.command)

    def _remember(self, memory: Memory, command: str) -> None:
        """Record a permanent redirect, unless the new command has arguments that this call's name does not have."""
        old = self.commands[-1]
        if not self._values_outside(old).intersection(command.split()):
            memory.remember(old, command)

    def _values_outside(self, name: str) -> set[str]:
        """Return, as text, the call's arguments that are not in its name."""
        values = (str(value) for value in (*self.args, *self.kwargs.values()))
        return {value for value in values if value not in name}

    def _next_page(self, decision: NextPage) -> Decision | Step:
        self.pages.append(decision.data)
        if decision.cursor in self.cursors or len(self.pages) >= self.caller.max_pages:
            whole, warnings = merge(self.pages), decision.warnings
            return UseData(whole, complete=False, cursor=decision.cursor, warnings=warnings)
        self.cursors.add(decision.cursor)
        self.retries.clear()
        if self.caller.page is not None:
            return partial(self.caller.page, decision.cursor, *self.args, **self.kwargs)
        return partial(self.caller.call, *self.args, **{**self.kwargs, "cursor": decision.cursor})


def take(decision: Decision) -> Any:
    """Return the data of a `UseData` decision; raise `ToolError` for any other."""
    match decision:
        case UseData(data=data):
            return data
        case Malformed(reason=reason):
            raise ToolError("BAD_RESPONSE", reason)
        case Retry() | RefreshCredentials() | AcquireCredentials() | FollowRedirect() | GiveUp():
            raise ToolError.of(decision.error)
        case _:
            raise ToolError("PRECONDITION", f"the decision is {decision.action}; there is no whole data yet")


MAX_HOPS = 32


class Memory:
    """A JSON file of commands that have moved: the old form and the new one, without arguments.

    Several processes may share it: a write replaces the file whole, so a reader never sees half of one.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path)

    def recall(self, command: str) -> str:
        """Return the command to run in place of this one, with its arguments: itself, unless its form has moved."""
        moved = self.known()
        seen, current = {command}, command
        while (replacement := _moved(current, moved)) is not None:
            if replacement in seen or len(seen) > MAX_HOPS:
                return command
            seen.add(replacement)
            current = replacement
        return current

    def remember(self, old: str, new: str) -> bool:
        """Record the form of a command that has moved; False where that leads back, or where arguments are in the way.

        The words that both commands end with are their arguments. Options that only the new one has are the arguments
        of the call that was redirected, and another call must not get them.
        """
        old, new = _forms(old, new)
        if old == new or self.recall(new) == old or _options(new) - _options(old):
            return False
        moved = orjson.dumps({**self.known(), old: new}, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
        with suppress(OSError):  # a memory that cannot be written is a shorter one, not a failed call
            self._path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self._path, moved)
        return True

    def known(self) -> dict[str, str]:
        """Return every move that is remembered; what is missing or damaged counts as not remembered."""
        try:
            stored = orjson.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return {}
        moved = stored.items() if isinstance(stored, dict) else ()
        return {old: new for old, new in moved if isinstance(new, str) and new}


def _forms(old: str, new: str) -> tuple[str, str]:
    """Remove the words that both commands end with, but not those without which the new form begins with the old."""
    before, after = old.split(), new.split()
    while len(before) > 1 and len(after) > 1 and before[-1] == after[-1]:
        if after[: len(before) - 1] == before[:-1]:  # `app show` moved to `app files show`; `app` did not move
            break
        before.pop()
        after.pop()
    return " ".join(before), " ".join(after)


def _options(command: str) -> set[str]:
    return {word for word in command.split() if word.startswith("-")}


def _moved(command: str, moved: dict[str, str]) -> str | None:
    """Replace the longest known form that a command begins with, and keep what follows it."""
    forms = [old for old in moved if command == old or command.startswith(f"{old} ")]
    if not forms:
        return None
    form = max(forms, key=len)
    return moved[form] + command[len(form) :]
