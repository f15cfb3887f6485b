"""The sessions that Claude Code, Codex, Gemini CLI and opencode keep on disk, and their calls shaped once more."""

import re
import shlex
import sqlite3
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import orjson

from shaping.clients import joined_texts
from shaping.clients.hooks.results import printing_command
from shaping.commands.tool_names import tool_name
from shaping.learning.traffic import BUILT_IN, SHELL, Form, ToolCall, Transcript, Usage, missing, seconds, used_values
from shaping.shaper import Shaper
from shaping.tokens.counters import count_closely

_SHELLS: Final = frozenset(
    {"Bash", "bash", "shell", "local_shell", "exec_command", "run_shell_command", "unified_exec"}
)
_MCP_TOOL: Final = re.compile(r"mcp__(?P<server>.*?)__(?P<tool>.*)")
_GEMINI_SERVER: Final = re.compile(r"(?P<tool>.+) \((?P<server>.+) MCP Server\)")
# What clients put around a tool's own text.
_CODEX_HEAD: Final = re.compile(r"Wall time: [\d.]+ seconds\nOutput:")
_GEMINI_WRAP: Final = re.compile(r"<untrusted_context>\n(.*)\n</untrusted_context>", re.DOTALL)


class _Session:
    """Collects one session: calls wait for their results under their ids."""

    def __init__(self, client: str, session: str) -> None:
        self.client, self.session = client, f"{client}/{session}"  # clients may give two sessions one name
        self._calls: dict[str, ToolCall] = {}
        self._texts: list[tuple[float, str]] = []
        self._turns: list[float] = []
        self._answers = False  # whether the last thing was the model's, and more of it belongs to the same turn

    def text(self, time: float, text: str, *, own: bool) -> None:
        """Take what the agent said, or its user."""
        if own:
            self._turn(time)
        self._answers = own
        if text:
            self._texts.append((time, text))

    def _turn(self, time: float) -> None:
        if not self._answers and self._turns[-1:] != [time]:
            self._turns.append(time)
        self._answers = True

    def call(self, key: str, time: float, server: str, tool: str, arguments: Any) -> None:
        self._turn(time)
        if not server:
            command = _command(tool, arguments)
            server, tool = (SHELL, command) if command else (BUILT_IN, tool)
        form: Form = "text" if server == SHELL else "mcp"
        call = ToolCall(tool, None, form, server, self.client, self.session, time, arguments)
        self._calls.setdefault(key, call)

    def result(self, key: str, text: str, *, failed: bool = False) -> None:
        call = self._calls.get(key)
        if call is None or call.result is not None:
            return
        self._answers = False
        result: Any = text
        if call.form == "mcp":
            result = {"content": [{"type": "text", "text": text}], **({"isError": True} if failed else {})}
        self._calls[key] = replace(call, result=result)

    def transcript(self) -> Transcript:
        calls = tuple(call for call in self._calls.values() if call.result is not None)
        return Transcript(self.session, calls, tuple(self._texts), tuple(sorted(self._turns)))


def read_claude(path: Path) -> Iterator[Transcript]:
    """Read a session of Claude Code: one JSON lines file, a message in each line."""
    found = _Session("claude-code", path.stem)
    for line in _lines(path):
        message = line.get("message")
        if line.get("type") not in {"user", "assistant"} or not isinstance(message, dict):
            continue
        time, content = _time(line), message.get("content")
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content or ():
            kind = block.get("type")
            if kind == "text":
                found.text(time, block["text"], own=line["type"] == "assistant")
            elif kind == "tool_use":
                found.call(block["id"], time, *_named(block["name"]), block.get("input"))
            elif kind == "tool_result":
                failed = block.get("is_error") is True
                found.result(block["tool_use_id"], joined_texts(block.get("content")), failed=failed)
    yield found.transcript()


