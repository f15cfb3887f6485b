"""Private fields whose values stand apart from their names: in tables, pairs, entries and texts that hold them."""

from __future__ import annotations

import json
import unicodedata
from base64 import b64encode
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from shaping import Shaper
from shaping.paths import compile_fields
from shaping.paths.labels import LabelledValues

if TYPE_CHECKING:
    from collections.abc import Callable

HELD = 987654
CONFIG = {"tool_overrides": {"t": {"private": ["**.salary", "user.ssn", "home_address"]}}}
COLUMNS = [{"name": "who", "type": "text"}, {"name": "salary", "type": "number"}]
ROWS = [["Bob", HELD], ["Al", HELD], ["Eve", HELD]]
SPELLINGS = (
    "Salary:",
    "Salary *",
    "Salary (USD)",
    "Salary (USD/year)",
    "**Salary**",
    "<b>salary</b>",
    "employee.salary",
    "employee/salary",
    "employee[salary]",
    "employee:salary",
    "salary[0]",
    "/salary/0",
    "a\nsalary",
    f"{'x' * 130}.salary",
    f"{' ' * 130}salary",
    "sal\u200bary",
    "\uff53\uff41\uff4c\uff41\uff52\uff59",
    "SALARY\u0307",
    "salary\0",
    "sal\u2062ary",
    "sal\u3164ary",
    "sal\ufe0fary",
    "\U0001d42c\U0001d41a\U0001d425\U0001d41a\U0001d42b\U0001d432",
)
CASES: dict[str, Any] = {
    "a member in another case": {"user": {"SALARY": HELD}, "rows": [{"Salary": HELD}]},
    "a member with other separators": {"homeAddress": str(HELD), "Home-Address": [str(HELD)], "home address": HELD},
    "headers": f"Id: 1\nSalary: {HELD}\nState: open\nId: 2\nSalary: {HELD}\nState: open\n",
    "bytes": json.dumps([{"id": number, "salary": HELD} for number in range(20)]).encode(),
    "base64": {"blob": b64encode(json.dumps({"who": "Bob", "salary": HELD}).encode()).decode()},
    "a data URI": "data:application/json;base64," + b64encode(json.dumps({"salary": HELD, "id": 1}).encode()).decode(),
    "a header row": [["who", "salary"], *ROWS],
    "a header row whose first column is private": [["salary", "who"], [HELD, "Bob"], [HELD, "Al"]],
    "columns and rows": {"columns": ["who", "salary"], "rows": ROWS},
    "columns that are objects": {"columns": COLUMNS, "data": ROWS},
    "a schema beside rows of cells": {
        "schema": {"fields": COLUMNS},
        "rows": [{"f": [{"v": "Bob"}, {"v": str(HELD)}]}],
    },
    "a header far from its rows": {"meta": {"table": {"columns": COLUMNS}}, "result": {"pages": [{"rows": ROWS}]}},
    "rows that are objects": {
        "Rows": [{"Data": [{"S": "who"}, {"S": "salary"}]}, {"Data": [{"S": "Bob"}, {"S": HELD}]}]
    },
    "columns of values": {"schema": {"fields": COLUMNS}, "data": {"values": [["Bob", "Al", "Eve"], [HELD] * 3]}},
    "a sheet": {"range": "A1:B2", "values": [["who", "Salary"], ["Bob", str(HELD)]]},
    "a column below its object": {"columns": ["id", "user.ssn"], "rows": [[1, str(HELD)]]},
    "a column as a heading spells it": {"columns": ["id", "Home Address"], "rows": [[1, str(HELD)]]},
    "name and value": [{"name": "city", "value": "Paris"}, {"name": "salary", "value": HELD}],
    "key and value": {"tags": [{"Key": "salary", "Value": str(HELD)}]},
    "a value in an object of its own": {"attributes": [{"key": "salary", "value": {"intValue": HELD}}]},
    "a change": {"items": [{"field": "salary", "fromString": str(HELD), "toString": str(HELD)}]},
    "a type and its value": {"contacts": [{"type": "home_address", "value": str(HELD)}]},
    "a series": {"name": "salary", "y": [HELD, HELD]},
    "entries": [["city", "Paris"], ["salary", HELD]],
    "one entry": {"row": ["salary", str(HELD)]},
    "a row with its name first": [["field", "a", "b"], ["salary", HELD, HELD]],
    "lines of values": {"lines": ["who,salary", f"Bob,{HELD}"]},
    "a heading and a blank line": ["# Bob", "", "## Salary", "", str(HELD)],
    "columns of two levels": {
        "columns": [["pay", "salary"], ["x", "age"]],
        "index": [0, 1],
        "data": [[HELD, 3], [HELD, 4]],
    },
    "columns of two levels, the name first": {
        "columns": [["salary", "mean"], ["salary", "max"], ["age", "max"]],
        "data": [[HELD, HELD, 3], [HELD, HELD, 4]],
    },
    "rows of two levels": {"name": None, "index": [["Bob", "salary"], ["Eve", "salary"]], "data": [HELD, HELD]},
    "rows of two levels with several cells": {
        "columns": [0, 1, 2],
        "index": [["a", "who"], ["a", "salary"]],
        "data": [["Bob", "Eve", "X"], [HELD, HELD, HELD]],
    },
    "lines of values below private names alone": {"lines": ["salary,salary", f"{HELD},{HELD}"]},
    "an HTML table": f"<table><tr><th>who</th><th>salary</th></tr><tr><td>Bob</td><td>{HELD}</td></tr></table>",
    "an HTML table with sections": (
        "<table><thead><tr><th>who</th><th class='x'> Salary </th></tr></thead>"
        f"<tbody><tr><td>Bob</td><td>{HELD}</td></tr></tbody></table>"
    ),
    "an HTML table of one column": (
        f"<table><thead><tr><th>salary</th></tr></thead><tbody><tr><td>{HELD}</td></tr><tr><td>{HELD}</td></tr></tbody></table>"
    ),
    "an HTML table with an attribute on its header": (
        "<table><thead><tr style='x'><th>who</th><th>salary</th></tr></thead>"
        f"<tbody><tr><td>Bob</td><td>{HELD}</td></tr></tbody></table>"
    ),
    "an HTML table with headers of rows": (
        "<table><thead><tr><th></th><th>who</th><th>salary</th></tr></thead>"
        f"<tbody><tr><th>0</th><td>Bob</td><td>{HELD}</td></tr></tbody></table>"
    ),
    "an HTML table on its side": (
        "<table><thead><tr><th></th><th>0</th><th>1</th></tr></thead>"
        f"<tbody><tr><th>salary</th><td>{HELD}</td><td>{HELD}</td></tr></tbody></table>"
    ),
    "an HTML table with links": (
        "<table><tr><th>who</th><th><a href='?s'>salary</a></th></tr>"
        f"<tr><td><b>Bob</b></td><td><span>{HELD}</span></td></tr></table>"
    ),
    "elements with classes": f"<div><div class='k'>Salary</div><div class='v'>{HELD}</div></div>",
    "a sheet in XML": (
        "<worksheet><row r='1'><c r='A1' t='str'><v>who</v></c><c r='B1' t='str'><v><![CDATA[salary]]></v></c></row>"
        f"<row r='2'><c r='A2' t='str'><v>Bob</v></c><c r='B2'><v>{HELD}</v></c></row></worksheet>"
    ),
    "a snapshot of a page": (
        '- table:\n  - row "who salary":\n    - cell "who"\n    - cell "salary"\n'
        f'  - row "Bob {HELD}":\n    - cell "Bob"\n    - cell "{HELD}"\n'
    ),
    "a snapshot of a page with groups of rows": (
        "- table:\n  - rowgroup:\n    - row:\n      - columnheader: who\n      - columnheader: salary\n"
        f"  - rowgroup:\n    - row:\n      - cell: Bob\n      - cell: {HELD}\n"
    ),
    "definitions": f"<dl><dt>salary</dt><dd>{HELD}</dd></dl>",
    "XML with a name attribute": f"<row><field name='salary'>{HELD}</field><field name='who'>Bob</field></row>",
    "lines of JSON": f'["who","salary"]\n["Bob",{HELD}]\n["Al",{HELD}]',
    "JSON after prose": "Here: " + json.dumps({"columns": ["who", "salary"], "rows": ROWS}),
    "JSON in a string": {"body": json.dumps([["who", "salary"], *ROWS])},
    "a header row below a title": [["Report"], ["who", "salary"], *ROWS],
    "a header row below an empty row": [[], ["who", "salary"], *ROWS],
    "a row that is null": [["who", "salary"], None, *ROWS],
    "a header with a null": [[None, "salary"], ["Bob", str(HELD)]],
    "a header with a number": [[2020, "salary"], ["Bob", str(HELD)]],
    "rows wider than the header": {"columns": ["who", "salary"], "rows": [["Bob", HELD, "x"], [1, "Bob", HELD]]},
    "rows narrower than the header": {"columns": ["who", "salary", "x"], "rows": [["Bob", HELD]]},
    "as many columns as rows": {"columns": ["who", "salary"], "data": [["Bob", "Al"], [str(HELD), str(HELD)]]},
    "a header beside a list of its width": {
        "t": {"columns": ["who", "salary"], "tags": ["p", "q"]},
        "rows": [["Bob", HELD]],
    },
    "a header in another element": [{"columns": ["who", "salary"]}, {"rows": ROWS}],
    "a header six objects away": {"a": {"b": {"c": {"d": {"e": {"columns": COLUMNS}}}}}, "rows": ROWS},
    "a column and a plain list": {"columns": ["salary"], "rows": [HELD, HELD]},
    "rows by position": {"columns": ["who", "salary"], "rows": [{"0": "Bob", "1": HELD}]},
    "columns by position": {"columns": {"who": 0, "salary": 1}, "rows": ROWS},
    "rows by the ids of columns": {"cols": [{"id": "A", "label": "salary"}, {"id": "B"}], "rows": [{"A": HELD}]},
    "names of fields by id": {"names": {"custom_1": "Salary"}, "fields": {"custom_1": HELD}},
    "a header in one text": {"columns": "who,salary", "rows": ROWS},
    "a header in one text over lines": {"columns": "who,salary", "lines": [f"Bob,{HELD}"]},
    "a name that is a path": {"name": ["hr", "salary"], "value": HELD},
    "cells that are objects": [{"text": "Salary"}, {"text": str(HELD)}],
    "cells in a member": {"cells": [{"text": "Salary"}, {"text": str(HELD)}]},
    "rows keyed by neither position nor id": {
        "columns": [{"key": "a"}, {"key": "salary"}],
        "rows": [{"cells": {"x": "bob", "y": HELD}}],
    },
    "cells by the numbers of columns": {
        "columns": [{"id": 7, "title": "Salary"}, {"id": 8, "title": "x"}],
        "rows": [{"cells": [{"columnId": 7, "value": HELD}]}],
    },
    "names in objects by id": {
        "schema": {"abc": {"name": "Salary", "type": "number"}},
        "rows": [{"abc": HELD, "x": 1}],
    },
    "the place of an error": {"errors": [{"loc": ["body", "salary"], "msg": "too low", "input": str(HELD)}]},
    "a code with codings": {
        "id": "o1",
        "status": "final",
        "code": {"coding": [{"code": "salary", "display": "Salary"}]},
        "valueQuantity": {"value": HELD, "unit": "EUR"},
    },
    "headers in turn": {"rawHeaders": ["X", "1", "Salary", str(HELD)]},
    "a sentence with a currency": {"text": f"Bob earns a salary of EUR {HELD}."},
    "a sentence with a person": {"text": f"Salary for Bob = {HELD}"},
    "base64 in prose": {"text": "see " + b64encode(f"salary: {HELD} and words".encode()).decode() + " there"},
    "a pair of any keys": {"a": "salary", "b": HELD},
    "a value in a member that describes": {"name": "salary", "label": str(HELD)},
    "names of columns above records": {
        "names": {"custom_1": "Salary"},
        "issues": [{"key": "A-1", "fields": {"custom_1": HELD, "b": 1}}],
    },
    "triples": [["Bob", "salary", str(HELD)], ["Al", "salary", str(HELD)]],
    "names and values in turn": ["who", "Bob", "salary", str(HELD)],
    "a name in an object": {"field": {"name": "salary"}, "value": HELD},
    "attributes in an object": {"$": {"name": "salary"}, "_": str(HELD)},
    "a metric": {"metric": {"__name__": "salary", "who": "Bob"}, "values": [[1, str(HELD)]]},
    "a name and then a value": [{"label": "salary"}, {"value": HELD}],
    "a JSON Patch": [{"op": "replace", "path": "/employees/0/salary", "value": HELD}],
    "a question": {"question": "What is your salary?", "answer": HELD},
    "a text of columns in a member": {"out": f"who salary\nBob {HELD}\n"},
    "lines of columns in a member": {"lines": ["# export", "who salary", f"Bob {HELD}"]},
    "a name and its value in lines": {"lines": ["salary:", str(HELD)]},
    "a sentence in a member": {"text": f"The salary is {HELD} now", "others": [f"salary {HELD}"]},
    **{f"a value called {key}": {"name": "salary", key: HELD} for key in ("formatted", "raw", "body", "points", "x")},
    **{f"a name called {key}": {key: "salary", "value": HELD} for key in ("n", "k", "attr", "@name", "anything")},
    **{f"the name {name!r:.40}": {"label": name, "value": HELD} for name in SPELLINGS},
    **{f"the heading {name!r:.40}": [["Who", name], ["Bob", HELD]] for name in SPELLINGS},
    **{f"the key {name!r:.40}": {"rows": [{"who": "Bob", name: HELD}]} for name in SPELLINGS},
    "Markdown": f"| who | salary |\n|---|---|\n| Bob | {HELD} |\n",
}


