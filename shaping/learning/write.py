"""Suggested rules written into a config, new or existing: its comments and its order stay."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from shaping.learning.suggest import existing_rules
from shaping.response import counted
from shaping.settings.jsonc import JsoncError, read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shaping.learning.suggest import SuggestedRule, ToolSuggestion
    from shaping.settings.jsonc import JsonNode

EMPTY: Final = '{\n  "$schema": "./response_config.schema.json",\n  "tool_overrides": {}\n}\n'
_INDENT: Final = "  "


def with_suggestions(text: str, suggestions: Sequence[ToolSuggestion]) -> str:
    """Return a config's text with rules added: each with a comment, and none in the place of one that stands there."""
    for one in suggestions:
        if one.rules:
            text = _with_tool(text, one)
    return text


def _with_tool(text: str, suggested: ToolSuggestion) -> str:
    root = read(text)
    overrides = root.members.get("tool_overrides")
    if overrides is None:
        text = _insert(text, root, '"tool_overrides": {}', 1)
        root = read(text)
        overrides = root.members["tool_overrides"]
    existing = existing_rules(_data(root), suggested.tool, suggested.form)
    stands = overrides.members.get(suggested.tool)
    if stands is None:
        rules = _rules(suggested.rules, existing, 3)
        said = f"{counted(suggested.calls, 'call')}: {suggested.now:,} tokens, {suggested.after:,} with these rules"
        body = f"// {said}\n{_INDENT * 2}{json.dumps(suggested.tool)}: {{\n{rules}\n{_INDENT * 2}}}"
        return _insert(text, overrides, body, 2)
    return _merged(text, stands, suggested, existing)


def _merged(text: str, stands: JsonNode, suggested: ToolSuggestion, existing: Mapping[str, Any]) -> str:
    """Add to the rules that a tool has already: paths to its list of excluded ones, and keys that it does not have."""
    excluded = stands.members.get("exclude_fields")
    fresh = [rule for rule in suggested.rules if rule.key not in stands.members]
    if excluded is not None:
        listed = excluded.value if isinstance(excluded.value, list) else []
        added = [rule for rule in suggested.rules if rule.key == "exclude_fields" and rule.value[0] not in listed]
        if added:
            text = _insert(text, excluded, ",\n".join(_path(rule, 4) for rule in added).lstrip(), 4)
    if fresh:
        here = read(text).members["tool_overrides"].members[suggested.tool]
        text = _insert(text, here, _rules(fresh, existing, 3).lstrip(), 3)
    return text


def _rules(rules: Sequence[SuggestedRule], existing: Mapping[str, Any], depth: int) -> str:
    """Write rules line by line, each with its comment above it; the paths of one key together."""
    margin = _INDENT * depth
    out: list[str] = []
    for key in dict.fromkeys(rule.key for rule in rules):
        same = [rule for rule in rules if rule.key == key]
        if key != "exclude_fields":
            (rule,) = same
            value = list(rule.value) if isinstance(rule.value, tuple) else rule.value
            out.append(f"{margin}// {rule.comment}\n{margin}{json.dumps(key)}: {_json(value)}")
            continue
        stays = [f"{margin}{_INDENT}{json.dumps(path)}" for path in existing.get("exclude_fields", ())]
        added = [_path(rule, depth + 1) for rule in same]
        out.append(f'{margin}"exclude_fields": [\n' + ",\n".join([*stays, *added]) + f"\n{margin}]")
    return ",\n".join(out)


def _path(rule: SuggestedRule, depth: int) -> str:
    margin = _INDENT * depth
    return f"{margin}// {rule.comment}\n{margin}{_json(rule.value[0])}"


def _insert(text: str, node: JsonNode, member: str, depth: int) -> str:
    """Write a member at the end of an object or a list, after its last one and whatever comments follow that."""
    close = node.end - 1
    last = max((each.end for each in (*node.members.values(), *node.elements)), default=None)
    margin, outer = _INDENT * depth, _INDENT * (depth - 1)
    if last is None:
        between = text[node.start + 1 : close].rstrip()
        return f"{text[: node.start + 1]}{between}\n{margin}{member}\n{outer}{text[close:]}"
    between = text[last:close].rstrip()
    if not _has_comma(between):
        between = f",{between}"
    return f"{text[:last]}{between}\n{margin}{member}\n{outer}{text[close:]}"


def _has_comma(between: str) -> bool:
    """Return whether a comma stands behind a member, and not only in a comment."""
    try:
        return len(read(f"[0{between}\n0]").elements) == 2
    except JsoncError:
        return False


def _data(root: JsonNode) -> Mapping[str, Any]:
    return root.value if isinstance(root.value, dict) else {}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
