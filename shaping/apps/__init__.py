"""Click and Typer applications that answer with envelopes, exit by a table, and describe themselves in a manifest."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cached_property, partial
from hashlib import blake2b
from itertools import pairwise
from typing import Annotated, Any, TypedDict, Unpack, get_type_hints

import orjson
import typer
from pydantic import PydanticSchemaGenerationError, TypeAdapter
from pydantic.errors import PydanticUserError
from typer import Option

from shaping.apps.command_call import CommandCall, answers_only
from shaping.errors import Redirect, ToolError
from shaping.errors.codes import EXIT_TABLES, ExitTable
from shaping.shaper import Shaper

__all__ = ["manifest_of", "shape_click", "shape_typer"]


class OutputFormat(StrEnum):
    """How an answer is printed."""

    text = "text"
    json = "json"


@dataclass(frozen=True, slots=True)
class CallOptions:
    """The added options of one call."""

    output: Annotated[
        OutputFormat, Option("--output", help="Print text for people, or a JSON envelope for programs.")
    ] = OutputFormat.text
    fields: Annotated[str | None, Option("--fields", help="Comma-separated paths: keep only these of the data.")] = None
    limit: Annotated[int | None, Option("--limit", help="The most elements to show of any list.", min=1)] = None
    cursor: Annotated[str | None, Option("--cursor", help="The cursor of a cut answer: show what comes next.")] = None
    etag: Annotated[
        str | None,
        Option(
            "--etag",
            help="The etag of an earlier answer: an unchanged answer is reported as not_modified. '' asks for an etag.",
        ),
    ] = None
    quiet: Annotated[bool, Option("--quiet", help="Print nothing but the answer.")] = False
    verbose: Annotated[bool, Option("--verbose", help="Print all data, with warnings and what was left out.")] = False
    debug: Annotated[bool, Option("--debug", help="Print everything that is known about the call.")] = False

    @property
    def as_json(self) -> bool:
        """Whether a program reads the answer."""
        return self.output == OutputFormat.json

    @property
    def profile(self) -> str | None:
        """The profile that the options choose."""
        return "debug" if self.debug else "standard" if self.verbose else None


NAMES = tuple(one.name for one in fields(CallOptions))


def typer_options() -> list[Any]:
    """Build the options for a Typer command."""
    app = typer.Typer(add_completion=False)
    app.command()(CallOptions)
    return [param for param in typer.main.get_command(app).params if param.name in NAMES]


def click_options() -> list[Any]:
    """Build the options for a Click command."""
    import click  # noqa: PLC0415 (Click is no dependency of ours: an application that calls this has it)

    kinds: dict[str, dict[str, Any]] = {
        "output": {"type": click.Choice([form.value for form in OutputFormat]), "default": OutputFormat.text.value},
        "limit": {"type": click.IntRange(min=1)},
        **{name: {"is_flag": True} for name in ("quiet", "verbose", "debug")},
    }
    return [click.Option([f"--{one.name}"], help=one.help, **kinds.get(one.name, {})) for one in typer_options()]


def take_options(params: dict[str, Any], own: Sequence[str]) -> CallOptions:
    """Remove the added options from a call's parameters and return them; the command's own options stay."""
    taken = {name: params.pop(name, None) for name in NAMES if name not in own}
    given = {name: value for name, value in taken.items() if value is not None}
    return CallOptions(**{**given, "output": OutputFormat(given.get("output", OutputFormat.text))})


def wants_json(args: Sequence[str]) -> bool:
    """Return whether a command line that could not be parsed asks for JSON."""
    return "--output=json" in args or ("--output", "json") in pairwise(args)


def manifest_of(
    command: Any,
    *,
    name: str,
    version: str | None = None,
    renamed: Mapping[str, str] | None = None,
    exit_codes: Mapping[int, str],
    outputs: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Describe a Click or Typer application for a program: its commands, their flags, exit codes and output schemas.

    `exit_codes` names each number; `renamed` maps old command names to new ones; `outputs` gives the JSON Schema of a
    command's data by the command's name, where its return annotation does not say.
    """
    schemas = outputs or {}
    found: dict[str, Any] = {
        "name": name,
        "version": version,
        "commands": [_command(path, leaf, schemas.get(" ".join(path))) for path, leaf in leaf_commands(command)],
        "exit_codes": {str(number): meaning for number, meaning in exit_codes.items()},
        "renamed": [{"command": old, "replacement": new} for old, new in (renamed or {}).items()],
    }
    return {**found, "etag": blake2b(orjson.dumps(found), digest_size=8).hexdigest()}


