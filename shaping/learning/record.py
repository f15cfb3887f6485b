"""Recordings of what tools answered: JSON lines, one file for each server, tool and day."""

import logging
import math
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import orjson

from shaping.cleaning import protect
from shaping.redaction import without_secrets
from shaping.response import Shaped
from shaping.settings.files import delete_oldest, refuse_links
from shaping.settings.plan import Plan, full_name
from shaping.store.keeper import BackgroundQueue
from shaping.tokens import count

logger = logging.getLogger("shaping")

MAX_BYTES: Final = 1_000_000_000
TOOLS: Final = "_tools"  # the name of the files that hold the definitions of a server's tools
FILE_NAME: Final = re.compile(r"(?P<tool>.+)\.(?P<day>\d{4}-\d{2}-\d{2})\.jsonl(?:\.gz|\.zst)?")

_LONGEST_LINE: Final = 16_000_000  # bytes
_BATCH: Final = 128  # calls that are written at once
_EXIT_SECONDS: Final = 5.0


class Recorder:
    """Writes calls to a folder, without their secrets, on a thread of its own.

    Several processes may write to one folder. It holds at most `max_bytes`: the oldest files go first. Where more
    calls come than can be written, some are dropped, and `dropped` counts them.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        arguments: bool = True,
        max_bytes: int = MAX_BYTES,
        watch: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> None:
        """Make a recorder; without `arguments` those of calls are left out, `watch` is given each line."""
        self.folder = Path(folder)
        self._arguments = arguments
        self._max_bytes = max_bytes
        self._watch = watch
        self._waiting = BackgroundQueue("shaping-recorder", self._write, batch=_BATCH, exit_seconds=_EXIT_SECONDS)
        self._size: int | None = None
        self._tools: dict[str, bytes] = {}
        self._warned = False

    def __call__(self, shaped: Shaped) -> None:
        """Record a response of a Shaper, as its `recorder`."""
        cleaned = getattr(shaped, "cleaned", None)
        if cleaned is None:  # shaping failed, and the answer is not known as plain data
            return
        # Written at once: whoever owns the value may change it as soon as the call is over.
        raw = orjson.dumps(cleaned.plain_raw(shaped.plan), default=str)
        text = shaped.text
        self.record(shaped.plan, raw, form="value", before=raw.decode, after=lambda: text)

    def record(
        self,
        plan: Plan,
        result: Any,
        *,
        form: str = "mcp",
        arguments: Mapping[str, Any] | None = None,
        server: str = "",
        client: str = "",
        session: str = "",
        before: Callable[[], str] | None = None,
        after: Callable[[], str] | None = None,
    ) -> None:
        """Record a call: `before` and `after` give what a model would have been shown, and what it was shown.

        `form` says what the result is: the wire form of an `mcp` result, a Python `value` (or its JSON as bytes), or
        the `text` of a command.
        """
        now = time.time()

        def write() -> None:
            counts = [None if text is None else count(text(), plan.tokenizer) for text in (before, after)]
            known = [one for one in counts if one is not None]
            inexact = any(one.method != "exact" for one in known)
            error = max((math.ceil(one * one.error_bound / 100) for one in known), default=0)
            line = {
                "time": _iso(now),
                "session": session,
                "server": server,
                "tool": plan.tool.removeprefix(full_name("", server)),
                "client": client,
                "form": form,
                "tokens_before": None if counts[0] is None else int(counts[0]),
                "tokens_after": None if counts[1] is None else int(counts[1]),
                **({"tokens_error": error} if inexact else {}),
                "arguments": _kept_arguments(arguments, plan) if arguments is not None and self._arguments else None,
                "result": storable(orjson.loads(result) if isinstance(result, bytes) else result, plan, form),
            }
            self._append(server, line["tool"], now, line)

        self._waiting.put(write)

    def record_tools(self, server: str, tools: Sequence[Mapping[str, Any]]) -> None:
        """Record the definitions of a server's tools, where they are not what they were."""
        listed = orjson.dumps(list(tools), option=orjson.OPT_SORT_KEYS)
        if self._tools.get(server) == listed:
            return
        self._tools[server] = listed
        now = time.time()
        line = {"time": _iso(now), "server": server, "tools": without_secrets(orjson.loads(listed))}
        self._waiting.put(partial(self._append, server, TOOLS, now, line))

    @property
    def dropped(self) -> int:
        """How many calls could not be recorded."""
        return self._waiting.dropped

    def flush(self, timeout: float = 10.0) -> bool:
        """Wait until what was recorded so far is written; return whether it was in time."""
        return self._waiting.flush(timeout)

    def close(self, timeout: float = _EXIT_SECONDS) -> None:
        """Write what is waiting, and stop."""
        self._waiting.close(timeout)

    def _write(self, calls: list[Callable[[], None]]) -> None:
        for write in calls:
            try:
                write()
            except Exception as problem:  # noqa: BLE001 (whatever it is, the calls go on; a result is not part of the message)
                self._waiting.drop()
                if not self._warned:
                    self._warned = True
                    reason = (isinstance(problem, OSError) and problem.strerror) or type(problem).__name__
                    logger.warning("a call could not be recorded in %s (%s)", self.folder, reason)

    def _append(self, server: str, tool: str, now: float, line: Mapping[str, Any]) -> None:
        written = orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
        if len(written) > min(_LONGEST_LINE, self._max_bytes):
            self._waiting.drop()
            return
        path = self.folder / _safe(server or "_") / f"{_safe(tool)}.{_iso(now)[:10]}.jsonl"
        refuse_links(path)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._make_room(len(written))
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            os.write(file, written)  # in one piece, so that lines of several processes do not mix
        finally:
            os.close(file)
        if self._watch is not None:
            self._watch(line)

    def _make_room(self, size: int) -> None:
        self._size = size + (self._size or 0)
        # The folder is looked at from time to time only: other processes write to it too.
        if self._size != size and self._size < self._max_bytes // 20:
            return
        delete_oldest(recordings(self.folder), self._max_bytes - size)
        self._size = 1


def recordings(folder: Path) -> list[Path]:
    """List the files of a folder that a Recorder wrote, compressed since or not, in a stable order."""
    return sorted(path for path in folder.glob("**/*.jsonl*") if FILE_NAME.fullmatch(path.name))


def storable(result: Any, plan: Plan, form: str = "mcp") -> Any:
    """Return a result as it may be kept on disk: without private fields, and without secrets in any profile."""
    redacting = replace(plan, redact=replace(plan.redact, off=False, values=True))
    if form != "mcp":
        return protect(result, redacting)
    from shaping.mcp.protection import protect_result  # noqa: PLC0415 (the MCP side is loaded only where it is used: 100 ms)

    return protect_result(result, redacting)


def _kept_arguments(arguments: Mapping[str, Any], plan: Plan) -> Any:
    """Return arguments as they may be kept on disk: what is private of an answer may be asked with, too."""
    kept = dict(arguments) if plan.private is None else plan.private.at_any_depth().apply(dict(arguments))
    return without_secrets(kept, names=True)


def _safe(name: str) -> str:
    name = quote(name, safe=" -_~")[:120].strip() or "_"
    return f"%2E{name[1:]}" if name.startswith(".") else name


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
