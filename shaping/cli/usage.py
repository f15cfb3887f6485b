"""What `--help` prints: plain text that says what to type, the same for a person, a pipe and a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Contexts, parameters and formatters are Any: Typer keeps their types to itself.


class PlainCommand(TyperCommand):
    """A command whose help names what each option takes, instead of the Python type it becomes."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Give the words of the usage line, what must be there first."""
        return _usage(self.get_params(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the options."""
        _write(self.get_params(ctx), formatter)


class PlainGroup(TyperGroup):
    """A group of such commands, each with the whole sentence that says what it does."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, then the commands."""
        _write(self.get_params(ctx), formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, _first_line(one)) for name, one in found if one is not None and not one.hidden])


def _first_line(command: Any) -> str:
    return (command.help or "").strip().split("\n", 1)[0]


def _usage(params: Iterable[Any]) -> list[str]:
    arguments = [param for param in params if param.param_type_name == "argument"]
    needed = [f"{param.opts[0]} {_takes(param)}" for param in params if param not in arguments and param.required]
    named = [_takes(param) if param.required else f"[{_takes(param)}]" for param in arguments]
    return [*needed, "[OPTIONS]", *named]


def _write(params: Iterable[Any], formatter: Any) -> None:
    for title, kind in (("Arguments", "argument"), ("Options", "option")):
        rows = [(_head(param), _says(param)) for param in params if param.param_type_name == kind and not param.hidden]
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)


def _head(param: Any) -> str:
    if param.param_type_name == "argument":
        return _takes(param)
    # Short names first, as everywhere.
    names = ", ".join(sorted(param.opts, key=len)) + "".join(f" / {name}" for name in param.secondary_opts)
    return names if param.is_flag else f"{names} {_takes(param)}"


def _takes(param: Any) -> str:
    named = str(param.metavar or param.name.upper().replace("_", "-"))
    return f"{named}..." if param.nargs == -1 and not named.endswith("...") else named


def _says(param: Any) -> str:
    return " ".join(filter(None, [param.help, *_extras(param)]))


def _extras(param: Any) -> Iterator[str]:
    if param.required and param.param_type_name == "option":
        yield "(required)"
    default = getattr(param.default, "value", param.default)
    # What is off, empty or missing without being asked for need not be said.
    if default and param.show_default and not getattr(param, "is_flag", False):
        yield f"(default: {default})"