def leaf_commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the commands that are not groups, each with its path."""
    if not hasattr(command, "commands"):
        yield path, command
        return
    for word, inner in command.commands.items():
        yield from leaf_commands(inner, (*path, word))


def _command(path: tuple[str, ...], leaf: Any, schema: Any) -> dict[str, Any]:
    params = [param for param in leaf.params if not getattr(param, "hidden", False)]
    return {
        "name": " ".join(path),
        "help": _sentence(leaf.help),
        "arguments": [_param(param) for param in params if param.param_type_name == "argument"],
        "flags": [_param(param) for param in params if param.param_type_name == "option"],
        "output": _returned(leaf.callback) if schema is None else schema,
    }


def _sentence(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split())


def _param(param: Any) -> dict[str, Any]:
    members = {
        "name": param.opts[0] if param.param_type_name == "option" else param.name,
        "aliases": [*param.opts[1:], *param.secondary_opts] if param.param_type_name == "option" else [],
        "type": _type(param),
        "choices": _choices(param),
        "required": param.required,
        "multiple": bool(getattr(param, "multiple", False)) or param.nargs == -1,
        "default": _default(param),
        "help": getattr(param, "help", None),
    }
    return {key: value for key, value in members.items() if value is not None and value != []}


def _type(param: Any) -> str:
    if getattr(param, "is_flag", False):
        return "boolean"
    if hasattr(param, "type"):
        return str(param.type.name)
    annotation = param.type_descriptor.annotation
    return str(getattr(annotation, "__name__", annotation))


def _choices(param: Any) -> list[str] | None:
    kind = param.type if hasattr(param, "type") else param.type_descriptor
    choices = getattr(kind, "choices", None)
    return None if choices is None else [str(getattr(choice, "value", choice)) for choice in choices]


def _default(param: Any) -> Any:
    default = param.default
    return default if isinstance(default, (str, int, float)) and default is not False else None


def _returned(callback: Callable[..., Any] | None) -> Any:
    """Return the JSON Schema of a function's return annotation, or an empty one."""
    try:
        hint = get_type_hints(callback).get("return", Any) if callback is not None else Any
        return TypeAdapter(hint).json_schema()
    except (PydanticSchemaGenerationError, PydanticUserError, NameError, TypeError):
        return {}


class AppOptions(TypedDict, total=False):
    """What `shape_click` and `shape_typer` take."""

    name: str | None
    shaper: Shaper | None
    renamed: Mapping[str, str] | None
    version: str | None
    exit_codes: ExitTable | None


