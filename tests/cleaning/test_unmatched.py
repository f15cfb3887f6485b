from __future__ import annotations

from typing import Any

from shaping.cleaning import unmatched

ROWS = [{"title": "a", "tags": []}]


def _messages(value: Any, paths: list[str]) -> list[str]:
    return [warned.message for warned in unmatched(value, paths)]


def test_each_path_without_a_match_is_told() -> None:
    assert _messages(ROWS, ["title", "titel", "[3].title", "tags", "tags[].name", "**.tags"]) == [
        "nothing at titel; did you mean title?",
        "nothing at [3]; the list has 1 element",
    ]
    assert _messages({"bare": {}}, ["bare.name"]) == ["nothing at bare.name"]
    assert _messages("text", ["name"]) == ["nothing at name"]


def test_a_secret_that_is_a_key_is_not_told() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    assert _messages({secret: 1}, ["zzz"]) == ["nothing at zzz; there is: [redacted:github-token]"]
