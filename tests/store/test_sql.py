from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from shaping.errors import ToolError
from shaping.store.sql import Database
from shaping.store.tables import describe_tables, find_tables

ISSUES: list[dict[str, Any]] = [
    {
        "id": 100 + number,
        "state": "open" if number % 3 else "closed",
        "locked": number == 4,
        "user": {"login": f"user{number % 4}", "id": number % 4},
        "labels": [{"name": "bug"}, {"name": f"area-{number % 2}"}] if number % 2 else [],
        "assignees": ["ada"] if number == 5 else None,
        "title": f"Issue {number}",
    }
    for number in range(1, 31)
]


@pytest.fixture
def issues() -> Iterator[Database]:
    database = Database({"result": ISSUES, "total": 30})
    yield database
    database.close()


def ask(database: Database, sql: str) -> list[dict[str, Any]]:
    return database.query(sql).records


def test_a_list_of_records_is_a_table_named_by_its_path(issues: Database) -> None:
    counted = ask(issues, "SELECT state, count(*) AS n FROM result GROUP BY state ORDER BY state")
    assert counted == [{"state": "closed", "n": 10}, {"state": "open", "n": 20}]


def test_the_outermost_list_is_called_items() -> None:
    assert ask(Database([{"a": 1}, {"a": 2}]), "SELECT sum(a) AS s FROM items") == [{"s": 3}]


def test_a_nested_record_is_columns_by_either_spelling(issues: Database) -> None:
    for spelling in ("user_login", '"user.login"', "user.login", "result.user.login", "r.user.login"):
        source = "result r" if spelling.startswith("r.") else "result"
        counted = ask(issues, f"SELECT {spelling} AS who, count(*) AS n FROM {source} GROUP BY 1 ORDER BY 2 DESC, 1")  # noqa: S608 (the test's own words)
        assert counted[0] == {"who": "user1", "n": 8}


def test_a_list_inside_records_is_a_table_with_the_key_of_its_record(issues: Database) -> None:
    sql = (
        "SELECT r.title FROM result r JOIN result_labels l ON l.result_id = r.id WHERE l.name = 'area-1' ORDER BY r.id"
    )
    assert [row["title"] for row in ask(issues, sql)] == [f"Issue {n}" for n in range(1, 31, 2)]
    assert ask(issues, "SELECT result_id, value FROM result_assignees") == [{"result_id": 105, "value": "ada"}]


def test_a_list_without_an_identifying_member_is_joined_by_the_rows_number() -> None:
    database = Database([{"state": "a", "tags": [{"t": 1}]}, {"state": "a", "tags": [{"t": 2}]}])
    sql = "SELECT t FROM items JOIN items_tags ON items_rowid = items.rowid WHERE items.rowid = 2"
    assert ask(database, sql) == [{"t": 2}]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) AS n FROM data.jobs WHERE ok = 'true'",
        'SELECT count(*) AS n FROM "data.jobs" WHERE "ok" = TRUE',
        "SELECT count(*) AS n FROM jobs WHERE jobs.ok = 'true'",
        "SELECT count(*) AS n FROM jobs AS j WHERE j.ok <> 'false'",
        "SELECT count(*) AS n FROM items i WHERE i.ok",
        "SELECT count(DISTINCT jobs.id) AS n FROM jobs JOIN steps ON steps.data_jobs_id = jobs.id WHERE jobs.ok = 1",
        "WITH items AS (SELECT * FROM jobs WHERE ok) SELECT count(*) AS n FROM items",
        "SELECT count(*) AS n FROM Jobs\nWHERE ok == 'TRUE' ORDER BY 1",
    ],
)
def test_a_table_is_found_by_its_path_or_its_last_name_and_true_is_true(sql: str) -> None:
    jobs = [{"id": number, "ok": number % 2 == 0, "steps": [{"n": 1, "name": "true"}]} for number in range(5)]
    assert ask(Database({"data": {"jobs": jobs, "total": 5}}), sql) == [{"n": 3}]


def test_a_word_is_compared_as_a_word_where_a_column_holds_words() -> None:
    database = Database([{"name": "true"}, {"name": "false"}, {"name": None}])
    assert ask(database, "SELECT name FROM items WHERE name = 'true'") == [{"name": "true"}]


