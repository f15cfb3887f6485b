from __future__ import annotations

from typing import Any

import pytest

from shaping import Shaper, shape
from shaping.response import note

EXCLUDED = ["request_id", "upgrade_hints", "tier", "duration_ms", "warnings", "session_id"]


def tool() -> dict[str, int]:
    note(request_id="r-1", warning="slow", upgrade_hint={"feature": "f", "tier": "pro", "reason": "r"})
    return {"n": 1}


@pytest.mark.parametrize("dialect", ["lean", "flat", "sourced", "invariant"])
@pytest.mark.parametrize("profile", ["minimal", "standard", "debug"])
def test_a_member_that_is_excluded_is_sent_in_no_profile(profile: str, dialect: str) -> None:
    choices: dict[str, Any] = {"profile": profile, "dialect": dialect, "envelope": {"exclude": EXCLUDED}}
    answer = shape(shaper=Shaper({"global": choices}, tier="pro", session_id="s-1"), tool="count")(tool)()
    meta = {"lean": answer, "flat": answer.get("_meta"), "sourced": answer.get("meta"), "invariant": answer.get("meta")}
    contract = {"invariant": {"duration_ms"}}.get(dialect, set())  # what the contract itself requires stays
    names = {*EXCLUDED, "requestId", "upgradeHints", "durationMs", "sessionId"} - contract
    assert names.isdisjoint(meta[dialect])
    assert "r-1" not in str(answer)
    assert "s-1" not in str(answer)


def test_what_is_excluded_in_general_can_be_included_for_one_tool() -> None:
    config = {
        "global": {"envelope": {"exclude": ["request_id"]}},
        "tool_overrides": {"count": {"envelope": {"include": ["request_id"]}}},
    }
    assert shape(shaper=Shaper(config), tool="count")(tool)()["request_id"] == "r-1"
    assert "request_id" not in shape(shaper=Shaper(config), tool="other")(tool)()
