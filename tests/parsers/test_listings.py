"""What commands list about files and commits is data: rows with names."""

from __future__ import annotations

from typing import Any

import pytest

from shaping import Shaper
from shaping.encoders.lines import decode as decode_lines
from shaping.parsers import parse, parse_tables, parse_within

LOG = "".join(
    f"commit {n:040x}\nAuthor: Ada <ada@x.dev>\n"
    f"Date:   Tue Nov 17 05:3{n}:00 2026 +0000\n\n    Change {n}\n\n    Why.\n\n"
    for n in range(4)
)
STAT = "".join(f" src/file_{n}.py | {n:3} {'+' * n}\n" for n in range(1, 9)) + " 8 files changed, 36 insertions(+)\n"
BOX = "┌────┬──────┐\n│ id │ name │\n├────┼──────┤\n│ 1  │ ada  │\n│ 2  │ bob  │\n└────┴──────┘\n"


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


def test_tables_drawn_with_boxes_are_rows() -> None:
    box = parse(BOX)
    assert box is not None
    assert box.value == [{"id": 1, "name": "ada"}, {"id": 2, "name": "bob"}]


def test_headers_go_on_in_lines_that_begin_with_a_space() -> None:
    text = "\n\n".join(f"Package: p{n}\nVersion: {n}.0\nDescription: one\n two\n three" for n in range(4))
    parsed = parse(text)
    assert parsed is not None
    assert parsed.value[2] == {"Package": "p2", "Version": 2.0, "Description": "one\ntwo\nthree"}


def test_findings_stand_below_their_file_whatever_is_said_after_them() -> None:
    lines = "".join(f"src/a.py:{n // 2}:5: D40{n % 2} Something is missing here\n" for n in range(30))
    page = f"{lines}Found 30 errors.\n[*] 4 fixable with `--fix`.\n"
    shaped = Shaper({}).shape_result({"content": [{"type": "text", "text": page}]}, tool="lint")
    text = shaped["content"][0]["text"]
    assert len(text) < len(page) / 2
    assert decode_lines(text) == page


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


def test_code_is_no_list_of_names_and_values() -> None:
    code = "".join(f"exports.name{n} = required.name{n};\n" for n in range(40))
    assert parse(code) is None
    assert parse(code.replace(";", "")) is not None


def test_blamed_lines_are_rows() -> None:
    lines = [
        f"{'e60075f9' if n < 6 else '^1474be6'} (Ada Byron 2026-11-16 09:07:58 +0000 {n:>3})  x = {n}" for n in range(9)
    ]
    found: Any = parse("\n".join(lines))
    assert found.format == "commits"
    assert found.value[7] == {
        "commit": "^1474be6",
        "author": "Ada Byron",
        "time": "2026-11-16 09:07:58 +0000",
        "line": 7,
        "text": " x = 7",
    }


def test_blanks_of_any_kind_stand_between_columns() -> None:
    text = "pid  name  size\n" + "".join(f"{n:>3}\u00a0 some  {n}\n" for n in range(9))
    rows: Any = parse(text).value  # type: ignore[union-attr]
    assert rows[8] == {"pid": 8, "name": "some", "size": 8}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("[Sun Dec 04 04:47:44 2005] [error] in state {}", {"time": "Sun Dec 04 04:47:44 2005", "level": "error"}),
        ("17/06/09 20:10:40 INFO spark.Executor: task {} done", {"level": "INFO", "logger": "spark.Executor"}),
        (
            "nova-api.log.1 2017-05-16 00:00:00.008 25746 INFO nova.wsgi.server [req-{} - -] GET /",
            {"file": "nova-api.log.1", "pid": 25746, "logger": "nova.wsgi.server", "context": "req-{} - -"},
        ),
        (
            "2015-10-18 18:01:47,978 INFO [main] org.apache.hadoop.mapreduce.MRAppMaster: Created {}",
            {"ms": 978, "thread": "main", "logger": "org.apache.hadoop.mapreduce.MRAppMaster", "message": "Created {}"},
        ),
        (
            "2026-11-17T07:20:00.597Z WARN [exec-0] com.acme.Requests - POST /orders/{}",
            {"level": "WARN", "thread": "exec-0", "logger": "com.acme.Requests", "message": "POST /orders/{}"},
        ),
    ],
)  # fmt: skip
def test_log_lines_of_many_programs_are_rows(line: str, found: dict[str, Any]) -> None:
    parsed: Any = parse("\n".join(line.replace("{}", str(n)) for n in range(12)))
    assert parsed.format == "log"
    expected = {name: said.replace("{}", "7") if isinstance(said, str) else said for name, said in found.items()}
    assert expected.items() <= parsed.value[7].items()


def test_lines_below_a_log_line_belong_to_its_message() -> None:
    trace = 'Traceback (most recent call last):\n  File "a.py", line 3\nValueError: no'
    log = "\n".join(
        f"2026-11-17 10:00:{n:02d} ERROR app: failed {n}" + (f"\n{trace}" if n == 3 else "") for n in range(12)
    )
    rows: Any = parse(log).value  # type: ignore[union-attr]
    assert len(rows) == 12
    assert rows[3]["message"] == f"failed 3\n{trace}"


def test_counts_of_matches_are_rows() -> None:
    counts = parse("\n".join(f"shaping/parsers/f{n}.py:{n}" for n in range(9)))
    assert counts is not None
    assert counts.value[3] == {"path": "shaping/parsers/f3.py", "count": 3}


