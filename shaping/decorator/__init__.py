"""`@shape`: a function answers with what the config asks for."""

from __future__ import annotations

import functools
import inspect
import logging
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Generator, Sequence
from contextlib import aclosing, closing
from typing import Any, Literal, ParamSpec, TypedDict, Unpack, get_args, overload

import orjson

from shaping.cleaning import Pieces, protect_or_withhold
from shaping.decorator.frameworks import (
    MOST_BLOCKS,
    Framework,
    calling_framework,
    framework_content,
    report_error,
    with_shaped_signature,
)
from shaping.errors import ErrorDetail, from_exception, registry
from shaping.errors.exceptions import says_less, text_of
from shaping.paths.filter import PLAIN
from shaping.present import Presented
from shaping.redaction import without_secrets
from shaping.response import CallContext, CallNotes, Shaped, ShapedDict, ShapedList, Warned, cached_property
from shaping.settings.plan import Overrides, Plan
from shaping.shaper import Shaper
from shaping.values import json_digest
from shaping.values.opening import is_data

P = ParamSpec("P")
Form = Literal["envelope", "text", "content_and_artifact"]
_PAIR = 2  # a content and its artifact
# Packages whose exceptions steer an agent (interrupts, retries, approvals) and whose result objects only they can read.
_AGENTS = frozenset({
    "ag2", "agent_framework", "agents", "agno", "autogen", "autogen_agentchat", "autogen_core", "claude_agent_sdk",
    "crewai", "langchain", "langchain_core", "langgraph", "llama_index", "pydantic_ai", "smolagents",
    "strands",
})  # fmt: skip
_OBJECTS = ("PIL.", "google.genai.")  # pictures and parts of messages, which no agent framework defines itself

logger = logging.getLogger("shaping")


class ShapeOptions(TypedDict, total=False):
    """The options of `@shape`."""

    tool: str | None
    profile: str | None
    config: Any
    shaper: Shaper | None
    if_none_match: str | None
    state_changing: bool
    form: Form
    codes: Sequence[str]


@overload
def shape(function: Callable[P, Any], /) -> Callable[P, Any]: ...
@overload
def shape(**options: Unpack[ShapeOptions]) -> Callable[[Callable[P, Any]], Callable[P, Any]]: ...
def shape(function: Any = None, /, **options: Any) -> Any:
    """Shape what a function returns: a list comes back as `{"data": [...]}`, the wire form of `dialect: "lean"`.

    A plain function stays plain, an async one async, and a generator yields shaped items. A failure is an envelope too,
    or is raised, with its code, to a framework that makes the call and knows failures by that.

    Use it bare, `@shape`, or with options. `tool` is the name by which the config knows the function (else its own),
    `profile` the one to use where nothing else names one, `config` or `shaper` the rules to go by. `if_none_match`
    names the argument in which callers send the tag of the answer they hold. A failure of a function that is
    `state_changing` is not reported as retryable where something may have been done. With `form="text"` the function
    returns the text that a model should read, and raises a coded `ToolError` where it fails; with
    `form="content_and_artifact"`, LangChain's name for it, it returns a pair of which the first is that text. `codes`
    are the error codes that the function may fail with: its docstring, which frameworks show to models, lists them.
    """
    known = ShapeOptions.__annotations__
    if unknown := sorted(options.keys() - known):
        listed, given = ", ".join(sorted(known)), ", ".join(unknown)
        raise TypeError(f"shape() knows {listed}; not {given}. Budgets and fields are in the config or a `using` block")
    if function is None:
        return lambda given: _decorate(given, DecoratedTool(given, **options), options)
    return _decorate(function, DecoratedTool(function))


