"""`@shape`: a function answers with what the config asks for."""

from __future__ import annotations

import functools
import inspect
from time import perf_counter
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from shaping import context
from shaping.errors import from_exception
from shaping.surfaces.annotation import describe_return
from shaping.surfaces.frameworks import hand_over
from shaping.types import Shaped, ShapedDict, ShapedList, Warned

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
    from contextvars import Token

    from shaping.settings import Overrides, Plan
    from shaping.shaper import Shaper

P = ParamSpec("P")
R = TypeVar("R")


@overload
def shape(function: Callable[P, Any], /) -> Callable[P, Any]: ...
@overload
def shape(
    *,
    tool: str | None = None,
    profile: str | None = None,
    config: Any = None,
    shaper: Shaper | None = None,
    if_none_match: str | None = None,
    state_changing: bool = False,
) -> Callable[[Callable[P, Any]], Callable[P, Any]]: ...
def shape(function: Any = None, /, **options: Any) -> Any:
    """Shape what a function returns.

    `if_none_match` names the argument in which callers send the tag they hold. A failure of a function that is
    `state_changing` is not told to be retryable where something may have been done.
    """
    if function is None:
        return lambda given: _decorate(given, Tool(given, **options))
    return _decorate(function, Tool(function))


class Tool:
    """A decorated function's name, its shaper and what its signature shows."""

    def __init__(
        self,
        function: Any,
        *,
        tool: str | None = None,
        profile: str | None = None,
        config: Any = None,
        shaper: Shaper | None = None,
        if_none_match: str | None = None,
        state_changing: bool = False,
    ) -> None:
        inner = getattr(function, "__func__", function)
        if not callable(inner):
            raise TypeError(f"@shape stands above a function, not {type(inner).__name__}; a name is tool=...")
        if if_none_match is not None and if_none_match not in inspect.signature(inner).parameters:
            raise TypeError(f"if_none_match names an argument; {_name_of(inner)} has no {if_none_match!r}")
        self.function = inner
        self.name: str = tool or _name_of(inner)
        self.profile = profile
        self.if_none_match = if_none_match
        self.state_changing = state_changing
        self.yields = inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner)
        self.pinned: Overrides | None = None  # the dialect that a framework was told when it registered the tool
        self.under_mcp_sdk = False  # set when the SDK reads the signature to register the tool
        self._config = config
        self._shaper = shaper

    @property
    def shaper(self) -> Shaper:
        """The shaper, made at the first call so that decorating touches no file."""
        if self._shaper is None:
            from shaping.shaper import Shaper  # noqa: PLC0415 (the decorator is part of what Shaper's module exports)

            self._shaper = Shaper(self._config)
        return self._shaper

    def plan(self) -> Plan:
        """Give the choices by which a call made now is shaped."""
        return self.shaper.plan(self.name, default_profile=self.profile, request=self.pinned)

    def pin(self) -> None:
        """Keep to the dialect of now: a framework advertises it once, and would refuse answers in another."""
        if self.pinned is None:
            from shaping.settings import Overrides  # noqa: PLC0415 (settings are loaded with the first plan)

            self.pinned = Overrides(dialect=self.plan().dialect)

    def tag_in(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """Find the tag the caller holds among the arguments."""
        if self.if_none_match is None:
            return None
        try:
            bound = inspect.signature(self.function).bind_partial(*args, **kwargs)
        except TypeError:  # a wrong call, which the function itself refuses
            return None
        tag = bound.arguments.get(self.if_none_match)
        return tag if isinstance(tag, str) else None


def _name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


class Run:
    """One call of a decorated function: the clock, what the tool notes, and how it ends."""

    __slots__ = ("notes", "started", "tag", "token", "tool")

    def __init__(self, tool: Tool, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> None:
        self.tool = tool
        self.tag = tool.tag_in(args, kwargs or {}) if tool.if_none_match else None
        self.notes = context.Notes()
        self.token: Token[context.Notes | None] = context.start_notes(self.notes)
        self.started = perf_counter()

    def done(self, result: Any) -> Any:
        """Shape what the function returned."""
        if hasattr(type(result), "__next__") and self.tool.shaper.mode == "on":
            # Read here, so that what a generator raises on the way is this tool's error and not a fault of shaping.
            try:
                result = list(result)
            except Exception as error:  # noqa: BLE001 (whatever a tool raises becomes a coded error)
                return self.failed(error)
        self.close()
        shaped = self._shape(result)
        return self._told(shaped, None) if shaped.failed else marked(shaped, result)

    def failed(self, error: Exception) -> Any:
        """Shape why the function failed; inside an MCP framework's request, in the framework's own way."""
        self.close()
        shaper, tool = self.tool.shaper, self.tool
        if shaper.mode != "on":
            raise error
        table, debug = shaper.generation.config.errors, tool.plan().debug
        detail = from_exception(error, table=table, debug=debug, state_changing=tool.state_changing)
        return self._told(self._shape(None, error=detail), error)

    def _told(self, shaped: Shaped, error: Exception | None) -> Any:
        handed = hand_over(shaped, error, self.tool)
        return marked(shaped, None) if handed is None else handed

    def close(self) -> None:
        """Stop collecting notes."""
        context.stop_notes(self.token)

    def reopen(self) -> None:
        """Collect again, in the task that awaits the tool."""
        self.token = context.start_notes(self.notes)

    def _shape(self, value: Any, **about: Any) -> Shaped:
        notes, tool = self.notes, self.tool
        if notes.request_id is not None:
            about["request_id"] = notes.request_id
        if notes.upgrade_hints:
            about["upgrade_hints"] = tuple(notes.upgrade_hints)
        if notes.warnings:
            about["warnings"] = tuple(Warned("TOOL", text) for text in notes.warnings)
        if self.tag is not None:
            about["if_none_match"] = self.tag
        elapsed = round((perf_counter() - self.started) * 1000, 3)
        return tool.shaper.shape(
            value, tool=tool.name, default_profile=tool.profile, request=tool.pinned, duration_ms=elapsed, **about
        )


def marked(shaped: Shaped, raw: Any) -> Any:
    """Mark a wire value as shaped, so that shaping it again changes nothing."""
    value = shaped.value
    if value is raw:
        return value
    if type(value) is dict:
        answer: Any = ShapedDict(value)
    elif type(value) is list:
        answer = ShapedList(value)
    else:
        return value
    answer.shaped = shaped
    return answer


def _decorate(function: Any, tool: Tool) -> Any:
    if isinstance(function, (classmethod, staticmethod)):
        return type(function)(_decorate(function.__func__, tool))
    if hasattr(function, "__shaping__"):
        return function
    wrapper: Any = functools.wraps(function)(_wrapper(function, tool))
    wrapper.__shaping__ = tool
    return describe_return(wrapper, function, tool)


def _wrapper(function: Any, tool: Tool) -> Callable[..., Any]:
    if inspect.isasyncgenfunction(function):
        return _async_generator(function, tool)
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
        return _coroutine(function, tool)
    if inspect.isgeneratorfunction(function):
        return _generator(function, tool)
    return _plain(function, tool)


def _plain(function: Callable[..., Any], tool: Tool) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        run = Run(tool, args, kwargs)
        try:
            result = function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 (whatever a tool raises becomes a coded error)
            return run.failed(error)
        except BaseException:
            run.close()
            raise
        if hasattr(type(result), "__await__"):
            run.close()
            return _awaited(result, run)
        return run.done(result)

    return call


def _coroutine(function: Callable[..., Awaitable[Any]], tool: Tool) -> Callable[..., Awaitable[Any]]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        run = Run(tool, args, kwargs)
        try:
            result = await function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 (whatever a tool raises becomes a coded error)
            return run.failed(error)
        except BaseException:
            run.close()
            raise
        return run.done(result)

    return call


async def _awaited(result: Awaitable[Any], run: Run) -> Any:
    run.reopen()
    try:
        value = await result
    except Exception as error:  # noqa: BLE001 (whatever a tool raises becomes a coded error)
        return run.failed(error)
    except BaseException:
        run.close()
        raise
    return run.done(value)


def _generator(function: Callable[..., Any], tool: Tool) -> Callable[..., Generator[Any, Any, Any]]:
    def call(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        items: Any = function(*args, **kwargs)
        sent = None
        try:
            while True:
                run = Run(tool, args, kwargs)
                try:
                    item = next(items) if sent is None else items.send(sent)
                except StopIteration as end:
                    run.close()
                    return end.value
                except Exception as error:  # noqa: BLE001 (whatever a tool raises becomes a coded error)
                    yield run.failed(error)
                    return None
                except BaseException:
                    run.close()
                    raise
                sent = yield run.done(item)
        finally:
            items.close()

    return call


def _async_generator(function: Callable[..., Any], tool: Tool) -> Callable[..., AsyncGenerator[Any, Any]]:
    async def call(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        items: Any = function(*args, **kwargs)
        sent = None
        try:
            while True:
                run = Run(tool, args, kwargs)
                try:
                    item = await (anext(items) if sent is None else items.asend(sent))
                except StopAsyncIteration:
                    run.close()
                    return
                except Exception as error:  # noqa: BLE001 (whatever a tool raises becomes a coded error)
                    yield run.failed(error)
                    return
                except BaseException:
                    run.close()
                    raise
                sent = yield run.done(item)
        finally:
            await items.aclose()

    return call
