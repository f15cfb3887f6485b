from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from shaping import Shaper
from shaping.cli.app import build


def run(*words: str, stdin: str | None = None) -> Any:
    return CliRunner().invoke(build(), ["query", *words], input=stdin)


ISSUES = [{"id": n, "state": "open" if n % 2 else "closed", "user": {"login": "ada"}} for n in range(1, 8)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("issues.json", json.dumps(ISSUES)),
        ("issues.jsonl", "\n".join(json.dumps(one) for one in ISSUES)),
        ("issues.csv", "id,state\n" + "\n".join(f"{one['id']},{one['state']}" for one in ISSUES)),
        ("semicolons.csv", "id;state\n" + "\n".join(f"{one['id']};{one['state']}" for one in ISSUES)),
        ("result.json", json.dumps({"content": [{"type": "text", "text": json.dumps(ISSUES)}]})),
    ],
)
def test_records_are_asked_whatever_file_they_are_in(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    done = run(str(tmp_path / name), "SELECT state, count(*) AS n FROM items GROUP BY state ORDER BY n", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["data"] == [{"state": "closed", "n": 3}, {"state": "open", "n": 4}]


def test_prices_of_a_csv_compare_as_numbers_though_some_are_empty(tmp_path: Path) -> None:
    prices = ["" if n % 7 == 0 else f"{n}.{n % 100:02}" for n in range(200)]
    (tmp_path / "orders.csv").write_text("id,price\n" + "\n".join(f"{n},{price}" for n, price in enumerate(prices)))
    done = run(str(tmp_path / "orders.csv"), "SELECT count(*) AS n FROM items WHERE price > 50", "--json")
    assert json.loads(done.stdout)["data"] == [{"n": sum(float(price or 0) > 50 for price in prices)}]


def test_standard_input_is_read_and_a_table_printed() -> None:
    done = run("-", "SELECT id, state FROM items", stdin=json.dumps(ISSUES * 3))
    assert done.stdout.splitlines()[-1] == "7,open"


def test_what_a_config_makes_private_cannot_be_asked_for(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"global": {"private": ["**.user"]}}')
    (tmp_path / "issues.json").write_text(json.dumps(ISSUES))
    words = str(tmp_path / "issues.json"), "--config", str(tmp_path / "config.json")
    assert "ada" not in run(words[0], "SELECT * FROM items", *words[1:]).output
    assert "user" not in run(*words).output


def test_without_a_query_the_tables_are_listed(tmp_path: Path) -> None:
    (tmp_path / "issues.json").write_text(json.dumps({"issues": ISSUES}))
    assert "id int, state text, user_login text" in run(str(tmp_path / "issues.json")).stdout


def test_an_answer_that_is_kept_is_asked_in_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "response_config.json"
    config.write_text(json.dumps({"store": {"kind": "sqlite", "path": str(tmp_path / "kept.db")}}))
    monkeypatch.setenv("SHAPING_CONFIG", str(config))
    shaper = Shaper(expandable=True)
    ref = shaper.shape([{**one, "url": f"https://api.example.com/{one['id']}"} for one in ISSUES * 20], tool="t").ref
    shaper.close()
    assert ref is not None
    done = run(ref, "SELECT count(*) AS n FROM items")
    assert (done.exit_code, "140" in done.stdout) == (0, True), done.output


@pytest.mark.parametrize(
    ("words", "expected"),
    [(["r_none", "SELECT 1"], "REF_NOT_FOUND"), (["-", "SELECT stat FROM items"], "Did you mean 'state'?")],
)
def test_what_is_asked_wrongly_is_told_what_to_do(words: list[str], expected: str) -> None:
    done = run(*words, stdin=json.dumps(ISSUES))
    assert done.exit_code != 0
    assert expected.removeprefix("REF_") in done.output or "nothing is kept" in done.output


@pytest.mark.parametrize("text", ["Dear Ada,\nall is well.\n", "5", '"x"'])
def test_a_text_without_records_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "letter.txt").write_text(text)
    done = run(str(tmp_path / "letter.txt"), "SELECT 1")
    assert (done.exit_code, "holds no records" in done.output) == (1, True)


def test_a_sum_over_text_is_told_where_no_program_trips_over_it(tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text('id,amount\n1,"1,200.50"\n2,30\n3,n/a\n')
    done = run(str(tmp_path / "sales.csv"), "SELECT sum(amount) AS s FROM items")
    assert done.stdout == '[{"s":31.0}]\n'
    assert done.stderr.count("amount holds text in 2 of 3 rows, as '1,200.50'") == 1


def test_broken_json_is_called_so(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('{"a": [1, 2')
    done = run(str(tmp_path / "broken.json"), "SELECT 1")
    assert (done.exit_code, "is not valid JSON: Expecting ',' delimiter: line 1 column 12" in done.stderr) == (1, True)