class DecoratedTool:
    """A decorated function's name, its shaper and what its signature shows."""

    def __init__(self, function: Any, **options: Unpack[ShapeOptions]) -> None:
        inner = getattr(function, "__func__", function)
        if not callable(inner):
            raise TypeError(f"@shape stands above a function, not {type(inner).__name__}; a name is tool=...")
        self.function = inner
        self.name: str = options.get("tool") or _name_of(inner)
        self.profile = options.get("profile")
        self.if_none_match = options.get("if_none_match")
        if self.if_none_match is not None and self.if_none_match not in inspect.signature(inner).parameters:
            raise TypeError(f"if_none_match names an argument; {_name_of(inner)} has no {self.if_none_match!r}")
        self.state_changing = options.get("state_changing", False)
        self.form: Form = options.get("form", "envelope")
        if self.form not in get_args(Form):
            raise TypeError(
                f"form is {self.form!r}; expected 'envelope' (plain data), 'text' (what a model reads) or "
                "'content_and_artifact' (that text and, as it is, what a program gets besides)"
            )
        self.codes = tuple(options.get("codes", ()))
        self.yields = inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner)
        self.pinned: Overrides | None = None  # the dialect that a framework advertises since it registered the tool
        self.under_mcp_sdk = False  # whether the SDK has registered the tool
        self.advertises = False  # whether a framework has derived a schema from the annotation
        self._config = options.get("config")
        self._shaper = options.get("shaper")

    @property
    def shaper(self) -> Shaper:
        """The shaper, made at the first call so that decorating touches no file."""
        if self._shaper is None:
            self._shaper = Shaper(self._config)
        return self._shaper

    @property
    def declared(self) -> inspect.Signature:
        """The function's own signature, evaluated where all names in it are known by now."""
        try:
            return inspect.signature(self.function, eval_str=True)
        except NameError:  # a name that is defined further down in the module, or only for type checkers
            return inspect.signature(self.function)

    def plan_to_advertise(self) -> Plan:
        """Return the choices of now, with the dialect that a framework has advertised before."""
        return self.shaper.plan(self.name, default_profile=self.profile, overrides=self.pinned)

    def registered(self, generator: Any) -> None:
        """Note that a framework derives a schema of the answers, with a schema generator of its own.

        It advertises the dialect of now once, and would refuse answers in another.
        """
        self.advertises = True
        self.under_mcp_sdk |= type(generator).__module__.startswith("mcp.server.mcpserver")
        if self.pinned is None:
            self.pinned = Overrides(dialect=self.plan_to_advertise().dialect)

    def etag_in(self, argument: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """Return the etag that the caller sends as an argument."""
        try:
            bound = inspect.signature(self.function).bind_partial(*args, **kwargs)
        except TypeError:  # a wrong call, which the function itself refuses
            return None
        etag = bound.arguments.get(argument)
        return etag if isinstance(etag, str) else None


def _name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


class DecoratedCall(CallNotes):
    """One call of a decorated function: the tool's notes, its result or error, and the shaped answer."""

    def __init__(
        self,
        tool: DecoratedTool,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        pieces: Pieces | None = None,
    ) -> None:
        super().__init__()
        self.tool = tool
        self.pieces = pieces  # what a generator has yielded before
        self.args = args
        self.etag = None if tool.if_none_match is None else tool.etag_in(tool.if_none_match, args, kwargs)
        self.nested = isinstance(self.around, DecoratedCall)  # only the outermost answers the framework
        self.result: Any = None
        self.iterates = False  # whether the answer is an iterator, as the result of a tool that is left alone was
        self.error: Exception | None = None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Stop collecting notes, and keep the exception of the tool for `answer`, which reports it."""
        super().__exit__(kind, error, trace)
        self.error = error if isinstance(error, Exception) else None
        return self.error is not None

    def set_result(self, result: Any) -> None:
        """Set what the function returned; an iterator is read here, so that its exception is this tool's error."""
        self.result = result
        if hasattr(type(result), "__next__") and self.tool.shaper.mode == "on":
            self.iterates = self.tool.form == "envelope" and not self.plan.enabled
            self.result = list(result)

    def answer(self) -> Any:
        """Shape what the function returned, or why it failed."""
        result, tool = self.result, self.tool
        if self.error is not None:
            return self._failure(self.error)
        if (kind := _foreign_kind(result)) is not None:
            return _passed(result, kind)
        if tool.form == "content_and_artifact" and isinstance(result, tuple) and len(result) == _PAIR:
            content, artifact = result
            shaped = self.shape(content)
            return self._failed(shaped, None) if shaped.failed else (shaped.text, artifact)
        by_framework = self.framework is not None and not self.nested
        if by_framework and (content := framework_content(result, self)) is not None:
            return content
        if tool.form == "envelope" and _is_unknown(result, self) and self.framework not in {"fastmcp", "sdk"}:
            return _passed(result, type(result))
        shaped = self.shape(result)
        if shaped.failed:
            return self._failed(shaped, None)
        if self.iterates and type(shaped.value) is list:
            return iter(shaped.value)
        return marked(shaped, result) if tool.form == "envelope" else shaped.text

    def _failure(self, error: Exception) -> Any:
        """Shape why the function failed; inside an MCP framework's request, in the framework's own way."""
        shaper, tool = self.tool.shaper, self.tool
        if shaper.mode != "on" or _is_control_flow(error):
            raise error
        plan, table = self.plan, shaper.loaded_config.config.errors
        if not plan.enabled and protect_or_withhold(str(error), plan) == str(error):
            raise error
        detail = from_exception(error, table=table, debug=plan.debug, state_changing=tool.state_changing)
        return self._failed(self.shape(None, error=self._with_all_words(detail, error)), error)

    def _with_all_words(self, detail: ErrorDetail, error: Exception) -> ErrorDetail:
        """Return an error with all words of an exception where it has a part of them: they have an answer's budget."""
        if not says_less(detail, text_of(error)):
            return detail
        plan = self.plan
        # Half of it, because an error has a share of the budget and its words are written as JSON there.
        most = None if plan.max_tokens is None else plan.max_tokens // 2
        words = self.tool.shaper.shape_by(plan.for_error().replace(max_tokens=most), str(error))
        return detail.model_copy(update={"message": without_secrets(words.text)})

    def _failed(self, shaped: Shaped, error: Exception | None) -> Any:
        reported = report_error(shaped, error, self)
        return marked(shaped, None) if reported is None else reported

    @cached_property
    def framework(self) -> Framework | None:
        """What kind of framework is making the call; None for code of the user's own."""
        return calling_framework(self.tool, self.args)

    @cached_property
    def chosen(self) -> tuple[Plan, tuple[Warned, ...]]:
        """The choices for the call, and what is wrong with them; an MCP framework gets the dialect it advertised."""
        tool, pinned = self.tool, self.tool.pinned
        overrides = pinned if pinned is not None and self.framework in {"fastmcp", "sdk"} else None
        return tool.shaper.choose(tool.name, default_profile=tool.profile, overrides=overrides)

    @property
    def plan(self) -> Plan:
        """The choices by which the call is shaped."""
        return self.chosen[0]

    def about(self) -> dict[str, Any]:
        """Return what was noted, how long it took, and the caller's etag."""
        about = super().about()
        if self.etag is not None:
            about["if_none_match"] = self.etag
        return about

    def shape(self, value: Any, error: ErrorDetail | None = None, *, as_json: bool = True) -> Shaped:
        """Shape a value by the call's choices."""
        shaper = self.tool.shaper
        if self.pieces is not None and shaper.mode == "on":
            value = self.pieces.clean(value, self.plan)
        plan, wrong = self.chosen
        call = CallContext(error=error, as_json=as_json and self.tool.form == "envelope", **self.about())
        return shaper.shape_by(plan, value, call._replace(warnings=(*call.warnings, *wrong)) if wrong else call)


def _is_control_flow(error: Exception) -> bool:
    """Return whether an exception is an agent framework's own: it must reach that framework as it is."""
    return any(_is_of_agents(kind) for kind in type(error).__mro__)


def _foreign_kind(result: Any) -> type | None:
    """Return the type of an object in a result that only an agent framework can read, or of a picture."""
    kinds = {type(result)}
    if isinstance(result, (list, tuple)) and len(result) <= MOST_BLOCKS:
        kinds.update(map(type, result))
    for kind in kinds - PLAIN:
        if _is_of_agents(kind) or kind.__module__.startswith(_OBJECTS):
            return kind
    return type(result) if "strands" in sys.modules and _is_of_strands(result) else None


def _is_unknown(result: Any, decorated_call: DecoratedCall) -> bool:
    """Return whether a result is an object that is no data: whoever called the tool may know it.

    Where fields are private it is opened all the same, because nobody can tell what it holds.
    """
    if type(result) in PLAIN or isinstance(result, Shaped) or is_data(result):
        return False
    return decorated_call.tool.shaper.mode == "on" and not decorated_call.plan.closed


def _passed(result: Any, kind: type) -> Any:
    """Return a result as it is, and log because of which type."""
    logger.debug("a result with a %s of %s passes unshaped", kind.__name__, kind.__module__)
    return result


def _is_of_strands(result: Any) -> bool:
    """Return whether a result is the dict that a Strands tool returns."""
    return (
        type(result) is dict
        and result.keys() <= {"status", "content", "toolUseId"}
        and result.get("status") in {"success", "error"}
        and isinstance(result.get("content"), list)
    )


def _is_of_agents(kind: type) -> bool:
    module = kind.__module__
    return module.partition(".")[0] in _AGENTS or module.startswith("google.adk")


def marked(shaped: Shaped, raw: Any) -> Any:
    """Mark a wire value as shaped, so that shaping it again changes nothing while it is as it was."""
    value = shaped.value
    if value is raw:
        return value
    if type(value) is dict:
        answer: Any = ShapedDict(value)
    elif type(value) is list:
        answer = ShapedList(value)
    else:
        return value
    # What was shaped is plain, and need not be looked through for that.
    digest = hash(orjson.dumps(value)) if type(shaped) is Presented else json_digest(value)
    answer.shaped, answer.digest = shaped, digest
    return answer


def _decorate(function: Any, tool: DecoratedTool, options: Collection[str] = ()) -> Any:
    if isinstance(function, (classmethod, staticmethod)):
        return type(function)(_decorate(function.__func__, tool, options))
    if hasattr(function, "__shaping__"):
        if options:
            raise TypeError(f"{_name_of(function)} is under @shape already; give {', '.join(sorted(options))} there")
        return function
    wrapper: Any = functools.wraps(function)(_wrapper(function, tool))
    wrapper.__shaping__ = tool
    if tool.codes:
        wrapper.__doc__ = registry.describe(inspect.getdoc(function) or "", tool.codes)
    return with_shaped_signature(wrapper, function, tool)


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
        with DecoratedCall(tool, args, kwargs) as decorated_call:
            decorated_call.set_result(function(*args, **kwargs))
        return (
            _awaited(decorated_call) if hasattr(type(decorated_call.result), "__await__") else decorated_call.answer()
        )

    return call


async def _awaited(decorated_call: DecoratedCall) -> Any:
    """Answer for a plain function that returned something to await."""
    with decorated_call:
        decorated_call.set_result(await decorated_call.result)
    return decorated_call.answer()


def _coroutine(function: Callable[..., Awaitable[Any]], tool: DecoratedTool) -> Callable[..., Awaitable[Any]]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        with DecoratedCall(tool, args, kwargs) as decorated_call:
            decorated_call.set_result(await function(*args, **kwargs))
        return decorated_call.answer()

    return call


def _generator(function: Callable[..., Any], tool: DecoratedTool) -> Callable[..., Generator[Any, Any, Any]]:
    def call(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        items: Any = function(*args, **kwargs)
        sent, pieces = None, Pieces()
        with closing(items):
            while True:
                with DecoratedCall(tool, args, kwargs, pieces) as decorated_call:
                    try:
                        decorated_call.set_result(items.send(sent))
                    except StopIteration as end:
                        return end.value
                sent = yield decorated_call.answer()
                if decorated_call.error is not None:
                    return None

    return call


def _async_generator(function: Callable[..., Any], tool: DecoratedTool) -> Callable[..., AsyncGenerator[Any, Any]]:
    async def call(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        items: Any = function(*args, **kwargs)
        sent, pieces = None, Pieces()
        async with aclosing(items):
            while True:
                with DecoratedCall(tool, args, kwargs, pieces) as decorated_call:
                    try:
                        decorated_call.set_result(await items.asend(sent))
                    except StopAsyncIteration:
                        return
                sent = yield decorated_call.answer()
                if decorated_call.error is not None:
                    return

    return call