def test_members_of_the_outermost_object_are_the_table_data(issues: Database) -> None:
    assert ask(issues, "SELECT total FROM data") == [{"total": 30}]


def test_a_map_of_records_is_a_table_with_its_keys() -> None:
    files = {f"src/{name}.py": {"covered": at, "missed": 3} for at, name in enumerate("abcd")}
    assert ask(Database({"files": files}), "SELECT key FROM files WHERE covered = 2") == [{"key": "src/c.py"}]


def test_a_list_of_lists_is_a_table_of_numbered_columns() -> None:
    assert ask(Database([["ada", 1], ["bob", 2]]), "SELECT c1 FROM items WHERE c2 > 1") == [{"c1": "bob"}]


def test_other_nesting_is_json_for_sqlites_own_functions(issues: Database) -> None:
    counted = ask(issues, "SELECT sum(json_array_length(labels)) AS n FROM result")
    assert counted == [{"n": 30}]


def test_truth_and_absence_are_asked_for_as_in_any_sql(issues: Database) -> None:
    assert ask(issues, "SELECT id FROM result WHERE locked = true") == [{"id": 104}]
    assert ask(issues, "SELECT count(*) AS n FROM result WHERE assignees IS NULL") == [{"n": 29}]


def test_integers_beyond_64_bits_keep_their_digits() -> None:
    assert ask(Database([{"n": 2**70}, {"n": 1}]), "SELECT n FROM items")[0] == {"n": str(2**70)}


def test_columns_of_one_name_are_told_apart_in_the_answer(issues: Database) -> None:
    rows = ask(issues, "SELECT a.id, b.id FROM result a JOIN result b ON a.id = b.id LIMIT 1")
    assert rows == [{"id": 101, "id_2": 101}]


def test_the_schema_lists_tables_rows_and_columns(issues: Database) -> None:
    assert issues.query("schema").records[1] == {
        "table": "result_labels",
        "rows": 30,
        "columns": "result_id, name text",
    }


def test_the_answer_says_whether_there_were_more_rows(issues: Database) -> None:
    assert (len(issues.query("SELECT id FROM result", max_rows=5).records), issues.query("SELECT 1").more) == (5, False)
    assert issues.query("SELECT id FROM result", max_rows=5).more


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT stat FROM result", "Did you mean 'state'?"),
        ('SELECT "stat" FROM result', "Did you mean 'state'?"),
        ("SELECT id FROM results", "Did you mean 'result'?"),
        ("SELECT id FRM result", "syntax error"),
        ("SELECT id FROM result; SELECT 1", "only one SELECT"),
        ("", "only one SELECT"),
    ],
)
def test_a_wrong_query_is_told_what_is_nearest(issues: Database, sql: str, expected: str) -> None:
    with pytest.raises(ToolError, match=expected.replace("?", r"\?")):
        issues.query(sql)


def test_text_in_double_quotes_behind_a_comparison_is_text(issues: Database) -> None:
    assert ask(issues, 'SELECT count(*) AS n FROM result WHERE state = "open"') == [{"n": 20}]


HOSTILE: dict[str, list[str]] = json.loads((Path(__file__).parents[1] / "cases" / "sql" / "hostile.json").read_text())
FORMS = ["{}", "  {};", "/* a */ {}", "{} -- b"]


def test_there_are_300_hostile_statements() -> None:
    assert sum(map(len, HOSTILE.values())) >= 300


def test_nothing_but_reading_is_allowed(tmp_path: Path, issues: Database) -> None:
    target = tmp_path / "outside.db"
    for statement in HOSTILE["refused"]:
        for form in FORMS:
            with pytest.raises(ToolError):
                issues.query(form.format(statement.replace("{file}", str(target))))
    assert not target.exists()
    assert (
        issues.query("SELECT * FROM result").records
        == Database({"result": ISSUES}).query("SELECT * FROM result").records
    )


def test_no_statement_runs_long_or_takes_much_memory() -> None:
    """In a process of its own, whose memory can be measured; the most that any takes is what the next may reuse."""
    done = subprocess.run([sys.executable, "-c", _MEASURE], capture_output=True, text=True, check=True, cwd=ROOT)
    longest, grown = json.loads(done.stdout)
    assert longest <= 2.5
    assert grown <= 256_000_000


