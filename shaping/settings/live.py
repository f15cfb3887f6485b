"""The config while a server runs: an edit takes effect with the next call, a bad edit with none."""

from __future__ import annotations

import logging
import os
import re
import threading
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from shaping.settings.files import config_places, is_present, profile_files
from shaping.settings.jsonc import ConfigError, ConfigProblem, report, suggestion_for, unreadable
from shaping.settings.loading import LoadedConfig, load, with_users
from shaping.settings.trust import allowed_file, is_allowed

if TYPE_CHECKING:
    from shaping.settings.sources import Given

Signature: TypeAlias = "tuple[tuple[str, int, int, int, int], ...]"

# Events within one step count as one edit; two steps after the last of them the new config is live.
_STEP_MS = 50
_WATCHER = "shaping-settings"  # the name of the thread
# Some file systems (networks, mounts of a container) report nothing: look again once in a while.
_LOOK_AGAIN_MS = 500
# The clock of a file system ticks every few milliseconds, and two edits within one tick bear the same time.
_FRESH_NS = 100_000_000

_PROTECTING = ("private", "redact")
_KEY = re.compile(rb'"([a-z_]{5,9})"')  # that may be one of them, misspelt
_LIKE = 0.75  # of its letters
_ESCAPED = re.compile(rb"\\u00([0-9a-fA-F]{2})")

_log = logging.getLogger("shaping")


