"""What is known of a decorated function before it is called."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shaping.settings import Overrides, Plan
    from shaping.shaper import Shaper


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
        self.advertises = False  # set when a framework is told by the annotation what data comes
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