def test_a_blank_line_in_a_list_of_packages_leaves_it_a_text() -> None:
    head = "Desired=Unknown\n||/ Name   Version\n+++-======-=======\n"
    assert parse(head + "ii  apt    2.6\n\nii  bash   5.2\nii  curl   7.8\n") is None


ISSUES = "\n".join(
    f"## {at}. [SHOP-{at}](https://example.com/issues/SHOP-{at})\n\n**ValueError: basket {at} is empty**\n\n"
    f"- **Status**: unresolved\n- **Users**: {at * 3}\n- **Culprit**: `shop.basket in save`\n"
    for at in range(1, 9)
)


def test_records_that_markdown_lists_as_sections_are_rows_with_the_sentences_around_them() -> None:
    first = {
        "heading": "SHOP-1", "url": "https://example.com/issues/SHOP-1", "title": "ValueError: basket 1 is empty",
        "Status": "unresolved", "Users": 3, "Culprit": "`shop.basket in save`",
    }  # fmt: skip
    alone = parse(ISSUES)
    assert alone is not None
    assert (alone.format, len(alone.value), alone.value[0]) == ("sections", 8, first)
    before, after = "# Results\n\nFound **8** issues:\n\n", "## Next steps\n\n- Look closer: use get_issue\n"
    around = f"{before}{ISSUES}\n{after}"
    assert parse(around) is None
    parsed = parse_within(around)
    assert parsed is not None
    assert parsed.value == alone.value
    assert (parsed.before, parsed.after) == (before, after)


STATES = ("open", "closed", "open", "stale")
RECORDS = {
    "numbered": "\n\n".join(
        f"{at}. **Task {at}**\n   - Status: {state}\n   - Points: {at * 3}" for at, state in enumerate(STATES, 11)
    ),
    "below rules": "\n----------\n".join(
        f"- Title: Task {at}\n- Status: {state}\n- Points: {at * 3}" for at, state in enumerate(STATES, 11)
    ),
    "paragraphs": "\n\n".join(
        f"📌 Task {at}\n👤 Owner: {state}\n⭐ Points: {at * 3}" for at, state in enumerate(STATES, 11)
    ),
    "with a text": "\n\n---\n\n".join(
        f"### Task {at}\n**Status:** {state}\n**Points:** {at * 3}\n\nFirst line.\n  Note: second line."
        for at, state in enumerate(STATES, 11)
    ),
}


@pytest.mark.parametrize(
    ("form", "second"),
    [
        ("numbered", {"heading": "12. Task 12", "Status": "closed", "Points": 36}),
        ("below rules", {"Title": "Task 12", "Status": "closed", "Points": 36}),
        ("paragraphs", {"heading": "📌 Task 12", "👤 Owner": "closed", "⭐ Points": 36}),
        (
            "with a text",
            {"heading": "Task 12", "Status": "closed", "Points": 36, "text": "First line.\n  Note: second line."},
        ),
    ],
)
def test_records_are_rows_however_a_server_sets_them_apart(form: str, second: dict[str, object]) -> None:
    parsed = parse(RECORDS[form])
    assert parsed is not None
    assert (parsed.format, len(parsed.value), parsed.value[1]) == ("sections", 4, second)


def test_a_value_between_rules_may_have_several_lines() -> None:
    parsed = parse(RECORDS["below rules"].replace("Status: closed", "Status: closed\nby Ann\n\n* twice"))
    assert parsed is not None
    assert parsed.value[1] == {"Title": "Task 12", "Status": "closed\nby Ann\n\n* twice", "Points": 36}


def test_a_record_keeps_what_is_said_of_it_alone() -> None:
    parsed = parse(RECORDS["numbered"].replace("Points: 36", "Points: 36\n   Why: it was late"))
    assert parsed is not None
    assert parsed.value[1]["Points"] == "36\nWhy: it was late"


@pytest.mark.parametrize(
    "text",
    [
        "\n\n".join(f"class Task{at}:\n    status: str\n    points: int" for at in range(9)),
        "\n---\n".join(f"kind: Pod\nmetadata:\n  name: p{at}\n  labels:\n    app: web" for at in range(9)),
        "\n---\n".join(f"apiVersion: v1 # old\nkind: Pod\nspec:\n- port: {at}\n  name: p{at}" for at in range(9)),
        "\n\n".join("## Talk\nAnn: Good morning.\nBob: Good morning.\nAnn: Rain again." for _ in range(9)),
        "\n\n".join(f"## {at}.0\n\n- **Fix**: a\n- **Add**: b\n- **Fix**: c" for at in range(9)),
        "\n\n".join(f"{at}. Mix: flour and water\n     Rest: an hour\n   Bake: hot" for at in range(9)),
        "\n\n".join(f"## Part {at}\nNote: one\nSome words.\nHint: two" for at in range(9)),
        "\n\n".join(f"column_{at}\n--------\nUnits: cm\nDescription: the length {at}" for at in range(9)),
    ],
)
def test_what_only_looks_like_records_is_not_read_as_sections(text: str) -> None:
    assert (found := parse(text)) is None or found.format != "sections"


@pytest.mark.parametrize(
    "text",
    [
        ISSUES.replace("- **Users**: 12", "Some words about it."),  # a paragraph that would be lost
        ISSUES.replace("- **Users**: 12", "- **Status**: resolved"),  # two values of one name
        "\n".join(f"## Part {at}\n\nA text with **bold** words.\n\n- **One** thing" for at in range(9)),
        "\n".join(f"## Part {at}\n" for at in range(99)),
    ],
)
def test_other_markdown_is_text(text: str) -> None:
    assert parse(text) is None
