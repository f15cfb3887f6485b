"""Lines of `name = value` or `name: value`: one object, or one for each block of lines."""

from __future__ import annotations

import re
from typing import Any

from shaping.parsers.rows import LARGEST, number

_EQUALS = re.compile(r"([A-Za-z_][\w./:@-]*) = ?(.*)")
_COLON = re.compile(r"([A-Za-z_][\w ./()#%@-]{0,39}?)\s*:(?:\s+(.*))?")
_VERTICAL = re.compile(
    r"\*{5,60} \d+\. row \*{5,60}|-\[ RECORD \d+ \][-+]*|-{3,60} ?(?:Record|Row) \d+ ?-{3,60}", re.IGNORECASE
)
_COUNT = re.compile(r"\n\(?(\d+) rows?(?: in set[^\n]*|\))\s*$")
_BAR = re.compile(r"([\w ?\"().-]{1,60}?)\s*\| ?(.*)")
_LEAST = 8  # lines of one object
_BLOCKS = 3  # objects, from which their names repeat
_DOTTED = 0.6  # of the names have a dot: they are paths
_MEMBERS, _ALIKE = 3, 0.9  # of objects of one kind: how many members, and which part of them the one with most has


def parse_pairs(text: str) -> Any:
    """Return the object, or the list of objects, that a text of names and values holds."""
    if len(text) > LARGEST:
        return None
    head = text[:2000]
    if " = " in head or " =\n" in head:
        return _paths(text)
    if " row *" in head or "RECORD " in head or _VERTICAL.search(head):
        return _vertical(text)
    return _blocks(text) if ":" in head else None


def _paths(text: str) -> dict[str, Any] | None:
    """Read `net.ipv4.ip_forward = 1`; where things of one kind have the same names, they are objects of one map."""
    lines = [line for line in text.splitlines() if line.strip()]
    found = [_EQUALS.fullmatch(line.strip()) for line in lines]
    # Lines that end with a semicolon are code, which somebody may edit.
    if len(lines) < _LEAST or not all(found) or lines[-1].rstrip().endswith(";"):
        return None
    pairs = [(match[1], number(match[2].strip())) for match in found if match is not None]
    dotted = sum("." in name for name, _ in pairs) >= _DOTTED * len(pairs)
    steps = [tuple(name.split(".")) if dotted else (name,) for name, _ in pairs]
    tree: dict[str, Any] = {}
    for path, (_, value) in zip(steps, pairs, strict=True):
        if not all(path) or not _put(tree, path, value):
            return None
    # What comes back to a branch after another one would be read in another order.
    if list(_leaves(tree)) != [".".join(path) for path in dict.fromkeys(steps)]:
        return None
    return _flat(tree, "")


def _put(tree: dict[str, Any], path: tuple[str, ...], value: Any) -> bool:
    for step in path[:-1]:
        tree = tree.setdefault(step, {})
        if type(tree) is not dict:
            return False
    last = path[-1]
    if last not in tree:
        tree[last] = value
    elif type(tree[last]) is list:
        tree[last].append(value)
    elif type(tree[last]) is dict:
        return False
    else:
        tree[last] = [tree[last], value]
    return True


def _flat(tree: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Write the paths of a tree out again, but for maps of objects that have the same names."""
    out: dict[str, Any] = {}
    for key, value in tree.items():
        if type(value) is not dict:
            out[prefix + key] = value
        elif _is_uniform(value):
            out[prefix + key] = {name: _leaves(each) for name, each in value.items()}
        else:
            out |= _flat(value, f"{prefix}{key}.")
    return out


def _is_uniform(tree: dict[str, Any]) -> bool:
    if len(tree) < 2 or set(map(type, tree.values())) != {dict}:
        return False
    names = [_leaves(each).keys() for each in tree.values()]
    most = max(names, key=len)
    return all(len(each) >= _MEMBERS and len(each & most) >= _ALIKE * len(each) for each in names)


def _leaves(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the values of a tree by their paths."""
    found: dict[str, Any] = {}
    for key, value in tree.items():
        found |= _leaves(value, f"{prefix}{key}.") if type(value) is dict else {prefix + key: value}
    return found


def _vertical(text: str) -> list[dict[str, Any]] | None:
    """Read rows that a database client printed one value a line."""
    count = _COUNT.search(text, max(0, len(text) - 80))
    parts = _VERTICAL.split(text[: count.start()] if count else text)
    if parts[0].strip() or len(parts) < 2 or (count and int(count[1]) != len(parts) - 1):
        return None
    rows = [_object(part, _BAR if "RECORD" in text[:2000] else _COLON) for part in parts[1:]]
    return None if None in rows else rows  # type: ignore[return-value]


def _blocks(text: str) -> list[dict[str, Any]] | None:
    """Read objects that begin with the same name after a blank line, and of which most have the same names."""
    lines = text.strip().split("\n")
    first = _COLON.fullmatch(lines[0].strip())
    if first is None:
        return None
    starts = [
        at for at, line in enumerate(lines) if line.startswith(f"{first[1]}:") and not (at and lines[at - 1].strip())
    ]
    if len(starts) < _BLOCKS:
        return None
    rows = [_block(lines[start:end]) for start, end in zip(starts, [*starts[1:], None], strict=True)]
    if any(row is None or len(row) < 2 for row in rows):
        return None
    names = rows[0].keys() if rows[0] else ()
    alike = sum(1 for row in rows if row and len(row.keys() & names) * 2 > len(names))
    return rows if alike * 10 >= len(rows) * 9 else None  # type: ignore[return-value]


def _block(lines: list[str]) -> dict[str, Any] | None:
    """Read the lines of one object; what follows a blank line is the rest of its last value."""
    end = next((at for at, line in enumerate(lines) if not line.strip()), len(lines))
    members = _object("\n".join(lines[:end]), _COLON)
    rest = "\n".join(lines[end:]).strip()
    if members and rest:
        last = list(members)[-1]
        members[last] = f"{members[last]}\n\n{rest}"
    return members


def _object(block: str, pattern: re.Pattern[str]) -> dict[str, Any] | None:
    members: dict[str, Any] = {}
    last = ""
    for line in block.strip("\n").split("\n"):
        if line.startswith(" ") and last and pattern is _COLON and not block.startswith(" "):
            # Headers of mails and packages go on in lines that begin with a space.
            members[last] = f"{members[last]}\n{line.strip()}"
            continue
        found = pattern.fullmatch(line.strip())
        if found is None or found[1] in members:
            return None
        last = found[1]
        members[last] = number((found[2] or "").strip())
    return members or None
