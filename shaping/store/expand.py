"""What was left out comes back: found by its ref, chosen by a path, paged to a budget."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping import errors
from shaping.paths import FieldPlan, Path, PathError, compile_fields, deep_path, parse, select
from shaping.paths.grammar import Index, Slice
from shaping.paths.selection import Miss, miss
from shaping.response import Json, counted
from shaping.store.backends import Store, Stored, StoreError
from shaping.store.keeper import SHAPED, CursorError, Keeper, make_cursor, read_cursor
from shaping.store.pages import Page, Position, page
from shaping.values import read_marked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from shaping.tokens import TokenCounter


_GONE = "nothing is kept behind this ref here"
_AGAIN = (
    "It may be misspelt, expired, or another process's: repeat the call that gave it."  # also where hints are not shown
)


@dataclass(frozen=True, slots=True)
class Recalled:
    """What a ref stands for: the value as it was stored, and which tool gave it."""

    value: Any
    meta: Mapping[str, str]
    lost: int = 0  # bytes of a command's output that are not kept


@dataclass(frozen=True, slots=True)
class Stream:
    """The stored parts of one output of a command, and how much of it they hold."""

    prefix: str
    parts: int
    size: int
    kept: int


@dataclass(frozen=True, slots=True)
class Expanded:
    """A page of what was asked back; its path says which part it is, and the cursor asks for the next."""

    value: Json
    path: str
    cursor: str | None


def recall(keeper: Keeper, ref: object, *, owner: str | None = None) -> Recalled:
    """Find what a ref stands for; unknown, expired, forged and foreign refs are all REF_NOT_FOUND."""
    if not isinstance(ref, str) or not ref.startswith("r_"):
        raise errors.ToolError("REF_NOT_FOUND", _GONE, hint=_AGAIN)
    stored = _stored(keeper, ref)
    # One answer for all: a guess learns nothing from it.
    if stored is None or stored.meta.get("owner", "") != (owner or ""):
        raise errors.ToolError("REF_NOT_FOUND", _GONE, hint=_AGAIN)
    if "lost" in stored.meta:
        return _recall_output(keeper.store, ref, stored)
    value = orjson.loads(stored.payload)
    return Recalled(read_marked(value) if "numbers" in stored.meta else value, stored.meta)


def _stored(place: Keeper | Store, ref: str) -> Stored | None:
    """Read what is stored behind a ref; a store that fails is a coded error."""
    try:
        return place.get(ref)
    except StoreError:
        raise errors.ToolError("UNAVAILABLE", "the store cannot be read now") from None


def _recall_output(store: Store, ref: str, stored: Stored) -> Recalled:
    """Return what a command printed whose output was too long for memory: all of it, where its parts are stored."""
    found = stored_streams(store, ref)
    if found is None:
        return Recalled(orjson.loads(stored.payload), stored.meta, int(stored.meta["lost"]))
    value = {name: b"".join(stream_parts(store, one)).decode(errors="replace") for name, one in found.items()}
    return Recalled(value, stored.meta, sum(one.size - one.kept for one in found.values()))


def stored_streams(store: Store, ref: str) -> dict[str, Stream] | None:
    """Return where the outputs of a command are stored; None where no parts of them are."""
    found = _stored(store, f"{ref}.streams")
    return None if found is None else {name: Stream(**said) for name, said in orjson.loads(found.payload).items()}


def stream_parts(store: Store, stream: Stream) -> Iterator[bytes]:
    """Yield the bytes of one output, part by part."""
    for number in range(stream.parts):
        part = _stored(store, f"{stream.prefix}.{number}")
        if part is None:
            raise errors.ToolError("REF_NOT_FOUND", "a part of this output has made way for newer ones")
        yield part.payload


def expand(
    kept: Recalled,
    ref: str,
    secret: bytes,
    *,
    path: str | None = None,
    cursor: str | None = None,
    private: FieldPlan | None = None,
    max_tokens: int | None = None,
    render: Callable[[Expanded], str],
    counter: TokenCounter,
) -> Expanded:
    """Return the values under a path, a page at a time; `render` writes what the model reads of a page."""
    chosen, start = (path or "", Position()) if cursor is None else resume(secret, ref, cursor)
    shaped = cursor is not None and cursor.startswith(SHAPED)
    whole = kept.value if private is None else private.apply(kept.value)
    chosen = lines_as_characters(whole, _below_items(whole, chosen))
    value, where = _chosen(whole, chosen)

    def shown(found: Page) -> Expanded:
        after = None if found.next is None else cursor_at(secret, ref, chosen, found.next, shaped=shaped)
        return Expanded(found.value, _under(where, found.path), after)

    found = page(value, start, lambda one: counter.exact(render(shown(one))), max_tokens)
    if found is None:
        raise errors.ToolError(
            "BAD_ARGUMENT",
            f"a budget of {counted(max_tokens or 0, 'token')} is too small to show anything of it",
            hint=_MORE,
        )
    return shown(found)


_PATHS = (
    "Paths look like items[0].user.login, items[].title, rows[20:], or several as items[].id,items[].title; "
    "of a text, log[2000:4000] gives characters and log[L10:L20] lines; without a path, all of it is shown."
)
_MORE = "Ask again with a larger max_tokens, or without one."


def cursor_at(secret: bytes, ref: str, path: str, position: Position, *, shaped: bool = False) -> str:
    """Write the cursor for a position in what a path chooses, of the raw value or of its shaped form."""
    return make_cursor(secret, ref, f"{SHAPED if shaped else ''}{position}/{path}")


def resume(secret: bytes, ref: str, cursor: object) -> tuple[str, Position]:
    """Read from a cursor which path chooses and where in that to go on."""
    try:
        offset, trail, path = read_cursor(secret, ref, str(cursor)).split("/", 2)
    except CursorError as problem:
        raise errors.ToolError(
            "BAD_ARGUMENT", str(problem), hint="Use the cursor as it was given, with its ref."
        ) from None
    return path, Position.read(f"{offset.removeprefix(SHAPED)}/{trail}")


def _chosen(value: Any, path: str) -> tuple[Any, str]:
    """Return what a path names, or the records with what several paths name, and where it stands."""
    found = [_found(value, one) for one in listed(value, path)]
    if len(found) == 1:
        return found[0]
    try:
        return choose_members(value, [one for _, one in found])
    except PathError as problem:
        raise errors.ToolError("BAD_ARGUMENT", f"the paths cannot be read together: {problem}", hint=_PATHS) from None


def _found(value: Any, path: str) -> tuple[Any, str]:
    """Return what a path names, and the path; where nothing is there, what ends like it at any place."""
    try:
        return _selected(value, path), path
    except errors.ToolError as missed:
        # Notices name what was left out by the end of its path.
        if missed.detail.code != "NOT_FOUND" or path.startswith("[") or not (found := select(value, deep_path(path))):
            raise
        return found, deep_path(path)


def _selected(value: Any, path: str) -> Any:
    try:
        found = select(value, path)
    except PathError as problem:
        raise errors.ToolError("BAD_ARGUMENT", f"the path cannot be read: {problem}", hint=_PATHS) from None
    except LookupError:
        raise _nothing(miss(value, path) or Miss(path)) from None
    missed = miss(value, path) if path and found == [] else None
    if missed is not None:
        raise _nothing(missed)
    return found


def _nothing(missed: Miss) -> errors.ToolError:
    return errors.ToolError("NOT_FOUND", str(missed), similar=missed.near, hint=_PATHS)


def _under(prefix: str, path: str) -> str:
    """Write the path of a part from the start; several matches of a wildcard are numbered in the order of the data."""
    if not prefix or not path:
        return prefix or path
    return f"{prefix}{path}" if path.startswith("[") else f"{prefix}.{path}"


# Lines of a text are numbered from 1, and the last one is included, as editors have it.
_LINES: Final = re.compile(r"(?P<holder>.*)\[L(?P<first>\d*):L?(?P<last>\d*)\]", re.DOTALL)
# A quote that nothing closes holds all the rest: looked for once, not from every quote on.
_ONE: Final = re.compile(r'(?:"(?:[^"\\]|\\.?)*(?:"|$)|[^,"])+', re.DOTALL)


def _below_items(value: Any, path: str) -> str:
    """Write paths into a list without the name that the list has in SQL and in notices: `items[0].id` as `[0].id`."""
    if (
        "items" not in path
        or not isinstance(value, list)
        or any(isinstance(one, dict) and "items" in one for one in value)
    ):
        return path
    return ",".join(re.sub(r"^\s*items(?=$|\[|\.)", "", one) for one in _ONE.findall(path))


def lines_as_characters(value: Any, path: str) -> str:
    """Write a range of a text's lines, `log[L10:L20]`, as the range of its characters; any other path as it is."""
    lines = _LINES.fullmatch(path)
    if lines is None:
        return path
    text = _selected(value, lines["holder"])
    if not isinstance(text, str):
        where = f"what is at {lines['holder']}" if lines["holder"] else "the answer"
        raise errors.ToolError("BAD_ARGUMENT", f"[L…] takes lines of a text, and {where} is data", hint=_PATHS)
    ends = [0, *accumulate(map(len, text.splitlines(keepends=True)))]
    first = min(max(int(lines["first"] or 1) - 1, 0), len(ends) - 1)
    last = min(int(lines["last"] or len(ends)), len(ends) - 1)
    return f"{lines['holder']}[{ends[first]}:{ends[last]}]"


