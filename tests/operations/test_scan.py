from __future__ import annotations

import sys
from pathlib import Path, PurePosixPath

import pytest

from shaping.operations.decorate import DirectoryEntry, LocalFiles, ScanProblem, scan
from shaping.operations.registry import Registry

PRICE = """
from shaping.operations.decorate import operation

@operation(type='query', namespace='shop')
def {name}(id: int) -> int:
    return id
"""
WHOLE = """
from shaping.operations.spec import make_spec

spec = make_spec('whole', operation_type='logs')

def handler(given):
    return given
"""
TREE = {
    "ops/decorated.py": PRICE.format(name="price"),
    "ops/again.py": PRICE.format(name="price2"),
    "ops/deep/only_spec.py": "spec = {'name': 'waits', 'operation_type': 'query'}",
    "ops/deep/whole.py": WHOLE,
    "ops/exits.py": "import sys; sys.exit(3)",
    "ops/broken.py": "def (",
    "ops/raises.py": "raise RuntimeError('no database')",
    "ops/untyped.py": "spec = {'name': 'untyped'}",
    "ops/odd.py": "spec = 7",
    "ops/uncallable.py": "spec = {'name': 'x', 'operation_type': 'query'}; handler = 7",
    "ops/silent.py": "raise AssertionError",
    "ops/helper.py": "x = 1",
    "ops/_private.py": "raise RuntimeError",
    "ops/notes.txt": "spec = 1",
}


class Memory:
    """A file system that is a mapping."""

    def __init__(self, tree: dict[str, str]) -> None:
        self.tree = tree

    def entries(self, path: str) -> list[DirectoryEntry]:
        inside = [PurePosixPath(name).relative_to(path).parts for name in self.tree if name.startswith(f"{path}/")]
        names = dict.fromkeys((parts[0], len(parts) > 1) for parts in inside)
        return [DirectoryEntry(name, is_directory) for name, is_directory in names]

    def read(self, path: str) -> bytes:
        return self.tree[path].encode()


def test_every_module_is_imported_by_itself_and_every_problem_is_told() -> None:
    found = scan("ops", Memory(TREE))
    assert [spec.id for spec, _ in found.operations] == ["shop.price", "shop.price2", "whole"]
    assert [spec.id for spec in found.specs] == ["waits"]
    assert found.without == ["ops/helper.py"]
    assert found.problems == [
        ScanProblem("ops/exits.py", "SystemExit: 3"),
        ScanProblem("ops/broken.py", "SyntaxError: invalid syntax (broken.py, line 1)"),
        ScanProblem("ops/raises.py", "RuntimeError: no database"),
        ScanProblem(
            "ops/untyped.py",
            (
                "ManifestError: tool 'untyped' cannot be registered: its manifest declares no operation_type; "
                "expected one of command, query, eval, screenshot, logs, window_info"
            ),
        ),
        ScanProblem("ops/odd.py", "TypeError: spec is int; expected a Spec or a mapping"),
        ScanProblem("ops/uncallable.py", "TypeError: handler is int; expected a callable"),
        ScanProblem("ops/silent.py", "AssertionError"),
    ]


def test_what_was_found_can_be_registered() -> None:
    registry = Registry()
    registry.add(scan("ops", Memory(TREE)).operations)
    assert [spec.id for spec in registry.list()] == ["shop.price", "shop.price2", "whole"]


def test_a_module_that_fails_leaves_nothing_behind() -> None:
    before = set(sys.modules)
    scan("ops", Memory({"ops/raises.py": "raise RuntimeError"}))
    assert {name for name in sys.modules if name.startswith("shaping_scanned_")} <= before


def test_the_machines_own_files_are_scanned_without_following_links(tmp_path: Path) -> None:
    (tmp_path / "ops" / "deep").mkdir(parents=True)
    (tmp_path / "ops" / "deep" / "one.py").write_text(TREE["ops/deep/whole.py"])
    (tmp_path / "outside.py").write_text(TREE["ops/deep/whole.py"])
    (tmp_path / "ops" / "link.py").symlink_to(tmp_path / "outside.py")
    assert len(scan(str(tmp_path / "ops")).operations) == 1
    assert list(LocalFiles().entries(str(tmp_path / "ops"))) == [DirectoryEntry("deep", is_directory=True)]


def test_an_interrupt_stops_the_scan() -> None:
    with pytest.raises(KeyboardInterrupt):
        scan("ops", Memory({"ops/stop.py": "raise KeyboardInterrupt"}))
