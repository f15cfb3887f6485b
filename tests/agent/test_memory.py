from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import pytest

from shaping.agent import Memory


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "moved.json"


def test_a_move_is_recalled_by_another_memory_of_the_same_file(path: Path) -> None:
    assert Memory(path).remember("tool old", "tool new")
    assert Memory(path).recall("tool old") == "tool new"
    assert json.loads(path.read_text()) == {"tool old": "tool new"}


def test_a_command_that_has_not_moved_is_itself(path: Path) -> None:
    assert Memory(path).recall("tool") == "tool"
    assert not path.exists()


def test_moves_are_followed_to_the_end(path: Path) -> None:
    memory = Memory(path)
    memory.remember("a", "b")
    memory.remember("b", "c")
    assert memory.recall("a") == "c"
    assert memory.known() == {"a": "b", "b": "c"}


def test_a_move_that_closes_a_loop_is_not_remembered(path: Path) -> None:
    memory = Memory(path)
    assert [memory.remember("a", "b"), memory.remember("b", "c"), memory.remember("c", "a")] == [True, True, False]
    assert memory.remember("x", "x") is False
    assert memory.recall("a") == "c"


def test_a_loop_in_the_file_leads_nowhere(path: Path) -> None:
    path.parent.mkdir()
    path.write_text('{"a": "b", "b": "a"}')
    assert Memory(path).recall("a") == "a"


def test_a_very_long_chain_leads_nowhere(path: Path) -> None:
    path.parent.mkdir()
    path.write_text(json.dumps({str(n): str(n + 1) for n in range(100)}))
    assert Memory(path).recall("0") == "0"


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff", b'{"a": 1, "b": ""}'])
def test_a_damaged_file_is_an_empty_memory_that_can_be_written(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    memory = Memory(path)
    assert memory.recall("a") == "a"
    memory.remember("old", "new")
    assert json.loads(path.read_text()) == {"old": "new"}


def test_a_write_that_fails_leaves_nothing_behind(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(Path, "replace", fail)
    assert Memory(path).remember("a", "b")
    assert list(path.parent.iterdir()) == []


def write_many(path: Path, worker: int) -> None:
    memory = Memory(path)
    for n in range(20):
        memory.remember(f"{worker}-{n}", f"new-{worker}-{n}")
    memory.recall("anything")


def test_processes_that_write_at_once_never_damage_the_file(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=write_many, args=(path, n)) for n in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    stored = json.loads(path.read_text())
    assert stored
    assert all(new == f"new-{old}" for old, new in stored.items())
    assert [entry.name for entry in path.parent.iterdir()] == ["moved.json"]


def test_a_command_that_moved_into_a_group_takes_no_other_command_of_its_program_along(path: Path) -> None:
    memory = Memory(path)
    assert memory.remember("app show a.txt", "app files show a.txt")
    assert memory.recall("app show b.txt") == "app files show b.txt"
    assert memory.recall("app remove b.txt") == "app remove b.txt"
