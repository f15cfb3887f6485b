"""What each client's hook is told of a tool result, which command printed it, and how the client takes a new text."""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from shaping.clients import joined_texts

# Whoever reads a file may want to edit it, and then needs its text to the letter.
_FILE_READERS: Final = frozenset(
    "cat head tail sed less more nl tac bat batcat xxd od hexdump strings type Get-Content".split()  # noqa: SIM905 (one line of names is easier to read)
)
_CUTTERS: Final = frozenset({"head", "tail", "cat"})  # of another command's output they print whole lines, unchanged
_SILENT: Final = frozenset("cd pushd popd export set unset source . mkdir touch rm mv cp true : sleep".split())  # noqa: SIM905 (one line of names is easier to read)
_KEYWORDS: Final = frozenset("for while until if case select function do done then else fi esac { }".split())  # noqa: SIM905 (one line of names is easier to read)
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_SEVERAL: Final = ("bash",)

Pipeline = list[list[str]]


class PrintingCommand(NamedTuple):
    """The command of a client's own tool, by which a config has rules for it, and whether its output must stay."""

    argv: tuple[str, ...]
    stays: bool = False  # as it is, but for secrets and private fields


def printing_command(line: str) -> PrintingCommand | None:
    """Return the command whose output a line prints, `bash` where several do; None for nothing that is looked at.

    That, and what has to stay, is the text of files and what `shaping` itself printed.
    """
    try:
        pipelines = list(_pipelines(_tokens(line)))
    except ValueError:  # a quote is not closed, or the line is more than commands and pipes
        words = set(re.findall(r"[\w./-]+", line))
        return PrintingCommand(_SEVERAL, stays=bool(words & (_FILE_READERS | {"shaping"})))
    printing = [pipeline for pipeline in pipelines if pipeline[0][0] not in _SILENT]
    exact = [_is_exact(pipeline) for pipeline in printing]
    if exact and all(exact):
        return None
    if len(printing) == 1 and all(command[0] in _CUTTERS for command in printing[0][1:]):
        return PrintingCommand(tuple(printing[0][0]))
    return PrintingCommand(_SEVERAL, stays=any(exact))


def _is_exact(pipeline: Pipeline) -> bool:
    first, *later = pipeline
    if any(command[0].rpartition("/")[2] == "shaping" for command in pipeline):
        return True
    shows_file = first[:2] == ["git", "show"] and any(":" in word for word in first)
    reads = shows_file or first[0].rpartition("/")[2] in _FILE_READERS
    return reads and all(command[0] in _FILE_READERS for command in later)


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


@dataclass(frozen=True, slots=True)
class HookedResult:
    """A tool result whose text may be shaped: the command that printed it, and how the client is told of another."""

    argv: tuple[str, ...]
    text: str  # what the client would show its model
    replaced: Callable[[str, Mapping[str, Any]], dict[str, Any]]  # takes the text, and what stands beside it
    call_id: str = ""
    session: str = ""
    cwd: str = "/"
    limit: int | None = None  # characters of a text that the client shows: the first and the last ones
    file: Path | None = None  # where the client keeps the whole output of which it shows a part
    transcript: Path | None = None  # in which the client records what it showed; else our plugin tells
    shown: Callable[[Any], str | None] | None = None  # reads one line of the transcript
    stays: bool = False  # as it is, but for secrets and private fields
    beside: Mapping[str, Any] = field(default_factory=dict)  # what else the client may show: the errors, an address

    def cut(self, text: str) -> str:
        """Return what the client shows its model of a text."""
        if self.limit is None or len(text) <= self.limit:
            return text
        half = self.limit // 2
        return f"{text[:half]}\n\n...[truncated {len(text) - self.limit} chars]...\n\n{text[-half:]}"


def read_hook_result(client: str, payload: Mapping[str, Any]) -> HookedResult | None:
    """Read what a client's hook is told; None where the result must stay as it is."""
    reader = _READERS.get(client)
    return None if reader is None else reader(payload)


_FETCHERS: Final = ("WebFetch", "web_fetch", "webfetch")
_TOOLS: Final = {"Grep": ("grep",), "grep": ("grep",), **{name: (name,) for name in _FETCHERS}}
_CLAUDE_MEMBERS: Final = {"Bash": "stdout", "Grep": "content", "WebFetch": "result"}
# With these a result is not shaped. Of an output of over 30,000 characters, which it keeps in a file, Claude Code shows
# the first 2 KB: no shaped text of it would be cheaper.
_CLAUDE_SPECIAL: Final = ("backgroundTaskId", "interrupted", "structuredContent", "stderr", "persistedOutputPath")


