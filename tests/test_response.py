from __future__ import annotations

from shaping.response import counted


def test_one_is_one_and_everything_else_is_several() -> None:
    told = [counted(count, "token") for count in (0, 1, 2, 1024)]
    assert told == ["0 tokens", "1 token", "2 tokens", "1,024 tokens"]
