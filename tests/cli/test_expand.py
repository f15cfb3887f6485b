from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner, Result

from shaping import tokens
from shaping.cli.app import build

if TYPE_CHECKING:
    from pathlib import Path

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SHAPING_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shaping(*words: str) -> Result:
    return RUNNER.invoke(build(), list(words))


def told(*words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(shaping(*words).stdout)
    return found


def test_a_commands_output_comes_back_byte_for_byte() -> None:
    script = "printf 'a\\rb\\n\\377\\n'; printf 'e\\n\\n\\n\\n' >&2"
    ref = told("run", "--json", "--", "sh", "-c", script)["meta"]["ref"]
    assert shaping("expand", ref, "--stdout").stdout_bytes == b"a\rb\n\xff\n"
    assert shaping("expand", ref, "--stderr").stdout_bytes == b"e\n\n\n\n"


def test_values_come_back_by_path_and_in_pages() -> None:
    data = json.dumps({"items": [{"id": n, "gone": None} for n in range(300)]})
    ref = told("run", "--json", "--max-tokens", "200", "--", "echo", data)["meta"]["ref"]
    assert shaping("expand", ref, "items[7]").stdout == '{"id":7,"gone":null}\n'
    first = shaping("expand", ref, "items", "--max-tokens", "200")
    cursor = shlex.split(first.stderr)[-1]
    assert first.stderr.startswith(f"there is more: shaping expand {ref} --cursor ")
    second = told("expand", ref, "--cursor", cursor, "--max-tokens", "200", "--json")
    assert second["data"][0]["id"] == len(json.loads(first.stdout))
    assert second["meta"]["truncated"] is True


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("items[7]", '{"id":7,"name":"n7"}'),
        ("items[2:4].id", "[2,3]"),
        ("items[0].name,items[0].id", '{"id":0,"name":"n0"}'),
    ],
)
def test_a_list_at_the_top_is_called_items_as_in_sql(path: str, found: str) -> None:
    data = json.dumps([{"id": n, "name": f"n{n}"} for n in range(300)])
    ref = told("run", "--json", "--max-tokens", "200", "--", "echo", data)["meta"]["ref"]
    assert shaping("expand", ref, path).stdout == f"{found}\n"


def test_text_comes_back_as_text() -> None:
    told_once = told("run", "--json", "--max-tokens", "150", "--", "seq", "500")
    assert shaping("expand", told_once["meta"]["ref"], "stdout").stdout == "".join(f"{n}\n" for n in range(1, 501))


def test_a_ref_that_is_unknown_exits_5() -> None:
    done = shaping("expand", "r_nope")
    assert (done.exit_code, done.stdout) == (5, "")
    assert done.stderr.startswith("nothing is kept behind this ref here\n")
    done = shaping("expand", "r_nope", "--json")
    assert (done.exit_code, json.loads(done.stdout)["error"]["code"]) == (5, "REF_NOT_FOUND")
    assert shaping("expand", "r_nope", "--stdout").exit_code == 5


def test_a_config_with_problems_is_told(project: Path) -> None:
    (project / "bad.json").write_text('{"globl": {}}')
    done = shaping("expand", "r_x", "--config", "bad.json", "--json")
    assert (done.exit_code, json.loads(done.stdout)["ok"]) == (1, False)


def test_what_was_not_kept_is_told(project: Path) -> None:
    (project / "response_config.json").write_text('{"store": {"max_bytes": 20000}}')
    ref = told("run", "--json", "--max-tokens", "200", "--", "seq", "9000")["meta"]["ref"]
    done = shaping("expand", ref, "--stdout")
    assert len(done.stdout_bytes) == 10000
    assert done.stderr == "33,893 bytes after these were not kept\n"


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_page_is_within_its_budget_as_it_is_printed(options: tuple[str, ...]) -> None:
    data = json.dumps([{"id": n, "title": f"Widget number {n} squeaks", "state": "open"} for n in range(300)])
    ref = told("run", "--json", "--max-tokens", "200", "--", "echo", data)["meta"]["ref"]
    cost = tokens.exact(shaping("expand", ref, "--max-tokens", "500", *options).stdout.strip())
    assert 400 <= cost <= 500


def test_the_next_page_of_a_run_is_within_its_budget_too() -> None:
    data = json.dumps([{"id": n, "title": f"Widget number {n} squeaks", "state": "open"} for n in range(300)])
    cursor = told("run", "--json", "--max-tokens", "300", "--", "echo", data)["meta"]["cursor"]
    page = shaping("run", "--json", "--cursor", cursor, "--max-tokens", "300", "--", "unused").stdout.strip()
    assert (json.loads(page)["meta"]["cursor"].split(":")[0], tokens.exact(page) <= 300) == (cursor.split(":")[0], True)


def test_a_path_that_is_not_there_exits_5_and_says_what_is() -> None:
    ref = told("run", "--json", "--max-tokens", "80", "--", "echo", json.dumps([{"title": n} for n in range(300)]))[
        "meta"
    ]["ref"]
    done = shaping("expand", ref, "[].titel")
    assert (done.exit_code, done.stdout) == (5, "")
    assert done.stderr.startswith("nothing at [].titel; did you mean [].title?\n")
    assert told("expand", ref, "[].titel", "--json")["error"]["code"] == "NOT_FOUND"


