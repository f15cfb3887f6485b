"""The source and the registry name the same codes: ours, the README's examples', and a plugin's."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from shaping.errors import CodeRegistry, registry
from shaping.errors.codes import OWN
from shaping.pytest import Mirror, mirror, python_sources

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "tests" / "cases" / "plugin_production"


def test_every_code_we_use_is_registered_and_every_code_of_ours_is_used() -> None:
    sources = python_sources(ROOT / "shaping", leave_out={"codes.py"})
    assert mirror(sources, own=tuple(OWN)) == Mirror()


def test_every_code_in_an_example_is_registered() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("examples/**/*.md")]
    blocks = {
        f"{page.name} block {number}": block
        for page in pages
        for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
    }
    sources = {**blocks, **python_sources(ROOT / "examples")}
    own = {code for text in sources.values() for code in re.findall(r'register\(\{"(\w+)"', text)}
    assert mirror(sources, is_known=lambda code: code in own or registry.find(code) is not None) == Mirror()


def test_a_plugin_uses_what_it_declares_and_declares_what_it_uses() -> None:
    declared = runpy.run_path(str(PLUGIN / "codes.py"))["error_codes"]
    with_plugin = CodeRegistry(discover=False)
    with_plugin.register_plugin("production", declared)
    own = [f"production.{key}" for key in declared]
    sources = python_sources(PLUGIN, leave_out={"codes.py"})
    assert mirror(sources, is_known=lambda code: with_plugin.find(code) is not None, own=own) == Mirror()


def test_a_code_that_nobody_registered_is_named_with_its_places() -> None:
    source = """
class Stop(ToolError): ...
raise ToolError("ONE_LOST", "x")
raise errors.ToolError(code="TWO_LOST", message="x")
raise Stop("THREE_LOST", "x")
if warned.code == "A_WARNING": ...
if failure.code == "FOUR_LOST" or failure.code in {"NOT_FOUND", "FIVE_LOST"}: ...
TABLE = {404: "NOT_FOUND", 405: "SIX_LOST"}
make_error("plugin.SEVEN_LOST", "x")
"""
    assert mirror({"a.py": source}).unregistered == {
        "ONE_LOST": ("a.py:3",),
        "TWO_LOST": ("a.py:4",),
        "THREE_LOST": ("a.py:5",),
        "FOUR_LOST": ("a.py:7",),
        "FIVE_LOST": ("a.py:7",),
        "SIX_LOST": ("a.py:8",),
        "plugin.SEVEN_LOST": ("a.py:9",),
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
    assert mirror({"a.py": source}) == Mirror()


def test_a_code_of_our_own_that_nothing_mentions_is_named() -> None:
    assert mirror({"a.py": 'x = "USED"'}, own=["USED", "UNUSED"]).unused == ("UNUSED",)
