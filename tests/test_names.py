"""One name, one thing: class names are unique in the package, and there is one logger."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "shaping"
SOURCES = {str(path.relative_to(PACKAGE)): path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}


def test_no_class_name_stands_twice() -> None:
    nodes = (node for source in SOURCES.values() for node in ast.walk(ast.parse(source)))
    names = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    assert [name for name, number in names.items() if number > 1] == []


def test_there_is_one_logger() -> None:
    named = {name for source in SOURCES.values() for name in re.findall(r"= logging\.getLogger\(([^)]*)\)", source)}
    assert named == {'"shaping"'}