def test_several_paths_give_the_records_with_what_they_name() -> None:
    rows = [{"id": n, "note": f"note {n}"} if n % 2 else {"id": n} for n in range(300)]
    ref = told("run", "--json", "--max-tokens", "80", "--", "echo", json.dumps({"rows": rows}))["meta"]["ref"]
    assert json.loads(shaping("expand", ref, "rows[1:4].note").stdout) == ["note 1", "note 3"]
    assert json.loads(shaping("expand", ref, "rows[1:4].id,rows[1:4].note").stdout) == rows[1:4]


def test_what_a_command_printed_is_asked_in_sql_and_searched() -> None:
    lines = "\n".join(json.dumps({"id": n, "state": "open" if n % 3 else "closed"}) for n in range(300))
    ref = told("run", "--json", "--max-tokens", "200", "--", "printf", "%s", lines)["meta"]["ref"]
    counted = shaping("expand", ref, "--sql", "SELECT state, count(*) AS n FROM items GROUP BY state")
    assert json.loads(counted.stdout) == [{"state": "closed", "n": 100}, {"state": "open", "n": 200}]
    assert shaping("expand", ref, "--sql", "SELECT id FROM items WHERE id > 900").stdout == "no rows\n"
    text = told("run", "--json", "--max-tokens", "150", "--", "seq", "-f", "entry %g", "500")["meta"]["ref"]
    assert shaping("expand", text, "--search", "entry 250").stdout.startswith("hits 1 to 1 of 1\n--\n248: entry 248\n")
    assert shaping("expand", text, "--search", "nowhere").stdout == "no hits\n"
    assert shaping("expand", text, "--sql", "SELECT nothing FROM items").exit_code != 0


def test_an_output_too_long_for_memory_is_searched_whole_and_never_counted_in_part(project: Path) -> None:
    program = "for n in range(900_000): print(f'{n},row,' + ('ERROR' if n % 300_000 == 7 else 'info'))"
    run = ("run", "--json", "--max-tokens", "200", "--", sys.executable, "-c", program)
    ref = told(*run)["meta"]["ref"]
    assert shaping("expand", ref, "--search", "ERROR").stdout.startswith("hits 1 to 3 of 3\n")
    assert shaping("expand", ref, "stdout[L700001:L700001]").stdout.startswith("700000,row,info")
    (project / "response_config.json").write_text('{"store": {"max_bytes": 9000000}}')
    ref = told(*run)["meta"]["ref"]
    done = shaping("expand", ref, "--sql", "SELECT count(*) FROM items")
    assert done.exit_code != 0
    assert "of this output are not kept: a SELECT would be wrong" in done.output
    assert "of this output are not kept)" in shaping("expand", ref, "--search", "ERROR").stdout.splitlines()[0]


def test_rows_of_a_csv_of_any_length_are_counted_in_sql(tmp_path: Path) -> None:
    rows = "for n in range(300_000): print(n, f'the entry number {n}', 'open' if n % 3 else 'closed', sep=',')"
    program = f"print('id,title,state')\n{rows}"
    ref = told("run", "--json", "--max-tokens", "200", "--", sys.executable, "-c", program)["meta"]["ref"]
    counts = '[{"n":100000}]\n'
    asked = "SELECT count(*) AS n FROM items WHERE state = 'closed'"
    assert shaping("expand", ref, "--sql", asked).stdout == counts
    file = tmp_path / "entries.csv"
    file.write_text(shaping("expand", ref, "--stdout").stdout)
    assert file.stat().st_size > 8 * 1024 * 1024
    assert shaping("query", str(file), asked).stdout == counts


def test_a_budget_holds_for_rows_and_hits_too() -> None:
    program = "for n in range(3_000): print(f'line {n} of the output')"
    ref = told("run", "--json", "--max-tokens", "200", "--", sys.executable, "-c", program)["meta"]["ref"]
    # The newline at the end of what is printed is not part of the text.
    assert tokens.exact(shaping("expand", ref, "--search", "line", "--max-tokens", "120").stdout[:-1]) <= 120
    rows = "print('id,name')\nfor n in range(3_000): print(f'{n},name {n}')"
    ref = told("run", "--json", "--max-tokens", "200", "--", sys.executable, "-c", rows)["meta"]["ref"]
    for words in (("expand", ref, "--sql"), ("query", ref)):
        done = shaping(*words, "SELECT * FROM items LIMIT 900", "--max-tokens", "120")
        assert tokens.exact(done.stdout) <= 120
        assert "of 900 shown" in done.stderr


@pytest.mark.parametrize("words", [["a", "--sql", "SELECT 1"], ["a", "--search", "x"], ["--sql", "schema", "--stdout"]])
def test_two_questions_at_once_are_refused(words: list[str]) -> None:
    done = shaping("expand", "r_any", *words)
    assert (done.exit_code, "are different questions; give one of them" in done.stderr) == (2, True)
