"""The program: `shaping proxy` and `shaping run` begin before the command line's library is imported."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from shaping.child import signal_group, spawn

if TYPE_CHECKING:
    from collections.abc import Sequence
    from subprocess import Popen

    from shaping.commands.process import CommandOptions

# Options of cli/proxy.py and cli/run.py that are read here too; tests/cli/test_main.py compares them.
PROXY_VALUES = ("--config", "--profile", "--start-timeout", "--name")
PROXY_FLAGS = {"--expand": True, "--no-expand": False}
RUN_VALUES = ("--config", "--profile", "--tool", "--max-tokens")


def main() -> None:
    """Run the command line; end quietly where its user or the reader of its output has gone."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        # A character that the terminal's encoding lacks is written as `\\u2192`, as Python does on stderr.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        _dispatch()
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        _exit_quietly()
    except SystemExit as ended:
        # Typer exits with 1 where the reader of our output has gone.
        if isinstance(ended.__context__, BrokenPipeError):
            _exit_quietly()
        raise


def _exit_quietly() -> NoReturn:
    """End where the reader of our output has gone, as in `shaping shape big.json | head`."""
    # Python would try to write the rest of its buffer at exit and complain.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


def _dispatch() -> None:
    words = sys.argv[1:] if hasattr(os, "killpg") else []  # the command line says that these two are not for Windows
    fast_proxy = read_fast_proxy(words)
    if fast_proxy is not None:
        _proxy(*fast_proxy)  # does not return
    fast_run = read_fast_run(words)
    if fast_run is not None:
        _run(*fast_run)  # does not return
    from shaping.cli.app import main as run  # noqa: PLC0415 (the proxy does without it: costs 100 ms)

    run()


def read_fast_proxy(words: list[str]) -> tuple[dict[str, str], bool, list[str]] | None:
    """Read the options of a proxy for one command; None leaves the words to Typer, as every mistake in them."""
    if words[:1] != ["proxy"]:
        return None
    values, rest = _read_options(words[1:], (*PROXY_VALUES, *PROXY_FLAGS))
    # The last of the flags that switch one thing on and off counts.
    expand = [True, *(PROXY_FLAGS[name] for name in values if name in PROXY_FLAGS)][-1]
    try:
        usable = float(values.get("--start-timeout", "1")) >= 1 and _is_config(values.get("--config"))
    except ValueError:
        return None
    return (values, expand, rest[1:]) if usable and rest[:1] == ["--"] and rest[1:] else None


def read_fast_run(words: list[str]) -> tuple[dict[str, str], list[str]] | None:
    """Read the options of a run that nobody watches; None leaves the words to Typer, as every mistake in them."""
    if words[:1] != ["run"] or sys.stderr.isatty():
        return None
    values, rest = _read_options(words[1:], RUN_VALUES)
    command = rest[1:] if rest[:1] == ["--"] else rest
    most = values.get("--max-tokens", "1")
    usable = most.isdecimal() and int(most) > 0 and _is_config(values.get("--config"))
    return (values, command) if usable and command and not command[0].startswith("-") else None


def _read_options(words: list[str], names: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Read options up to the first word that is none; return the rest too."""
    values: dict[str, str] = {}
    while words and words[0] in names:
        takes = 1 if words[0] in PROXY_FLAGS else 2
        value = "" if takes == 1 else words[1] if len(words) > 1 else "-"
        if value.startswith("-"):
            break
        values.pop(words[0], None)  # the last one counts
        values[words[0]] = value
        words = words[takes:]
    return values, words


def _run(values: dict[str, str], command: list[str]) -> NoReturn:
    # Nothing that is imported is garbage, and looking for some takes an eighth of the time.
    gc.disable()
    options: CommandOptions = {
        "tool": values.get("--tool"),
        "profile": values.get("--profile"),
        "max_tokens": int(values["--max-tokens"]) if "--max-tokens" in values else None,
        "env": dict(os.environ),
    }
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"  # to look for plugins takes 20 ms; the command does not get it
    from shaping.commands import run_and_print  # noqa: PLC0415 (loaded for this command alone)

    try:
        code = run_and_print(command, values.get("--config"), options)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # the store and the ledger are closed; to free what was imported takes 30 ms
    except BrokenPipeError:
        raise
    except Exception as fault:  # noqa: BLE001 (whatever it is, it must not look like the command's own exit)
        from shaping.cli.run import own_failure  # noqa: PLC0415 (only for a failure of our own: costs 60 ms)

        sys.exit(own_failure(fault).exit_code)


def _is_config(path: str | None) -> bool:
    return path is None or os.path.isfile(path)  # noqa: PTH113 (pathlib costs 5 ms)


def _spawn_early(command: Sequence[str]) -> Popen[bytes] | None:
    """Start a process as the first thing of all; None where it cannot be started, which is told to whoever wants it.

    Until the event loop handles signals, one kills the child and exits.
    """
    started: list[Popen[bytes]] = []

    def end(number: int, _: object) -> None:
        for process in started:
            signal_group(process.pid, signal.SIGKILL)
        os._exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    try:
        started.append(spawn(command))
    except (OSError, ValueError):
        return None
    return started[0]


def _proxy(values: dict[str, str], expand: bool, command: list[str]) -> NoReturn:
    process = _spawn_early(command)
    from shaping.proxy.serving import relay_command  # noqa: PLC0415 (loaded while the server starts)

    sys.exit(relay_command(command, process, values, expand=expand))


if __name__ == "__main__":
    main()
