"""Lines of names and values: one object, one for each block of lines, or an outline of them by indentation."""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

from shaping.parsers.rows import has_code, number
from shaping.parsers.yaml import looks_like_yaml

_EQUALS = re.compile(r"([A-Za-z_][\w./:@-]*) = ?(.*)")
# A frame of a traceback, whose indentation is no outline.
_FRAME = re.compile(r'\n[ \t]+(?:at \S|File ")')
# A name and its value, after a colon, dots, an equals sign or two spaces.
_ENTRY = re.compile(r"([A-Za-z*][^:=\n]{0,59}?)(?:\s*:(?:\s+(.*))?|\s+\.{2,}\s+(.*)|\s+=\s*(.*)|\s{2,}(\S.*))")
_DIVIDED = re.compile(r":(?=\s|$)|=|\.\.|\s\s")  # what stands in every such line
_IN_LINES = (
    re.compile(r'(?:^|(?<=\s))([A-Za-z_][\w.@-]*)=("(?:[^"\\]|\\.)*"|[^\s"]*)(?=\s|$)'),
    re.compile(r"(?:^|(?<=\s\s))([A-Za-z_][\w.@-]*): (\S+(?: \S+)*?)(?=\s{2,}|\s*$)"),
)
_SURE, _HEAD = 0.9, 2000  # of the lines of an outline, and characters by which most other texts are told
_COLON = re.compile(r"([A-Za-z_][\w ./()#%@-]{0,39}?)\s*:(?:\s+(.*))?")
_VERTICAL = re.compile(
    r"\*{5,60} \d+\. row \*{5,60}|-\[ RECORD \d+ \][-+]*|-{3,60} ?(?:Record|Row) \d+ ?-{3,60}|^\d+\. row$",
    re.IGNORECASE | re.MULTILINE,
)
_COUNT = re.compile(r"\n\(?(\d+) rows?(?: in set[^\n]*|\))\s*$")
_BAR = re.compile(r"([\w ?\"().-]{1,60}?)\s*\| ?(.*)")
_LEAST = 8  # lines of one object
_BLOCKS = 3  # objects, from which their names repeat
_DOTTED = 0.6  # of the names have a dot: they are paths
_OutlineLine: TypeAlias = "tuple[int, str, re.Match[str] | None]"  # its indentation, its words, its name and value
_MEMBERS, _ALIKE = 3, 0.9  # of objects of one kind: how many members, and which part of them the one with most has


def parse_pairs(text: str) -> Any:
    """Return the object, or the list of objects, that a text of names and values holds."""
    head = text[:2000]
    if (rows := _in_lines(text)) is not None:
        return rows
    if " = " in head or " =\n" in head:
        return _paths(text) or _outline(text)
    folded = head.lower()
    if ("row" in folded or "record " in folded) and _VERTICAL.search(head):
        return _vertical(text)
    return _outline(text)


def read_record(text: str) -> dict[str, Any] | None:
    """Return the object that a few lines of `name: value` are; whether they are meant as one, the caller must know."""
    record = _object(text, _COLON) if ": " in text and text.count("\n") < _HEAD else None
    return record if record is not None and len(record) > 1 else None


def _in_lines(text: str) -> list[dict[str, Any]] | None:
    """Read lines of several names with values each, as `level=info msg="it began"` or with two spaces between them."""
    first, more, _ = text.lstrip("\n")[:_HEAD].partition("\n")
    form = next((form for form in _IN_LINES if len(form.findall(first)) >= _MEMBERS), None) if more else None
    if form is None or text.count("\n") < _LEAST - 1:
        return None
    rows = []
    for line in text.strip("\n").split("\n"):
        pairs = form.findall(line)
        if form.sub("", line).strip() or len(dict(pairs)) < max(len(pairs), 2):
            return None
        rows.append({name: number(_unquoted(value)) for name, value in pairs})
    return rows


def _unquoted(value: str) -> str:
    return value[1:-1] if value[:1] == '"' and "\\" not in value else value


def _paths(text: str) -> dict[str, Any] | None:
    """Read `net.ipv4.ip_forward = 1`; where things of one kind have the same names, they are objects of one map."""
    if not all(_EQUALS.fullmatch(line.strip()) for line in text[:_HEAD].splitlines()[:-1] if line.strip()):
        return None
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


