"""What was left out comes back: found by its ref, chosen by a path, paged to a budget."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import orjson

from shaping.errors import ToolError
from shaping.paths import PathError
from shaping.paths.selection import Miss, miss
from shaping.response import counted
from shaping.store.originals import SHAPED, CursorError, make_cursor, read_cursor
from shaping.store.pages import Page, Position, page
from shaping.store.parts import choose, choose_members, lines_as_characters, listed, path_with_ids
from shaping.store.protocol import StoreError
from shaping.values.careful import read_marked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shaping.paths import FieldPlan
    from shaping.response import Json
    from shaping.store.keeper import Keeper
    from shaping.tokens import TokenCounter

_GONE = "nothing is kept behind this ref here"
_AGAIN = "It has expired, or is another session's: repeat the call that gave it."  # also where hints are not shown


@dataclass(frozen=True, slots=True)
class Recalled:
    """What a ref stands for: the value as it was stored, and which tool gave it."""

    value: Any
    meta: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Expanded:
    """A page of what was asked back; its path says which part it is, and the cursor asks for the next."""

    value: Json
    path: str
    cursor: str | None
    text: str = ""
    path_with_ids: str | None = None  # a path that also shows which record each value is of, where nothing here does


def recall(keeper: Keeper, ref: object, *, owner: str | None = None) -> Recalled:
    """Find what a ref stands for; unknown, expired, forged and foreign refs are all REF_NOT_FOUND."""
    if not isinstance(ref, str) or not ref.startswith("r_"):
        raise ToolError("REF_NOT_FOUND", _GONE, hint=_AGAIN)
    try:
        stored = keeper.get(ref)
    except StoreError:
        raise ToolError("UNAVAILABLE", "the store cannot be read now") from None
    # One answer for all: a guess learns nothing from it.
    if stored is None or stored.meta.get("owner", "") != (owner or ""):
        raise ToolError("REF_NOT_FOUND", _GONE, hint=_AGAIN)
    value = orjson.loads(stored.payload)
    return Recalled(read_marked(value) if "numbers" in stored.meta else value, stored.meta)


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
    chosen = lines_as_characters(whole, chosen)
    value, where = _chosen(whole, chosen)
    with_ids = path_with_ids(whole, chosen) if where == chosen else None

    def shown(found: Page) -> Expanded:
        after = None if found.next is None else cursor_at(secret, ref, chosen, found.next, shaped=shaped)
        return Expanded(found.value, _under(where, found.path), after, path_with_ids=with_ids)

    found = page(value, start, lambda one: counter.exact(render(shown(one))), max_tokens)
    if found is None:
        raise ToolError(
            "BAD_ARGUMENT",
            f"a budget of {counted(max_tokens or 0, 'token')} is too small to show anything of it",
            hint=_MORE,
        )
    answer = shown(found)
    return replace(answer, text=render(answer))


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
        raise ToolError("BAD_ARGUMENT", str(problem), hint="Use the cursor as it was given, with its ref.") from None
    return path, Position.read(f"{offset.removeprefix(SHAPED)}/{trail}")


def _chosen(value: Any, path: str) -> tuple[Any, str]:
    """Return what a path names, or the records with what several paths name, and where it stands."""
    paths = listed(value, path)
    found = [_select(value, one) for one in paths]
    if len(paths) == 1:
        return found[0], path
    try:
        return choose_members(value, paths)
    except PathError as problem:
        raise ToolError("BAD_ARGUMENT", f"the paths cannot be read together: {problem}", hint=_PATHS) from None


def _select(value: Any, path: str) -> Any:
    try:
        found = choose(value, path)
    except PathError as problem:
        raise ToolError("BAD_ARGUMENT", f"the path cannot be read: {problem}", hint=_PATHS) from None
    except LookupError:
        raise _nothing(miss(value, path) or Miss(path)) from None
    missed = miss(value, path) if path and found == [] else None
    if missed is not None:
        raise _nothing(missed)
    return found


def _nothing(missed: Miss) -> ToolError:
    return ToolError("NOT_FOUND", str(missed), similar=missed.near, hint=_PATHS)


def _under(prefix: str, path: str) -> str:
    """Write the path of a part from the start; several matches of a wildcard are numbered in the order of the data."""
    if not prefix or not path:
        return prefix or path
    return f"{prefix}{path}" if path.startswith("[") else f"{prefix}.{path}"