@pytest.mark.parametrize("profile", ["minimal", "debug"])
@pytest.mark.parametrize("case", CASES)
def test_a_private_value_that_stands_apart_from_its_name_does_not_leave(case: str, profile: str) -> None:
    shaper = Shaper(CONFIG, expandable=True)
    shaped = shaper.shape(CASES[case], tool="t", profile=profile)
    out = f"{shaped.text}{shaped.data}"
    if shaped.ref is not None:
        out += shaper.expand(shaped.ref).text
    assert str(HELD) not in out.replace(",", "")
    assert "c2FsYXJ5" not in out, "the name in base64"


ACCENTED = ("prénom", "Gehälter", "ガス", "वेतन", "łódź", "ürün_fiyat\u0131", "№")
BETWEEN = ("\n", "  ", "\t", " - ", "--", "/", ".", "\u2013", "&nbsp;", "<br>")
SALARY = (
    *("Salary - USD", "Salary: USD", "salary in USD", "salary_usd", "Salary/yr", "salary¹", "\x1b[1msalary\x1b[0m"),
    *("employee->salary", "employee#salary", "employee salary", "Bob's salary", "[salary](http://x)"),
    *("🆂🅰🅻🅰🆁🆈", "⒮⒜⒧⒜⒭⒴", "ꜱᴀʟᴀʀʏ", "sal\u2800ary", "sal**ary**"),
)
FORMS = (str, str.upper, partial(unicodedata.normalize, "NFD"))


