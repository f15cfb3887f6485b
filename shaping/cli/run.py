"""`shaping run`: run a command and print its output shaped, with the command's own exit code."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path  # noqa: TC003 (Typer reads the annotations)
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from shaping.cli.support.help import PlainCommand
from shaping.cli.support.output import failure, print_json, progress
from shaping.commands.command import invocation_of, plan_for, run_command, stream_command
from shaping.commands.response import render_wire
from shaping.errors import ToolError, from_exception, make_error
from shaping.ledger import MeasuredCall, open_ledger
from shaping.settings import ConfigError
from shaping.settings.context import mode
from shaping.shaper import Shaper

if TYPE_CHECKING:
    from shaping.commands.command import CommandOptions
    from shaping.commands.response import CommandResponse
    from shaping.envelope import Dialect
    from shaping.response import Shaped
    from shaping.settings import Plan

# Characters of a command's output that Claude Code's shell is reported to show its model (issue 19901), not measured:
# nobody knows here which agent reads, and what it would not have read is not saved.
_SHELL_SHOWS = 30_000
_GUESSED = 4_000
_LEDGER_SECONDS = 0.8  # how long a command's end may wait for its tokens to be counted
OURS = 125  # as env(1) and docker(1) exit for a failure of their own

COMMAND = typer.Argument(help="The command, after --: shaping run -- git log", metavar="COMMAND...")
TOOL = typer.Option(metavar="NAME", help="The tool whose rules apply; without it, the program and its subcommand.")
CONFIG = typer.Option(metavar="FILE", help="The config to use instead of the one that is found.", dir_okay=False)
PROFILE = typer.Option(metavar="NAME", help="The profile to use: minimal, standard, debug or one of your own.")
DIALECT = typer.Option(
    metavar="NAME", help="Print an envelope in this wire form instead of plain text: invariant, lean, flat or sourced."
)
MAX_TOKENS = typer.Option(metavar="N", min=1, help="The most tokens the answer may cost.")
TIMEOUT = typer.Option(
    metavar="SECONDS", min=0.001, help="Seconds after which the command and all it started is ended."
)
ETAG = typer.Option(
    metavar="TAG", help="The etag of an earlier answer: the same again is told as not_modified. '' asks for one."
)
CURSOR = typer.Option(help="The cursor of a cut answer: show what comes next, without running the command again.")
FIELDS = typer.Option(metavar="PATHS", help="Comma-separated paths: keep only these of the data.")
STREAM = typer.Option("--stream", help="Shape a stream of JSON lines line by line as it comes; an envelope ends it.")
JSON = typer.Option("--json", help="Print the invariant envelope instead of plain text.")


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
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Run a command and print its output cleaned and within a budget; the exit code is the command's own.

    Besides: 124 ended by --timeout, 125 shaping itself failed, 126 may not be run, 127 no such program.
    """
    said: CommandOptions = {
        "tool": tool,
        "profile": profile,
        "fields": [path.strip() for path in fields.split(",")] if fields else None,
        "max_tokens": max_tokens,
        "dialect": "invariant" if as_json else dialect,
        "timeout": timeout,
        "etag": etag,
    }
    try:
        _need_something(command, cursor)
        code = _next_page(config, cursor, said) if cursor else _run(command or [], config, said, stream=stream)
    except BrokenPipeError:
        # Whoever reads our output has seen enough; `main` knows what to do.
        raise
    except Exception as fault:  # noqa: BLE001 (whatever it is, it must not look like the command's own exit)
        raise _own_failure(fault) from None
    raise typer.Exit(code)


def _need_something(command: list[str] | None, cursor: str | None) -> None:

    if not (command or cursor):
        raise ToolError("BAD_ARGUMENT", "there is no command to run", hint="Give one after --: shaping run -- git log")


