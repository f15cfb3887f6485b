from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from shaping.commands import make_response, plan_for
from shaping.commands.capture import Capture, CommandResponse, Finished
from shaping.commands.process import ProcessExit
from shaping.shaper import Shaper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from shaping.envelope import Envelope


@pytest.fixture
def make_shaper(tmp_path: Path) -> Iterator[Callable[..., Shaper]]:
    """Shapers whose store is a file of the test's own."""
    made: list[Shaper] = []

    def make(config: Mapping[str, Any] | None = None) -> Shaper:
        store = {"kind": "sqlite", "path": str(tmp_path / "store.sqlite")}
        made.append(Shaper({"store": store, **(config or {})}, expandable=True))
        return made[-1]

    yield make
    for shaper in made:
        shaper.close()


@pytest.fixture
def shaper(make_shaper: Callable[..., Shaper]) -> Shaper:
    return make_shaper()


def captured(text: str | bytes) -> Capture:
    output = Capture(None)
    output.take(text.encode() if isinstance(text, str) else text)
    return output


@pytest.fixture
def respond_to() -> Callable[..., CommandResponse]:
    """Respond for a program that is said to have printed this."""

    def replay(
        shaper: Shaper,
        argv: Sequence[str],
        stdout: str | bytes = "",
        stderr: str | bytes = "",
        exit_code: int = 0,
        *,
        ended: ProcessExit | None = None,
        etag: str | None = None,
        **said: Any,
    ) -> CommandResponse:
        said.setdefault("dialect", "invariant")
        plan = plan_for(shaper, argv, said)  # type: ignore[arg-type]  # the tests say what they mean
        asked: Any = {**said, "etag": etag}
        outputs = captured(stdout), captured(stderr)
        how = ended or ProcessExit(exit_code, duration_ms=1.0)
        return make_response(shaper, Finished(argv, asked, how, *outputs, plan, off=shaper.mode == "off"))

    return replay


@pytest.fixture
def replay(respond_to: Callable[..., CommandResponse]) -> Callable[..., Envelope[Any]]:
    """Return the envelope for a program that is said to have printed this."""
    return lambda *words, **said: respond_to(*words, **said).envelope