@pytest.mark.parametrize("rule", ["homeAddress", "home_address", "home-address", "homeaddress", "HomeAddress"])
@pytest.mark.parametrize("name", ["home_address", "Home Address", "homeAddress", "HOME-ADDRESS", "homeaddress"])
def test_a_rule_finds_its_name_in_any_spelling_in_texts_as_in_keys(rule: str, name: str) -> None:
    shaper = Shaper({"global": {"private": [f'**."{rule}"']}})
    for value in (f"{name}: {HELD}", {"text": f"his {name} is {HELD}"}, {name: HELD, "id": 1}):
        assert str(HELD) not in shaper.shape(value, tool="t").text


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        *((rule, form(rule)) for rule in ACCENTED for form in FORMS),
        *(("home_address", f"home{between}address") for between in BETWEEN),
        *(("salary", name) for name in SALARY),
    ],
)
def test_a_name_is_one_in_keys_labels_headers_and_texts(rule: str, name: str) -> None:
    shaper = Shaper({"global": {"private": [f'**."{rule}"']}})
    values = (
        {name: HELD, "id": 1},
        {"name": name, "value": HELD},
        {"columns": ["id", name], "rows": [[1, HELD], [2, HELD]]},
        [["id", name], [1, HELD], [2, HELD]],
        f"His {name} is {HELD} today.",
        f'id;"{name}"\n1;{HELD}\n2;{HELD}\n',
    )
    for value in values:
        assert str(HELD) not in shaper.shape(value, tool="t").text


