"""Answers about what a ref stands for, without reading it: a SELECT over its records, a search in its texts."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from shaping.errors import ToolError
from shaping.parsers import parse
from shaping.present.pages import whole_plan
from shaping.response import CallContext, Warned
from shaping.store.search import search
from shaping.store.sql import Database

if TYPE_CHECKING:
    from collections.abc import Callable

    from shaping.response import Shaped
    from shaping.settings import Plan
    from shaping.store.expand import Recalled
    from shaping.store.sql import Rows

_HELD: Final = 4  # databases in memory; each is at most as large as the largest value that a store keeps
_SECONDS: Final = 600.0  # that one stays in memory after it was last asked


class Databases:
    """The SQL tables of the answers that were asked about last, by ref, owner and config."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[str, ...], tuple[float, Plan, Database]] = OrderedDict()
        self._lock = threading.Lock()

    def query(self, key: tuple[str, ...], sql: str, recall: Callable[[], tuple[Recalled, Plan]]) -> tuple[Plan, Rows]:
        """Run one SELECT over the value behind a key; `recall` gives it where its tables are not in memory."""
        with self._lock:  # a connection answers one thread at a time
            now = time.monotonic()
            for old in [one for one, (used, _, _) in self._held.items() if now - used > _SECONDS]:
                self._held.pop(old)[2].close()
            found = self._held.pop(key, None)
            if found is None:
                kept, plan = recall()
                database = Database(_data(kept.value, plan))
            else:
                _, plan, database = found
            self._held[key] = now, plan, database
            while len(self._held) > _HELD:
                self._held.popitem(last=False)[1][2].close()
            return plan, database.query(sql)

    def close(self) -> None:
        """Free the memory of all of them."""
        with self._lock:
            for _, _, database in self._held.values():
                database.close()
            self._held.clear()


def present_rows(rows: Rows, plan: Plan, shape: Callable[[Plan, Any, CallContext], Shaped]) -> Shaped:
    """Shape the rows of a query: every column that was asked for, within the tool's budget."""
    more = Warned("MORE_ROWS", f"these are the first {len(rows.records):,} rows; use LIMIT, or count with SQL")
    asked = replace(whole_plan(plan), max_tokens=plan.max_tokens)
    return shape(asked, rows.records, CallContext(warnings=(more,) if rows.more else (), as_json=False))


def present_hits(
    kept: Recalled,
    wanted: str,
    plan: Plan,
    shape: Callable[[Plan, Any, CallContext], Shaped],
    *,
    cursor: str | None = None,
) -> Shaped:
    """Search what a ref stands for and shape the hits: lines of a text with their numbers, values with their paths."""
    value = _printed(kept.value if plan.private is None else plan.private.apply(kept.value))
    if cursor is not None and not cursor.isdecimal():
        raise ToolError("BAD_ARGUMENT", "the cursor of a search is the number of hits before; this is another one")
    found = search(value, wanted, start=int(cursor or 0))
    asked = replace(whole_plan(plan), max_tokens=plan.max_tokens)
    after = {"cursor": str(found.last)} if found.last < found.total else {}
    if not found.lines:
        return shape(asked, {"found": found.total, "hits": found.shown, **after}, CallContext(as_json=False))
    blocks = [_numbered(hit["text"], hit["from"]) for hit in found.shown]
    which = f"hits {found.first + 1:,} to {found.last:,} of {found.total:,}" if found.total else "no hits"
    more = f"; the next: cursor={found.last}" if after else ""
    text = "\n--\n".join([which + more, *blocks])
    return shape(replace(asked, parse=()), text, CallContext(page="", as_json=False))


def _numbered(text: str, first: int) -> str:
    return "\n".join(f"{number}: {line}" for number, line in enumerate(text.split("\n"), first))


def _printed(value: Any) -> Any:
    """Return what a command printed as one text; any other value as it is."""
    if (
        isinstance(value, dict)
        and value.keys() == {"stdout", "stderr"}
        and all(isinstance(text, str) for text in value.values())
    ):
        return "\n".join(filter(None, value.values()))
    return value


def _data(value: Any, plan: Plan) -> Any:
    """Return the data to ask: of a text what it holds, and nothing of what is private now."""
    value = _printed(value)
    if isinstance(value, str) and (parsed := parse(value)) is not None:
        value = parsed.value
    return value if plan.private is None else plan.private.apply(value)
