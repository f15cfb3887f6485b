from __future__ import annotations

import math
from typing import Any

import orjson
import pytest

from shaping import Shaper
from shaping.types import Warned

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


def test_where_redaction_is_off_warnings_are_as_they_were() -> None:
    shaper = Shaper({"global": {"redact": "off"}})
    assert shaper.shape({TOKEN: math.nan}).warnings[0].path == TOKEN
