"""A sample of `benchmarks/fuzz_envelopes.py`, which runs ten thousand."""

import contextlib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import orjson
import pytest

from shaping.envelope import Envelope, EnvelopeError, recognise

FILE = Path(__file__).parents[3] / "benchmarks" / "fuzz_envelopes.py"


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    spec = spec_from_file_location("fuzz_envelopes", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_any_envelope_passes_through_every_dialect_and_comes_back(fuzz: ModuleType) -> None:
    rng, check = Random(1), fuzz.checkers()  # noqa: S311  a fuzz must be repeatable
    assert [problem for _ in range(300) for problem in fuzz.problems(fuzz.envelope(rng), check)] == []


def test_the_fuzz_notices_what_is_lost(fuzz: ModuleType) -> None:
    made = fuzz.local_envelope({"a": 1}, "op", tier="pro", error=fuzz.make_error("NOT_FOUND", "x"))
    other = fuzz.command_envelope([], tier="community", error=fuzz.make_error("CONFLICT", "x"))
    found = fuzz.lost(made, other, fuzz.CARRIES["lean"])
    assert found == ["data", "error.code", "error.hint", "meta.tier", "source"]


def test_a_mutilated_envelope_is_read_or_refused_and_nothing_else(fuzz: ModuleType) -> None:
    rng = Random(2)  # noqa: S311  a fuzz must be repeatable
    for _ in range(300):
        for dialect in fuzz.DIALECTS:
            wire = orjson.loads(orjson.dumps(fuzz.envelope(rng).render(dialect, debug=rng.random() < 0.5)))
            with contextlib.suppress(EnvelopeError):
                Envelope.parse(mutilated(wire, rng), dialect)
            recognise(mutilated(wire, rng))


def mutilated(wire: Any, rng: Random) -> Any:
    """Give the wire form with a member lost or replaced, somewhere."""
    if not isinstance(wire, dict) or not wire:
        return rng.choice([None, 5, "x", [], {}, [[5]]])
    name = rng.choice(list(wire))
    kept = {key: value for key, value in wire.items() if key != name}
    return kept if rng.random() < 0.3 else {**wire, name: mutilated(wire[name], rng)}
