"""Bulk: what rides along is cut to a head; what was asked for, said or failed is not."""

from __future__ import annotations

from typing import Any

from shaping.noise import reduce

SOURCE = "function f(a) {\n  var b = a;\n  return b;\n}\n" * 60
LICENCE = "MIT License\n\nPermission is hereby granted, free of charge, to any person " + "obtaining a copy " * 60
PROSE = "The service fails when a user tries to upload a file and nothing happens at all. " * 60


def cut(value: Any, *arguments: str) -> Any:
    return reduce(value, ("bulk",), arguments=frozenset(arguments))[0]


def reports(count: int) -> Any:
    return [{"file": f"{n}.js", "errors": 0, "messages": [{"line": 1}] * 3, "source": SOURCE} for n in range(count)]


def test_source_in_every_report_is_cut_to_a_head_with_its_length() -> None:
    value, omissions = reduce(reports(3), ("bulk",))
    head = f"{SOURCE[:94].rstrip()} …[{len(SOURCE)} characters]"
    assert value == [report | {"source": head} for report in reports(3)]
    assert [(omission.path, omission.count, omission.reason) for omission in omissions] == [("[].source", 3, "bulk")]


def test_the_long_ones_among_short_ones_are_found() -> None:
    value: Any = [
        {
            "line": n,
            "rule": "no-var",
            "severity": 1,
            "fix": {"range": [0, 1], "text": SOURCE if n == 7 else f"let value{n} = 1;"},
        }
        for n in range(30)
    ]
    lengths = [len(message["fix"]["text"]) for message in cut(value)]
    assert max(lengths) < 140
    assert lengths[3] == len("let value3 = 1;")


def test_a_file_that_was_asked_for_is_whole() -> None:
    one: Any = {"path": "a.js", "content": SOURCE, "symbols": [{"n": n} for n in range(9)], "size": 1, "mode": "r"}
    many: Any = [{"path": f"{n}.js", "content": SOURCE} for n in range(3)]
    page: Any = {"url": "https://x.dev", "markdown": PROSE}
    for value in (one, many, page):
        assert cut(value) is value


def test_source_beside_a_list_of_findings_rides_along() -> None:
    value: Any = {
        "file": "a.js",
        "source": SOURCE,
        "errors": 0,
        "warnings": 9,
        "messages": [{"line": n} for n in range(9)],
    }
    assert len(cut(value)["source"]) < 140


def test_failures_are_never_cut() -> None:
    for name in ("traceback", "stderr", "message", "error", "longrepr", "log"):
        value: Any = [{"id": n, "state": "failed", "took": 1.5, name: SOURCE} for n in range(3)]
        assert cut(value) is value


def issues(count: int, body: str) -> Any:
    about = {"title": "t", "state": "open", "author": "ada", "labels": "bug", "created": "2026-10-01"}
    return [{"id": n, **about, "body": body} for n in range(count)]


def test_what_people_wrote_is_cut_late_and_less_where_it_is_much() -> None:
    assert 900 < len(cut(issues(3, PROSE))[0]["body"]) < 1100
    assert 150 < len(cut(issues(240, PROSE))[0]["body"]) < 320
    short = issues(3, PROSE[:1500])
    assert cut(short) is short


def test_results_that_are_mostly_their_text_are_whole() -> None:
    snippets: Any = [{"path": f"{n}.js", "line": n, "score": 0.5, "code": SOURCE} for n in range(5)]
    pages: Any = [{"title": "t", "url": f"https://x{n}.dev", "score": 0.5, "content": PROSE} for n in range(5)]
    patch = "@@ -1,3 +1,3 @@\n" + SOURCE
    files: Any = [
        {
            "filename": f"{n}.js",
            "status": "modified",
            "additions": 1,
            "deletions": 1,
            "changes": 2,
            "sha": "a",
            "patch": patch,
        }
        for n in range(5)
    ]
    for value in (snippets, pages, files):
        assert cut(value) is value


def test_an_argument_is_never_cut() -> None:
    value = reports(3)
    assert cut(value, "source") is value


def suite(outcome: str, count: int) -> Any:
    return [
        {
            "nodeid": f"tests/test_a.py::test_{n}",
            "outcome": outcome if n < 2 else "passed",
            "keywords": ["test_a.py", f"test_{n}"],
            "call": {"duration": n / 7, "outcome": outcome if n < 2 else "passed"},
        }
        for n in range(count)
    ]


def test_passing_rows_beside_failing_ones_keep_their_names_and_states() -> None:
    value, omissions = reduce({"tests": suite("failed", 20)}, ("bulk",))
    failing = suite("failed", 20)[:2]
    passing = [{"nodeid": f"tests/test_a.py::test_{n}", "outcome": "passed"} for n in range(2, 20)]
    assert value == {"tests": [*failing, *passing]}
    assert [(omission.path, omission.count) for omission in omissions] == [
        ("tests[].keywords", 18),
        ("tests[].call", 18),
    ]


def test_rows_that_all_passed_or_hold_more_than_times_stay() -> None:
    assert cut(suite("passed", 20)) == suite("passed", 20)
    assert cut(suite("failed", 6)) == suite("failed", 6)
    runs = suite("failed", 20)
    for run in runs:
        run["call"]["actor"] = "somebody-with-a-name"
    assert [run["call"] for run in cut(runs)] == [run["call"] for run in runs]


def test_a_state_that_is_no_verdict_hides_nothing() -> None:
    pods: Any = [{"name": f"p{n}", "phase": "Pending" if n == 0 else "Running", "spec": {"cpu": n}} for n in range(20)]
    assert cut(pods) is pods


def test_a_verdict_without_nested_members_changes_nothing() -> None:
    rows: Any = [{"name": f"t{n}", "outcome": "failed" if n == 0 else "passed", "took": n} for n in range(20)]
    assert cut(rows) is rows
    odd: Any = [{"name": f"t{n}", "status": n, "call": {"took": n}} for n in range(20)]
    assert cut(odd) is odd
    sparse = suite("failed", 20)
    del sparse[5]["call"]
    assert "call" not in cut(sparse)[5]


def test_a_long_enumeration_of_numbers_beside_what_was_found_is_cut_to_its_head() -> None:
    ports = ",".join(f"{n}-{n + 3}" for n in range(1, 4000, 7))
    scan: Any = {"type": "syn", "protocol": "tcp", "count": 1000, "services": ports}
    assert len(cut(scan)["services"]) < 140
    assert cut({"services": ports}) == {"services": ports}


def test_what_all_rows_have_stays_in_those_that_passed() -> None:
    rows: Any = [{"name": f"t{n}", "outcome": "failed" if n == 0 else "passed", "suite": ["f"]} for n in range(20)]
    assert cut(rows) == rows
