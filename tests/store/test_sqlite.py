from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import pytest

from shaping.store.backends import StoreError
from shaping.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROOM = 10**8  # bytes, more than any test needs

WRITER = """
import sys
from shaping.store.sqlite import SqliteStore
store = SqliteStore(sys.argv[1], 10**8)
number = 0
while True:
    store.put(f"r_{number}", f"{number}:".encode() + bytes(range(256)) * 400, meta={}, ttl=600)
    print(number, flush=True)
    number += 1
"""

MANY = """
import os, sys, threading
from shaping.store.sqlite import SqliteStore
store, name, count = SqliteStore(sys.argv[1], 10**8), sys.argv[2], int(sys.argv[3])
trouble = []

def work(thread):
    mine = {}
    try:
        for _ in range(count):
            ref, payload = f"{name}.{thread}.{len(mine)}", os.urandom(60) * 30
            store.put(ref, payload, meta={}, ttl=600)
            mine[ref] = payload
        for ref, payload in mine.items():
            found = store.get(ref)
            if found is None or found.payload != payload:
                trouble.append("lost " + ref)
    except Exception as fault:
        trouble.append(repr(fault))

threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print("\\n".join(trouble))
sys.exit(bool(trouble))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


def test_a_process_killed_while_it_writes_leaves_a_store_that_works(path: Path) -> None:
    for _ in range(3):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        last = [int(writer.stdout.readline()) for _ in range(20)][-1]
        writer.send_signal(signal.SIGKILL)
        writer.wait(60)
        writer.stdout.close()
    store = SqliteStore(path, ROOM)
    for number in range(last + 1):
        found = store.get(f"r_{number}")
        assert found is not None
        assert found.payload == f"{number}:".encode() + bytes(range(256)) * 400
    store.put("r_after", b"x", meta={}, ttl=60)
    assert store.get("r_after") is not None
    store.close()


def test_several_processes_of_several_threads_lose_nothing(path: Path) -> None:
    command = [sys.executable, "-c", MANY, str(path)]
    workers = [subprocess.Popen([*command, str(name), "40"], stdout=subprocess.PIPE, text=True) for name in range(4)]
    assert [(worker.communicate(timeout=300)[0].strip(), worker.returncode) for worker in workers] == [("", 0)] * 4


def test_another_process_that_leaves_does_not_tidy_up_under_one_that_stays(path: Path) -> None:
    store = SqliteStore(path, ROOM)
    store.put("r", b"x", meta={}, ttl=60)
    assert store.get("r") is not None  # by a second connection, whose opening must leave the first one's locks alone
    visit = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute('SELECT * FROM kept'); db.close()"
    subprocess.run([sys.executable, "-c", visit, str(path)], check=True, timeout=60)
    assert path.with_name(path.name + "-wal").exists()
    store.close()


def test_the_next_process_knows_the_secret(path: Path) -> None:
    one = SqliteStore(path, ROOM)
    secret = one.secret
    one.close()
    two = SqliteStore(path, ROOM)
    assert two.secret == secret
    two.close()


def test_only_the_owner_can_read_the_file(path: Path) -> None:
    path.touch(0o644)
    path.chmod(0o644)
    store = SqliteStore(path, ROOM)
    store.put("r", b"x", meta={}, ttl=60)
    rights = {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    store.close()
    assert rights == {0o600}


def test_the_file_stays_within_its_size(path: Path) -> None:
    store = SqliteStore(path, max_bytes=400_000)
    for number in range(60):
        store.put(f"r_{number}", os.urandom(20_000), meta={}, ttl=600 + number)
    kept = [number for number in range(60) if store.get(f"r_{number}")]
    store.close()
    assert kept == list(range(41, 60))  # the last nineteen: what would expire first has gone first
    assert sum(file.stat().st_size for file in path.parent.iterdir()) < 3_000_000


def test_expired_rows_are_removed_by_the_next_write(path: Path) -> None:
    store = SqliteStore(path, ROOM)
    store.put("r_old", b"x", meta={}, ttl=0.01)
    time.sleep(0.03)
    store.put("r_new", b"y", meta={}, ttl=60)
    store.close()
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT ref FROM kept").fetchall() == [("r_new",)]
        assert db.execute("SELECT bytes = (SELECT sum(size) FROM kept) FROM held").fetchone() == (1,)
    db.close()


RUBBISH = [b"this is no database" * 100, b"SQLite format 3\0" + b"\xff" * 4096]


@pytest.mark.parametrize("content", [*RUBBISH, b"my notes, by hand\n"])
def test_a_file_that_is_not_ours_is_left_as_it_is(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o644)
    store = SqliteStore(path, ROOM)
    with pytest.raises(StoreError, match="cannot be used now: file is not a database"):
        store.put("r", b"x", meta={}, ttl=60)
    store.close()
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (content, 0o644)


def test_a_database_of_another_program_is_left_as_it_is(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE bookmarks (url TEXT)")
        db.execute("INSERT INTO bookmarks VALUES ('a')")
        db.commit()
    before = path.read_bytes()
    path.chmod(0o644)
    store = SqliteStore(path, ROOM)
    for _ in range(2):
        with pytest.raises(StoreError, match="another program's database"):
            store.put("r", b"x", meta={}, ttl=60)
    store.close()
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (before, 0o644)
    assert sorted(file.name for file in path.parent.iterdir()) == [path.name]


def test_a_store_made_before_there_was_a_mark_still_works(path: Path) -> None:
    store = SqliteStore(path, ROOM)
    store.put("r", b"x", meta={}, ttl=60)
    store.close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA application_id = 0")
    again = SqliteStore(path, ROOM)
    assert again.get("r") is not None
    again.close()


@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
def test_no_link_is_followed(path: Path, end: str) -> None:
    target = path.parent / "elsewhere"
    target.write_bytes(b"")
    path.with_name(path.name + end).symlink_to(target)
    store = SqliteStore(path, ROOM)
    with pytest.raises(StoreError, match="is a link, which is not followed"):
        store.put("r", b"x", meta={}, ttl=60)
    store.close()
    assert target.read_bytes() == b""


def test_the_file_of_another_user_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.touch(0o666)
    monkeypatch.setattr("os.getuid", lambda: path.stat().st_uid + 1)
    store = SqliteStore(path, ROOM)
    with pytest.raises(StoreError, match="belongs to another user"):
        store.put("r", b"x", meta={}, ttl=60)
    store.close()


def test_a_place_that_cannot_be_written_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = SqliteStore(tmp_path / "file" / "store.sqlite", ROOM)
    with pytest.raises(StoreError, match="cannot be used now"):
        store.put("r", b"x", meta={}, ttl=60)
    store.close()


def test_a_locked_file_is_a_store_error_and_not_a_crash(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shaping.store.sqlite._WAIT", 0.05)
    store = SqliteStore(path, ROOM)
    store.put("r", b"x", meta={}, ttl=60)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="locked"):
        store.put("r_2", b"x", meta={}, ttl=60)
    assert store.get("r") is not None  # readers do not wait for writers
    other.execute("ROLLBACK")
    other.close()
    store.put("r_2", b"x", meta={}, ttl=60)
    store.close()


def test_a_write_that_fails_half_way_leaves_nothing(path: Path) -> None:
    store = SqliteStore(path, ROOM)
    store.put("r", b"x", meta={}, ttl=60)
    with pytest.raises(StoreError):
        store.put("r", b"y", meta={}, ttl=float("nan"))  # fails inside, after the old row went
    assert store.get("r") is not None
    store.close()


def test_a_forked_child_uses_a_connection_of_its_own(path: Path, run_forking: Callable[..., str]) -> None:
    script = """
