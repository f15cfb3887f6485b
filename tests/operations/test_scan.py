from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path

import pytest

from shaping.operations.registry import Registry
from shaping.operations.spec import ScanProblem, scan

PRICE = """
from shaping.operations.spec import operation

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


def tree(files: dict[str, str]) -> zipfile.Path:
    """Return a directory that is in no file system: one in a zip file."""
    archive = zipfile.ZipFile(io.BytesIO(), "w")
    for name, text in files.items():
        archive.writestr(name, text)
    archive.filename = ""
    return zipfile.Path(archive, "ops/")


def test_every_module_is_imported_by_itself_and_every_problem_is_told() -> None:
    found = scan(tree(TREE))
    assert [spec.id for spec, _ in found.operations] == ["shop.price2", "shop.price", "whole"]
    assert [spec.id for spec in found.specs] == ["waits"]
    assert found.problems == [
        ScanProblem("ops/broken.py", "SyntaxError: invalid syntax (broken.py, line 1)"),
        ScanProblem("ops/exits.py", "SystemExit: 3"),
        ScanProblem("ops/odd.py", "TypeError: spec is int; expected a Spec or a mapping"),
        ScanProblem("ops/raises.py", "RuntimeError: no database"),
        ScanProblem("ops/silent.py", "AssertionError"),
        ScanProblem("ops/uncallable.py", "TypeError: handler is int; expected a callable"),
        ScanProblem(
            "ops/untyped.py",
            (
                "ManifestError: tool 'untyped' cannot be registered: its manifest declares no operation_type; "
                "expected one of command, query, eval, screenshot, logs, window_info"
            ),
        ),
    ]


def test_what_was_found_can_be_registered() -> None:
    registry = Registry()
    registry.add(scan(tree(TREE)).operations)
    assert [spec.id for spec in registry.list()] == ["shop.price2", "shop.price", "whole"]


def test_a_module_that_fails_leaves_nothing_behind() -> None:
    before = set(sys.modules)
    scan(tree({"ops/raises.py": "raise RuntimeError"}))
    assert {name for name in sys.modules if name.startswith("shaping_scanned_")} <= before


def test_the_machines_own_files_are_scanned_without_following_links(tmp_path: Path) -> None:
    (tmp_path / "ops" / "deep").mkdir(parents=True)
    (tmp_path / "ops" / "deep" / "one.py").write_text(TREE["ops/deep/whole.py"])
    (tmp_path / "outside.py").write_text(TREE["ops/deep/whole.py"])
    (tmp_path / "ops" / "link.py").symlink_to(tmp_path / "outside.py")
    assert len(scan(str(tmp_path / "ops")).operations) == 1


def test_an_interrupt_stops_the_scan() -> None:
    with pytest.raises(KeyboardInterrupt):
        scan(tree({"ops/stop.py": "raise KeyboardInterrupt"}))
