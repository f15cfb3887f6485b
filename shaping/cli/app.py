"""The command line: its commands by name, each loaded when it is called, and `--help` as plain text."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

# Contexts, parameters and formatters are Any: Typer keeps their types private.


class PlainCommand(TyperCommand):
    """A command whose help names what an argument takes, and not its Python type."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line."""
        named = [(_name(param), param.required) for param in _arguments(self.get_params(ctx))]
        return ["[OPTIONS]", *(name if required else f"[{name}]" for name, required in named)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the options."""
        params = self.get_params(ctx)
        arguments = [(_name(param), param.help or "") for param in _arguments(params)]
        options = [
            record for param in params if param.param_type_name == "option" and (record := param.get_help_record(ctx))
        ]
        for title, rows in (("Arguments", arguments), ("Options", options)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def _arguments(params: Iterable[Any]) -> list[Any]:
    return [param for param in params if param.param_type_name == "argument"]


def _name(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


# The help of each command there is the first line of its function's docstring: listing them must not load them.
# `module` names one that holds several commands; every other command has a module of its own name.
_LISTED: Final = json.loads(Path(__file__).with_name("commands.json").read_bytes())
COMMANDS: Final[Mapping[str, str]] = {name: told["help"] for name, told in _LISTED.items()}
_REPORTS_FAILURES: Final = frozenset({"run"})  # its codes must not look like the command's own


class LazyCommands(Mapping[str, Any]):
    """Click commands by name, imported and built when they are looked up."""

    def __getitem__(self, name: str) -> Any:
        """Load a command; a name that is not listed is a KeyError."""
        return _load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class LazyGroup(TyperGroup):
    """The program: a group that loads only the command that is called, and lists the whole first sentence of each."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = LazyCommands()  # type: ignore[assignment]  # Click only reads it

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 (loads none of them)
        """Write the commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def build() -> typer.Typer:
    """Make the Typer application."""
    app = typer.Typer(
        name="shaping",
        help="Cut what tools return down to what an agent needs; the rest can be asked back.",
        epilog="Exit codes: 0 done, 1 the job failed or found problems, 2 the command was called wrongly, 5 nothing is "
        "kept at a ref or a path; `shaping run` exits as its command does, or with 124 to 127.",
        cls=LazyGroup,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback()(_program)
    return app


def main() -> None:
    """Run the command line."""
    words = sys.argv[1:]
    if wants_json(words):
        from shaping.cli.output import call  # noqa: PLC0415 (envelopes take 120 ms to import; --help prints none)

        sys.exit(call(build(), words))
    build()()


def wants_json(words: Sequence[str]) -> bool:
    """Return whether a command line asks for JSON; words after -- belong to another program."""
    return "--json" in words[: words.index("--") if "--" in words else None]


@cache
def _load(name: str) -> Any:
    from shaping.cli.output import with_json_option  # noqa: PLC0415 (envelopes take 120 ms to import; --help prints none)

    module = import_module(f"shaping.cli.{_LISTED[name].get('module', name)}")
    callback = getattr(module, name)
    single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    wrapped = callback if name in _REPORTS_FAILURES else with_json_option(callback, name)
    single.command(name, cls=getattr(module, "COMMAND_CLASS", PlainCommand))(wrapped)
    return typer.main.get_command(single)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version as installed_version  # noqa: PLC0415 (takes 20 ms to import, for one option)

        typer.echo(f"shaping {installed_version('shaping')}")
        raise typer.Exit


def _program(
    *, version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_print_version)] = False
) -> None:
    pass