def listed(value: Any, path: str) -> list[str]:
    """Read a path as several where it has commas and, as one, names nothing: a key may have commas too."""
    parts = [part.strip() for part in _ONE.findall(path)] if "," in path else []
    return [path] if len(parts) < 2 or _names_something(value, path) else parts


def _names_something(value: Any, path: str) -> bool:
    try:
        # What a path names may be an empty list.
        return bool(select(value, path) != []) or miss(value, path) is None
    except (ValueError, LookupError):
        return False


def choose_members(value: Any, paths: list[str]) -> tuple[Any, str]:
    """Return the records that several paths lead into, each with only what the paths name, and where they stand."""
    trails = [parse(path).steps for path in paths]
    alike = [steps[0] for steps in takewhile(lambda steps: len(set(steps)) == 1, zip(*trails, strict=False))]
    # One element or a range of them is chosen first: what a path names below holds for every element.
    chosen = max((at for at, step in enumerate(alike, 1) if isinstance(step, Index | Slice)), default=0)
    where = str(Path(tuple(alike[:chosen])))
    members = [str(Path(steps[chosen:])) for steps in trails]
    return compile_fields(members).apply(select(value, where)), where


_SAMPLES: Final = 16  # values of a place by which all of them are priced
_LOOK: Final = 400  # characters of a sample that are counted: mostly 1% off, where all of it would take 5 times as long


def price(path: str, raw: Any, counting: TokenCounter) -> int | None:
    """Estimate the tokens of what a path names in a raw value; None where no path leads there."""
    if path == "**":  # nulls and empties from all over, listed together
        return None
    try:
        found = select(raw, path)
    except (PathError, LookupError, TypeError, ValueError):
        return None
    return price_of(found, len(found), counting) if isinstance(found, list) else price_of([found], 1, counting)


def price_of(values: Sequence[Any], count: int, counting: TokenCounter) -> int:
    """Estimate the tokens of so many values by some of them: 50 MB are not written to say how much they are."""
    if not values:
        return int(counting.count("[]"))
    some = values if len(values) <= _SAMPLES else values[:: len(values) // _SAMPLES]
    text = orjson.dumps(some if count > 1 else some[0]).decode()
    tokens = counting.count(text[:_LOOK]) * max(1.0, len(text) / _LOOK)
    return round(tokens * count / len(some))