class ShapedApp:
    """An application being shaped: its command, its name, and the commands that have other names now."""

    def __init__(self, command: Any, options: AppOptions) -> None:
        if unknown := options.keys() - AppOptions.__annotations__:
            raise TypeError(
                f"{', '.join(sorted(unknown))}: not known; expected {', '.join(AppOptions.__annotations__)}"
            )
        self.command = command
        self.name = options.get("name") or command.name or "app"
        self.renamed = options.get("renamed") or {}
        self._options = options

    @property
    def exit_table(self) -> ExitTable:
        """The table of exit codes: the application's own choice, or the config's."""
        return self._options.get("exit_codes") or self.shaper.loaded_config.config.exit_codes

    @cached_property
    def shaper(self) -> Shaper:
        """The application's shaper, or one that is made at the first call."""
        return self._options.get("shaper") or Shaper(expandable=True)

    def manifest(self) -> dict[str, Any]:
        """List every command: its flags, its exit codes and the schema of what it prints."""
        exits = {number: entry.name for number, entry in EXIT_TABLES[self.exit_table].items()}
        version = self._options.get("version")
        return manifest_of(self.command, name=self.name, version=version, renamed=self.renamed, exit_codes=exits)

    def install(self, make_options: Callable[[], list[Any]], make_command: Callable[[Callable[[], Any]], Any]) -> Any:
        """Give a group the command `manifest` and every command the options; return the application."""
        if hasattr(self.command, "commands") and "manifest" not in self.command.commands:
            self.command.commands["manifest"] = listing = make_command(self.manifest)
            listing.name, listing.help = "manifest", self.manifest.__doc__
        for path, leaf in leaf_commands(self.command):
            own = [param.name for param in leaf.params]
            leaf.params = [*leaf.params, *(param for param in make_options() if param.name not in own)]
            leaf.invoke = partial(self._invoke, leaf.invoke, " ".join((self.name, *path)), own)
        self.command.main = partial(self._main, self.command.main)
        return self.command

    def _invoke(self, invoke: Callable[[Any], Any], tool: str, own: Sequence[str], context: Any) -> None:
        """Run one command and print its answer; nothing is returned, because that would be taken for an exit code."""
        options = take_options(context.params, own)
        answering = CommandCall(self.shaper, tool, options, self.exit_table)
        code = answering.next_page() if options.cursor else answering.call(partial(invoke, context))
        if code:
            context.exit(code)

    def _main(self, main: Callable[..., Any], args: Sequence[str] | None = None, *more: Any, **extra: Any) -> Any:
        """Run the application; a command line that cannot be read or has moved is answered like any other call."""
        words = list(sys.argv[1:] if args is None else args)
        if not extra.pop("standalone_mode", True):
            return main(words, *more, standalone_mode=False, **extra)
        as_json = wants_json(words)
        with answers_only() if as_json else nullcontext():
            try:
                self._refuse_renamed(words)
                done = main(words, *more, standalone_mode=False, **extra)
            except Exception as problem:  # noqa: BLE001 (every way to fail has its answer)
                options = take_options({"output": "json" if as_json else "text", "debug": "--debug" in words}, ())
                sys.exit(CommandCall(self.shaper, self.name, options, self.exit_table).failed(problem))
            sys.exit(done if isinstance(done, int) else 0)

    def _refuse_renamed(self, words: list[str]) -> None:
        for old, new in self.renamed.items():
            before = old.split()
            if words[: len(before)] == before:
                command = shlex.join([*self.name.split(), *new.split(), *words[len(before) :]])
                redirect = Redirect(command=command, permanent=True, reason="renamed")
                message = f"'{self.name} {old}' is now '{self.name} {new}'"
                raise ToolError("REDIRECTED", message, redirect=redirect, phase="validation")


def shape_click(command: Any, **options: Unpack[AppOptions]) -> Any:
    """Shape a Click application in place: what its commands return is their data, printed as text or as an envelope.

    Every command gets `--output json`, `--fields`, `--limit`, `--cursor`, `--etag`, `--quiet`, `--verbose` and
    `--debug`, and a group gets the command `manifest`. `name` is the program's in tool names (`app list`), `shaper`
    the rules to go by, `version` goes into the manifest, `renamed` maps old names of commands to new ones, and
    `exit_codes` is `contract` (3 for wrong arguments) or `posix` (2).
    """
    import click  # noqa: PLC0415 (Click is no dependency of ours: an application that calls this has it)

    app = ShapedApp(command, options)
    return app.install(click_options, lambda manifest: click.Command("manifest", callback=manifest))


def shape_typer(app: Any, **options: Unpack[AppOptions]) -> Any:
    """Shape a Typer application and return the command to call instead; takes the options of `shape_click`."""

    def make_command(manifest: Callable[[], Any]) -> Any:
        helper = typer.Typer(add_completion=False)
        helper.command()(manifest)
        return typer.main.get_command(helper)

    return ShapedApp(typer.main.get_command(app), options).install(typer_options, make_command)