class LiveConfig:
    """The config of now: `current` is swapped whole when a good edit arrives."""

    def __init__(
        self,
        config: Given = None,
        *,
        cwd: str | os.PathLike[str] | None = None,
        environ: Mapping[str, str] | None = None,
        strict: bool = False,
    ) -> None:
        self._config = config
        self._cwd = Path(cwd) if cwd is not None else Path.cwd()
        self._environ = dict(os.environ if environ is None else environ)
        self._lock, self._pid = threading.RLock(), os.getpid()
        self._stop: threading.Event | None = None
        self._seen: Signature | None = ()
        self.problem: ConfigError | None = None
        self._reported: tuple[ConfigProblem, ...] = ()
        self._current: LoadedConfig = self._load_first(strict=strict)

    @property
    def current(self) -> LoadedConfig:
        """Return the config in use; the first read in a forked process starts to watch there."""
        if self._pid != os.getpid():
            self._start_over()
        return self._current

    def start(self) -> None:
        """Watch for edits on a daemon thread; a config given as a mapping never changes and is not watched."""
        with self._lock:
            if self._stop is not None or isinstance(self._config, Mapping):
                return
            stop = self._stop = threading.Event()
            # The thread must not keep this object alive: when nobody else does, the thread ends.
            watcher = threading.Thread(target=_watch, args=(weakref.ref(self), stop), name=_WATCHER, daemon=True)
            weakref.finalize(self, stop.set)
            watcher.start()

    def close(self) -> None:
        """Stop watching; `current` stays as it is."""
        with self._lock:
            if self._stop is not None:
                self._stop.set()
                self._stop = None

    def reload(self) -> bool:
        """Read the config again and use it where it is good; return whether `current` changed."""
        if self._pid != os.getpid():
            self._start_over()
        with self._lock:
            self._seen = self._as_seen()
            try:
                fresh = self._load()
                self._refuse_lost_config(fresh)
                self.problem = None
            except ConfigError as error:
                if self.problem is None or self.problem.problems != error.problems:
                    _log.warning("the last good config stays in use, because %s", error)
                self.problem = error
                fresh = self._with_own_edits()
            fresh.plans.warm(self._current.plans)
            changed = fresh.hash != self._current.hash or fresh.files != self._current.files
            if changed:
                self._current = fresh
            return changed

    def reload_if_touched(self) -> bool:
        """Reload where a file that counts appeared, vanished or looks different."""
        return self._signature() != self._seen and self.reload()

    def directories(self) -> frozenset[Path]:
        """List the directories in which something that counts could happen."""
        places = self._places()
        found = {allowed_file(self._environ).parent} if places else set()
        for place in places:
            # A directory that is not there yet shows as a change in the one around it.
            found |= {place.parent, place.parent.parent}
            if place.is_file():
                found |= {place.parent / "profiles", place.resolve().parent}
        return frozenset(filter(Path.is_dir, found))

    def _load_first(self, *, strict: bool) -> LoadedConfig:
        self._seen = self._as_seen()
        try:
            return self._load()
        except ConfigError as error:
            # A config of the working tree takes nothing away from the user's own.
            own = self._own_file(error)
            if strict or self._is_protecting(error, own):
                raise
            self.problem = error
            _log.warning("%s is used, because %s", own or "the bundled default", error)
            return load(own or {}, cwd=self._cwd, environ=self._environ)

    def _load(self) -> LoadedConfig:
        loaded = load(self._config, cwd=self._cwd, environ=self._environ)
        untrusted = tuple(warning for warning in loaded.warnings if warning.needs_allow)
        if untrusted != self._reported:
            self._reported = untrusted
            for line in report(untrusted, "warning"):
                _log.warning("%s", line)
        return loaded

    def _own_file(self, error: ConfigError) -> Path | None:
        """Return the user's own config, where it is good and one of the working tree before it is not."""
        *near, own = self._places() or (None,)
        wrong = {problem.file for problem in error.problems}
        good = own is not None and is_present(own) and str(own) not in wrong
        return own if good and any(map(is_present, near)) else None

    def _is_protecting(self, error: ConfigError, own: Path | None) -> bool:
        """Return whether a config that cannot be used may name something private, as far as its bytes tell.

        Without it, what is private would leave: such a config is used as it is written or not at all. One that cannot
        be read as a whole, as a file that is being written, may have said so; but of the working tree it says nothing
        to a user with a config of his `own`.
        """
        if own is None and any(problem.is_whole for problem in error.problems):
            return True
        if any(problem.suggestion in _PROTECTING for problem in error.problems):
            return True
        unused = [place for place in self._places() if is_present(place) and place != own]
        files = [file for place in unused for file in (place, *profile_files(place))]
        try:
            return _mentions_protection(b"".join(file.read_bytes() for file in files if file.is_file()))
        except OSError:
            return True

    def _refuse_lost_config(self, fresh: LoadedConfig) -> None:
        """Raise ConfigError where the config in use is gone and nothing as strong has taken its place.

        What was read tells, not what is there now: a file may come and go while it is looked for.
        """
        places = self._places()
        used = [at for at, place in enumerate(places) if str(place) in self._current.files]
        read = [at for at, place in enumerate(places) if str(place) in fresh.files]
        if not used or (read and read[0] <= used[0] and (used[-1] in read or self._may_replace(read[0], used[-1]))):
            return
        lost = places[used[-1] if read and read[0] <= used[0] else used[0]]
        raise unreadable(str(lost), "is gone", "the file to be there, or a restart without it")

    def _may_replace(self, new: int, old: int) -> bool:
        """Return whether a config may take another's place: in the working tree, where the user has allowed it."""
        places = self._places()
        return old < len(places) - 1 and is_allowed(places[new], self._environ)

    def _with_own_edits(self) -> LoadedConfig:
        """Return the last good config; where that is one of the working tree, with the user's own as it is now."""
        found = self._current.found
        try:
            users = load(self._places()[-1], cwd=self._cwd, environ=self._environ) if found else None
            return with_users(found, users.sources) if found and users else self._current
        except ConfigError:  # the user's own is gone, or wrong too
            return self._current

    def _places(self) -> tuple[Path, ...]:
        if isinstance(self._config, Mapping):
            return ()
        return config_places(self._config, cwd=self._cwd, environ=self._environ)

    def _signature(self) -> Signature:
        """Describe every file that counts so that any edit, rename or step back in time makes a difference."""
        files = [
            file for place in self._places() for file in (place, *(profile_files(place) if place.is_file() else ()))
        ]
        if files:
            files.append(allowed_file(self._environ))
        return tuple(entry for file in files if (entry := _stat(file)) is not None)

    def _as_seen(self) -> Signature | None:
        """Describe the files for later; None where one is so fresh that its next edit could look the same."""
        signature, now = self._signature(), time.time_ns()
        return None if any(abs(now - changed) < _FRESH_NS for *_, changed in signature) else signature

    def _start_over(self) -> None:
        """Forget the thread, which a forked process does not have, and the lock, which it may have held; watch here.

        This waits for the first look at the config: most forks run another program at once, where any code of ours
        could wait for a lock of a thread that is not there.
        """
        was_watching = self._stop is not None
        self._lock, self._stop, self._pid = threading.RLock(), None, os.getpid()
        if was_watching:
            self.start()