ROOT = Path(__file__).parents[2]
_MEASURE = """
import json, resource, time
from shaping.errors import ToolError
from shaping.store.sql import Database
from tests.store.test_sql import HOSTILE, ISSUES

database = Database({"result": ISSUES, "total": 30})
database.query("SELECT 'a' REGEXP 'b'")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
longest = 0.0
for statement in HOSTILE["bounded"]:
    began = time.process_time()
    try:
        database.query(statement, seconds=0.5)
    except ToolError:
        pass
    longest = max(longest, time.process_time() - began)
print(json.dumps([longest, 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)]))
"""


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
        "SELECT count(*) FROM result a, result b, result c, result d, result e, result f, result g",
    ],
)
def test_a_query_that_does_not_end_is_ended_and_the_next_one_runs(issues: Database, sql: str) -> None:
    with pytest.raises(ToolError, match=r"longer than 0\.2 seconds"):
        issues.query(sql, seconds=0.2)
    assert ask(issues, "SELECT 1 AS one") == [{"one": 1}]


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("instr('haystack', 'st')", 4),
        ("instr('haystack', 'x')", 0),
        ("replace('a-b-c', '-', '+')", "a+b+c"),
        ("replace('abc', '', 'x')", "abc"),
        ("trim('  a ')", "a"),
        ("ltrim('xxay', 'xy')", "ay"),
        ("rtrim('xxay', 'xy')", "xxa"),
        ("instr(NULL, 'a')", None),
    ],
)
def test_functions_of_our_own_answer_as_sqlites_do(sql: str, value: Any) -> None:
    database, plain = Database([{"n": 1}, {"n": 2}, {"n": None}]), sqlite3.connect(":memory:")
    assert ask(database, f"SELECT {sql} AS v FROM items") == [{"v": value}] * (1 if "group" in sql else 3)  # noqa: S608 (the test's own words)
    plain.execute("CREATE TABLE items (n)")
    plain.executemany("INSERT INTO items VALUES (?)", [(1,), (2,), (None,)])
    assert plain.execute(f"SELECT {sql} FROM items").fetchone() == (value,)  # noqa: S608 (the test's own words)
    plain.close()


def test_an_answer_of_long_values_ends_where_it_gets_large() -> None:
    database = Database([{"n": n, "text": "x" * 150_000} for n in range(100)])
    rows = database.query("SELECT * FROM items")
    assert (20 < len(rows.records) < 40, rows.more) == (True, True)
    assert ask(database, "SELECT count(*) AS n, max(length(text)) AS l FROM items") == [{"n": 100, "l": 150_000}]


def test_values_are_bounded_in_size(issues: Database) -> None:
    with pytest.raises(ToolError, match="too big"):
        issues.query("SELECT group_concat(a.title || b.title) FROM result a, result b, result c, result d")


whole = st.integers(-(2**63), 2**63 - 1)
records = st.lists(
    st.dictionaries(
        st.sampled_from(["a", "b", "A", "select", "from", "odd key", "1st", "a.b"]),
        st.none() | st.booleans() | whole | st.text(max_size=5) | st.lists(whole, max_size=2),
        max_size=5,
    ),
    min_size=1,
    max_size=8,
)


@given(records)
def test_every_list_of_records_can_be_counted(rows: list[dict[str, Any]]) -> None:
    database = Database(rows)
    if not database.tables[0].columns:
        return
    assert ask(database, "SELECT count(*) AS n FROM items") == [{"n": len(rows)}]
    for column in database.tables[0].columns:
        expected = Counter(_cell(row.get(column.trail[0])) for row in rows)
        found = ask(database, f"SELECT `{column.name}` AS v, count(*) AS n FROM items GROUP BY 1")  # noqa: S608 (the test's own words)
        assert Counter({json.dumps(row["v"]): row["n"] for row in found}) == expected


def _cell(value: Any) -> str:
    if isinstance(value, list):
        value = json.dumps(value, separators=(",", ":"))
    elif isinstance(value, bool):
        value = int(value)
    return json.dumps(value)


