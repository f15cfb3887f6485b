"""`@shape`: a function answers with what the config asks for."""

from __future__ import annotations

import functools
import inspect
from contextvars import ContextVar
from time import perf_counter
from typing import TYPE_CHECKING, Any, ParamSpec, overload

from shaping.decorator.annotation import describe_return
from shaping.decorator.frameworks import as_content, inside_mcp, is_control_flow, is_foreign, report_error
from shaping.decorator.tool import DecoratedTool, Form
from shaping.errors import from_exception
from shaping.response import Shaped, ShapedDict, ShapedList
from shaping.settings import context

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
    from contextvars import Token

    from shaping.shaper import Shaper

P = ParamSpec("P")
_PAIR = 2  # a content and its artifact
# Whether a decorated function is being called: of several inside each other, the outermost speaks to the framework.
_RUNNING: ContextVar[bool] = ContextVar("shaping_running", default=False)


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
    form: Form = "envelope",
) -> Callable[[Callable[P, Any]], Callable[P, Any]]: ...
def shape(function: Any = None, /, **options: Any) -> Any:
    """Shape what a function returns: a list comes back as `{"data": [...]}`, the wire form of `dialect: "lean"`.

    A plain function stays plain, an async one async, and a generator yields shaped items.

    Use it bare, `@shape`, or with options. `tool` is the name by which the config knows the function (else its own),
    `profile` the one to use where nothing else names one, `config` or `shaper` the rules to go by. `if_none_match`
    names the argument in which callers send the tag of the answer they hold. A failure of a function that is
    `state_changing` is not reported as retryable where something may have been done. With `form="text"` the function
    returns the text that a model should read, and raises a coded `ToolError` where it fails; with
    `form="content_and_artifact"`, LangChain's name for it, it returns a pair of which the first is that text.
    """
    if function is None:
        return lambda given: _decorate(given, DecoratedTool(given, **options))
    return _decorate(function, DecoratedTool(function))


class Run:
    """One call of a decorated function: the clock, what the tool notes, and how it ends."""

    __slots__ = ("nested", "notes", "running", "started", "tag", "token", "tool")

    def __init__(self, tool: DecoratedTool, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> None:
        self.tool = tool
        self.tag = tool.tag_in(args, kwargs or {}) if tool.if_none_match else None
        self.notes = context.Notes()
        self.nested = _RUNNING.get()
        self.running = _RUNNING.set(True)
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
        if is_foreign(result):
            return result
        if self.tool.form == "content_and_artifact" and isinstance(result, tuple) and len(result) == _PAIR:
            content, artifact = result
            shaped = self._shape(content)
            return self._failed(shaped, None) if shaped.failed else (shaped.text, artifact)
        content = as_content(result, self.tool, nested=self.nested)
        if content is not None:
            return content
        shaped = self._shape(result)
        return self._failed(shaped, None) if shaped.failed else self._answer(shaped, result)

    def failed(self, error: Exception) -> Any:
        """Shape why the function failed; inside an MCP framework's request, in the framework's own way."""
        self.close()
        shaper, tool = self.tool.shaper, self.tool
        if shaper.mode != "on" or is_control_flow(error):
            raise error
        table, debug = shaper.generation.config.errors, tool.plan().debug
        detail = from_exception(error, table=table, debug=debug, state_changing=tool.state_changing)
        return self._failed(self._shape(None, error=detail), error)

    def _failed(self, shaped: Shaped, error: Exception | None) -> Any:
        reported = report_error(shaped, error, self.tool, nested=self.nested)
        return marked(shaped, None) if reported is None else reported

    def _answer(self, shaped: Shaped, result: Any) -> Any:
        return marked(shaped, result) if self.tool.form == "envelope" else shaped.text

    def close(self) -> None:
        """Stop collecting notes."""
        context.stop_notes(self.token)
        try:  # noqa: SIM105 (every call comes by here, and suppress() takes longer than all of it)
            _RUNNING.reset(self.running)
        except ValueError:  # a generator may end in another context than it began in
            pass

    def reopen(self) -> None:
        """Collect again, in the task that awaits the tool."""
        self.running = _RUNNING.set(True)
        self.token = context.start_notes(self.notes)

    def _shape(self, value: Any, **about: Any) -> Shaped:
        tool, about = self.tool, {**about, **self.notes.about()}
        if self.tag is not None:
            about["if_none_match"] = self.tag
        pinned = tool.pinned if tool.pinned is not None and inside_mcp(tool) else None
        elapsed = round((perf_counter() - self.started) * 1000, 3)
        about |= {"duration_ms": elapsed, "as_json": tool.form == "envelope"}
        return tool.shaper.shape(value, tool=tool.name, default_profile=tool.profile, request=pinned, **about)


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


def _decorate(function: Any, tool: DecoratedTool) -> Any:
    if isinstance(function, (classmethod, staticmethod)):
        return type(function)(_decorate(function.__func__, tool))
    if hasattr(function, "__shaping__"):
        return function
    wrapper: Any = functools.wraps(function)(_wrapper(function, tool))
    wrapper.__shaping__ = tool
    return describe_return(wrapper, function, tool)


def _wrapper(function: Any, tool: DecoratedTool) -> Callable[..., Any]:
    if inspect.isasyncgenfunction(function):
        return _async_generator(function, tool)
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
        return _coroutine(function, tool)
    if inspect.isgeneratorfunction(function):
        return _generator(function, tool)
    return _plain(function, tool)


def _plain(function: Callable[..., Any], tool: DecoratedTool) -> Callable[..., Any]:
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


def _coroutine(function: Callable[..., Awaitable[Any]], tool: DecoratedTool) -> Callable[..., Awaitable[Any]]:
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


def _generator(function: Callable[..., Any], tool: DecoratedTool) -> Callable[..., Generator[Any, Any, Any]]:
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


def _async_generator(function: Callable[..., Any], tool: DecoratedTool) -> Callable[..., AsyncGenerator[Any, Any]]:
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
