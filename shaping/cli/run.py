"""`shaping run`: run a command and print its output shaped, with the command's own exit code.

Where nobody looks at a terminal, `__main__.py` runs a plain `shaping run -- COMMAND` without loading Typer.
"""

import logging
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from shaping.cli.app import PlainCommand
from shaping.cli.expand import page_text, print_page
from shaping.cli.output import (
    CONFIG,
    FIELDS,
    JSON,
    MAX_TOKENS,
    PROFILE,
    RECORD,
    option_problems,
    print_failure,
    progress,
    stopped,
)
from shaping.commands import run_and_print
from shaping.commands.process import OURS, CommandOptions
from shaping.commands.stream import stream_program
from shaping.envelope import Dialect, exit_code_for
from shaping.errors import ToolError, from_exception, make_error
from shaping.learning.record import Recorder
from shaping.settings.jsonc import ConfigError
from shaping.shaper import Shaper

COMMAND = typer.Argument(help="The command, after --: shaping run -- git log", metavar="COMMAND...")
TOOL = typer.Option(metavar="NAME", help="The tool whose rules apply; without it, the program and its subcommand.")
DIALECT = typer.Option(
    metavar="NAME", help="Print an envelope in this wire form instead of plain text: invariant, lean, flat or sourced."
)
TIMEOUT = typer.Option(
    metavar="SECONDS", min=0.001, help="Seconds after which the command and its process group are ended."
)
ETAG = typer.Option(
    metavar="TAG",
    help="The etag of an earlier answer: an unchanged answer is reported as not_modified. '' asks for an etag.",
)
CURSOR = typer.Option(
    metavar="REF:CURSOR", help="The ref and cursor of a cut answer: show what comes next, without running it again."
)
STREAM = typer.Option("--stream", help="Shape a stream of JSON lines line by line as it comes; an envelope ends it.")


class RunCommand(PlainCommand):
    """Wrong usage exits with 125: 2 could be the other command's exit code. Options end where that command begins."""

    allow_interspersed_args = False

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the command line."""
        try:
            return super().make_context(*args, **kwargs)
        except Exception as problem:
            if getattr(problem, "exit_code", None) == 2:
                problem.exit_code = OURS  # type: ignore[attr-defined]  # Typer's usage errors, which it keeps private
            raise


COMMAND_CLASS = RunCommand


def run(
    command: Annotated[list[str] | None, COMMAND] = None,
    *,
    tool: Annotated[str | None, TOOL] = None,
    config: Annotated[Path | None, CONFIG] = None,
    profile: Annotated[str | None, PROFILE] = None,
    dialect: Annotated[str | None, DIALECT] = None,
    max_tokens: Annotated[int | None, MAX_TOKENS] = None,
    timeout: Annotated[float | None, TIMEOUT] = None,
    etag: Annotated[str | None, ETAG] = None,
    cursor: Annotated[str | None, CURSOR] = None,
    fields: Annotated[str | None, FIELDS] = None,
    stream: Annotated[bool, STREAM] = False,
    record: Annotated[Path | None, RECORD] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Run a command and print its output cleaned and within a budget; the exit code is the command's own.

    Other exit codes: 124 ended by --timeout, 125 wrong options or our fault, 126 may not be run, 127 no such program.
    """
    options: CommandOptions = {
        "tool": tool,
        "profile": profile,
        "fields": [path.strip() for path in fields.split(",")] if fields else None,
        "max_tokens": max_tokens,
        "dialect": "invariant" if as_json else dialect,
        "timeout": timeout,
        "etag": etag,
    }
    if not (command or cursor):
        missing = stopped("there is no command to run; give one after --: shaping run -- git log", OURS)
        raise print_failure(missing.detail, OURS) if as_json else missing
    try:
        if cursor:
            code = _next_page(config, cursor, options)
        elif stream:
            code = stream_program(command or [], config, options)
        else:
            recorder = None if record is None else Recorder(record)
            code = run_and_print(command or [], config, options, progress=progress, recorder=recorder)
    except BrokenPipeError:
        # Whoever reads our output has seen enough; `main` knows what to do.
        raise
    except Exception as fault:  # noqa: BLE001 (whatever it is, it must not look like the command's own exit)
        # With a cursor no command is run, so that these codes are ours.
        code = exit_code_for(fault.detail, "posix") if cursor and isinstance(fault, ToolError) else OURS
        raise own_failure(fault, code, as_json=options["dialect"] == "invariant") from None
    raise typer.Exit(code)


def _next_page(config: Path | None, cursor: str, options: CommandOptions) -> int:
    ref, _, place = cursor.partition(":")
    if not ref.startswith("r_") or not place:
        form = "expected REF:CURSOR (`shaping expand REF --cursor CURSOR` shows the same)"
        raise ToolError("BAD_ARGUMENT", f"--cursor is {cursor!r}; {form}")
    dialect: Dialect = options.get("dialect") or "none"
    wanted = partial(page_text, ref=ref, dialect=dialect)
    shaper = Shaper(config, expandable=True, watch=False)
    page = shaper.expand(ref, cursor=place, max_tokens=options.get("max_tokens"), surface="command", render_page=wanted)
    print_page(page, wanted(page), ref, dialect)
    return 0


def own_failure(fault: Exception, code: int = OURS, *, as_json: bool = False) -> typer.Exit:
    """Report wrong options, a wrong config or a failure of shaping itself; none may look like the command's."""
    who = "shaping run"
    if isinstance(fault, ConfigError):
        said = option_problems(fault) or str(fault)
        detail = make_error("BAD_ARGUMENT", said, hint="Correct the config or the options.", phase="validation")
    elif isinstance(fault, ToolError):
        detail = fault.detail
    else:
        logging.getLogger("shaping").debug("shaping run failed", exc_info=fault)
        detail = from_exception(fault)
        who = "shaping itself failed"
    typer.echo(f"{who}: {detail.message}", err=True)
    return print_failure(detail, code) if as_json else typer.Exit(code)