@pytest.mark.parametrize("text", [f"SSN{HELD}", f"年収{HELD}円", "c3NuOiA5ODc2NTQ=", "c3NuOiA5ODc2NTQ"])
def test_a_name_with_its_value_glued_to_it_or_in_short_base64_is_found(text: str) -> None:
    shaper = Shaper({"global": {"private": ["**.ssn", "**.年収"]}})
    assert text not in shaper.shape(text, tool="t").text
    assert text not in shaper.shape({"x": text}, tool="t").text


@pytest.mark.parametrize(("rule", "key"), [("name", "file_name"), ("address", "ip_address"), ("salary", "salary_band")])
def test_a_longer_name_is_another_field(rule: str, key: str) -> None:
    shaper = Shaper({"global": {"private": [f"**.{rule}"]}})
    assert str(HELD) in shaper.shape({key: HELD, "id": 1}, tool="t").text
    assert shaper.shape("I'd see", tool="t").text == "I'd see"


def test_a_pattern_finds_its_names_in_texts_and_no_others() -> None:
    shaper = Shaper({"global": {"private": ["**.*_id"]}})
    value = {"a": "a valid grid was paid", "b": f"the tax id {HELD}"}
    data = shaper.shape(value, tool="t", profile="debug").data
    assert data == {"a": value["a"], "b": "[withheld: may hold a private field]"}


def test_a_private_key_of_bytes_does_not_leave() -> None:
    assert Shaper(CONFIG).shape({b"salary": HELD, "id": 1}, tool="t").data == {"id": 1}


