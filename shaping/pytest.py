"""For tests of tools: what their answers cost, and whether the error codes of a plugin are registered.

Ask for the fixtures with `-p shaping.pytest` or `pytest_plugins = ["shaping.pytest"]`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from shaping import Shaper
from shaping.errors import registry
from shaping.response import cut_end
from shaping.tokens.counters import counter

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from os import PathLike
    from pathlib import Path

__all__ = ["AssertTokens", "Mirror", "assert_tokens", "mirror", "python_sources"]

_RAISERS = frozenset({"ToolError", "make_error", "ErrorDetail"})
_CODE = re.compile(r"(?:[a-z][a-z0-9]*\.)?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")
_MOST_SHOWN = 400  # characters of an answer that costs too much


AssertTokens: TypeAlias = Callable[..., int]  # what the fixture `assert_tokens` is


@pytest.fixture(name="assert_tokens")
def assert_tokens_fixture() -> AssertTokens:
    """Fail where a tool's answer costs too much: `assert_tokens(value, tool="search", max=500)`."""
    return assert_tokens


def assert_tokens(
    value: Any,
    *,
    tool: str = "",
    max: int,  # noqa: A002 - the word a reader of the test expects
    profile: str | None = None,
    config: str | PathLike[str] | Mapping[str, Any] | None = None,
) -> int:
    """Shape a tool's answer as the config says and fail where it costs more than `max` tokens, counted exactly."""
    __tracebackhide__ = True
    shaped = Shaper(config).shape(value, tool=tool, profile=profile)
    tokens = counter(shaped.plan.tokenizer).exact(shaped.text)
    if tokens > max:
        text = cut_end(shaped.text, _MOST_SHOWN)
        raise AssertionError(
            f"the answer of {tool or 'the tool'} costs {tokens} tokens, {tokens - max} more than {max}; "
            f"unshaped it costs {shaped.tokens.before}. It reads:\n{text}"
        )
    return tokens


def _is_registered(code: str) -> bool:
    return registry.find(code) is not None


@dataclass(frozen=True, slots=True)
class Mirror:
    """Codes that are used and not registered, with their places; and codes registered that nothing mentions."""

    unregistered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unused: tuple[str, ...] = ()


def mirror(
    sources: Mapping[str, str], *, is_known: Callable[[str], bool] = _is_registered, own: Collection[str] = ()
) -> Mirror:
    """Compare the codes in source texts, given by name, with the registered codes and with `own` codes."""
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
    """Read every Python file under the roots, except the files in `leave_out`."""
    files = (file for root in roots for file in sorted(root.rglob("*.py")))
    return {str(file): file.read_text(encoding="utf-8") for file in files if file.name not in leave_out}


class _Text(ast.Constant):
    value: str


def _used(tree: ast.AST, is_known: Callable[[str], bool]) -> Iterator[_Text]:
    """Find the strings used as codes: raised, compared with `.code`, or listed in a table of codes."""
    raisers = _RAISERS | {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and _derives(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _last_name(node.func) in raisers:
            named = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
            yield from _constants([*node.args[:1], *named])
        elif isinstance(node, ast.Compare) and _is_error_code(node.left):
            yield from _constants(part for right in node.comparators for part in ast.walk(right))
        elif isinstance(node, ast.Dict) and _is_table(node, is_known):
            yield from _constants(node.values)


def _is_error_code(node: ast.AST) -> bool:
    """Whether an expression reads an error's code; warnings have codes too, which no registry lists."""
    if not isinstance(node, ast.Attribute) or node.attr != "code":
        return False
    return not _last_name(node.value).startswith("warn")


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