import os, sys
from shaping.store.sqlite import SqliteStore
store = SqliteStore(sys.argv[1], 10**8)
store.put("r", b"x", meta={}, ttl=60)
child = os.fork()
if not child:
    store.put("r_child", b"y", meta={}, ttl=60)
    os._exit(0 if store.get("r") else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), store.get("r_child") is not None)
store.put("r_parent", b"z", meta={}, ttl=60)
"""
    assert run_forking(script, path) == "0 True\n"


def test_threads_share_the_store(path: Path) -> None:
    store = SqliteStore(path, ROOM)
    threads = [
        threading.Thread(target=store.put, args=(f"r_{n}", b"x"), kwargs={"meta": {}, "ttl": 60}) for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(store.get(f"r_{n}") for n in range(8))
    store.close()


def test_a_store_that_nobody_closes_closes_its_file_when_it_is_let_go(path: Path) -> None:
    store = SqliteStore(path, ROOM)
    store.put("r1", b"payload", meta={}, ttl=60)
    connection = store._writer.connection()
    del store
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_a_first_reader_and_a_first_writer_do_not_get_in_each_others_way(tmp_path: Path) -> None:
    for number in range(40):
        store, start = SqliteStore(tmp_path / f"{number}.db", ROOM), threading.Barrier(2)
        with ThreadPoolExecutor(2) as pool:
            written = pool.submit(_after, start, partial(store.put, "r", b"x", meta={}, ttl=60))
            read = pool.submit(_after, start, partial(store.get, "r"))
        assert written.exception() is None
        assert read.exception() is None
        store.close()


def _after(start: threading.Barrier, work: Callable[[], object]) -> None:
    start.wait()
    work()
