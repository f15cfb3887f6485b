from __future__ import annotations

from typing import Any

import pytest

from shaping import Shaper

SECRET = "hunter2"


def shaper(**override: Any) -> Shaper:
    return Shaper({"tool_overrides": {"t": override}}, expandable=True)


def nested(depth: int, leaf: Any) -> Any:
    for _ in range(depth):
        leaf = {"x": leaf}
    return leaf


@pytest.mark.parametrize("rule", [{"paths": ["a.password"]}, {"names": True}])
@pytest.mark.parametrize("more", [{}, {"include_only": ["a"]}, {"exclude_default_values": True}])
def test_a_renamed_field_is_masked_by_the_name_and_place_it_had(rule: dict[str, Any], more: dict[str, Any]) -> None:
    made = shaper(rename={"a.password": "word"}, redact=rule, **more)
    shaped = made.shape({"a": {"password": SECRET, "k": 1}}, tool="t")
    assert shaped.data["a"].keys() == {"word", "k"}
    assert SECRET not in shaped.text
    assert [warned.path for warned in shaped.warnings] == ["a.password"]


def test_a_field_that_keeps_its_secret_name_beside_a_rename_is_told_once() -> None:
    shaped = shaper(rename={"a": "b"}, redact={"names": True}).shape({"a": 1, "password": SECRET}, tool="t")
    assert shaped.data == {"b": 1, "password": "[redacted:field-name]"}
    assert [warned.path for warned in shaped.warnings] == ["password"]


class Account:
    def __init__(self) -> None:
        self.password = SECRET

    def __repr__(self) -> str:
        return f"Account(password={self.password!r})"


COLLIDING = {1: "one", "1": SECRET}


@pytest.mark.parametrize(
    ("value", "private"),
    [
        (nested(200, {"password": SECRET}), "**.password"),
        ({"account": Account(), "k": 1}, "account.password"),
        (COLLIDING, "1"),
    ],
    ids=["nested too deep", "text of an object", "a key said twice"],
)
@pytest.mark.parametrize("profile", ["minimal", "debug"])
def test_what_no_private_path_can_reach_is_withheld(value: Any, private: str, profile: str) -> None:
    made = shaper(private=[private])
    shaped = made.shape(value, tool="t", profile=profile)
    assert SECRET not in shaped.text
    assert shaped.ref is not None
    assert SECRET not in made.expand(shaped.ref).text


def test_an_object_inside_a_selected_member_does_not_tell_its_private_part_as_text() -> None:
    made = shaper(include_only=["account"], private=["account.password"])
    assert SECRET not in made.shape({"account": Account()}, tool="t").text


def test_without_private_paths_what_is_nested_too_deep_stands_as_text() -> None:
    assert SECRET in Shaper({}).shape(nested(200, {"password": SECRET})).text
