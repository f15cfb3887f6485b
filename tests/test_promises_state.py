"""Shaping, storing, expanding, expiring and reloading in any order: promises 3, 4, 7 and 8 hold throughout."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, multiple, rule

from shaping import Shaper, tokens
from shaping.errors import ToolError
from shaping.paths import parse, select
from shaping.paths.grammar import Deep, Each, Glob, Index, Name, Slice
from shaping.redaction import redact
from shaping.settings.plan import Overrides
from shaping.store.backends import MemoryStore
from shaping.store.keeper import Keeper

TTL = 900
FOLDER = (
    tempfile.TemporaryDirectory()
)  # one for all runs, because a config file is watched as long as the process lives
FILE = Path(FOLDER.name) / "response_config.json"
TOKEN = "ghp_" + "aZ7" * 12
PASSWORD = "hunter2hunter2"
CONFIGS: list[dict[str, Any]] = [
    {"tool_overrides": {"search": {"private": ["hidden"]}}},
    {"tool_overrides": {"search": {"private": ["hidden", "items[].body"]}}},
    {
        "global": {"profile": "standard"},
        "tool_overrides": {"search": {"private": ["hidden"], "exclude_fields": ["**.url"]}},
    },
    {"tool_overrides": {"search": {"private": ["hidden"], "max_items": 3, "max_string": 60}}},
]

words = st.sampled_from(
    [
        "",
        "short",
        "a longer text of some words " * 12,
        "日本語の文字 é 😀 " * 30,
        'line\n\ttabbed "quoted" \\ ' * 40,
        f"see {TOKEN} here",
        f"psql postgres://app:{PASSWORD}@db/x",
    ]
)
scalars = st.none() | st.booleans() | st.integers(0, 10**9) | words
items = st.fixed_dictionaries(
    {
        "id": st.integers(1, 99),
        "body": words,
        "url": st.just("https://api.example.test/x/1"),
        "tags": st.lists(words, max_size=3),
    }
)
values = st.builds(
    lambda number, repeats, some, more: {
        "id": number,
        "items": (some * repeats)[:60],
        "hidden": "private words",
        **more,
    },
    st.integers(1, 9),
    st.sampled_from([1, 7, 40]),
    st.lists(items | items | scalars, min_size=1, max_size=6),
    st.dictionaries(
        st.sampled_from(["note", "odd.key", "é", "map"]), scalars | st.lists(scalars, max_size=9), max_size=4
    ),
)


@dataclass(frozen=True)
class Answer:
    """A response that was given out, and what its ref must bring back."""

    shaped: Any
    original: Any  # redacted, without what was private when it was stored
    owner: str | None


class Promises(RuleBasedStateMachine):
    answers = Bundle("answers")

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.born: dict[str, float] = {}
        write(CONFIGS[0])
        self.shaper = Shaper(FILE, expandable=True)
        self.reload(CONFIGS[0])
        self.shaper._keeper = Keeper(MemoryStore(10**8, clock=lambda: self.now))

    def teardown(self) -> None:
        self.shaper.close()

    @initialize(target=answers, value=values)
    def begin(self, value: Any) -> Any:
        return self.shape(value, None, 400, "one")

    @rule(
        target=answers,
        value=values,
        profile=st.sampled_from([None, "minimal", "standard"]),
        budget=st.sampled_from([None, 400, 800, 3000]),
        owner=st.sampled_from([None, "one", "two"]),
    )
    def shape(self, value: Any, profile: str | None, budget: int | None, owner: str | None) -> Any:
        overrides = None if budget is None else Overrides(max_tokens=budget)
        shaped = self.shaper.shape(value, tool="search", profile=profile, overrides=overrides, owner=owner)
        self.no_secret_in(shaped.text, shaped.value, shaped.warnings, shaped.omissions)
        assert tokens.exact(shaped.text) <= (budget or 20_000)
        original = redact(self.public(value))[0]
        assert unexplained(original, shaped.data, shaped.omissions) == []
        if shaped.ref is None:
            return multiple()
        self.shaper._keeper.flush()  # type: ignore[union-attr]  # there is one: `__init__` put it there
        self.born[shaped.ref] = self.now  # the same answer again starts its time anew
        return Answer(shaped, original, owner)

    @rule(answer=answers, budget=st.sampled_from([None, 400, 1500]))
    def expand_each_omission(self, answer: Answer, budget: int | None) -> None:
        original = self.public(answer.original)
        for path in {one.path for one in answer.shaped.omissions} - {"**"}:
            wanted = found_in(original, path)
            if self.expired(answer):
                self.not_found(answer.shaped.ref, path, answer.owner)
            elif wanted == []:
                self.nothing_there(answer, path)
            elif wanted is not NOTHING:
                assert self.all_pages(answer, path, budget) == wanted

    @rule(answer=answers, budget=st.sampled_from([None, 300, 1500]))
    def expand_everything(self, answer: Answer, budget: int | None) -> None:
        if not self.expired(answer):
            assert self.all_pages(answer, "", budget) == self.public(answer.original)

    @rule(answer=answers)
    def ask_as_somebody_else(self, answer: Answer) -> None:
        for other in {None, "one", "two", "three"} - {answer.owner}:
            self.not_found(answer.shaped.ref, "", other)

    @rule(answer=answers, at=st.integers(2, 27), letter=st.sampled_from("abcxyz234567"))
    def ask_with_a_forged_ref(self, answer: Answer, at: int, letter: str) -> None:
        ref = answer.shaped.ref
        forged = ref[:at] + letter + ref[at + 1 :]
        if forged != ref:
            self.not_found(forged, "", answer.owner)

    @rule(answer=answers)
    def ask_with_a_changed_cursor(self, answer: Answer) -> None:
        cursor = answer.shaped.cursor
        if cursor is not None and not self.expired(answer):
            code = self.refused(answer.shaped.ref, answer.owner, cursor="1" + cursor)
            assert code == "BAD_ARGUMENT"

    @rule(answer=consumes(answers))
    def forget(self, answer: Answer) -> None:
        """Let go of an answer, so that long runs stay small."""

    @rule(seconds=st.sampled_from([1, 400, 1000]))
    def wait(self, seconds: int) -> None:
        self.now += seconds

    @rule(config=st.sampled_from(CONFIGS))
    def reload(self, config: dict[str, Any]) -> None:
        self.config = config
        write(config)
        self.shaper._live.reload()

    def expired(self, answer: Answer) -> bool:
        return self.now - self.born[answer.shaped.ref] >= TTL

    def public(self, value: Any) -> Any:
        """Take out what the config of now calls private."""
        value = {key: member for key, member in value.items() if key != "hidden"}
        if "items[].body" in self.config["tool_overrides"]["search"]["private"]:
            value["items"] = [
                {key: member for key, member in item.items() if key != "body"} if isinstance(item, dict) else item
                for item in value["items"]
            ]
        return value

    def all_pages(self, answer: Answer, path: str, budget: int | None) -> Any:
        pages, cursor = [], None
        while True:
            page = self.shaper.expand(answer.shaped.ref, path, cursor, budget, owner=answer.owner)
            self.no_secret_in(page.text, page.value)
            pages.append(page)
            cursor = page.cursor
            if cursor is None:
                break
        return joined(pages, path)

    def nothing_there(self, answer: Answer, path: str) -> None:
        """Ask for what holds nothing: an empty list where there is one, an error where the path leads nowhere."""
        try:
            found = self.all_pages(answer, path, None)
        except ToolError as problem:
            found = problem.detail.code
        assert found in ([], "NOT_FOUND")

    def not_found(self, ref: str, path: str, owner: str | None) -> None:
        assert self.refused(ref, owner, path=path) == "REF_NOT_FOUND"

    def refused(self, ref: str, owner: str | None, **asked: Any) -> str:
        with pytest.raises(ToolError) as refused:
            self.shaper.expand(ref, owner=owner, **asked)
        assert refused.value.detail.hint
        return refused.value.detail.code

    @staticmethod
    def no_secret_in(*seen: object) -> None:
        text = " ".join(map(str, seen))
        assert TOKEN not in text
        assert PASSWORD not in text
        assert "private words" not in text


NOTHING = object()


def write(config: dict[str, Any]) -> None:
    """Replace the config at once, as an editor does: the watcher never sees half of it."""
    fresh = FILE.with_suffix(".new")
    fresh.write_bytes(orjson.dumps(config))
    fresh.replace(FILE)


def found_in(value: Any, path: str) -> Any:
    try:
        return select(value, path)
    except LookupError:
        return NOTHING


def joined(pages: list[Any], path: str) -> Any:
    """Put pages together by the paths they carry."""
    whole: Any = None
    for page in pages:
        inner = page.call.page.removeprefix(path).removeprefix(".")
        whole = _with(whole, parse(inner).steps if inner else (), page.data)
    return whole


def _with(whole: Any, steps: tuple[Any, ...], value: Any) -> Any:
    match steps:
        case ():
            return value if whole is None else {**whole, **value}
        case (Slice(),):
            return value if whole is None else whole + value
        case (Name(key), *rest):
            whole = whole or {}
            return {**whole, key: _with(whole.get(key), tuple(rest), value)}
        case (Index(at), *rest):
            whole = whole or []
            return [*whole[:at], _with(whole[at] if at < len(whole) else None, tuple(rest), value)]
    raise AssertionError(steps)


def unexplained(before: Any, after: Any, omissions: Any) -> list[tuple[Any, ...]]:
    """Give the places whose value is missing or different though no omission speaks of them."""
    rules = [parse(one.path).steps if one.path else () for one in omissions]
    return [place for place in _different(before, after, ()) if not any(_covers(rule, place) for rule in rules)]


def _different(before: Any, after: Any, place: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    if isinstance(before, dict) and isinstance(after, dict):
        gone = [(*place, key) for key in before if key not in after]
        return gone + [one for key in after for one in _different(before.get(key), after[key], (*place, key))]
    if isinstance(before, list) and isinstance(after, list):
        gone = [(*place, number) for number in range(len(after), len(before))]
        return gone + [
            one for n, (x, y) in enumerate(zip(before, after, strict=False)) for one in _different(x, y, (*place, n))
        ]
    return [] if before == after else [place]


def _covers(rule: tuple[Any, ...], place: tuple[Any, ...]) -> bool:
    if not rule:
        return True
    if isinstance(rule[0], Deep):
        return any(_covers(rule[1:], place[start:]) for start in range(len(place) + 1))
    return bool(place) and _meets(rule[0], place[0]) and _covers(rule[1:], place[1:])


def _meets(step: Any, key: Any) -> bool:
    match step:
        case Name(name):
            return bool(name == key)
        case Index(at):
            return bool(at == key)
        case Slice(start, stop):
            return isinstance(key, int) and (start or 0) <= key and (stop is None or key < stop)
        case Each():
            return isinstance(key, int)
        case Glob():
            return isinstance(key, str) and step.fits(key)
    raise AssertionError(step)


TestPromises = Promises.TestCase
TestPromises.settings = settings(max_examples=40, stateful_step_count=16, deadline=None)
