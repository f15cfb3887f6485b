"""The resident process's work: a client's tool result in, what its hook answers out."""

import json
import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any, Final

import orjson

from shaping.cleaning import WITHHELD, protect
from shaping.clients.hooks.results import HookedResult, read_hook_result
from shaping.commands import make_response, new_capture, plan_for
from shaping.commands.capture import Finished
from shaping.commands.process import ProcessExit
from shaping.ledger import record_text
from shaping.ledger.call_texts import keep_output
from shaping.settings.chooser import mode
from shaping.settings.jsonc import ConfigError
from shaping.settings.plan import Plan
from shaping.shaper import Shaper
from shaping.tokens import counter
from shaping.tokens.sampling import costs_at_most

_WAIT_SECONDS: Final = 60.0  # for a transcript to tell of a result; after that nobody knows what was shown
_TAIL: Final = 4 * 1024 * 1024  # bytes of a transcript's end in which a result is looked for


@dataclass(frozen=True, slots=True)
class GivenResult:
    """A result, the text that its client was given in its place, and what the ledger is told besides."""

    result: HookedResult
    text: str
    tool: str
    about: Mapping[str, Any]
    since: float = field(default_factory=monotonic)


class ShownResults:
    """Waits for each result to appear in its client's transcript, and records what stands there."""

    def __init__(self) -> None:
        self._waiting: list[GivenResult] = []
        # How many results clients showed shaped, how many they rejected, and of how many nothing is known.
        self._counts = {"shaped": 0, "rejected": 0, "unknown": 0}

    @property
    def is_waiting(self) -> bool:
        """Whether there is a transcript to look into."""
        return bool(self._waiting)

    def counts(self) -> dict[str, int]:
        """Return what became of the results, and for how many that is still to be seen."""
        return {**self._counts, "waiting": len(self._waiting)}

    def add(self, given: GivenResult) -> None:
        """Take a result that was left as it is, or one that the client has still to show."""
        if given.text is given.result.text:
            self._record(given, given.text)
        else:
            self._waiting.append(given)

    def told(self, call_id: str, shown: str) -> None:
        """Take what a client has recorded of a call."""
        self._settle(lambda result: shown if result.call_id == call_id else None)

    def look(self) -> None:
        """Look into the transcripts for the results that are waited for."""
        self._settle(_shown)

    def _settle(self, shown_of: Callable[[HookedResult], str | None]) -> None:
        still: list[GivenResult] = []
        for waiting in self._waiting:
            shown = shown_of(waiting.result)
            if shown is not None:
                self._confirm(waiting, shown)
            elif monotonic() - waiting.since < _WAIT_SECONDS:
                still.append(waiting)
            else:
                self._counts["unknown"] += 1
        self._waiting = still

    def _confirm(self, waiting: GivenResult, shown: str) -> None:
        if waiting.text.strip() in shown:
            self._counts["shaped"] += 1
            self._record(waiting, waiting.result.text)
        else:
            self._counts["rejected"] += 1
            record_text(waiting.tool, shown, shown, **{**waiting.about, "keep": None})

    def _record(self, given: GivenResult, before: str) -> None:
        cut = given.result.cut
        record_text(given.tool, partial(cut, before), partial(cut, given.text), **given.about)


