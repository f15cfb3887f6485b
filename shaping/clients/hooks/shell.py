"""Which command's output a line of shell prints; lines that print a file's text are left alone."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# Whoever reads a file may want to edit it, and then needs its text to the letter.
_READERS: Final = frozenset(
    "cat head tail sed less more nl tac bat batcat xxd od hexdump strings type Get-Content".split()  # noqa: SIM905 (one line of names is easier to read)
)
_CUTTERS: Final = frozenset({"head", "tail", "cat"})  # of another command's output they print whole lines, unchanged
_SILENT: Final = frozenset("cd pushd popd export set unset source . mkdir touch rm mv cp true : sleep".split())  # noqa: SIM905 (one line of names is easier to read)
_KEYWORDS: Final = frozenset("for while until if case select function do done then else fi esac { }".split())  # noqa: SIM905 (one line of names is easier to read)
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_SEVERAL: Final = ("bash",)

Pipeline = list[list[str]]


def printing_command(line: str) -> tuple[str, ...] | None:
    """Return the command whose output a line prints, `bash` where several do, or None where its output must stay.

    That is the text of files, and what `shaping` itself printed.
    """
    try:
        pipelines = list(_pipelines(_tokens(line)))
    except ValueError:  # a quote is not closed, or the line is more than commands and pipes
        words = set(re.findall(r"[\w./-]+", line))
        return None if words & (_READERS | {"shaping"}) else _SEVERAL
    printing = [pipeline for pipeline in pipelines if pipeline[0][0] not in _SILENT]
    if any(_is_exact(pipeline) for pipeline in printing):
        return None
    if len(printing) == 1 and all(command[0] in _CUTTERS for command in printing[0][1:]):
        return tuple(printing[0][0])
    return _SEVERAL


def _is_exact(pipeline: Pipeline) -> bool:
    first, *later = pipeline
    if any(command[0].rpartition("/")[2] == "shaping" for command in pipeline):
        return True
    reads = first[0].rpartition("/")[2] in _READERS or (first[:2] == ["git", "show"] and any(":" in w for w in first))
    return reads and all(command[0] in _READERS for command in later)


def _tokens(line: str) -> list[str]:
    # The end of a line ends a command, unless it is quoted or escaped.
    lexer = shlex.shlex(line.replace("\\\n", " ").strip(), posix=True, punctuation_chars=";|&()<>\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    return list(lexer)


def _pipelines(tokens: list[str]) -> Iterator[Pipeline]:
    commands: Pipeline = [[]]
    words = iter(tokens)
    for token in words:
        if not set(token) <= set(";|&()<>\n"):
            if not (_ASSIGNMENT.fullmatch(token) and not commands[-1]):
                commands[-1].append(token)
        elif token in {"|", "|&"}:
            commands.append([])
        elif token[0] in "<>" or token.startswith("&>"):
            if token.startswith("<<"):
                raise ValueError("a text that is given in the line itself")
            if commands[-1] and commands[-1][-1].isdigit():
                commands[-1].pop()  # the number of what is redirected
            next(words, None)
        elif "(" in token or ")" in token:
            raise ValueError("a line within the line")
        else:
            yield from _ended(commands)
            commands = [[]]
    yield from _ended(commands)


def _ended(commands: Pipeline) -> Iterator[Pipeline]:
    commands = [words for words in commands if words]
    if any(words[0] in _KEYWORDS for words in commands):
        raise ValueError("a loop or a condition")
    if commands:
        yield commands