def read_codex(path: Path) -> Iterator[Transcript]:
    """Read a session of Codex: one JSON lines file, the model's items among other events."""
    found = _Session("codex-mcp-client", path.stem)
    for line in _lines(path):
        item = line.get("payload")
        if line.get("type") != "response_item" or not isinstance(item, dict):
            continue
        time, kind = _time(line), item.get("type", "")
        if kind == "message" and item.get("role") in {"user", "assistant"}:
            found.text(time, joined_texts(item.get("content")), own=item["role"] == "assistant")
        elif kind in {"function_call", "custom_tool_call", "local_shell_call"}:
            name, space = str(item.get("name", kind.removesuffix("_call"))), str(item.get("namespace") or "")
            arguments = item.get("arguments", item.get("input", item.get("action")))
            server, tool = _named(f"{space}__{name}" if space else name)
            found.call(str(item.get("call_id")), time, server, tool, _parsed(arguments))
        elif kind in {"function_call_output", "custom_tool_call_output", "local_shell_call_output"}:
            text = joined_texts(item.get("output")).removeprefix("\n")
            found.result(str(item.get("call_id")), _CODEX_HEAD.sub("", text, count=1).removeprefix("\n"))
    yield found.transcript()


def read_gemini(path: Path) -> Iterator[Transcript]:
    """Read a session of Gemini CLI: JSON lines of messages, or one JSON file of them all, as older versions wrote."""
    found = _Session("gemini-cli-mcp-client", path.stem)
    whole = None if path.suffix == ".jsonl" else _parsed(path.read_text(errors="replace"))
    for line in whole.get("messages", ()) if isinstance(whole, dict) else _lines(path):
        time, kind, content = _time(line), line.get("type"), line.get("content")
        if kind in {"user", "gemini"}:
            found.text(time, joined_texts(content), own=kind == "gemini")
        for call in line.get("toolCalls") or ():
            shown = _GEMINI_SERVER.fullmatch(call.get("displayName") or "")
            server, tool = (shown["server"], shown["tool"]) if shown else ("", call["name"])
            found.call(call["id"], time, server, tool, call.get("args"))
            for part in call.get("result") or ():
                answer = (part.get("functionResponse") or {}).get("response") or {}
                text = str(answer.get("output", answer.get("error", "")))
                wrapped = _GEMINI_WRAP.fullmatch(text)
                found.result(call["id"], wrapped[1] if wrapped else text, failed="error" in answer)
    yield found.transcript()


def read_opencode(path: Path) -> Iterator[Transcript]:
    """Read all sessions of opencode: a SQLite database of messages and their parts."""
    servers = _opencode_servers(path)
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        roles = {key: _parsed(data).get("role") for key, data in database.execute("SELECT id, data FROM message")}
        rows = database.execute(
            "SELECT session_id, message_id, time_created, data FROM part ORDER BY session_id, time_created, id"
        )
        sessions: dict[str, _Session] = {}
        for session, message, created, data in rows:
            found = sessions.setdefault(session, _Session("opencode", session))
            _opencode_part(found, _parsed(data), created / 1000, roles.get(message), servers)
    for found in sessions.values():
        yield found.transcript()


def _opencode_part(found: _Session, part: Any, time: float, role: str | None, servers: Mapping[str, str]) -> None:
    if part.get("type") == "text":
        found.text(time, part.get("text", ""), own=role == "assistant")
    elif part.get("type") == "tool":
        name, state = part["tool"], part.get("state") or {}
        prefix = next(filter(name.startswith, servers), "")
        found.call(part["callID"], time, servers.get(prefix, ""), name.removeprefix(prefix), state.get("input"))
        if state.get("status") in {"completed", "error"}:
            text = str(state.get("output", state.get("error", "")))
            found.result(part["callID"], text, failed=state["status"] == "error")


def _opencode_servers(path: Path) -> dict[str, str]:
    """Return the names of opencode's servers by what their tools' names begin with, the longest first."""
    home = path.parents[3] if len(path.parents) > 3 else path.parent
    config: Mapping[str, Any] = {}
    for place in (path.with_name("opencode.json"), home / ".config" / "opencode" / "opencode.json"):
        with suppress(OSError, orjson.JSONDecodeError):
            config = orjson.loads(place.read_bytes())
            break
    names = sorted(config.get("mcp") or (), key=lambda name: (-len(name), name))
    return {re.sub(r"[^a-zA-Z0-9_-]", "_", name) + "_": name for name in names}


FORMATS: Final[Mapping[str, tuple[Callable[[Path], Iterator[Transcript]], tuple[str, ...]]]] = {
    "Claude Code": (read_claude, (".claude/projects/*/*.jsonl",)),
    "Codex": (read_codex, (".codex/sessions/*/*/*/*.jsonl", ".codex/sessions/*.jsonl")),
    "Gemini CLI": (read_gemini, (".gemini/tmp/*/chats/*.jsonl", ".gemini/tmp/*/chats/*.json")),
    "opencode": (read_opencode, (".local/share/opencode/opencode.db",)),
}


