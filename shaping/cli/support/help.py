"""`--help` as plain text, the same on a terminal and in a pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# Contexts, parameters and formatters are Any: Typer keeps their types private.


class PlainCommand(TyperCommand):
    """A command whose help shows the placeholder of each option instead of its Python type."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line, required options first."""
        return _usage(self.get_params(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the options."""
        _write(self.get_params(ctx), formatter)


class PlainGroup(TyperGroup):
    """A group of commands whose help shows the whole first sentence of each."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, then the commands."""
        _write(self.get_params(ctx), formatter)
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries(ctx).items()))

    def summaries(self, ctx: Any) -> Mapping[str, str]:
        """Return the first line of each visible command's help."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        return {name: _first_line(one) for name, one in found if one is not None and not one.hidden}


def _first_line(command: Any) -> str:
    return (command.help or "").strip().split("\n", 1)[0]


def _usage(params: Iterable[Any]) -> list[str]:
    arguments = [param for param in params if param.param_type_name == "argument"]
    needed = [f"{param.opts[0]} {_placeholder(param)}" for param in params if param not in arguments and param.required]
    named = [_placeholder(param) if param.required else f"[{_placeholder(param)}]" for param in arguments]
    return [*needed, "[OPTIONS]", *named]


def _write(params: Iterable[Any], formatter: Any) -> None:
    for title, kind in (("Arguments", "argument"), ("Options", "option")):
        rows = [(_head(param), _help(param)) for param in params if param.param_type_name == kind and not param.hidden]
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)


def _head(param: Any) -> str:
    if param.param_type_name == "argument":
        return _placeholder(param)
    # Short names first, as everywhere.
    names = ", ".join(sorted(param.opts, key=len)) + "".join(f" / {name}" for name in param.secondary_opts)
    return names if param.is_flag else f"{names} {_placeholder(param)}"


def _placeholder(param: Any) -> str:
    named = str(param.metavar or param.name.upper().replace("_", "-"))
    return f"{named}..." if param.nargs == -1 and not named.endswith("...") else named


def _help(param: Any) -> str:
    return " ".join(filter(None, [param.help, *_notes(param)]))


def _notes(param: Any) -> Iterator[str]:
    if param.required and param.param_type_name == "option":
        yield "(required)"
    default = getattr(param.default, "value", param.default)
    # False and empty defaults go without saying.
    if default and param.show_default and not getattr(param, "is_flag", False):
        yield f"(default: {default})"