def _mentions_protection(raw: bytes) -> bool:
    """Look for the words in any case and encoding, with letters that are escaped, and for keys like them."""
    plain = _ESCAPED.sub(lambda found: bytes.fromhex(found[1].decode()), raw.replace(b"\0", b"")).lower()
    if any(word.encode() in plain for word in _PROTECTING):
        return True
    return any(suggestion_for(key.decode(), _PROTECTING, least=_LIKE) for key in {*_KEY.findall(plain)})


def _stat(file: Path) -> tuple[str, int, int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return str(file), found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def live_config(config: Given, environ: Mapping[str, str]) -> LiveConfig:
    """Return the live config: a mapping is its own, a path must be good now, a search falls back with a warning."""
    if isinstance(config, Mapping):
        try:
            return LiveConfig(config, environ=environ, strict=True)
        except ConfigError as problem:
            # Whoever wrote the config has no use for the frames of the reader that found the problem.
            raise problem.with_traceback(None) from None
    live = shared_live_config(config, environ=environ, strict=config is not None)
    if config is not None and live.problem is not None:
        raise live.problem
    return live


def shared_live_config(
    config: str | os.PathLike[str] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    strict: bool = False,
) -> LiveConfig:
    """Return the one live config for a place, so that fifty tools read it once and share one watcher."""
    seen = os.environ if environ is None else environ
    key = config_places(config, cwd=Path.cwd(), environ=seen)
    with _sharing:
        live = _shared.get(key)
        if live is None:
            live = _shared[key] = LiveConfig(config, environ=seen, strict=strict)
        else:  # a new shaper uses the file as it is now, whether or not it is being watched
            live.reload_if_touched()
        return live


# It holds weak references only, so there is nothing in it to reset.
_shared: weakref.WeakValueDictionary[tuple[Path, ...], LiveConfig] = weakref.WeakValueDictionary()
_sharing = threading.Lock()


def _watch(reference: weakref.ref[LiveConfig], stop: threading.Event) -> None:
    """Reload on changes in the directories that count, which may become others with each."""
    while (live := reference()) is not None and not stop.is_set():
        directories = live.directories()
        del live
        try:
            from watchfiles import watch  # noqa: PLC0415 (only a process that watches pays for it)

            logging.getLogger("watchfiles.main").addFilter(_is_not_ours)
            changes = watch(
                *directories,
                recursive=False,
                watch_filter=None,
                step=_STEP_MS,
                debounce=_STEP_MS,
                rust_timeout=_LOOK_AGAIN_MS,
                yield_on_timeout=True,
                stop_event=stop,
                raise_interrupt=False,
                ignore_permission_denied=True,
            )
            for _ in changes:
                if _reload_if_touched(reference) != directories:
                    break
        except (ImportError, OSError, RuntimeError):
            # A directory went away between looking and watching, the system has no watches left (which the watcher
            # tells by a RuntimeError of its own), or this process was forked amid the import: look by hand.
            stop.wait(_LOOK_AGAIN_MS / 1000)
            _reload_if_touched(reference)


def _is_not_ours(record: logging.LogRecord) -> bool:
    """Whether it is not about our thread: the log of a server need not count changes in a directory."""
    return record.threadName != _WATCHER


def _reload_if_touched(reference: weakref.ref[LiveConfig]) -> frozenset[Path] | None:
    live = reference()
    if live is None:
        return None
    try:
        live.reload_if_touched()
    except Exception:  # noqa: BLE001 (the thread must outlive a fault of ours: the next edit may be one we can read)
        _log.exception("the last good config stays in use, because reading the new one failed")
    return live.directories()
