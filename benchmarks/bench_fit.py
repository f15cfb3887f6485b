"""Fit and expand made-up values: the budget kept exactly, every omission expanded to the original; and 50 MB in time.

python benchmarks/bench_fit.py [VALUES, 5000 unless said]
"""

from __future__ import annotations

import random
import string
import sys
import time
from typing import Any

import orjson

from shaping.budget.fit import Budget, Fitted, fit_value
from shaping.paths import select
from shaping.store.expand import Expanded, Recalled, expand
from shaping.store.keeper import make_ref
from shaping.tokens import counter

SECRET = b"b" * 32
COUNTER = counter("o200k_base")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    failed = budgets(count) + fifty_megabytes()
    sys.exit(failed)


def budgets(count: int) -> int:
    dice = random.Random(11)  # noqa: S311  the same values in every run
    over = unparseable = lost = cut = 0
    asked: list[int] = []
    used: list[float] = []
    started = time.perf_counter()
    for number in range(count):
        value, budget = grown(dice, 4), dice.randint(64, 5000)
        recording = Recording()
        fitted = fit_value(value, Budget(budget), render, recording.exact)
        text = render(fitted)
        over += COUNTER.exact(text) > budget
        unparseable += orjson.loads(text)["data"] != fitted.value
        asked.append(recording.calls)
        if fitted.omissions:
            cut += 1
            used.append(COUNTER.exact(text) / budget)
            lost += sum(not comes_back(value, omission.path, budget) for omission in fitted.omissions)
        if number and number % 1000 == 0:
            print(f"  {number} values, {time.perf_counter() - started:.0f} s")
    print(f"{count} values x budgets of 64 to 5,000 tokens: {over} over budget, {unparseable} unparseable")
    print(
        f"{cut} were cut, to {sum(used) / len(used):.0%} of the budget on average; {lost} omissions did not come back"
    )
    print(f"texts counted per value: {sum(asked) / count:.1f} on average, {max(asked)} at most")
    return over + unparseable + lost


class Recording:
    """The exact tokenizer, and how often it was asked."""

    def __init__(self) -> None:
        self.calls = 0

    def exact(self, text: str) -> int:
        """Count, and count the counting."""
        self.calls += 1
        return COUNTER.exact(text)


def render(fitted: Fitted) -> str:
    shown = [[one.path, one.shown, one.total] for one in fitted.lists[:3]]
    return orjson.dumps({"data": fitted.value, "truncated": bool(fitted.omissions), "lists": shown}).decode()


def comes_back(value: Any, path: str, budget: int) -> bool:
    kept, ref = Recalled(value, {}), make_ref(SECRET, "bench", b"")
    wanted = select(value, path)
    page = expand(kept, ref, SECRET, path=path, render=page_text, counter=COUNTER, max_tokens=None)
    small = expand(kept, ref, SECRET, path=path, render=page_text, counter=COUNTER, max_tokens=max(budget, 300))
    return bool(page.value == wanted) and COUNTER.exact(page_text(small)) <= max(budget, 300)


def page_text(page: Expanded) -> str:
    return orjson.dumps({"path": page.path, "value": page.value, "cursor": page.cursor}).decode()


def grown(dice: random.Random, depth: int) -> Any:
    kind = dice.random()
    if depth == 0 or (depth < 4 and kind < 0.35):
        return dice.choice([None, True, dice.random(), dice.randint(0, 10**12), dice.choice(WORDS), dice.choice(WORDS)])
    if kind < 0.65:
        return [grown(dice, depth - 1) for _ in range(dice.choice([0, 1, 3, 8, 20]))]
    names = dice.choice([["id", "title", "error", "items", "url"], [word[:12] for word in dice.choices(WORDS, k=5)]])
    return {name: grown(dice, depth - 1) for name in names}


def words(dice: random.Random) -> str:
    alphabet = dice.choice([string.ascii_lowercase + "   ", string.printable, "日本語の文字 é😀", "0123456789abcdef"])
    return "".join(dice.choices(alphabet, k=dice.choice([3, 12, 40, 400])))


# Made once: drawing letters takes longer than fitting them.
WORDS = [words(random.Random(seed)) for seed in range(600)]  # noqa: S311  the same in every run


def fifty_megabytes() -> int:
    body = "Some text of an issue that goes on for a while. " * 8
    value = [{"id": n, "title": f"Issue {n}", "body": body, "labels": [{"name": "bug"}]} for n in range(110_000)]
    plain = min(timed(lambda: orjson.dumps(value)) for _ in range(3))
    fit_value(value[:50], Budget(2000), render, COUNTER.exact)
    fitted = min(timed(lambda: fit_value(value, Budget(2000), render, COUNTER.exact)) for _ in range(3))
    print(f"{len(orjson.dumps(value)) / 1e6:.0f} MB to 2,000 tokens: {fitted / plain:.2f} times orjson.dumps (bar 5)")
    return int(fitted / plain > 5)


def timed(call: Any) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
