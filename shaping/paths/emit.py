"""The source text of a filter for one place of the data.

Text, not closures: measured on 100 KB of issues, closures cost two to three times as much, and most of the speed comes
from dict displays with the field names written in. A display needs to know which keys an object has and in which order
(key order is kept), so it is written for one row of keys and guarded by one comparison of that row.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Field:
    """A kept member: its key, the name it is written under, and the filter inside it, if any."""

    key: str
    name: str
    inside: str | None
    partial: bool  # the inner filter may answer GONE


def by_rows(name: str, bodies: list[list[str]], *, partial: bool) -> str:
    """Write the filter of a place: objects with one of the rows of keys learned first at once, others by the table."""
    rows = [
        line
        for at, body in enumerate(bodies)
        for line in (f"  if r == row_{name}_{at}:", *(f"   {line}" for line in body))
    ]
    many = _elements(name, bodies[0], partial=partial)
    return _function(name, ["  r = list(x)", *rows, f"  return meet_{name}(x)"], many)


def _function(name: str, members: list[str], elements: list[str]) -> str:
    lines = [" if type(x) is dict:", *members, " if type(x) is list:", *(f"  {line}" for line in elements)]
    return "\n".join([f"def {name}(x):", *lines, f" return odd_{name}(x)"])


def one_row(name: str, body: list[str]) -> str:
    """Write a filter for objects already known to have one row of keys."""
    return "\n".join([f"def {name}(x):", *(f" {line}" for line in body)])


def only(name: str, key: str) -> str:
    """Write the filter that keeps one member whole: one key has only one order, so there is nothing to guard."""
    text = ascii(key)
    many = [
        "o = []",
        "for e in x:",
        f" if type(e) is dict and {text} in e:",
        f"  o.append({{{text}: e[{text}]}})",
        f" elif (y := {name}(e)) is not GONE:",
        "  o.append(y)",
        "return o",
    ]
    return _function(name, [f"  return {{{text}: x[{text}]}} if {text} in x else {{}}"], many)


def subtract(name: str, gone: list[str], inner: dict[str, str], others: str | None) -> str:
    """Write the filter that drops some names and looks inside some others, or all: it needs no row of keys."""
    lines = ["o = x.copy()", *(line for key in gone for line in (f"if {key!a} in o:", f" del o[{key!a}]"))]
    if others:
        among = f" and k not in {{{', '.join(map(ascii, inner))}}}" if inner else ""
        lines += ["for k, v in o.items():", f" if type(v) not in SCALARS{among}:", f"  o[k] = {others}(v)"]
    for key, inside in inner.items():
        lines += [f"if {key!a} in o and type(x[{key!a}]) not in SCALARS:", f" o[{key!a}] = {inside}(x[{key!a}])"]
    return _function(name, [f"  {line}" for line in (*lines, "return o")], _mapped(name))


def _mapped(name: str) -> list[str]:
    return [f"return [e if type(e) in SCALARS else {name}(e) for e in x]"]


def _elements(name: str, body: list[str], *, partial: bool) -> list[str]:
    """Filter a list, its elements of the first row without a call; what was not asked for is dropped."""
    *lines, last = body
    other = (
        [" y = {0}(x)", " if y is not GONE:", "  l.append(y)"]
        if partial
        else [" l.append(x if type(x) in SCALARS else {0}(x))"]
    )
    return [
        "l = []",
        "for x in x:",
        f" if type(x) is dict and list(x) == row_{name}_0:",
        *(f"  {line}" for line in lines),
        f"  l.append({last.removeprefix('return ')})",
        "  continue",
        *(line.format(name) for line in other),
        "return l",
    ]


def members(fields: list[Field], keys: tuple[str, ...]) -> list[str]:
    """Write the lines that filter one object with exactly these keys in this order."""
    inner = [field for field in fields if field.inside is not None]
    renamed = any(field.key != field.name for field in fields)
    alike = len({field.inside for field in inner}) == 1 and len(inner) > 4 and not renamed
    if alike and inner[0].partial:
        return _sift(fields, inner)
    if not (renamed or inner) and len(fields) == len(keys):
        return ["return x"]
    mostly = not renamed and 2 * len(fields) > len(keys)
    start = _copy(fields, keys) if mostly else []
    if alike:
        return [*(start or [f"o = {_display(fields, {})}"]), *_each(fields, inner)]
    return [*start, *_replace(inner)] if mostly else _build(fields, inner)


def _copy(fields: list[Field], keys: tuple[str, ...]) -> list[str]:
    kept = {field.key for field in fields}
    gone = ", ".join(f"o[{key!a}]" for key in keys if key not in kept)
    return ["o = x.copy()", *([f"del {gone}"] if gone else [])]


def _display(fields: list[Field], values: dict[str, str]) -> str:
    pairs = (f"{field.name!a}: {values.get(field.key) or f'x[{field.key!a}]'}" for field in fields)
    return f"{{{', '.join(pairs)}}}"


def _each(fields: list[Field], inner: list[Field]) -> list[str]:
    """Filter inside many members by one loop."""
    among = "" if len(inner) == len(fields) else f" and k in {{{', '.join(ascii(field.key) for field in inner)}}}"
    test = f" if type(v) not in SCALARS{among}:"
    return ["for k, v in o.items():", test, f"  o[k] = {inner[0].inside}(v)", "return o"]


def _sift(fields: list[Field], inner: list[Field]) -> list[str]:
    """Keep some members and look inside many others, by one loop."""
    inside = {field.key for field in inner}
    kept = [ascii(field.key) for field in fields if field.key not in inside]
    among = ", ".join(ascii(field.key) for field in inner)
    return [
        "o = {}",
        "for k, v in x.items():",
        f" if k in {{{', '.join(kept)}}}:" if kept else " if False:",
        "  o[k] = v",
        f" elif type(v) not in SCALARS and k in {{{among}}} and (v := {inner[0].inside}(v)) is not GONE:",
        "  o[k] = v",
        "return o",
    ]


def _replace(inner: list[Field]) -> list[str]:
    """Filter inside a few members of a copy."""
    lines: list[str] = []
    for field in inner:
        key = ascii(field.key)
        if field.partial:
            lines += [f"v = {field.inside}(x[{key}])", "if v is GONE:", f" del o[{key}]", "else:", f" o[{key}] = v"]
        else:
            lines += [f"v = x[{key}]", "if type(v) not in SCALARS:", f" o[{key}] = {field.inside}(v)"]
    return [*lines, "return o"]


def _build(fields: list[Field], inner: list[Field]) -> list[str]:
    """Write the result as one display, filtered members first."""
    values = {field.key: f"v{at}" for at, field in enumerate(inner)}
    lines = [f"v{at} = {field.inside}(x[{field.key!a}])" for at, field in enumerate(inner)]
    gone = [line for field in inner if field.partial for line in _unless_gone(field, values[field.key])]
    if not gone:
        return [*lines, f"return {_display(fields, values)}"]
    return [*lines, f"o = {_display(fields, values)}", *gone, "return o"]


def _unless_gone(field: Field, value: str) -> list[str]:
    return [f"if {value} is GONE:", f" del o[{field.name!a}]"]