def test_it_holds_where_texts_that_cannot_be_read_may_pass() -> None:
    config = {"tool_overrides": {"t": {"private": ["**.salary"], "on_unreadable": "pass"}}}
    shaped = Shaper(config).shape({"columns": ["who", "salary"], "rows": ROWS}, tool="t")
    assert shaped.data == {"columns": ["who", "salary"], "rows": [["Bob", None], ["Al", None], ["Eve", None]]}


@pytest.mark.parametrize(
    "value",
    [
        {"columns": ["id", "city"], "rows": [[1, "Paris"]]},
        {"channels": ["mail", "sms"], "salary_band": "B"},
        {"fields": [{"name": "salary", "type": "number", "description": "what is paid"}]},
        {"a": {"columns": ["id", "age"], "rows": [[1, 41], [2, 42]]}, "b": {"tags": ["x", "y"]}},
        [{"id": 1, "labels": ["a", "b"]}, {"id": 2, "labels": ["c", "d"]}],
        [{"id": 1, "by": 2, "tags": ["salary", "x", "y"]}, {"id": 2, "by": 3, "tags": ["a", "b", "c"]}],
        {"columns": ["who", "age"], "rows": [["Bob", 1], None, ["Al", 2, 3]]},
    ],
)
def test_what_no_private_name_stands_over_stays(value: Any) -> None:
    assert Shaper(CONFIG).shape(value, tool="t", profile="debug").data == value


def test_only_the_table_of_the_header_loses_its_column() -> None:
    tables = {
        name: {"columns": ["who", column], "rows": [["Bob", 41]]} for name, column in (("a", "salary"), ("b", "age"))
    }
    shaped = Shaper(CONFIG).shape(tables, tool="t", profile="debug")
    assert shaped.data["a"]["rows"] == [["Bob", None]]
    assert shaped.data["b"]["rows"] == [["Bob", 41]]
    assert [(one.path, one.count) for one in shaped.omissions if one.reason == "private"] == [("a.rows[][]", 1)]


def test_each_text_of_a_list_that_is_json_loses_only_its_own_field() -> None:
    texts = [json.dumps({"id": number, "salary": HELD, "city": "Ulm"}) for number in range(3)]
    shaped = Shaper(CONFIG).shape({"lines": texts}, tool="t", profile="debug")
    assert [json.loads(text) for text in shaped.data["lines"]] == [{"id": at, "city": "Ulm"} for at in range(3)]


def test_a_square_table_of_several_types_loses_only_its_column() -> None:
    table = {"columns": ["who", "salary"], "rows": [["Bob", 1], ["Al", 2]]}
    shaped = Shaper(CONFIG).shape(table, tool="t", profile="debug")
    assert shaped.data["rows"] == [["Bob", None], ["Al", None]]


def test_what_describes_a_private_field_stays() -> None:
    field = {"name": "salary", "type": "money", "unit": "EUR"}
    assert Shaper(CONFIG).shape({**field, "value": HELD}, tool="t", profile="debug").data == field


@pytest.mark.parametrize("profile", ["minimal", "standard"])
def test_a_private_value_beside_its_name_is_called_private_and_not_null(profile: str) -> None:
    fields = [{"name": "salary", "value": HELD}, *({"name": f"field {at}", "value": at} for at in range(20))]
    shaped = Shaper(CONFIG).shape(fields, tool="t", profile=profile)
    assert "null" not in shaped.text
    assert [(one.path, one.count, one.reason) for one in shaped.omissions] == [("[].value", 1, "private")]
    assert shaped.data == [{"name": "salary"}, *fields[1:]]


def test_a_list_of_objects_with_a_name_each_keeps_those_that_are_not_private() -> None:
    names = [{"name": "salary"}, {"name": "age"}]
    assert Shaper(CONFIG).shape(names, tool="t", profile="debug").data == names


def test_a_text_inside_data_that_names_a_private_field_is_withheld_and_what_stands_behind_it_in_a_list() -> None:
    value = {"title": "The salary page", "steps": ["ask for his salary", str(HELD), "wait"], "name": "salary", "x": 1}
    shaped = Shaper(CONFIG).shape({"id": 1, "in": value}, tool="t", profile="debug")
    held = "[withheld: may hold a private field]"
    assert shaped.data == {
        "id": 1,
        "in": {"title": held, "name": "salary"},
    }
    texts = {"steps": ["his salary is", HELD, "then", {"a": "at a salary of"}, str(HELD), "and"]}
    shaped = Shaper(CONFIG).shape(texts, tool="t", profile="debug")
    assert shaped.data == {"steps": [held, None, "[private]", {"a": "[private]"}, "[private]", "[private]"]}
    assert Shaper(CONFIG).shape(shaped.data, tool="t", profile="debug").data == shaped.data
    assert [warned.message for warned in shaped.warnings] == [
        "2 texts withheld that may hold 'salary' and cannot be read as data"
    ]


