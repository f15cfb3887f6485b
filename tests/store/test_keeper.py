from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from shaping import Shaper
from shaping.store.backends import MemoryStore, RedisStore, Stored, StoreError
from shaping.store.keeper import BackgroundQueue, Keeper
from shaping.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from shaping.store.backends import Store


ROOM = 10**8  # bytes, more than any test needs


class SlowStore(MemoryStore):
    """A store that writes only when it is let."""

    def __init__(self) -> None:
        super().__init__(ROOM)
        self.go = threading.Event()

    def put(self, ref: str, payload: bytes, *, meta: Mapping[str, str], ttl: float) -> None:
        self.go.wait(60)
        super().put(ref, payload, meta=meta, ttl=ttl)


class DownStore(MemoryStore):
    """A store that is not there."""

    at_hand = local = False

    @property
    def secret(self) -> bytes:
        raise StoreError("not there")

    @secret.setter
    def secret(self, value: bytes) -> None:
        pass

    def put(self, ref: str, payload: bytes, *, meta: Mapping[str, str], ttl: float) -> None:
        raise StoreError("not there")


def test_what_is_kept_can_be_read_at_once() -> None:
    keeper = Keeper(MemoryStore(ROOM))
    assert keeper.keep("r", lambda: b"payload", meta={"tool": "t"}, ttl=60) is True
    assert keeper.get("r") == Stored(b"payload", {"tool": "t"})
    keeper.close()


