from __future__ import annotations

import json

import pytest

from shaping.parsers import FORMATS, Parsed, parse, parse_within

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
        ('{"a": [1, null]}\n', Parsed({"a": [1, None]}, "json")),
        ("\n[1]\n", Parsed([1], "json")),
        ('{"wei": 123456789012345678901234}', Parsed({"wei": 123456789012345678901234}, "json")),
        ('"{\\"a\\": 1}"', Parsed({"a": 1}, "json")),
        ("[]", Parsed([], "json")),
        ("{}", Parsed({}, "json")),
        (
            "[{'id': 1, 'name': \"O'Neil\", 'x': None, 'ok': True, 'at': (1, 2)}]",
            Parsed([{"id": 1, "name": "O'Neil", "x": None, "ok": True, "at": [1, 2]}], "python"),
        ),
        ("('a', 1)", Parsed(["a", 1], "python")),
        ('{"a": 1}\n{"a": 2}\n\n', Parsed([{"a": 1}, {"a": 2}], "lines")),
        ('{\n "a": 1\n}\n{\n "a": 2\n}\n', Parsed([{"a": 1}, {"a": 2}], "lines")),
        ("a,b\n1,2\n", Parsed([{"a": 1, "b": 2}], "csv")),
        ('name,size\n"x, y",007\nz,08', Parsed([{"name": "x, y", "size": "007"}, {"name": "z", "size": "08"}], "csv")),
        ("id;price\n1;3,50\n2;n/a", Parsed([{"id": 1, "price": "3,50"}, {"id": 2, "price": "n/a"}], "csv")),
        ("id\tpart\n1\t0.5\n2\t0.25\n", Parsed([{"id": 1, "part": 0.5}, {"id": 2, "part": 0.25}], "csv")),
        (
            PODS,
            Parsed(
                [
                    dict(zip(HEADINGS, ("web-5d78c9869d-abcde", "1/1", "Running", "0", "3d4h"), strict=True)),
                    dict(zip(HEADINGS, ("db-0", "0/1", "CrashLoopBackOff", "12 (5m ago)", "3d4h"), strict=True)),
                ],
                "table",
            ),
        ),
        (PIPS, Parsed([{"Package": "typer", "Version": "0.29.0"}, {"Package": "x", "Version": "1"}], "table")),
    ],
)  # fmt: skip
def test_data_is_recognised(text: str, found: Parsed) -> None:
    assert parse(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello\n",
        "12",
        '"just a string"',
        '"',
        "{not json}",
        "[link](https://x.dev)",
        "{'a': object()}",
        "{1: 'x'}",
        "{'a': b'bytes'}",
        "{'a': 10 ** 400}",
        "{'n': 99999999999999999999999999}",
        "{'s': '\\ud800'}",
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
    assert parse(text) is None


def test_only_the_forms_asked_for_are_looked_for() -> None:
    assert parse("a,b\n1,2\n", ("json",)) is None
    assert parse('{"a": 1}', ()) is None


def test_the_layout_of_rows_is_lost_and_nothing_of_json() -> None:
    assert [name for name in FORMATS if Parsed([], name).exact] == ["json", "lines", "python"]


def test_data_is_found_between_sentences_with_what_stands_around_it() -> None:
    rows = json.dumps([{"id": n, "name": f"package {n}"} for n in range(30)])
    assert parse_within(f"Found 30:\n{rows}") == Parsed(json.loads(rows), "json", "Found 30:\n")
    fenced = f"Here:\n```json\n{rows}\n```\nMore?"
    assert parse_within(fenced) == Parsed(json.loads(rows), "json", "Here:\n```json\n", "\n```\nMore?")
    assert parse_within(f"{'Words. ' * 400}\n{rows}") is None


def test_a_huge_file_of_rows_is_text() -> None:
    rows = "a,b\n" + "1,2\n" * 1_100_000
    assert parse(rows) is None
