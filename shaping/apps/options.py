"""The options that every command of a shaped application gets."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class OutputFormat(StrEnum):
    """How an answer is printed."""

    text = "text"
    json = "json"


_HELP = {
    "output": "Print text for people, or a JSON envelope for programs.",
    "fields": "Comma-separated paths: keep only these of the data.",
    "limit": "The most elements to show of any list.",
    "cursor": "The cursor of a cut answer: show what comes next.",
    "etag": "The etag of an earlier answer: an unchanged answer is reported as not_modified. '' asks for an etag.",
    "quiet": "Print nothing but the answer.",
    "verbose": "Print all data, with warnings and what was left out.",
    "debug": "Print everything that is known about the call.",
}
NAMES = tuple(_HELP)


@dataclass(frozen=True, slots=True)
class CallOptions:
    """The added options of one call."""

    output: OutputFormat = OutputFormat.text
    fields: str | None = None
    limit: int | None = None
    cursor: str | None = None
    etag: str | None = None
    quiet: bool = False
    verbose: bool = False
    debug: bool = False

    @property
    def as_json(self) -> bool:
        """Whether a program reads the answer."""
        return self.output == OutputFormat.json

    @property
    def profile(self) -> str | None:
        """The profile that is asked for."""
        return "debug" if self.debug else "standard" if self.verbose else None


def typer_options() -> list[Any]:
    """Build the options for a Typer command from a function's signature."""
    option: Callable[..., Any] = typer.Option

    def added(
        *,
        output: Annotated[OutputFormat, option(help=_HELP["output"])] = OutputFormat.text,
        fields: Annotated[str | None, option(help=_HELP["fields"])] = None,
        limit: Annotated[int | None, option(help=_HELP["limit"], min=1)] = None,
        cursor: Annotated[str | None, option(help=_HELP["cursor"])] = None,
        etag: Annotated[str | None, option(help=_HELP["etag"])] = None,
        quiet: Annotated[bool, option("--quiet", help=_HELP["quiet"])] = False,
        verbose: Annotated[bool, option("--verbose", help=_HELP["verbose"])] = False,
        debug: Annotated[bool, option("--debug", help=_HELP["debug"])] = False,
    ) -> None: ...

    # The annotations are text here, and name what only this function knows.
    added.__annotations__ = _evaluated(added, locals())
    app = typer.Typer(add_completion=False)
    app.command()(added)
    return [param for param in typer.main.get_command(app).params if param.name in NAMES]


def click_options() -> list[Any]:
    """Build the options for a Click command."""
    import click  # noqa: PLC0415 (Click is no dependency of ours: an application that calls this has it)

    kinds: dict[str, dict[str, Any]] = {
        "output": {"type": click.Choice([form.value for form in OutputFormat]), "default": OutputFormat.text.value},
        "limit": {"type": click.IntRange(min=1)},
        **{name: {"is_flag": True} for name in ("quiet", "verbose", "debug")},
    }
    return [click.Option([f"--{name}"], help=text, **kinds.get(name, {})) for name, text in _HELP.items()]


def take_options(params: dict[str, Any], own: Sequence[str]) -> CallOptions:
    """Remove the added options from a call's parameters and return them; the command's own options stay."""
    taken = {name: params.pop(name, None) for name in NAMES if name not in own}
    given = {name: value for name, value in taken.items() if value is not None}
    return CallOptions(**{**given, "output": OutputFormat(given.get("output", OutputFormat.text))})


def wants_json(args: Sequence[str]) -> bool:
    """Return whether a command line that could not be parsed asks for JSON."""
    return "--output=json" in args or ("--output", "json") in pairwise(args)


def _evaluated(function: Callable[..., Any], names: dict[str, Any]) -> dict[str, Any]:

    scope = vars(sys.modules[__name__])
    return get_type_hints(function, {**scope, **names}, include_extras=True)