def test_a_table_of_withheld_texts_is_no_dearer_than_what_was_sent() -> None:
    rows = [{"note": f"salary: {number}"} for number in range(100, 120)]
    for profile in ("minimal", "standard"):
        shaped = Shaper(CONFIG).shape(rows, tool="t", profile=profile)
        notes = [row["note"] for row in shaped.data]
        assert notes == ["[withheld: may hold a private field]", *["[private]"] * 19]
        assert shaped.tokens.after <= shaped.tokens.before


@pytest.mark.parametrize(
    "text",
    [
        f"The salary of Bob is high.\n{HELD}",
        f"# Guide\n\nWords.\n\n## Salary\n\n{HELD}\n\n## Use\n\nRun it.\n",
        f"Name: Bob\nSalary:\n{HELD}\n",
        f"Name: Bob\nSalary: of Bob\n{HELD}\n",
        f"Salary: Bonus:\n{HELD} 600",
        f"Name: Bob\nSalary: a  Bonus: b\n{HELD}  x\n",
        f"2026-01-01 10:00:00 INFO a\n2026-01-01 10:00:01 INFO salary:\n2026-01-01 10:00:02 INFO {HELD}\n",
        f"Name: Bob\nSalary: see 5\nx: y\nand the salary again\n{HELD}",
    ],
)
def test_a_text_that_cannot_be_read_and_names_a_private_field_goes_whole(text: str) -> None:
    data = Shaper(CONFIG).shape(text, tool="t", profile="debug").data
    assert data == "[withheld: this text may hold the private field 'salary' and cannot be read as data]"


def nested(size: int) -> Any:
    value: Any = [[1, 2, 3, 4]] * size
    for _ in range(150):
        value = {"header": ["salary", "b", "c"], "inside": value}
    return value


@pytest.mark.parametrize(
    "make",
    [
        lambda size: {f"a{number}": ["salary"] for number in range(size)},
        lambda size: {f"a{number}": ["salary"] * (number % 50 + 3) for number in range(size)},
        nested,
        lambda size: [["salary", *(["x"] * size)]] * 4,
        lambda size: {"columns": ["salary", "b", "c"], "rows": [[1, 2, 3]] * size},
        lambda size: [{"name": "salary", "value": number} for number in range(size)],
        lambda size: [{"columns": ["salary", "b"]}, *({"rows": [[number]]} for number in range(size))],
        lambda size: ["a salary"] * size,
    ],
)
def test_twice_the_data_takes_at_most_twice_the_steps(make: Callable[[int], Any]) -> None:
    def steps(size: int) -> int:
        taken = 0

        def wanted(name: str) -> bool:
            nonlocal taken
            taken += 1
            return name == "salary"

        def replace(_cell: Any, _place: Any) -> None:
            nonlocal taken
            taken += 1

        LabelledValues(wanted, wanted, replace).run(make(size))
        return taken

    assert steps(2000) <= 2.2 * steps(1000)


MARKS = (
    "[withheld: may hold the private field 'salary']",
    "[withheld: this text may hold the private field 'salary' and cannot be read as data]",
)


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize(
    "make",
    [
        lambda mark: f"{mark} {HELD}",
        lambda mark: f"{HELD} {mark}",
        lambda mark: {mark: HELD},
        lambda mark: {"name": mark, "value": HELD},
        lambda mark: [mark, HELD],
        lambda mark: {"columns": ["n", mark], "rows": [["b", HELD]]},
        lambda mark: f"n,{mark}\nb,{HELD}\nc,2\n",
        lambda mark: f"|n|{mark}|\n|-|-|\n|b|{HELD}|\n",
        lambda mark: f"{mark}: {HELD}\nb: 2\n",
        lambda mark: b64encode(f"{mark} {HELD}".encode()).decode(),
    ],
)
def test_a_mark_in_an_answer_counts_for_nothing(mark: str, make: Callable[[str], Any]) -> None:
    value = make(mark)
    held = str(HELD) if str(HELD) in str(value) else str(value)
    assert held not in Shaper(CONFIG).shape(value, tool="t", profile="debug").text


