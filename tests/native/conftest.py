from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from shaping import native


@contextmanager
def _core_off() -> Iterator[None]:
    places = [place for name, place in sys.modules.items() if name.startswith("shaping.noise.")]
    seams = [place for place in places if hasattr(place, "native")]
    try:
        for place in seams:
            place.native = None  # type: ignore[attr-defined]
        yield
    finally:
        for place in seams:
            place.native = native.rules  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def core_off() -> Callable[[], AbstractContextManager[None]]:
    """Let the Python way of the noise rules run, as where nothing was compiled."""
    return _core_off