def find_transcripts(home: Path) -> dict[str, list[Path]]:
    """Find the transcripts below a home directory, by client."""
    found = {
        client: sorted({path for place in places for path in home.glob(place)})
        for client, (_, places) in FORMATS.items()
    }
    return {client: files for client, files in found.items() if files}


def _command(tool: str, arguments: Any) -> str:
    """Return the tool name of the command that a client's shell ran, or nothing where the tool is no shell."""
    if tool not in _SHELLS or not isinstance(arguments, dict):
        return ""
    command = arguments.get("command", arguments.get("cmd", ""))
    if isinstance(command, list):
        command = command[2] if len(command) > 2 and command[1] in {"-c", "-lc"} else shlex.join(command)
    printing = printing_command(str(command))
    return "" if printing is None else tool_name(printing.argv)  # files that it reads stay as they are


def _named(name: str) -> tuple[str, str]:
    """Take the server's name out of a tool's, where it has one."""
    found = _MCP_TOOL.fullmatch(name)
    return (found["server"], found["tool"]) if found else ("", name)


def _parsed(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return {"input": text}


def _time(line: Mapping[str, Any]) -> float:
    try:
        return seconds(line.get("timestamp") or 0.0)
    except ValueError:
        return 0.0


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Read the objects of a JSON lines file; a line that is torn is passed over, as the client itself does."""
    with path.open("rb") as file:
        for line in file:
            with suppress(orjson.JSONDecodeError):
                data = orjson.loads(line)
                if isinstance(data, dict):
                    yield data


@dataclass(slots=True)
class ToolReplay:
    """What the calls of one tool come to."""

    server: str
    tool: str
    calls: int = 0
    before: int = 0
    after: int = 0
    error: float = 0.0  # tokens by which the two may be wrong, where texts were counted by samples
    read_before: int = 0  # the same tokens, each as often as it was read again in a later turn
    read_after: int = 0
    used: int = 0  # values that the agent used later
    missing: dict[str, int] = field(default_factory=dict)  # those of them that it would not have read

    @property
    def saved(self) -> float:
        """The part of the tokens that would not have been read."""
        return 1 - self.after / self.before if self.before else 0.0


def replay(
    shaper: Shaper, calls: Iterable[ToolCall], usage: Usage, turns: Mapping[str, Sequence[float]] | None = None
) -> dict[tuple[str, str], ToolReplay]:
    """Shape every call, and add up by server and tool what the model read and would have read.

    `turns` are the times at which the model was asked, by session.
    """
    listed = list(calls)
    names: dict[str, set[str]] = {}  # of the arguments that each server's tools were called with
    for call in listed:
        if isinstance(call.arguments, dict):
            names.setdefault(call.server, set()).update(call.arguments)
    found: dict[tuple[str, str], ToolReplay] = {}
    shown: dict[str, set[str]] = {}
    lost: list[tuple[ToolReplay, str, str]] = []
    for call in listed:
        row = found.setdefault((call.server, call.tool), ToolReplay(call.server, call.tool))
        before = call.text_before()
        after = before if call.server == BUILT_IN else call.text_after(shaper, frozenset(names.get(call.server, ())))
        row.calls += 1
        counts = count_closely(before), count_closely(after)
        # The first turn after a result writes it into the cache, and those that follow read it from there.
        asked = (turns or {}).get(call.session, ())
        later = max(0, len(asked) - bisect_right(asked, call.time) - 1)
        row.before += counts[0]
        row.after += counts[1]
        row.error += sum(one * one.error_bound / 100 for one in counts)
        row.read_before += later * counts[0]
        row.read_after += later * counts[1]
        values = used_values(call, usage.used(call))
        gone = missing(values, after)
        row.used += len(values)
        shown.setdefault(call.session, set()).update(values - gone)
        lost.extend((row, call.session, value) for value in sorted(gone))
    for row, session, value in lost:
        # What another answer shows before it is used is not missed.
        if value not in shown[session]:
            row.missing[value] = row.missing.get(value, 0) + 1
    return found
