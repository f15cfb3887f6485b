"""`redact.names` masks what a name of a secret has, in whatever form and by whatever way it leaves."""

from __future__ import annotations

import json

import pytest

from shaping import Shaper, ToolError, shape
from shaping.commands import plan_for, run_command
from shaping.commands.process import CommandOptions
from shaping.redaction import redact

HELD = "hunter-two"
SHAPER = Shaper({"global": {"redact": {"names": True}}}, expandable=True)
TEXTS = {
    "an assignment": f"user=ann password={HELD} x",
    "name and value": f"password: {HELD}\nuser: ann",
    "quoted": f'password="{HELD}"',
    "a header": f"X-Api-Key: {HELD}\nHost: a",
    "CSV": f"user,password\nann,{HELD}\nbo,{HELD}\n",
    "TSV": f"user\tpassword\nann\t{HELD}\n",
    "columns": f"user   password\nann    {HELD}\n",
    "Markdown": f"| user | password |\n|---|---|\n| ann | {HELD} |\n",
    "YAML": f"a:\n  password: {HELD}\n",
    "XML": f"<c><user>a</user><password>{HELD}</password></c>",
    "an element with attributes": f'see <x:password type="a">{HELD}</x:password>',
    "CDATA": f"<c><password><![CDATA[{HELD}]]></password></c>",
    "attributes": f'<add key="password" enabled="1" value="{HELD}"/>',
    "a line that grep found": f"settings.py:12:password={HELD}",
    "a level before it": f"INFO:password: {HELD}",
    "an option": f"tool --password {HELD} x",
    "bytes of Python": f"x = dict(password=b'{HELD}')",
    "a character of no width": f"pass\u200bword={HELD}",
    "an entity of no width": f"x pass&shy;word: {HELD}",
    "two words": f"the pass word={HELD} x",
    "a number behind the name": f"db-password[0]={HELD}",
    "a key of two words": json.dumps({"pass word": HELD, "db-password[0]": HELD, "pass\ufe0fword": HELD}),
    "JSON": json.dumps({"password": HELD}),
    "a table with its columns apart": json.dumps({"columns": ["user", "password"], "rows": [["ann", HELD]]}),
    "a table with a header row": json.dumps([["user", "password"], ["ann", HELD], ["bo", HELD]]),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_value_with_the_name_of_a_secret_leaves_by_no_way(text: str) -> None:
    @shape(tool="t", shaper=SHAPER)
    def failing() -> None:
        raise ValueError(text)

    @shape(tool="t", shaper=SHAPER)
    def detailed() -> None:
        raise ToolError("UNAVAILABLE", "x", details={"password": HELD, "body": text}, hint=text)

    block = {"type": "text", "text": text}
    resource = {"type": "resource", "resource": {"uri": "file:///a", "text": text}}
    left = [
        SHAPER.shape(text, tool="t").text,
        SHAPER.shape_result({"content": [block]}, tool="t"),
        SHAPER.shape_result({"content": [block], "isError": True}, tool="t"),
        SHAPER.shape_result({"content": [], "structuredContent": {"a": text}}, tool="t"),
        SHAPER.shape_result({"content": [resource]}, tool="t"),
        failing(),
        detailed(),
        *(_printed(text, words) for words in (("cat",), ("sh", "-c", "cat >&2; exit 3"))),
    ]
    assert [one for one in left if HELD in str(one)] == []


def _printed(text: str, words: tuple[str, ...]) -> str:
    asked: CommandOptions = {"stdin": text.encode(), "tool": "t"}
    answer = run_command(SHAPER, plan_for(SHAPER, words, asked), words, asked)
    return f"{answer.stdout}{answer.stderr}{answer.envelope}"


@pytest.mark.parametrize(
    "said",
    [
        '<property name="password" value="hunter2zebra"/>',
        '<property name="password">hunter2zebra</property>',
        '<form><input name="password" value="hunter2zebra"></form>',
        "user: a\npassword: |\n  hunter2zebra\nb: 1\n",
        "password:\n  hunter2zebra\n",
        "password: >-\n  hunter2zebra",
        "db:\n  password:\n    hunter2zebra\n",
    ],
)
def test_a_value_in_markup_or_in_the_lines_below_its_name_is_masked(said: str) -> None:
    clean = redact(said, names=True)[0]
    assert "hunter2" not in clean
    assert redact(clean, names=True)[0] == clean


@pytest.mark.parametrize(
    "said",
    [
        "pin: 4711\nb: 2\n",
        "n,pin\nb,4711\nc,4711\n",
        "INFO pin=4711 x",
        "notes.txt:12:pin=4711",
        {"name": "pin", "value": "4711"},
        {"columns": ["n", "pin"], "rows": [["b", 4711]]},
        {"pin": {"4711": 1}},
    ],
)
def test_a_configured_path_holds_in_texts_labels_headers_and_keys(said: object) -> None:
    clean, hits = redact(said, paths=["**.pin"])
    assert "4711" not in str(clean)
    assert {hit.rule for hit in hits} == {"path"}


def test_a_path_of_two_letters_holds_in_a_text() -> None:
    assert redact("id: 4711, grid: 8", paths=["id"])[0] == "id: [redacted:path], grid: 8"


@pytest.mark.parametrize(
    "text",
    [
        "schlüssel=hunter2",
        "schlüssel: hunter2",
        "<schlüssel>hunter2</schlüssel>",
        "schlüssel:\n  hunter2\n",
        "name,schlüssel\nAda,hunter2\n",
    ],
)
def test_a_redacted_name_may_be_in_any_language(text: str) -> None:
    assert "hunter2" not in redact(text, paths=["schlüssel"])[0]