@pytest.mark.parametrize(
    "value",
    [
        ["pay.sh", "--salary", str(HELD)],
        ["aa", "salary", str(HELD)],
        ["salary", str(HELD), "x"],
        ["prog", "--name", "Bob", "--salary", str(HELD)],
        ["aa", "salary", [HELD]],
        ["aa", "salary", {"v": HELD}],
        ["Bob's salary", [HELD], "x"],
    ],
)
def test_what_follows_a_label_goes_however_long_the_list_is(value: list[Any]) -> None:
    assert str(HELD) not in Shaper(CONFIG).shape(value, tool="t", profile="debug").text


def test_a_word_behind_a_label_goes_from_a_list_of_more_than_names() -> None:
    assert Shaper(CONFIG).shape(["1.5", "salary", "huge"], tool="t", profile="debug").data == [
        "1.5",
        "salary",
        "[private]",
    ]


def test_a_list_of_names_stays() -> None:
    value = {"required": ["id", "salary", "name"]}
    assert Shaper(CONFIG).shape(value, tool="t", profile="debug").data == value


@pytest.mark.parametrize("profile", ["minimal", "standard", "debug"])
@pytest.mark.parametrize(
    "key",
    [
        f"salary={HELD}",
        f"salary:{HELD}",
        f"https://x/?salary={HELD}",
        f"Salary->{HELD}",
        f"salary: {HELD}",
        f"salary {HELD}",
        f"Bob has salary of {HELD}",
        json.dumps({"name": "Bob", "salary": HELD}),
        b64encode(json.dumps({"salary": HELD}).encode()).decode(),
    ],
)
@pytest.mark.parametrize("member", [1, [{"name": "salary", "value": 3}]])
def test_a_key_that_holds_a_private_value_leaves_neither_as_data_nor_as_a_path(
    key: str, member: Any, profile: str
) -> None:
    shaped = Shaper({"global": {"private": ["**.salary"], "profile": profile}}).shape({"a": 1, key: member}, tool="t")
    held = str(HELD) if str(HELD) in key else key
    assert held not in f"{shaped.text}{shaped.value}{shaped.omissions}"
    assert "'a': 1" in str(shaped.value)


def test_many_private_keys_are_one_omission() -> None:
    shaped = Shaper({"global": {"private": ["**.salary"], "profile": "standard"}}).shape(
        {"a": 1, **{f"salary={number}": 1 for number in range(1500)}}, tool="t"
    )
    assert [(one.path, one.count) for one in shaped.omissions] == [("*", 1500)]


@pytest.mark.parametrize(
    "name",
    [
        "sal\x1b(Bary",
        "sal\x9b31mary",
        "\x1b]salary",
        "\x1b]0;salary\x07",
        "\x9b1msalary\x9b0m",
        "\x1b7salary\x1b8",
        "\x1bMsalary",
        "salary<sup>1</sup>",
        "sal<!-- x -->ary",
    ],
)
def test_what_a_terminal_or_a_browser_does_not_show_hides_no_name(name: str) -> None:
    shaper = Shaper(CONFIG)
    assert str(HELD) not in shaper.shape(f"{name} {HELD}", tool="t").text
    if name.count("\x07") == 0:
        assert str(HELD) not in shaper.shape({name: HELD, "a": 1}, tool="t").text


@pytest.mark.parametrize("key", ["base_salary", "baseSalary", "base-salary", "base salary", "BASE_SALARY"])
def test_a_pattern_fits_a_name_in_any_spelling(key: str) -> None:
    shaper = Shaper({"global": {"private": ["**.*_salary"]}})
    for value in ({key: HELD, "a": 1}, [{"name": key, "value": HELD}]):
        assert str(HELD) not in shaper.shape(value, tool="t").text


@pytest.mark.parametrize(
    "value", [{"employees[0].wage": HELD}, {"employees/0/wage": HELD}, {"employees[0]": {"wage": HELD, "id": 1}}]
)
def test_a_flat_key_with_the_number_of_an_element_is_a_path(value: Any) -> None:
    shaper = Shaper({"global": {"private": ["employees[].wage"]}})
    assert str(HELD) not in shaper.shape({**value, "a": 1}, tool="t").text


@pytest.mark.parametrize(
    "name",
    [
        *(
            "<salary>",
            "</salary>",
            "<salary/>",
            "&lt;salary&gt;",
            "<!--salary-->",
            "<b title='salary'>x</b>",
            "[x](salary)",
        ),
        *("sum(salary)", "avg(e.salary)", "coalesce(salary,0)", "2024 salary", "salary 2024"),
        *("{salary}", "[salary]", "{{salary}}", "[^salary]", "{.salary}"),
    ],
)
def test_a_name_in_brackets_or_a_function_is_one_as_key_label_and_header(name: str) -> None:
    shaper = Shaper(CONFIG)
    for value in (
        {name: HELD},
        {"name": name, "value": HELD},
        [name, HELD],
        [["who", name], ["Bob", HELD]],
        {"columns": ["who", name], "rows": [["Bob", HELD]]},
    ):
        assert str(HELD) not in shaper.shape(value, tool="t").text