def _claude_code(payload: Mapping[str, Any]) -> HookedResult | None:
    response, given = payload.get("tool_response"), payload.get("tool_input") or {}
    if payload.get("hook_event_name") != "PostToolUse" or not isinstance(response, dict):
        return None
    command = _command(payload.get("tool_name"), given)
    member = _CLAUDE_MEMBERS.get(str(payload.get("tool_name")), "")
    text = response.get(member)
    beside = {
        name: value
        for name, value in response.items()
        if name != member and value and isinstance(value, str | dict | list)
    }
    if command is None or not (_is_text(text) or beside) or response.get("isImage"):
        return None
    call_id = str(payload.get("tool_use_id", ""))

    def replaced(text: str, beside: Mapping[str, Any]) -> dict[str, Any]:
        new = {**response, **beside, member: text}
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": new}}

    def shown(line: Any) -> str | None:
        content = line["message"]["content"]
        ours = (block for block in content if isinstance(block, dict) and block.get("tool_use_id") == call_id)
        return next((joined_texts(block.get("content")) for block in ours), None)

    return HookedResult(
        command.argv,
        text if isinstance(text, str) else "",
        replaced,
        call_id,
        str(payload.get("session_id", "")),
        str(payload.get("cwd") or "/"),
        transcript=Path(str(payload.get("transcript_path", ""))),
        shown=shown,
        stays=command.stays or not _is_text(text) or any(map(response.get, _CLAUDE_SPECIAL)),
        beside=beside,
    )


# The last line that Copilot's shell tool adds, and how its text begins where the output lies in a file.
_COPILOT_EXIT: Final = re.compile(r"\n?<shellId: [^\n]*>\s*\Z")
_COPILOT_SAVED: Final = "Output too large to read at once"


def _copilot(payload: Mapping[str, Any]) -> HookedResult | None:
    result, given = payload.get("toolResult"), payload.get("toolArgs") or {}
    command = _command(payload.get("toolName"), given)
    text = result.get("textResultForLlm") if isinstance(result, dict) else None
    if command is None or not _is_text(text) or str(text).startswith(_COPILOT_SAVED):
        return None
    ended = _COPILOT_EXIT.search(str(text))
    body, end = (str(text)[: ended.start()], ended[0]) if ended else (str(text), "")

    def replaced(new: str, _beside: Mapping[str, Any]) -> dict[str, Any]:
        return {"modifiedResult": {**dict(result or {}), "textResultForLlm": new + end}}

    def shown(line: Any) -> str | None:
        if line["type"] != "tool.execution_complete" or line["data"]["result"].get("detailedContent") != text:
            return None
        return str(line["data"]["result"]["content"])

    session = str(payload.get("sessionId", ""))
    return HookedResult(
        command.argv,
        body,
        replaced,
        session=session,
        cwd=str(payload.get("cwd") or "/"),
        transcript=Path.home() / ".copilot" / "session-state" / session / "events.jsonl",
        shown=shown,
        stays=command.stays,
    )


# How opencode 1.18 begins an output of more than 2,000 lines or 50 KB, of which it shows the end.
_OPENCODE_SAVED: Final = re.compile(r"\.\.\.output truncated\.\.\.\s+Full output saved to: (\S+)\s")


_CLINE_SHOWS: Final = 8_000  # characters of each result, as measured with version 3.0.65


def _plugin(payload: Mapping[str, Any], limit: int | None = None) -> HookedResult | None:
    """Read what our own plugins for opencode, Kilo and Cline send."""
    text, given = payload.get("output"), payload.get("args") or {}
    command = _command(payload.get("tool"), given)
    if command is None or not _is_text(text):
        return None
    saved = _OPENCODE_SAVED.match(str(text))
    return HookedResult(
        command.argv,
        str(text),
        lambda text, _beside: {"output": text},
        str(payload.get("call", "")),
        str(payload.get("session", "")),
        str(payload.get("cwd") or "/"),
        limit,
        Path(saved[1]) if saved else None,
        stays=command.stays,
    )


def _command(tool: Any, given: Any) -> PrintingCommand | None:
    """Return the command of a client's own tool; None for what is not looked at."""
    if tool not in {"Bash", "bash"}:
        return PrintingCommand(_TOOLS[tool]) if isinstance(tool, str) and tool in _TOOLS else None
    return printing_command(str(given.get("command", "")) if isinstance(given, dict) else "")


def _is_text(text: Any) -> bool:
    return isinstance(text, str) and bool(text.strip())


_READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], HookedResult | None]]] = {
    "claude-code": _claude_code,
    "cline": partial(_plugin, limit=_CLINE_SHOWS),
    "copilot-cli": _copilot,
    "kilo": _plugin,
    "opencode": _plugin,
}
