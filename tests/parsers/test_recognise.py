from __future__ import annotations

from typing import Any

import pytest

from shaping.parsers.recognise import Found, recognise, speaks_contract

ALL = ("json", "lines", "csv", "table")
PODS = """\
NAME                    READY   STATUS             RESTARTS      AGE
web-5d78c9869d-abcde    1/1     Running            0             3d4h
db-0                    0/1     CrashLoopBackOff   12 (5m ago)   3d4h
"""
HEADINGS = ("NAME", "READY", "STATUS", "RESTARTS", "AGE")
PIPS = "Package    Version\n---------- -------\ntyper      0.29.0\nx          1\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": [1, null]}\n', Found({"a": [1, None]}, "json")),
        ("\n[1]\n", Found([1], "json")),
        ('{"wei": 123456789012345678901234}', Found({"wei": 123456789012345678901234}, "json")),
        ('{"a": 1}\n{"a": 2}\n\n', Found([{"a": 1}, {"a": 2}], "lines")),
        ('{\n "a": 1\n}\n{\n "a": 2\n}\n', Found([{"a": 1}, {"a": 2}], "lines")),
        ("a,b\n1,2\n", Found([{"a": 1, "b": 2}], "csv")),
        ('name,size\n"x, y",007\nz,08\n', Found([{"name": "x, y", "size": "007"}, {"name": "z", "size": "08"}], "csv")),
        ("id\tpart\n1\t0.5\n2\t0.25\n", Found([{"id": 1, "part": 0.5}, {"id": 2, "part": 0.25}], "csv")),
        (
            PODS,
            Found(
                [
                    dict(zip(HEADINGS, ("web-5d78c9869d-abcde", "1/1", "Running", "0", "3d4h"), strict=True)),
                    dict(zip(HEADINGS, ("db-0", "0/1", "CrashLoopBackOff", "12 (5m ago)", "3d4h"), strict=True)),
                ],
                "table",
            ),
        ),
        (PIPS, Found([{"Package": "typer", "Version": "0.29.0"}, {"Package": "x", "Version": "1"}], "table")),
    ],
)  # fmt: skip
def test_data_is_recognised(text: str, found: Found) -> None:
    assert recognise(text, ALL) == found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello\n",
        "Hello, world\nHow are you, then\n",
        "a,b\n",
        "a,b\n1,2,3\n",
        "a,a\n1,2\n",
        "1,2\n3,4\n",
        'a,b\n"open,1\n',
        '{"a": 1}\nand then text\n',
        "[INFO] started\n[INFO] done\n",
        '{"n": 1e999}',
        "[1]\n2\n",
        "total 8\n-rw-r--r-- 1 a a 1 x\n",
        "NAME   AGE\nx y z w v u\n",
        "NAME\nx\n",
        "Filesystem      Size  Used\n/dev/sda1        50G   20G\n",
        "NAME   AGE\n\n",
    ],
)
def test_anything_else_is_text(text: str) -> None:
    assert recognise(text, ALL) is None


def test_only_the_forms_asked_for_are_looked_for() -> None:
    assert recognise("a,b\n1,2\n", ("json",)) is None
    assert recognise('{"a": 1}', ()) is None


def test_json_is_exact_and_a_table_is_not() -> None:
    assert [Found([], form).exact for form in ALL] == [True, True, False, False]


@pytest.mark.parametrize(
    ("value", "speaks"),
    [
        ({"ok": True, "data": 1, "error": None, "warnings": [], "meta": {}}, True),
        ({"ok": True, "data": 1, "error": None, "warnings": [], "meta": 1}, False),
        ({"ok": True}, False),
        ([], False),
    ],
)
def test_a_program_that_speaks_the_contract_is_known_by_its_five_members(value: Any, speaks: bool) -> None:
    assert speaks_contract(value) is speaks


def test_a_huge_file_of_rows_is_text() -> None:
    rows = "a,b\n" + "1,2\n" * 1_100_000
    assert recognise(rows, ALL) is None