def _become(argv: list[str]) -> None:
    """Let the command take this process over, untouched; one that cannot be run is left to be reported as usual."""
    if os.name == "posix":
        sys.stdout.flush()
        with suppress(OSError):
            os.execvp(argv[0], argv)  # noqa: S606 (the command that the user asked for, without a shell)


def _run(argv: list[str], config: Path | None, said: CommandOptions, *, stream: bool) -> int:
    shaper = Shaper(config, expandable=True, watch=False)
    plan = plan_for(shaper, argv, said, strict=True)
    asked = invocation_of(argv, said)
    if shaper.mode == "off" and not (stream or said["dialect"] or said["timeout"]):
        _become(argv)
    if stream:
        envelope = stream_command(shaper, plan, asked, _emit)
        print_json(envelope.render("invariant", include=plan.envelope, debug=plan.debug))
        code = int(getattr(envelope.meta, "exit_code", OURS))
    else:
        with progress(plan.tool):
            response = run_command(shaper, plan, asked)
        code = response.exit_code
        sys.stdout.write(response.stdout)
        sys.stdout.flush()
        sys.stderr.write(response.stderr)
        _record(plan, response)
    shaper.close()
    return code


def _record(plan: Plan, response: CommandResponse) -> None:
    """Enter what the command printed, and what was printed in its place, into the ledger."""
    printed = response.stdout + response.stderr
    if mode() == "off" or not response.raw:
        return
    # Of a short output that is printed as it was, nothing is saved: its size is guessed, and no vocabulary loaded.
    unchanged = printed == response.raw and len(printed) < _GUESSED
    ledger = open_ledger(tokenizer="chars" if unchanged else plan.tokenizer)
    if ledger is None:
        return
    call = MeasuredCall(
        plan.tool,
        partial(str, response.raw[:_SHELL_SHOWS]),
        partial(str, printed[:_SHELL_SHOWS]),
        profile=plan.profile,
        config=plan.config_hash,
        ref=response.envelope.meta.ref,
    )
    ledger.record(call)
    ledger.close(_LEDGER_SECONDS)


def _next_page(config: Path | None, cursor: str, said: CommandOptions) -> int:
    ref, _, place = cursor.partition(":")
    shaper = Shaper(config, expandable=True, watch=False)
    dialect: Dialect = said.get("dialect") or "none"

    def wire_of(page: Shaped) -> str:
        # A cursor on a command line carries its ref.
        meta = page.envelope.meta
        meta = meta.model_copy(update={"cursor": f"{ref}:{page.cursor}"}) if page.cursor else meta
        envelope = page.envelope.model_copy(update={"meta": meta})
        return orjson.dumps(render_wire(envelope, replace(page.plan, dialect=dialect))).decode() + "\n"

    def text_of(page: Shaped) -> str:
        data = page.envelope.data
        return data if isinstance(data, str) else orjson.dumps(data, option=orjson.OPT_APPEND_NEWLINE).decode()

    written = text_of if dialect == "none" else wire_of
    page = shaper.expand(ref, cursor=place, max_tokens=said.get("max_tokens"), surface="command", written=written)
    sys.stdout.write(written(page))
    if written is text_of and page.cursor:
        typer.echo(f"(there is more: shaping run --cursor {quote(f'{ref}:{page.cursor}')})", err=True)
    return 0


def _emit(line: bytes) -> None:
    sys.stdout.write(line.decode())
    sys.stdout.flush()


def _own_failure(fault: Exception) -> typer.Exit:
    """Report a failure of shaping itself, which must not look like the command's."""
    if isinstance(fault, ConfigError):
        detail = make_error("BAD_ARGUMENT", str(fault), hint="Correct the config or the options.", phase="validation")
    elif isinstance(fault, ToolError):
        detail = fault.detail
    else:
        logging.getLogger("shaping").debug("shaping run failed", exc_info=fault)
        detail = from_exception(fault)
    typer.echo(f"shaping itself failed: {detail.message}", err=True)
    return failure(detail, as_json=True, exit_code=OURS)
