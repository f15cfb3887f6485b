"""What commands list about files and commits is data: rows with names."""

from __future__ import annotations

from typing import Any

import pytest

from shaping import Shaper
from shaping.parsers import parse, parse_tables, parse_within

LS = """\
src:
total 12
drwxr-xr-x 2 root root  4096 Nov 17 05:36 .
-rw-r--r-- 1 root root  2212 Nov 17 05:35 __init__.py
-rw-r--r-- 1 ada  staff   17 Nov 16 23:01 two words.txt
lrwxrwxrwx 1 root root     7 Nov 17 05:35 link -> target

src/inner:
total 4
-rw-r--r-- 1 root root     1 Nov 17 05:35 a
-rw-r--r-- 1 root root     2 Nov 17 05:35 b
-rw-r--r-- 1 root root     3 Nov 17 05:35 c
-rw-r--r-- 1 root root     4 2026-11-17 05:35 d
"""
LOG = "".join(
    f"commit {n:040x}\nAuthor: Ada <ada@x.dev>\n"
    f"Date:   Tue Nov 17 05:3{n}:00 2026 +0000\n\n    Change {n}\n\n    Why.\n\n"
    for n in range(4)
)
STAT = "".join(f" src/file_{n}.py | {n:3} {'+' * n}\n" for n in range(1, 9)) + " 8 files changed, 36 insertions(+)\n"
BOX = "┌────┬──────┐\n│ id │ name │\n├────┼──────┤\n│ 1  │ ada  │\n│ 2  │ bob  │\n└────┴──────┘\n"
DPKG = """\
Desired=Unknown/Install/Remove/Purge/Hold
| Status=Not/Inst/Conf-files/Unpacked
|/ Err?=(none)/Reinst-required (Status,Err: uppercase=bad)
||/ Name       Version   Architecture Description
+++-==========-=========-============-==================
ii  adduser    3.134     all          add and remove users
rc  apt        2.6.1     amd64        package manager
"""


def test_the_entries_of_folders_are_rows() -> None:
    parsed = parse(LS)
    assert parsed is not None
    value: Any = parsed.value
    assert parsed.format == "files"
    assert [(folder["folder"], folder["total"], len(folder["entries"])) for folder in value] == [
        ("src", 12, 4),
        ("src/inner", 4, 4),
    ]
    assert value[0]["entries"][2] == {
        "mode": "-rw-r--r--",
        "links": 1,
        "owned_by": "ada",
        "group": "staff",
        "size": 17,
        "modified": "Nov 16 23:01",
        "name": "two words.txt",
    }


def test_sizes_and_counts_of_files_are_rows_and_bare_paths_a_list() -> None:
    paths = [f"src/{n % 3}/file{n}.py" for n in range(9)]
    du = parse("".join(f"{n}\t{path}\n" for n, path in enumerate(paths)))
    wc = parse("".join(f"{n:7} {path}\n" for n, path in enumerate(paths)) + "     36 total\n")
    assert du is not None
    assert wc is not None
    assert du.value[4] == {"number": 4, "path": paths[4]}
    assert wc.value[-1] == {"number": 36, "path": "total"}
    find = parse("\n".join(paths))
    assert find is not None
    assert find.value == paths


def test_commits_are_rows_with_their_messages_and_changes() -> None:
    parsed = parse(LOG)
    assert parsed is not None
    assert parsed.value[3] == {
        "commit": f"{3:040x}",
        "Author": "Ada <ada@x.dev>",
        "Date": "Tue Nov 17 05:33:00 2026 +0000",
        "message": "Change 3\n\nWhy.",
    }
    stat = parse(STAT)
    assert stat is not None
    assert stat.value["files"][7] == {"path": "src/file_8.py", "lines": 8, "by": "+"}
    assert stat.value["sum"] == "8 files changed, 36 insertions(+)"


def test_a_log_with_diffs_is_text() -> None:
    assert parse(LOG + "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n") is None


def test_tables_drawn_with_boxes_and_lists_of_packages_are_rows() -> None:
    box, packages = parse(BOX), parse(DPKG)
    assert box is not None
    assert packages is not None
    assert box.value == [{"id": 1, "name": "ada"}, {"id": 2, "name": "bob"}]
    assert packages.value[1] == {
        "st": "rc",
        "Name": "apt",
        "Version": "2.6.1",
        "Architecture": "amd64",
        "Description": "package manager",
    }


def test_headers_go_on_in_lines_that_begin_with_a_space() -> None:
    text = "\n\n".join(f"Package: p{n}\nVersion: {n}.0\nDescription: one\n two\n three" for n in range(4))
    parsed = parse(text)
    assert parsed is not None
    assert parsed.value[2] == {"Package": "p2", "Version": 2.0, "Description": "one\ntwo\nthree"}


def test_findings_are_rows_whatever_is_said_after_them() -> None:
    lines = "".join(f"src/a.py:{n // 2}:5: D40{n % 2} Something is missing here\n" for n in range(30))
    parsed = parse_within(f"{lines}Found 30 errors.\n[*] 4 fixable with `--fix`.\n")
    assert parsed is not None
    assert parsed.after == "\nFound 30 errors.\n[*] 4 fixable with `--fix`.\n"
    assert parsed.value[3] == {"path": "src/a.py", "line": 1, "column": 5, "text": "D401 Something is missing here"}


def test_every_table_of_a_page_is_found_with_the_text_around_it() -> None:
    table = "| name   | size   | kind          |\n|---|---|---|\n" + "".join(
        f"| name{n}  | {n}   | something     |\n" for n in range(20)
    )
    page = f"# One\n\nSome words about it.\n\n{table}\nMore words.\n\n{table}\nThe end.\n"
    found = parse_tables(page)
    assert [len(part.value) for part in found] == [20, 20]
    assert "".join(part.before + part.text + part.after for part in found) == page
    shaped = Shaper({}).shape_result({"content": [{"type": "text", "text": page}]}, tool="read_page")
    text = shaped["content"][0]["text"]
    assert "| name3" not in text
    assert text.count("kind=something") == 2
    assert "Some words about it." in text
    assert text.rstrip().endswith("The end.")


@pytest.mark.parametrize("text", ["a/b\n" * 3, "This is a sentence / or two.\n" * 9, "12 monkeys\n" * 9])
def test_what_is_no_listing_stays_text(text: str) -> None:
    assert parse(text) is None
