"""Any response whatever gives a decision."""

from __future__ import annotations

import random
from typing import Any, get_args

from hypothesis import given, settings, strategies as st

from shaping.agent import Decision, interpret
from shaping.envelope import Envelope, command_envelope, http_envelope, local_envelope, mcp_envelope
from shaping.errors import make_error

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
NAMES = st.sampled_from(
    ["ok", "data", "error", "warnings", "meta", "_meta", "code", "content", "isError", "structuredContent", "source"]
)
ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1e308,
    float("nan"),
    "",
    "x",
    [],
    {},
    [None],
    {"a": 1},
    {"error": {}},
    b"x",
    (1,),
    object(),
]


def is_decision(found: Any) -> bool:
    return isinstance(found, get_args(Decision))


@settings(max_examples=150, deadline=None)
@given(
    wire=st.dictionaries(NAMES, JSON) | JSON | st.binary(max_size=20), exit_code=st.none() | st.integers() | st.text()
)
def test_anything_gives_a_decision(wire: Any, exit_code: Any) -> None:
    assert is_decision(interpret(wire, exit_code))


def examples() -> list[dict[str, Any]]:
    """Give a success and a failure of every source in every dialect."""
    error = make_error("RATE_LIMITED", "slow down", retry_after=3, details={"limit": 5})
    made: list[Envelope[Any]] = [
        local_envelope({"items": [1, 2]}, "op", warnings=["old is deprecated"], truncated=True, cursor="c"),
        local_envelope(None, "op", error=error),
        http_envelope([1], status=200, headers={"a": "b"}),
        http_envelope(None, status=429, error=error),
        mcp_envelope({"a": 1}, content=[{"type": "text", "text": "x"}]),
        mcp_envelope(None, error=error),
        command_envelope({"a": 1}, argv=["x"]),
        command_envelope(None, error=error),
    ]
    return [e.render(dialect, debug=True) for e in made for dialect in ("lean", "flat", "sourced", "invariant")]


def mutated(wire: Any, dice: random.Random) -> Any:
    """Take a member away, give it another type, or contradict it, somewhere in the tree."""
    if not isinstance(wire, dict) or not wire or dice.random() < 0.2:
        return dice.choice(ODD)
    copy, name = dict(wire), dice.choice(list(wire))
    match dice.randrange(4):
        case 0:
            del copy[name]
        case 1:
            copy[name] = dice.choice(ODD)
        case 2:
            copy["ok"] = not copy.get("ok")
        case _:
            copy[name] = mutated(copy[name], dice)
    return copy


def test_two_thousand_mutated_envelopes_give_two_thousand_decisions() -> None:
    dice = random.Random(20261116)  # noqa: S311  the same mutations each time
    start = examples()
    for number in range(2000):
        wire = start[number % len(start)]
        for _ in range(dice.randrange(1, 4)):
            wire = mutated(wire, dice)
        exit_code: Any = dice.choice([None, 0, 1, 2, 8, 11, 13, 99, 255, "7"])
        assert is_decision(interpret(wire, exit_code, dice.randrange(5)))