def _outline(text: str) -> Any:
    """Read names with values, and what is indented below a name as its members, where several blocks are alike."""
    first = [line for line in text[:_HEAD].splitlines() if line[:1].strip()]
    divided = [line for line in first if _DIVIDED.search(line)]  # as few lines of prose are, which then need no more
    if 2 * len(divided) < len(first) or 2 * sum(map(_is_entry, divided)) < len(first):
        return None
    # What looks like YAML and was declined as such has comments, anchors or dates: it stays as it is.
    if _FRAME.search(f"\n{text}") or looks_like_yaml(text) or has_code(text):
        return None
    lines: list[_OutlineLine] = []
    gap = ""
    for line in text.expandtabs().splitlines():
        if words := line.strip():
            lines.append((len(line) - len(line.lstrip()), gap + words, _ENTRY.fullmatch(words)))
        gap = "" if words else "\n"
    outer = [entry for indent, _, entry in lines if indent == lines[0][0]]
    if len(lines) < _LEAST or len(outer) - outer.count(None) < _SURE * len(outer):
        return None
    names = [entry[1] for indent, _, entry in lines if entry and indent <= lines[0][0]]
    if lines[0][2] and names.count(names[0]) == 1 and _come_back(names):  # so that they are no object
        return None
    try:
        value = _members(_with_paragraphs(lines))
    except (ValueError, RecursionError):
        return None
    return value if _repeats(value) else None


def _is_entry(line: str) -> bool:
    return _ENTRY.fullmatch(line.strip()) is not None


def _with_paragraphs(lines: list[_OutlineLine]) -> list[_OutlineLine]:
    """Return the lines of several records, the paragraphs in them as words: no record has a name from a sentence."""
    names = Counter(entry[1] for _, _, entry in lines if entry)
    if lines[0][2] is None or names[lines[0][2][1]] < _BLOCKS:
        return lines
    told: list[_OutlineLine] = []
    in_words = False
    for indent, words, entry in lines:
        alone = entry is None or names[entry[1]] == 1
        in_words = alone and (in_words or words.startswith("\n"))
        told.append((indent, words, None if in_words else entry))
    return told


def _members(lines: list[_OutlineLine]) -> Any:
    """Read the lines of one indentation, and those that are indented further, each as part of the one above it."""
    pairs: list[tuple[str, Any]] = []
    starts = [at for at, line in enumerate(lines) if line[0] <= lines[0][0]]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        below = lines[start + 1 : end]
        _, words, entry = lines[start]
        if entry is None and not (below or pairs):
            pairs.append(("note", words.strip()))
            continue
        if entry is None and not below:
            name, value = pairs.pop()
            pairs.append((name, _with_more(value, lines[start : start + 1])))
            continue
        name, value = (entry[1], "".join(entry.groups("")[1:])) if entry else (words.strip(), "")
        pairs.append((name, _with_more(number(value), below) if value or not below else _members(below)))
    return _records(pairs)


def _with_more(value: Any, lines: list[_OutlineLine]) -> Any:
    """Return a value with the lines that go on with it."""
    if lines and type(value) in {dict, list}:
        raise ValueError("words between names")
    return "\n".join([str(value), *(words for _, words, _ in lines)]) if lines else value


def _records(pairs: list[tuple[str, Any]]) -> Any:
    """Return names and values as one object, or as one for each time that the first name comes."""
    starts = [at for at, (name, _) in enumerate(pairs) if name == pairs[0][0]]
    if len(starts) > 1:
        return [_records(pairs[start:end]) for start, end in zip(starts, [*starts[1:], len(pairs)], strict=True)]
    if _come_back([name for name, _ in pairs]):
        raise ValueError("a name comes back after others: the order of the lines says something")
    runs = [(name, [value for _, value in same]) for name, same in groupby(pairs, itemgetter(0))]
    return {name: values if len(values) > 1 else values[0] for name, values in runs}


def _come_back(names: list[str]) -> bool:
    """Whether a name comes back after others."""
    return sum(1 for _ in groupby(names)) > len(set(names))


def _repeats(value: Any) -> bool:
    """Whether several objects somewhere in a value have mostly the same names."""
    inner = list(value.values()) if type(value) is dict else value if type(value) is list else []
    objects = [each for each in inner if type(each) is dict]
    if len(objects) >= _BLOCKS:
        alike = sum(1 for each in objects if 2 * len(each.keys() & objects[0].keys()) > len(objects[0]) > 1)
        return alike >= _ALIKE * len(objects)
    return any(map(_repeats, inner))


def _object(block: str, pattern: re.Pattern[str]) -> dict[str, Any] | None:
    members: dict[str, Any] = {}
    for line in block.strip("\n").split("\n"):
        found = pattern.fullmatch(line.strip())
        if found is None or found[1] in members:
            return None
        members[found[1]] = number((found[2] or "").strip())
    return members or None
