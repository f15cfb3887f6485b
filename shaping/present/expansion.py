"""Answers about what a ref stands for: a page of it by path or cursor, a SELECT over its records, a search in it."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from shaping.cleaning import clean
from shaping.errors import ToolError
from shaping.parsers import parse_to_ask
from shaping.paths.rules import original
from shaping.present.original import first_page_plan
from shaping.response import TOOL_WARNING, CallContext, Shaped, Warned, counted
from shaping.settings.plan import KEEP_EMPTIES, Plan
from shaping.store.expand import Expanded, Recalled, expand, listed
from shaping.store.keeper import SHAPED
from shaping.store.search import search
from shaping.store.sql import Database, Rows
from shaping.tokens import counter
from shaping.values import with_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from shaping.paths import FieldPlan


def whole_plan(plan: Plan) -> Plan:
    """Return a plan that filters nothing: what is asked back comes as it was, less what must never leave."""
    return plan.replace(
        fields=None,
        error_fields=None,
        empties=KEEP_EMPTIES,
        noise=tuple(rule for rule in plan.noise if rule in {"repeats", "constants"}),
        max_tokens=None,
        max_items=None,
        max_string=None,
    )


def expanded_page(
    kept: Recalled,
    ref: str,
    shown_by: Plan,
    secret: bytes,
    *,
    path: str | None,
    cursor: str | None,
    max_tokens: int | None,
    shape: Callable[[Plan, Any, CallContext], Shaped],
    render_page: Callable[[Shaped], str] | None = None,
) -> Shaped:
    """Choose a page of what a ref stands for, as much of it as the budget shows, and shape it."""
    private, value, plan = shown_by.private, kept.value, whole_plan(shown_by)
    if cursor is not None and cursor.startswith(SHAPED):
        # The next page of what a response cut: the same data, by the same plan, from where the first page ended.
        first, arguments = first_page_plan(shown_by, kept.meta)
        kept_data = value if private is None else private.apply(value)
        value = clean(kept_data, first, CallContext(arguments=arguments)).value
        # It is shaped as a page once more, which is to find numbers where there were some.
        value = with_numbers(value) if "numbers" in kept.meta else value
        private, plan = None, whole_plan(first).replace(max_string=first.max_string)

    def page(found: Expanded) -> Shaped:
        return shape(plan, found.value, CallContext(page=found.path, cursor=found.cursor))

    found = expand(
        replace(kept, value=value),
        ref,
        secret,
        path=None if path is None else _raw_paths(path, kept.value, shown_by.fields),
        cursor=cursor,
        private=private,
        max_tokens=max_tokens or shown_by.max_tokens,
        render=lambda found: page(found).text if render_page is None else render_page(page(found)),
        counter=counter(plan.tokenizer),
    )
    return page(found)


def _raw_paths(path: str, value: Any, fields: FieldPlan | None) -> str:
    """Write a path, or each of several, in the names that the tool gave."""
    one = original(path, value, fields)
    paths = listed(value, one)
    return one if len(paths) == 1 else ",".join(original(each, value, fields) for each in listed(value, path))


_MOST_DATABASES: Final = 4  # in memory; each is at most as large as the largest value that a store keeps
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
                if kept.lost:
                    problem = f"{counted(kept.lost, 'byte')} of this output are not kept: a SELECT would be wrong"
                    raise ToolError("BAD_ARGUMENT", problem, hint="Write it into a file and use `shaping query FILE`.")
                database = Database(_data(kept.value, plan))
            else:
                _, plan, database = found
            self._held[key] = now, plan, database
            while len(self._held) > _MOST_DATABASES:
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
    notes = tuple(Warned(TOOL_WARNING, note) for note in rows.notes)
    asked = whole_plan(plan).replace(max_tokens=plan.max_tokens)
    warnings = (more, *notes) if rows.more else notes
    return shape(asked, rows.records, CallContext(warnings=warnings))


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
    asked = whole_plan(plan).replace(max_tokens=plan.max_tokens)
    after = {"cursor": str(found.last)} if found.last < found.total else {}
    if not found.lines:
        return shape(asked, {"found": found.total, "hits": found.shown, **after}, CallContext())
    blocks = [_numbered(hit["text"], hit["from"]) for hit in found.shown]
    which = f"hits {found.first + 1:,} to {found.last:,} of {found.total:,}" if found.total else "no hits"
    which += f" ({counted(kept.lost, 'byte')} of this output are not kept)" if kept.lost else ""
    more = f"; the next: cursor={found.last}" if after else ""
    text = "\n--\n".join([which + more, *blocks])
    return shape(asked.replace(parse=()), text, CallContext(page=""))


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
    if isinstance(value, str) and (parsed := parse_to_ask(value)) is not None:
        value = parsed.value
    return value if plan.private is None else plan.private.apply(value)
