"""The name of a command as a tool: its first words, as many as tell what its program does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import orjson

from shaping.settings.patterns import ranked

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

_WORD = re.compile(r"[a-z][a-z0-9:_-]*")
_VERSIONED = re.compile(r"(python|pip|node|ruby|perl|php|clang|gcc|go)[\d.]+")
_DEEPEST: Final = 4
_NAMES = orjson.loads(Path(__file__).with_name("tool_names.json").read_bytes())
# How many words name what these programs do; of any other program the first word does.
_DEPTHS: Mapping[str, int] = _NAMES["depths"]
# Options of these programs that stand before the subcommand and take the next word.
_TAKES_WORD: Mapping[str, Sequence[str]] = _NAMES["options_with_a_word"]
# Programs that only start another one: what runs is what comes after these words.
_STARTERS: Sequence[Sequence[str]] = _NAMES["starters"]


def tool_name(argv: Sequence[str], named: Collection[str] = ()) -> str:
    """Return the tool name of a command: the longest that the config has rules for, else its first words."""
    words = list(_words(_started(argv)))[:_DEEPEST]
    names = [" ".join(words[:count]) for count in range(len(words), 0, -1)]
    exact = next((name for name in names if name in named), None)
    if exact is not None or words[0] in _DEPTHS:
        return exact or " ".join(words[: _DEPTHS[words[0]]])
    ruled = (name for name in names if any(" " in pattern for pattern in ranked(name, named)))
    return next(ruled, words[0])


def _words(argv: Sequence[str]) -> Iterator[str]:
    program = _program(argv[0])
    yield program
    takes, skip = _TAKES_WORD.get(program, ()), False
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
        if rest and [_program(argv[0]), *argv[1 : len(starter)]] == starter and not rest[0].startswith("-"):
            return _started(rest) if "=" not in rest[0] else argv
    return argv


def _program(word: str) -> str:
    name = Path(word).name.removesuffix(".exe") or word
    versioned = _VERSIONED.fullmatch(name)
    return {"py.test": "pytest"}.get(name, versioned[1] if versioned else name)
