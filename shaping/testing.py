"""For tests of tools: every envelope made while they run is validated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from shaping.envelope import Envelope


@pytest.fixture(autouse=True)
def validated_envelopes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Validate each envelope as it is made, which production leaves out."""
    from shaping.envelope import factories  # noqa: PLC0415  a plugin is imported before coverage can watch

    monkeypatch.setattr(factories, "made", checked)


def checked(envelope: Envelope[Any]) -> Envelope[Any]:
    """Hand an envelope over if it is valid; raise pydantic's ValidationError if not."""
    type(envelope).model_validate(
        {name: dict(value.__dict__) if name == "meta" else value for name, value in envelope.__dict__.items()},
        strict=True,
    )
    return envelope
