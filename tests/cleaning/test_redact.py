from __future__ import annotations

import math
from typing import Any

import orjson
import pytest

from shaping import Shaper
from shaping.envelope import local_envelope
from shaping.errors import ErrorDetail, Redirect
from shaping.errors.texts import redact_error
from shaping.response import Warned

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
HINT = {"feature": TOKEN, "tier": "pro", "reason": f"because of {TOKEN}"}


@pytest.mark.parametrize("profile", ["minimal", "standard", "debug"])
@pytest.mark.parametrize(
    ("value", "about"),
    [
        ({TOKEN: 1}, {}),
        ({TOKEN: None, "a": 1}, {}),
        ({TOKEN: math.nan, "a": 1}, {}),
        ({f"{TOKEN}_x": 1, "a": 1}, {}),
        ({TOKEN: [1, 2, 3]}, {}),
        ({"a": 1}, {"warnings": (Warned("TOOL", f"mind {TOKEN}", TOKEN),)}),
        ({"a": 1}, {"upgrade_hints": (HINT,)}),
    ],
)
def test_no_secret_leaves_in_a_path_a_warning_or_a_hint(value: Any, about: dict[str, Any], profile: str) -> None:
    shaper = Shaper({"tool_overrides": {"t": {"exclude_fields": ["*_x"], "max_items": 1}}}, expandable=True)
    shaped = shaper.shape(value, tool="t", profile=profile, **about)
    assert TOKEN not in shaped.text
    assert TOKEN not in orjson.dumps(shaped.value).decode()
    assert TOKEN not in str(shaped.warnings)


def described() -> ErrorDetail:
    """Describe an error as a program does that has read one: by nobody's rules."""
    return ErrorDetail(
        code="REDIRECTED",
        message=f"m {TOKEN}",
        hint=TOKEN,
        detail=TOKEN,
        docs_url=f"https://x.example/?access_token={TOKEN}",
        details={"k": [TOKEN], TOKEN: 1},
        similar=(TOKEN,),
        next_actions=(f"use {TOKEN}",),
        redirect=Redirect(command=f"x {TOKEN}", permanent=True),
    )


@pytest.mark.parametrize("profile", ["minimal", "standard", "debug"])
@pytest.mark.parametrize("dialect", ["lean", "flat", "sourced", "invariant"])
def test_no_secret_leaves_in_an_error_or_an_envelope_that_somebody_else_made(profile: str, dialect: str) -> None:
    shaper = Shaper({"global": {"dialect": dialect}})
    error = described()
    made = local_envelope({"k": TOKEN}, "t", error=error, warnings=[Warned("W", f"mind {TOKEN}", TOKEN)])
    warned = local_envelope({"k": 1}, "t", warnings=[Warned("W", f"mind {TOKEN}")])
    for shaped in (
        shaper.shape(None, error=error, profile=profile),
        shaper.shape(made, profile=profile),
        shaper.shape(warned, profile=profile),
        shaper.shape(made.data, error=error, source=made, profile=profile),
    ):
        assert TOKEN not in shaped.text
        assert TOKEN not in orjson.dumps(shaped.value).decode()
        assert TOKEN not in repr(shaped.envelope)
    assert TOKEN in repr(made)


def test_a_fault_in_shaping_lets_no_error_out_with_its_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr("shaping.shaper.clean", broken)
    assert TOKEN not in repr(Shaper({}).shape(None, error=described()).value)


def test_an_error_without_secrets_stays_the_one_it_is() -> None:
    error = ErrorDetail(code="NOT_FOUND", message="gone", similar=("a",), redirect=None)
    assert redact_error(error) is error
    assert Shaper({"global": {"redact": "off"}}).shape(None, error=described()).envelope.error == described()


def test_where_redaction_is_off_warnings_are_as_they_were() -> None:
    shaper = Shaper({"global": {"redact": "off"}})
    assert shaper.shape({TOKEN: math.nan}).warnings[0].path == TOKEN
