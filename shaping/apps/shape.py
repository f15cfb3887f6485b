"""Give a Click or Typer application the manners that programs expect: envelopes, exit codes, a manifest, redirects."""

from __future__ import annotations

import shlex
import sys
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from shaping.apps.added import Wish, click_options, typer_options, wants_json, wish_of
from shaping.apps.answer import Answering, exit_for
from shaping.apps.apart import apart
from shaping.apps.manifest import leaves, manifest_of
from shaping.errors import Redirect, ToolError, make_error
from shaping.shaper import Shaper

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


@dataclass(frozen=True)
class App:
    """An application being shaped: its name, its shaper, and the commands that have other names now."""

    name: str
    shaper: Callable[[], Shaper]
    renamed: Mapping[str, str]
    version: str | None = None
    own: dict[int, list[str]] = field(default_factory=dict)


def shape_click(
    command: Any,
    *,
    name: str | None = None,
    shaper: Shaper | None = None,
    renamed: Mapping[str, str] | None = None,
    version: str | None = None,
) -> Any:
    """Shape a Click application in place: what its commands return is their data; `renamed` maps old names to new."""
    import click  # noqa: PLC0415 (applications bring their framework)

    app = App(name or command.name or "app", _lazy(shaper), renamed or {}, version)
    if hasattr(command, "commands"):
        listing = click.Command("manifest", callback=partial(_manifest, command, app), help=_manifest.__doc__)
        command.commands.setdefault("manifest", listing)
    return _shaped(command, app, click_options)


def shape_typer(
    app: Any,
    *,
    name: str | None = None,
    shaper: Shaper | None = None,
    renamed: Mapping[str, str] | None = None,
    version: str | None = None,
) -> Any:
    """Shape a Typer application and give the command that is to be called in its place."""
    import typer  # noqa: PLC0415 (applications bring their framework)

    command: Any = typer.main.get_command(app)
    described = App(name or command.name or "app", _lazy(shaper), renamed or {}, version)
    if hasattr(command, "commands"):
        helper = typer.Typer(add_completion=False)

        @helper.command(help=_manifest.__doc__)
        def manifest() -> Any:
            return _manifest(command, described)

        command.commands.setdefault("manifest", typer.main.get_command(helper))
        command.commands["manifest"].name = "manifest"
    return _shaped(command, described, typer_options)


def _manifest(command: Any, app: App) -> dict[str, Any]:
    """List every command: its flags, its exit codes and the schema of what it prints."""
    return manifest_of(command, name=app.name, version=app.version, renamed=app.renamed)


def _lazy(shaper: Shaper | None) -> Callable[[], Shaper]:
    made: list[Shaper] = [] if shaper is None else [shaper]

    def get() -> Shaper:
        if not made:
            made.append(Shaper(expandable=True))
        return made[0]

    return get


def _shaped(command: Any, app: App, options: Callable[[], list[Any]]) -> Any:
    for path, leaf in leaves(command):
        own = [param.name for param in leaf.params]
        leaf.params = [*leaf.params, *(param for param in options() if param.name not in own)]
        leaf.invoke = partial(_invoke, leaf.invoke, app, " ".join((app.name, *path)), own)
    command.main = partial(_main, command.main, app)
    return command


def _invoke(invoke: Callable[[Any], Any], app: App, tool: str, own: Sequence[str], context: Any) -> None:
    """Run one command and print its answer; nothing is returned, because that would be taken for an exit code."""
    wish = wish_of(context.params, own)
    answering = Answering(app.shaper(), tool, wish)
    code = answering.next_page() if wish.cursor else answering.call(partial(invoke, context))
    if code:
        context.exit(code)


def _main(main: Callable[..., Any], app: App, args: Sequence[str] | None = None, *more: Any, **extra: Any) -> Any:
    """Run the application; a command line that cannot be read or has moved is answered like any other call."""
    words = list(sys.argv[1:] if args is None else args)
    if not extra.pop("standalone_mode", True):
        return main(words, *more, standalone_mode=False, **extra)
    as_json = wants_json(words)
    with apart() if as_json else nullcontext():
        try:
            _refuse_renamed(app, words)
            done = main(words, *more, standalone_mode=False, **extra)
        except Exception as problem:  # noqa: BLE001 (every way to fail has its answer)
            wish = wish_of({"output": "json" if as_json else "text", "debug": "--debug" in words}, ())
            sys.exit(exit_for(problem, app.name, wish))
        sys.exit(done if isinstance(done, int) else 0)


def _refuse_renamed(app: App, words: Sequence[str]) -> None:
    for old, new in app.renamed.items():
        before = old.split()
        if list(words[: len(before)]) == before:
            rest = words[len(before) :]
            replacement = shlex.join([*app.name.split(), *new.split(), *rest])
            redirect = Redirect(command=replacement, permanent=True, reason="renamed")
            message = f"'{app.name} {old}' is now '{app.name} {new}'"
            raise ToolError.of(make_error("REDIRECTED", message, redirect=redirect, phase="validation"))


__all__ = ["App", "Wish", "shape_click", "shape_typer"]
