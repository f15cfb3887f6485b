"""The source and the registry name the same codes: ours, the README's examples', and a plugin's."""

from __future__ import annotations

import ast
import re
import runpy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shaping.errors import CodeRegistry, registry
from shaping.errors.codes import OWN

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "tests" / "cases" / "plugin_production"
_RAISERS = frozenset({"ToolError", "make_error", "ErrorDetail"})
_CODE = re.compile(r"(?:[a-z][a-z0-9]*\.)?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Mirror:
    """Codes that are used and not registered, with their places; and codes registered that nothing mentions."""

    unregistered: Mapping[str, tuple[str, ...]]
    unused: tuple[str, ...]


CLEAN = Mirror(unregistered={}, unused=())


def mirror(sources: Mapping[str, str], *, is_known: Callable[[str], bool], own: Collection[str] = ()) -> Mirror:
    """Hold source texts, by their names, against the codes that are known and those that are one's own."""
    used: dict[str, list[str]] = {}
    mentioned: set[str] = set()
    for name, text in sources.items():
        tree = ast.parse(text, name)
        mentioned |= {node.value for node in _constants(ast.walk(tree))}
        for node in _used(tree, is_known):
            used.setdefault(node.value, []).append(f"{name}:{node.lineno}")
    unregistered = {code: tuple(places) for code, places in used.items() if not is_known(code)}
    return Mirror(unregistered, tuple(code for code in own if code not in mentioned))


def python_sources(*roots: Path, leave_out: Collection[str] = ()) -> dict[str, str]:
    """Read every Python file under the roots, but for those that only define codes."""
    files = (file for root in roots for file in sorted(root.rglob("*.py")))
    return {str(file): file.read_text(encoding="utf-8") for file in files if file.name not in leave_out}


class _Text(ast.Constant):
    value: str


def _used(tree: ast.AST, is_known: Callable[[str], bool]) -> Iterator[_Text]:
    """Find the strings that stand where a code does: raised, compared with `.code`, or listed in a table of codes."""
    raisers = _RAISERS | {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and _derives(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _last_name(node.func) in raisers:
            named = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
            yield from _constants([*node.args[:1], *named])
        elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute) and node.left.attr == "code":
            yield from _constants(part for right in node.comparators for part in ast.walk(right))
        elif isinstance(node, ast.Dict) and _is_table(node, is_known):
            yield from _constants(node.values)


def _constants(nodes: Iterable[ast.AST]) -> Iterator[_Text]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node  # type: ignore[misc]  # a constant whose value is a string, just checked


def _is_table(node: ast.Dict, is_known: Callable[[str], bool]) -> bool:
    values = [value.value for value in _constants(node.values)]
    return bool(values) and all(map(_CODE.fullmatch, values)) and any(map(is_known, values))


def _derives(node: ast.ClassDef) -> bool:
    return any(_last_name(base) in _RAISERS for base in node.bases)


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def known(code: str) -> bool:
    return registry.find(code) is not None


def test_every_code_we_use_is_registered_and_every_code_of_ours_is_used() -> None:
    sources = python_sources(ROOT / "shaping", leave_out={"codes.py"})
    assert mirror(sources, is_known=known, own=tuple(OWN)) == CLEAN


def test_every_code_in_an_example_is_registered() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("examples/**/*.md")]
    blocks = {
        f"{page.name} block {number}": block
        for page in pages
        for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
    }
    assert mirror({**blocks, **python_sources(ROOT / "examples")}, is_known=known) == CLEAN


def test_a_plugin_uses_what_it_declares_and_declares_what_it_uses() -> None:
    declared = runpy.run_path(str(PLUGIN / "codes.py"))["error_codes"]
    with_plugin = CodeRegistry(discover=False)
    with_plugin.register_plugin("production", declared)
    own = [f"production.{key}" for key in declared]
    sources = python_sources(PLUGIN, leave_out={"codes.py"})
    assert mirror(sources, is_known=lambda code: with_plugin.find(code) is not None, own=own) == CLEAN


def test_a_code_that_nobody_registered_is_named_with_its_places() -> None:
    source = """
class Stop(ToolError): ...
raise ToolError("ONE_LOST", "x")
raise errors.ToolError(code="TWO_LOST", message="x")
raise Stop("THREE_LOST", "x")
if failure.code == "FOUR_LOST" or failure.code in {"NOT_FOUND", "FIVE_LOST"}: ...
TABLE = {404: "NOT_FOUND", 405: "SIX_LOST"}
make_error("plugin.SEVEN_LOST", "x")
"""
    assert mirror({"a.py": source}, is_known=known).unregistered == {
        "ONE_LOST": ("a.py:3",),
        "TWO_LOST": ("a.py:4",),
        "THREE_LOST": ("a.py:5",),
        "FOUR_LOST": ("a.py:6",),
        "FIVE_LOST": ("a.py:6",),
        "SIX_LOST": ("a.py:7",),
        "plugin.SEVEN_LOST": ("a.py:8",),
    }


def test_comments_docstrings_and_other_strings_are_not_codes() -> None:
    source = '''
"""ToolError("IN_A_DOCSTRING")"""
# raise ToolError("IN_A_COMMENT", "x")
os.environ["SHAPING_DEBUG"]
Warned(code="A_WARNING", message="x")
OTHER = {"a": "SOME_NAME"}
MIXED = {"a": "NOT_FOUND", "b": "words of another kind"}
raise ToolError(variable, "x")
'''
    assert mirror({"a.py": source}, is_known=known) == CLEAN


def test_a_code_of_our_own_that_nothing_mentions_is_named() -> None:
    assert mirror({"a.py": 'x = "USED"'}, is_known=known, own=["USED", "UNUSED"]).unused == ("UNUSED",)
