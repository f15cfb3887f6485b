from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from shaping.settings.loading import StoreConfig
from shaping.store import open_store
from shaping.store.backends import MemoryStore, RedisStore, Stored, StoreError, pack, unpack
from shaping.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

    from shaping.settings.choices import StoreKind

BIG = b'{"k": "a value that repeats"}' * 1000


@pytest.fixture(params=["memory", "sqlite", "redis"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    makers: dict[str, Any] = {
        "memory": lambda: MemoryStore(10**6),
        "sqlite": lambda: SqliteStore(tmp_path / "deep" / "er" / "store.sqlite", 10**6),
        "redis": lambda: RedisStore(request.getfixturevalue("redis_url")),
    }
    made = makers[request.param]()
    yield made
    made.close()


def test_what_was_put_comes_back(store: Any) -> None:
    for number, payload in enumerate([b"", b"small", BIG, bytes(range(256)) * 9]):
        store.put(f"r_{number}", payload, meta={"tool": "search", "é": "ü"}, ttl=60)
        assert store.get(f"r_{number}") == Stored(payload, {"tool": "search", "é": "ü"})


def test_an_unknown_ref_gives_nothing(store: Any) -> None:
    assert store.get("r_nobody") is None


def test_the_same_ref_again_replaces_the_value(store: Any) -> None:
    store.put("r_twice", b"one", meta={}, ttl=60)
    store.put("r_twice", b"two", meta={}, ttl=60)
    assert store.get("r_twice") == Stored(b"two", {})


def test_what_has_had_its_time_is_gone(store: Any) -> None:
    store.put("r_short", b"x", meta={}, ttl=0.05)
    time.sleep(0.12)
    assert store.get("r_short") is None


def test_the_secret_is_long_and_stays_the_same(store: Any) -> None:
    assert len(store.secret) == 32
    assert store.secret == store.secret


def test_values_lie_compressed() -> None:
    assert len(pack(BIG, {})) < len(BIG) / 10
    assert unpack(pack(BIG, {"a": "b"})) == Stored(BIG, {"a": "b"})


@pytest.mark.parametrize("damaged", [b"", b"\0\0\0\x02{}1not zlib", b"\xff" * 40])
def test_bytes_that_were_not_packed_are_refused(damaged: bytes) -> None:
    with pytest.raises(StoreError, match="not written by shaping"):
        unpack(damaged)


def test_memory_forgets_what_was_used_least_recently() -> None:
    store = MemoryStore(max_bytes=3 * 700)
    for name in "abc":
        store.put(name, bytes(200), meta={}, ttl=60)
    assert store.get("a") is not None
    store.put("d", bytes(200), meta={}, ttl=60)
    assert [name for name in "abcd" if store.get(name)] == ["a", "c", "d"]


def test_memory_forgets_what_has_expired_before_what_is_old() -> None:
    now = [0.0]
    store = MemoryStore(max_bytes=3 * 700, clock=lambda: now[0])
    store.put("old", bytes(200), meta={}, ttl=100)
    store.put("brief", bytes(200), meta={}, ttl=1)
    store.put("new", bytes(200), meta={}, ttl=100)
    now[0] = 2
    store.put("newest", bytes(200), meta={}, ttl=100)
    assert [name for name in ("old", "brief", "new", "newest") if store.get(name)] == ["old", "new", "newest"]


@pytest.mark.parametrize("make", [MemoryStore, None])
def test_a_value_larger_than_the_store_is_refused(make: Any, tmp_path: Path) -> None:
    store: Any = MemoryStore(max_bytes=500) if make else SqliteStore(tmp_path / "s", max_bytes=100)
    with pytest.raises(StoreError, match="do not fit"):
        store.put("r", bytes(range(256)), meta={}, ttl=60)
    store.close()


def test_redis_that_is_down_is_a_store_error(down_url: str) -> None:
    store = RedisStore(down_url)
    with pytest.raises(StoreError, match="redis cannot be used now: ConnectionError"):
        store.get("r")
    with pytest.raises(StoreError):
        store.put("r", b"", meta={}, ttl=1)
    with pytest.raises(StoreError):
        _ = store.secret
    store.close()


def test_two_processes_on_one_redis_share_the_secret(redis_url: str) -> None:
    one, two = RedisStore(redis_url), RedisStore(redis_url)
    assert one.secret == two.secret
    one.close()
    two.close()


def test_a_missing_extra_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "redis", None)
    with pytest.raises(ImportError, match=r'pip install "shaping\[redis\]"'):
        RedisStore("redis://localhost")


def asked(kind: StoreKind, **more: Any) -> StoreConfig:
    return StoreConfig(kind=kind, max_bytes=10**6, ttl_seconds=60, **more)


def test_a_config_gets_the_store_it_asks_for(tmp_path: Path, down_url: str) -> None:
    assert isinstance(open_store(asked("memory")), MemoryStore)
    assert isinstance(open_store(asked("sqlite", path=str(tmp_path / "s"))), SqliteStore)
    assert isinstance(open_store(asked("redis", url=down_url)), RedisStore)
    assert isinstance(open_store(asked("redis")), RedisStore)


def test_commands_share_one_file_in_the_cache_folder(tmp_path: Path) -> None:
    store = open_store(asked("sqlite"), environ={"XDG_CACHE_HOME": str(tmp_path)})
    store.put("r", b"x", meta={}, ttl=60)
    store.close()
    assert (tmp_path / "shaping" / "store.sqlite").exists()