def test_a_cut_answer_names_the_tables_that_its_lists_do_not_tell() -> None:
    data = {
        "jobs": [{"id": n, "steps": [{"name": "a", "ok": True}], "tags": ["x"]} for n in range(3)],
        "rows": [{"a": 1}],
    }
    tables = find_tables(data)
    steps, tags = "jobs_steps(jobs_id, name, ok)", "jobs_tags(jobs_id, value)"
    assert describe_tables(tables[:3], ["jobs"]) == f"jobs, {steps}, {tags}"
    assert describe_tables(tables, ["jobs"]) == f"jobs, {steps}, {tags}, …"
    assert describe_tables(tables[:3], ["jobs"], most=2) == f"jobs, {steps}, …"
    assert describe_tables(tables, ["rows"]) == ""
    assert describe_tables(find_tables([{"a": 1}, {"a": 2}]), [""]) == ""
    assert describe_tables(find_tables({"data": {"rows": [{"a": 1}]}}), ["data.rows"]) == "data_rows"


ODD = [{"labels": {"prometheus.io/port": 9000 + n}, "prometheus.io/port": n, "max size (MB)": n} for n in range(50)]


@pytest.mark.parametrize(
    ("column", "most"),
    [
        ("prometheus_io_port", 49),
        ('"prometheus.io/port"', 49),
        ("labels_prometheus_io_port", 9049),
        ('"labels.prometheus.io/port"', 9049),
        ("max_size_MB", 49),
        ('"max size (MB)"', 49),
        ('items."max size (MB)"', 49),
    ],
)
def test_a_column_with_odd_characters_is_named_with_underscores_or_quoted_as_it_is(column: str, most: int) -> None:
    assert ask(Database(ODD), f"SELECT max({column}) AS n FROM items") == [{"n": most}]  # noqa: S608 (a test's own words)


def test_numbers_that_stand_as_text_compare_as_numbers() -> None:
    rows = [{"price": f"{n}.10", "code": f"{n:04}", "note": "9" if n else "none"} for n in range(100)]
    database = Database(rows)
    assert database.query("SELECT count(*) AS n FROM items WHERE price > 50").records == [{"n": 50}]
    assert database.query("SELECT sum(price) AS n FROM items WHERE price = '7.10'").records == [{"n": 7.1}]
    assert database.query("SELECT code FROM items WHERE price < 1").records == [{"code": "0000"}]


def test_empty_cells_among_numbers_that_stand_as_text_are_null() -> None:
    rows = [{"price": "" if n % 4 == 0 else f"{n}.50", "stock": None if n % 2 else str(n)} for n in range(100)]
    database = Database(rows)

    def count(condition: str) -> int:
        return int(ask(database, f"SELECT count(*) AS n FROM items WHERE {condition}")[0]["n"])  # noqa: S608 (a test's own words)

    assert (count("price > 50"), count("price < 50"), count("stock >= 90")) == (38, 37, 5)
    assert (count("price IS NULL"), count("price = ''"), count("price<>''")) == (25, 25, 75)
    assert ask(database, "SELECT max(price) AS most, avg(stock) AS mean FROM items") == [{"most": 99.5, "mean": 49.0}]


def test_versions_stay_text() -> None:
    database = Database([{"version": "3.9"}, {"version": "3.10"}, {"version": ""}])
    assert [row["version"] for row in ask(database, "SELECT version FROM items")] == ["3.9", "3.10", ""]


def test_the_schema_names_the_type_of_each_column() -> None:
    row = {"id": 1, "name": "Ann", "price": "9.50", "ratio": 0.5, "on": True, "odd": {}, "mixed": 1, "none": None}
    columns = Database([row, {**row, "price": "", "mixed": "x"}]).query("schema").records[0]["columns"]
    assert columns == ("id int, name text, price num, ratio num, on bool, odd json, mixed int|text, none null")


def test_records_whose_keys_all_differ_have_the_types_of_what_they_hold() -> None:
    [table] = find_tables([{"id": 1, "a": 1}, {"id": 2, "b": "x"}, {"a": None}])
    assert {column.name: column.types for column in table.columns} == {
        "id": frozenset({int}),
        "a": frozenset({int, type(None)}),
        "b": frozenset({str}),
    }


def test_a_list_under_a_name_that_sqlite_keeps_for_itself_gets_another() -> None:
    database = Database({"sqlite_x": [{"a": 1}], "SQLITE_y": [{"b": 2}]})
    assert [table.name for table in database.tables] == ["_sqlite_x", "_SQLITE_y"]
    assert database.query("SELECT a FROM _sqlite_x").records == [{"a": 1}]
