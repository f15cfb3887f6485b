from __future__ import annotations

from shaping.paths.selection import unmatched

ROWS = [{"title": "a", "tags": []}]


def test_each_path_without_a_match_is_told() -> None:
    assert unmatched(ROWS, ["title", "titel", "[3].title", "tags", "tags[].name", "**.tags"]) == [
        "nothing at titel; did you mean title?",
        "nothing at [3]; the list has 1 element",
    ]
    assert unmatched({"bare": {}}, ["bare.name"]) == ["nothing at bare.name"]
    assert unmatched("text", ["name"]) == ["nothing at name"]


def test_a_secret_that_is_a_key_is_not_told() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    assert unmatched({secret: 1}, ["zzz"]) == ["nothing at zzz; there is: [redacted:github-token]"]