def test_a_value_that_does_not_fit_its_store_gets_no_ref(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stores: list[Store] = [MemoryStore(100_000), SqliteStore(tmp_path / "s.sqlite", 100_000)]
    payload, packs_well = os.urandom(100_000), b"a" * 200_000
    for store in stores:
        keeper = Keeper(store)
        assert keeper.keep("r", lambda: payload, ttl=60, size=len(payload)) is False
        assert "do not fit into a store of 100000" in caplog.messages[-1]
        assert keeper.keep("r_packed", lambda: packs_well, ttl=60, size=len(packs_well)) is True
        assert keeper.get("r_packed") is not None
        keeper.close()


def test_an_answer_too_large_for_its_store_says_so_and_names_no_ref() -> None:
    shaper = Shaper({"store": {"max_bytes": 20_000}, "global": {"max_tokens": 200}}, expandable=True)
    shaped = shaper.shape([{"id": number, "key": os.urandom(20).hex()} for number in range(2_000)], tool="t")
    assert shaped.ref is None
    assert [warned.code for warned in shaped.warnings] == ["NOT_KEPT"]


def test_what_waits_for_the_answer_to_go_out_first_is_written_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shaping.store.keeper._QUIET", 600)
    keeper = Keeper(MemoryStore(ROOM))
    assert keeper.keep("r", lambda: b"payload", ttl=60)
    assert keeper.get("r", timeout=60) == Stored(b"payload", {})
    assert keeper.keep("r_flushed", lambda: b"payload", ttl=60)
    assert keeper.flush(60)
    assert keeper.store.get("r_flushed") == Stored(b"payload", {})
    keeper.close()


def test_what_comes_close_upon_each_other_is_handled_in_the_pause_after_the_last() -> None:
    pauses: list[float] = []
    handled = threading.Event()

    def handle(times: list[float]) -> None:
        pauses.append(time.monotonic() - max(times))
        handled.set()

    queue = BackgroundQueue[float]("test", handle, batch=9, quiet=0.5)
    for _ in range(4):
        queue.put(time.monotonic())
        time.sleep(0.2)
    assert handled.wait(60)
    queue.close(60)
    assert pauses[0] >= 0.5


def test_where_much_waits_it_is_written_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shaping.store.keeper._QUIET", 600)
    keeper = Keeper(MemoryStore(ROOM), waiting=16)
    kept = [keeper.keep(f"r_{number}", lambda: b"x", ttl=60) for number in range(3)]
    assert _written(keeper.store, "r_2")
    assert kept == [True] * 3
    keeper.close()


class SharedStore(MemoryStore):
    """A store that other machines read."""

    local = False


def test_a_store_that_other_machines_read_is_written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shaping.store.keeper._QUIET", 600)
    keeper = Keeper(SharedStore(ROOM))
    assert keeper.keep("r", lambda: b"x", ttl=60)
    assert _written(keeper.store, "r")
    keeper.close()


def _written(store: Store, ref: str) -> bool:
    deadline = time.monotonic() + 60
    while store.get(ref) is None and time.monotonic() < deadline:
        time.sleep(0.005)
    return store.get(ref) is not None


def test_payloads_are_made_on_the_background_thread() -> None:
    keeper, threads = Keeper(MemoryStore(ROOM)), []

    def make() -> bytes:
        threads.append(threading.current_thread().name)
        return b""

    keeper.keep("r", make, ttl=60)
    assert keeper.flush(60)
    assert threads == ["shaping-keeper"]
    keeper.close()


def test_a_slow_store_delays_nobody_and_a_full_queue_says_no() -> None:
    store = SlowStore()
    keeper = Keeper(store, waiting=3)
    keeper.keep("r_first", lambda: b"x", ttl=60)
    while not keeper._jobs.taken:
        time.sleep(0.001)
    said = [keeper.keep(f"r_{number}", lambda: b"x", ttl=60) for number in range(5)]
    assert said == [True, True, True, False, False]
    assert keeper.flush(0.01) is False
    store.go.set()
    assert keeper.flush(60) is True
    assert [bool(store.get(f"r_{number}")) for number in range(5)] == said
    keeper.close()


def test_large_payloads_fill_the_queue_by_their_size() -> None:
    store = SlowStore()
    keeper = Keeper(store, waiting_bytes=100)
    keeper.keep("r_first", lambda: b"x", ttl=60)
    while not keeper._jobs.taken:
        time.sleep(0.001)
    said = [keeper.keep(f"r_{number}", lambda: b"x", size=60, ttl=60) for number in range(2)]
    store.go.set()
    keeper.close()
    assert said == [True, False]


def test_a_store_that_is_down_is_warned_of_once_and_then_left_alone(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shaping.store.keeper._AFTER_FAILURE", 600)
    keeper = Keeper(DownStore(ROOM))
    with caplog.at_level(logging.WARNING, "shaping.store"):
        assert keeper.keep("r", lambda: b"x", ttl=60) is True
        assert keeper.flush(60)
    assert [keeper.keep(f"r_{number}", lambda: b"x", ttl=60) for number in range(3)] == [False] * 3
    assert [record.message for record in caplog.records] == [
        "the store failed (not there); what is left out cannot be expanded for 600 s"
    ]
    keeper.close()


def test_after_a_pause_the_store_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shaping.store.keeper._AFTER_FAILURE", 0.02)
    keeper = Keeper(MemoryStore(ROOM))
    keeper.keep("r", lambda: bytes(1 // len("")), ttl=60)
    assert keeper.flush(60)
    time.sleep(0.05)
    assert keeper.keep("r", lambda: b"x", ttl=60) is True
    assert keeper.get("r") == Stored(b"x", {})
    keeper.close()


def test_a_failing_payload_is_not_shown_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def make() -> bytes:
        raise ValueError("hunter2")

    keeper = Keeper(MemoryStore(ROOM))
    keeper.keep("r", make, ttl=60)
    keeper.flush(60)
    assert "ValueError" in caplog.text
    assert "hunter2" not in caplog.text
    keeper.close()


def test_the_secret_of_a_store_that_is_down_is_none_and_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shaping.store.keeper._AFTER_FAILURE", 600)
    asked: list[str] = []

    class Down(DownStore):
        @property
        def secret(self) -> bytes:
            asked.append("secret")
            raise StoreError("not there")

        @secret.setter
        def secret(self, value: bytes) -> None:
            pass

    keeper = Keeper(Down(ROOM))
    assert [keeper.secret for _ in range(50)] == [None] * 50
    assert asked == ["secret"]
    keeper.close()


def test_a_store_that_hangs_delays_one_call_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shaping.store.keeper._SECRET_TIMEOUT", 0.01)
    answers = threading.Event()

    class Hanging(DownStore):
        @property
        def secret(self) -> bytes:
            assert answers.wait(60)
            return b"s" * 32

        @secret.setter
        def secret(self, value: bytes) -> None:
            pass

    keeper = Keeper(Hanging(ROOM))
    assert keeper.secret is None
    assert keeper._secret_timeout == 0
    assert keeper.secret is None
    answers.set()
    assert keeper.flush(60)
    assert keeper.secret == b"s" * 32
    keeper.close()


def test_a_file_that_is_slow_to_open_still_gives_the_first_call_a_ref() -> None:
    waiting = threading.Event()

    class Slow(MemoryStore):
        at_hand = False

        @property
        def secret(self) -> bytes:
            waiting.set()
            time.sleep(0.5)
            return b"s" * 32

        @secret.setter
        def secret(self, value: bytes) -> None:
            pass

    keeper = Keeper(Slow(ROOM))
    keeper.open()
    assert waiting.wait(60)
    assert keeper.secret == b"s" * 32
    keeper.close()


def test_who_reads_what_another_process_kept_learns_the_secret_with_it(tmp_path: Path) -> None:
    writer = Keeper(SqliteStore(tmp_path / "s", ROOM))
    writer.keep("r", lambda: b"x", ttl=60)
    assert writer.flush(60)
    reader = Keeper(SqliteStore(tmp_path / "s", ROOM))
    assert reader.get("r") == Stored(b"x", {})
    assert reader._secret == writer.store.secret
    writer.close()
    reader.close()


def test_the_secret_lies_in_the_file(tmp_path: Path) -> None:
    keeper = Keeper(SqliteStore(tmp_path / "s", ROOM))
    assert keeper.secret == SqliteStore(tmp_path / "s", ROOM).secret
    keeper.close()


def test_a_redis_that_is_down_never_fails_a_call(down_url: str) -> None:
    keeper = Keeper(RedisStore(down_url))
    assert keeper.secret is None
    assert keeper.keep("r", lambda: b"x", ttl=60) in (True, False)
    keeper.close()


def test_nothing_is_kept_after_the_end() -> None:
    keeper = Keeper(MemoryStore(ROOM))
    keeper.close()
    assert keeper.keep("r", lambda: b"x", ttl=60) is False


def test_the_thread_ends_when_there_is_nothing_to_do_and_starts_again() -> None:
    keeper: Any = Keeper(MemoryStore(ROOM))
    keeper.keep("r", lambda: b"x", ttl=60)
    keeper.flush(60)
    deadline = time.monotonic() + 60
    while keeper._jobs._thread is not None and time.monotonic() < deadline:
        time.sleep(0.005)
    assert keeper._jobs._thread is None
    assert keeper.keep("r_2", lambda: b"y", ttl=60)
    assert keeper.get("r_2") == Stored(b"y", {})
    keeper.close()


def test_what_waits_is_written_when_the_process_ends(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom shaping.store.keeper import Keeper\nfrom shaping.store.sqlite import SqliteStore\n"
        "keeper = Keeper(SqliteStore(sys.argv[1], 10**6))\n"
        "for n in range(20): keeper.keep(f'r_{n}', lambda: b'x' * 5000, ttl=60)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "s")], check=True, timeout=300)
    store = SqliteStore(tmp_path / "s", ROOM)
    assert all(store.get(f"r_{n}") for n in range(20))
    store.close()


def test_a_forked_child_keeps_on_its_own(tmp_path: Path, run_forking: Callable[..., str]) -> None:
    script = """
import os, sys
from shaping.store.keeper import BackgroundQueue, Keeper
from shaping.store.sqlite import SqliteStore
keeper = Keeper(SqliteStore(sys.argv[1], 10**8))
keeper.keep("r", lambda: b"x", ttl=60)
keeper.flush(60)
child = os.fork()
if not child:
    kept = keeper.keep("r_child", lambda: b"y", ttl=60) and keeper.flush(60) and keeper.get("r") is not None
    os._exit(0 if kept else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), keeper.get("r_child").payload)
keeper.close()
"""
    assert run_forking(script, tmp_path / "s") == "0 b'y'\n"


def test_a_forked_child_can_read_the_memory_it_inherits(run_forking: Callable[..., str]) -> None:
    script = """
import os
from shaping.store.backends import MemoryStore
store = MemoryStore(10**8)
store.put("r", b"x", meta={}, ttl=60)
with store._lock:
    child = os.fork()
    if not child:
        os._exit(0 if store.get("r") else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run_forking(script) == "0\n"
