"""The program: `shaping proxy -- COMMAND` starts its server before anything else is imported."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

_VALUES = ("--config", "--profile", "--start-timeout")
_FLAGS = {"--expand": True, "--no-expand": False}


def main() -> None:
    """Run the command line."""
    found = plain_proxy(sys.argv[1:])
    if found is not None:
        _proxy(*found)
    from shaping.cli.app import main as run  # noqa: PLC0415 (the proxy does without it: costs 100 ms)

    run()


def plain_proxy(words: list[str]) -> tuple[dict[str, str], bool, list[str]] | None:
    """Read the options of a proxy for one command; None for every other command line, and for one with a mistake."""
    if words[:1] != ["proxy"] or "--" not in words:
        return None
    options, command = words[1 : words.index("--")], words[words.index("--") + 1 :]
    values: dict[str, str] = {}
    expand = True
    while options:
        option = options.pop(0)
        if option in _FLAGS:
            expand = _FLAGS[option]
        elif option in _VALUES and options and not options[0].startswith("-"):
            values[option] = options.pop(0)
        else:
            return None
    return (values, expand, command) if command and _is_usable(values) else None


def _is_usable(values: dict[str, str]) -> bool:
    try:
        in_time = float(values.get("--start-timeout", "1")) >= 1
    except ValueError:
        return False
    return in_time and os.path.isfile(values.get("--config", __file__))  # noqa: PTH113 (pathlib costs 5 ms)


def _proxy(values: dict[str, str], expand: bool, command: list[str]) -> NoReturn:
    from shaping.proxy.spawn import spawn_early  # noqa: PLC0415 (nothing else is imported before it)

    process = spawn_early(command)
    from shaping.proxy.child import command_server  # noqa: PLC0415 (loaded while the server starts)
    from shaping.proxy.loading import Options, UnknownProfileError  # noqa: PLC0415 (loaded while the server starts)
    from shaping.proxy.stdio import run_stdio  # noqa: PLC0415 (loaded while the server starts)

    options = Options(values.get("--config"), values.get("--profile"), expand=expand)
    seconds = float(values["--start-timeout"]) if "--start-timeout" in values else None
    try:
        sys.exit(run_stdio(command_server(command, seconds=seconds, process=process), options))
    except UnknownProfileError as problem:
        sys.stderr.write(f"{problem}\n")
        sys.exit(2)
    except ValueError as problem:
        if not hasattr(problem, "problems"):
            raise
        sys.stderr.write(f"{problem}\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
