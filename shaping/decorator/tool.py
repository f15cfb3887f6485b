"""What is known of a decorated function before it is called."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Literal, get_args

from shaping.settings import Overrides

if TYPE_CHECKING:
    from shaping.settings import Plan
    from shaping.shaper import Shaper


Form = Literal["envelope", "text", "content_and_artifact"]


class DecoratedTool:
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
        form: Form = "envelope",
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
        if form not in get_args(Form):
            raise TypeError(
                f"form is {form!r}; expected 'envelope' (plain data), 'text' (what a model reads) or "
                "'content_and_artifact' (that text and, as it is, what a program gets besides)"
            )
        self.form = form
        self.yields = inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner)
        self.pinned: Overrides | None = None  # the dialect that a framework was told when it registered the tool
        self.under_mcp_sdk = False  # whether the SDK has registered the tool
        self.advertises = False  # whether a framework was told by the annotation what data comes
        self._config = config
        self._shaper = shaper

    @property
    def shaper(self) -> Shaper:
        """The shaper, made at the first call so that decorating touches no file."""
        if self._shaper is None:
            from shaping.shaper import Shaper  # noqa: PLC0415 (loads pydantic and orjson: decorating must stay cheap)

            self._shaper = Shaper(self._config)
        return self._shaper

    def plan(self) -> Plan:
        """Return the choices by which a call made now is shaped."""
        return self.shaper.plan(self.name, default_profile=self.profile, request=self.pinned)

    def registered(self, generator: Any) -> None:
        """Note that a framework has asked for the schema of the answers, with a schema generator of its own.

        It advertises the dialect of now once, and would refuse answers in another.
        """
        self.advertises = True
        self.under_mcp_sdk |= type(generator).__module__.startswith("mcp.server.mcpserver")
        if self.pinned is None:
            self.pinned = Overrides(dialect=self.plan().dialect)

    def tag_in(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """Return the tag the caller holds among the arguments."""
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