# Values that hold a private field, each in a way of its own, and what may stand beside them.
PLACED: tuple[Any, ...] = (
    {"salary": HELD},
    ["salary", HELD],
    ["salary", str(HELD)],
    {"name": "salary", "value": HELD},
    [["name", "salary"], ["Bob", HELD]],
    {"columns": ["name", "salary"], "rows": [["Bob", HELD]]},
    ["name", "Bob", "salary", HELD],
    ["pay.sh", "--salary", str(HELD)],
    ["Bob's salary is", HELD],
    ["Bob's salary is", [str(HELD)]],
    [["salary"], HELD],
    [[["salary"]], [[HELD]]],
    f"Bob's salary is {HELD}",
    ["name,salary", f"Bob,{HELD}"],
    {"fields": ["salary", "b"], "values": [HELD, 1]},
    {"key": {"name": "salary"}, "value": HELD},
    {"path": ["e", 0, "salary"], "value": HELD},
    {"loc": ["body", "salary"], "input": HELD},
    {"cmd": ["pay.sh", "--salary", str(HELD)], "pid": 1},
    [["n", "Bob", "Al"], ["salary", HELD, 2]],
    ["x", "salary", HELD],
    {"keys": ["body", "salary"], "value": HELD},
    ["change", ["e", 0, "salary"], [HELD, 1]],
    {"head": [["n", "salary"]], "body": [["Bob", HELD]]},
    {"columns": "n salary", "rows": [f"Bob {HELD}"]},
    [["n", "salary"], {"0": "Bob", "1": HELD}],
    [{"A": "n", "B": "salary"}, {"A": "Bob", "B": HELD}],
    {"r1": {"A": "n", "B": "salary"}, "r2": {"A": "Bob", "B": str(HELD)}},
    [["n", ["salary"]], ["Bob", HELD]],
)
BESIDE: tuple[Any, ...] = (
    *(
        ["n", "Bob"],
        ["n", 1],
        [["a", "b"], ["c", 1]],
        {"a": 1},
        {"columns": ["a", "b"], "rows": [["x", 1]]},
        "text",
        None,
        1,
    ),
    *(
        [],
        {},
        ["salary"],
        ["name", "salary"],
        "salary",
        {"name": "salary"},
        {"columns": ["name", "salary"]},
        {"salary": None},
    ),
    *(["salary", None], {"name": "salary", "value": None}, [["name", "salary"], ["Al", 2]], [[1, 2]] * 12, ["x"] * 12),
    *(
        {"columns": ["name", "salary"], "rows": [["Al", 2]]},
        {"columns": ["name", "salary"], "rows": []},
        {"type": "salary"},
    ),
    {"cmd": ["ls", "-l"], "pid": 2},
)
TOGETHER: tuple[Callable[[Any, Any], Any], ...] = (
    lambda one, other: [one, other],
    lambda one, other: [other, one],
    lambda one, other: {"a": one, "b": other},
    lambda one, other: {"a": other, "b": one},
    lambda one, other: [{"x": one}, {"x": other}],
    lambda one, other: [{"x": other}, {"x": one}],
    lambda one, other: [one, one, other],
    lambda one, other: {"r": [other, other, one]},
    lambda one, other: {"a": {"b": one}, "c": other},
    lambda one, other: [{"x": one, "y": other}] * 2,
)


@pytest.mark.parametrize("at", range(len(PLACED)))
def test_what_goes_where_it_stands_alone_goes_whatever_stands_beside_it(at: int) -> None:
    plan = compile_fields(None, ["**.salary"], withhold=True)
    assert str(HELD) not in str(plan.apply(PLACED[at]))
    for beside in (*BESIDE, *PLACED):
        for together in TOGETHER:
            value = together(PLACED[at], beside)
            assert str(HELD) not in str(plan.apply(value)), value


@pytest.mark.parametrize("path", ["staff.*.salary", "staff.0.salary", "**.0.salary", "*.*.salary"])
@pytest.mark.parametrize("rules", [lambda path: {"private": [path]}, lambda path: {"redact": {"paths": [path]}}])
def test_a_step_that_stands_for_the_elements_of_a_list_protects_them(path: str, rules: Callable[[str], Any]) -> None:
    for staff in ([{"name": "Bob", "salary": HELD}], {"0": {"name": "Bob", "salary": HELD}}):
        assert str(HELD) not in Shaper({"global": rules(path)}).shape({"staff": staff}, tool="t").text
