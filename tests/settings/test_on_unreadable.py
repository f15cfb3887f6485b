from __future__ import annotations

from shaping import Shaper

CUT = '{"ssn": "123-45", "na'


def test_a_text_that_names_a_private_field_is_withheld_unless_the_tool_lets_it_pass() -> None:
    config = {"global": {"private": ["**.ssn"]}, "tool_overrides": {"prose": {"on_unreadable": "pass"}}}
    assert "123-45" not in Shaper(config).shape({"note": CUT}, tool="other").text
    assert "123-45" in Shaper(config).shape({"note": CUT}, tool="prose").text
