"""Data that came as text."""

from __future__ import annotations

from typing import Any

import pytest

from shaping.noise import read_text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2.5, null]}', {"a": [1, 2.5, None]}),
        (' \n[{"a": 1}]\n', [{"a": 1}]),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ("[{'id': 1, 'name': \"O'Neil\", 'x': None, 'ok': True, 'at': (1, 2)}]", [
            {"id": 1, "name": "O'Neil", "x": None, "ok": True, "at": [1, 2]}
        ]),
        ('{"a": 1}\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
    ],
)  # fmt: skip
def test_data_is_read(text: str, value: Any) -> None:
    assert read_text(text) == value


@pytest.mark.parametrize(
    "text",
    [
        '{"wei": 123456789012345678901234}',
        "",
        "plain words",
        '"just a string"',
        "12",
        "{not json}",
        "[link](https://x.dev)",
        "{'a': object()}",
        "{1: 'x'}",
        "{'a': b'bytes'}",
        "{'a': 10 ** 400}",
        "{'n': 99999999999999999999999999}",
        "{'s': '\\ud800'}",
        '{"a": 1}\nand then prose',
        '"',
    ],
)
def test_anything_else_is_text(text: str) -> None:
    assert read_text(text) is None


def test_an_empty_list_is_data() -> None:
    assert read_text("[]") == []
    assert read_text("{}") == {}
