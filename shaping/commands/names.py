"""The tool name of a command line, and the programs whose names come nearest to a wrong one."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shaping.errors import nearest
from shaping.settings.resolve import ranked

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence


_WORD = re.compile(r"[a-z][a-z0-9:_-]*")
_VERSIONED = re.compile(r"(python|pip|node|ruby|perl|php|clang|gcc|go)[\d.]+")
_DEEPEST: Final = 4
# How many words name what these programs do; of any other program the first word does.
_DEPTHS: Mapping[str, int] = {
    **dict.fromkeys(("kubectl", "docker", "podman", "gh", "glab", "aws", "gcloud", "az", "oc"), 3),
    **dict.fromkeys(
        ("git", "cargo", "npm", "pnpm", "yarn", "pip", "uv", "poetry", "go", "ruff", "helm", "terraform", "systemctl",
         "apt", "apt-get", "brew", "conda", "dotnet", "rustup", "hg", "svn", "jj", "shaping", "make"), 2,
    ),
}  # fmt: skip
# Options of these programs that stand before the subcommand and take the next word.
_TAKES_WORD: Mapping[str, frozenset[str]] = {
    "git": frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"}),
    "kubectl": frozenset({"-n", "--namespace", "--context", "--kubeconfig", "-s", "--server"}),
    "docker": frozenset({"-H", "--host", "--context", "--config", "-l", "--log-level"}),
    "npm": frozenset({"--prefix", "-w", "--workspace"}),
    "cargo": frozenset({"--config", "--color", "-Z", "-C"}),
}
# Programs that only start another one: what runs is what comes after these words.
_STARTERS: tuple[tuple[str, ...], ...] = (
    ("python", "-m"), ("npx",), ("uvx",), ("pipx", "run"), ("uv", "run"), ("poetry", "run"), ("pdm", "run"),
    ("npm", "exec"), ("pnpm", "exec"), ("yarn", "exec"), ("bundle", "exec"), ("env",), ("nice",), ("time",),
)  # fmt: skip


def tool_name(argv: Sequence[str], named: Collection[str] = ()) -> str:
    """Return the tool name of a command: the longest that the config has rules for, else its first words."""
    words = list(_words(_started(argv)))[:_DEEPEST]
    names = [" ".join(words[:count]) for count in range(len(words), 0, -1)]
    exact = next((name for name in names if name in named), None)
    if exact is not None or words[0] in _DEPTHS:
        return exact or " ".join(words[: _DEPTHS[words[0]]])
    ruled = (name for name in names if any(" " in pattern for pattern in ranked(name, named)))
    return next(ruled, words[0])


def nearest_programs(name: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the programs on PATH with the most similar names."""
    near = nearest(name, sorted(_programs(environ.get("PATH", os.defpath))), n=12)
    # Letters in the wrong order are the commonest slip.
    return tuple(sorted(near, key=lambda program: sorted(program) != sorted(name)))[:3]


def _words(argv: Sequence[str]) -> Iterator[str]:
    program = _program(argv[0])
    yield program
    takes, skip = _TAKES_WORD.get(program, frozenset()), False
    begun = False
    for word in argv[1:]:
        if skip:
            skip = False
        elif word.startswith(("-", "+")) and not begun:
            skip = word in takes
        elif _WORD.fullmatch(word):
            begun = True
            yield word
        else:
            return


def _started(argv: Sequence[str]) -> Sequence[str]:
    for starter in _STARTERS:
        rest = argv[len(starter) :]
        if rest and (_program(argv[0]), *argv[1 : len(starter)]) == starter and not rest[0].startswith("-"):
            return _started(rest) if "=" not in rest[0] else argv
    return argv


def _program(word: str) -> str:
    name = Path(word).name.removesuffix(".exe") or word
    versioned = _VERSIONED.fullmatch(name)
    return {"py.test": "pytest"}.get(name, versioned[1] if versioned else name)


def _programs(path: str) -> Iterator[str]:
    for directory in dict.fromkeys(path.split(os.pathsep)):
        try:
            with os.scandir(directory or ".") as entries:
                yield from (entry.name for entry in entries if _is_program(entry))
        except OSError:
            continue


def _is_program(entry: os.DirEntry[str]) -> bool:
    try:
        mode = entry.stat().st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) and bool(mode & 0o111)