def _shown(result: HookedResult) -> str | None:
    """Return what a transcript says was shown of a result, or None where it does not tell yet."""
    if result.transcript is None or result.shown is None:
        return None
    try:
        with result.transcript.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
            lines = file.readlines()
    except OSError:
        return None
    for line in reversed(lines):
        # The first line may be cut off, and most lines are of another kind.
        with suppress(orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
            if result.call_id.encode() in line and (shown := result.shown(orjson.loads(line))) is not None:
                return shown
    return None


logger = logging.getLogger("shaping")

_LARGEST: Final = 256 * 1024  # bytes of an output in a file; shaping more takes longer than anybody wants to wait
_TRIES: Final = 4  # budgets that are tried until a client shows all of a text
_NO_CONFIG: Final = "[withheld: shaping's config has a mistake; `shaping check` says which]"
_SHAPERS: Final = 8  # working directories whose config is held


class HookService:
    """Shapes the results of clients' own tools, each by the config of the directory in which the client works."""

    def __init__(self) -> None:
        self._shapers: dict[tuple[object, ...], Shaper] = {}
        self.shown = ShownResults()
        self._program = _program()

    def answer(self, request: bytes) -> bytes:
        """Answer one request: the client's name and our variables in its environment, a line each, then the payload."""
        head, _, body = request.partition(b"\n\n")
        first, *variables = head.decode().split("\n")
        client = first.partition(" ")[0]
        if client == "status":
            return orjson.dumps({"pid": os.getpid(), **self.shown.counts()})
        try:
            payload = _read(body)
            if "shown" in payload:
                self.shown.told(str(payload["call"]), str(payload["shown"]))
                return b""
            with _environment(dict(line.split("=", 1) for line in variables)):
                result = read_hook_result(client, payload)
                answered = None if result is None or mode() == "off" else self._answer_or_withhold(client, result)
        except Exception:  # whatever it is, it must not cost the tool's answer
            logger.warning("a result of %s was left as it is", client, exc_info=True)
            return b""
        return b"" if answered is None else orjson.dumps(answered)

    def warm(self) -> None:
        """Load what the first call would wait for."""
        rows = [{"id": number, "url": f"https://example.com/{number}", "name": "warm"} for number in range(40)]
        shaper = Shaper({}, expandable=False)
        for text in (orjson.dumps(rows).decode(), "a line\n" * 40):
            _shaped(shaper, plan_for(shaper, ("warm",), {}), ("warm",), text)
        shaper.close()

    def close(self) -> None:
        """Record what can be; what is recorded is written as this process ends."""
        self.shown.look()
        for shaper in self._shapers.values():
            shaper.close()

    def _answer_or_withhold(self, client: str, result: HookedResult) -> dict[str, Any] | None:
        try:
            return self._answer(client, result)
        except Exception as fault:
            if mode() != "on":
                raise
            logger.warning("a result of %s is withheld", client, exc_info=True)
            said = _NO_CONFIG if isinstance(fault, ConfigError) else WITHHELD
            return result.replaced(said, {name: type(value)() for name, value in result.beside.items()})

    def _answer(self, client: str, result: HookedResult) -> dict[str, Any] | None:
        started = perf_counter()
        shaper = self._shaper(result.cwd)
        plan = plan_for(shaper, result.argv, {})
        is_on = mode() == "on"
        beside = {name: protect(value, plan) if is_on else value for name, value in result.beside.items()}
        text = self._text_or_clean(shaper, plan, result)
        shown = text if is_on else result.text
        kept = shown != result.text and plan.private is None
        about = {
            "client": client,
            "profile": plan.profile,
            "config": plan.config_hash,
            "session": result.session,
            "milliseconds": (perf_counter() - started) * 1000,
            "tokenizer": plan.tokenizer,
            "environ": dict(os.environ),
            "keep": partial(_keep, shaper, result.text) if kept else None,
        }
        self.shown.add(GivenResult(result, shown, plan.tool, about))
        return result.replaced(shown, beside) if (shown, beside) != (result.text, result.beside) else None

    def _text_or_clean(self, shaper: Shaper, plan: Plan, result: HookedResult) -> str:
        """Return the shaped text where it is cheaper than the tool's own, or that one may not be shown; else that one.

        A fault in shaping leaves the tool's own without secrets and private fields; one in taking these out is raised.
        """
        clean = str(protect(result.text, plan))
        if result.stays:
            return clean
        try:
            text = self._text(shaper, plan, result)
            if not plan.enabled or clean != result.text:
                return text
            count = counter(plan.tokenizer).exact
            return text if costs_at_most(result.cut(text), result.cut(result.text), count) else clean
        except Exception:
            logger.warning("a result of %s was not shaped", plan.tool, exc_info=True)
            return clean

    def _text(self, shaper: Shaper, plan: Plan, result: HookedResult) -> str:
        """Return the text that the model should read of a result."""
        if not plan.enabled:
            return _shaped(shaper, plan, result.argv, result.text)
        count = counter(plan.tokenizer).count
        whole, where = _whole(result.file), ""
        if whole is not None:
            where = f"\n(the whole output: {result.file})"
            plan = _limited(plan, count(result.text) - count(where) - 1)
        text = _shaped(shaper, plan, result.argv, whole or result.text)
        for _ in range(_TRIES):
            if result.limit is None or len(text) <= result.limit:
                break
            # The client would cut the rest out of the middle; a budget leaves out what matters least, and says so.
            # Lines that the whole text has in a short form stand in full where it is cut: one try may be too few.
            plan = _limited(plan, count(text) * result.limit // len(text))
            text = _shaped(shaper, plan, result.argv, result.text)
        text = (text.rstrip("\n") + where).replace("shaping expand r_", f"{self._program} expand r_")
        return f"{text}\n" if result.text.endswith("\n") else text

    def _shaper(self, cwd: str) -> Shaper:
        variables = tuple(sorted(item for item in os.environ.items() if item[0].startswith("SHAPING")))
        key = (cwd, variables)
        if key not in self._shapers:
            os.chdir(cwd if Path(cwd).is_dir() else "/")  # a config is looked for from the working directory
            while len(self._shapers) >= _SHAPERS:
                self._shapers.pop(next(iter(self._shapers))).close()
            self._shapers[key] = Shaper(expandable=True)
        return self._shapers[key]


def _shaped(shaper: Shaper, plan: Plan, argv: tuple[str, ...], text: str) -> str:
    """Shape a text as `shaping run` would have printed it."""
    stdout, stderr = new_capture(shaper, plan), new_capture(shaper, plan)
    stdout.take(text.encode())
    response = make_response(shaper, Finished(argv, {}, ProcessExit(0), stdout, stderr, plan, off=shaper.mode == "off"))
    return response.stdout + response.stderr


def _read(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:  # half a character, as a text has it that was cut by UTF-16
        return orjson.loads(json.dumps(json.loads(body), ensure_ascii=False).encode("utf-8", "replace"))


def _keep(shaper: Shaper, before: str, read: str) -> str | None:
    return keep_output(shaper.keeper("command"), read, before, ttl=shaper.loaded_config.store.ttl_seconds)


def _whole(file: Path | None) -> str | None:
    """Read an output that the client keeps in a file, unless it is too large to be read while somebody waits."""
    try:
        return None if file is None or file.stat().st_size > _LARGEST else file.read_text(errors="replace")
    except OSError:
        return None


def _limited(plan: Plan, tokens: int) -> Plan:
    return replace(plan, max_tokens=max(1, tokens if plan.max_tokens is None else min(tokens, plan.max_tokens)))


def _program() -> str:
    """Return how a model calls shaping in the client's shell."""
    if shutil.which("shaping"):
        return "shaping"
    beside = Path(sys.executable).with_name("shaping")
    return str(beside) if beside.exists() else f"{sys.executable} -P -m shaping"


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Take on our variables as the client has them, for one request."""
    own = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("SHAPING")}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]
        os.environ.update(own)
