from __future__ import annotations

import base64
import copy
import hashlib
import json
import operator
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson
import pytest
from hypothesis import given, settings, strategies as st

from shaping.redaction import Hit, redact, redact_json

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "payloads"
TOKEN = "ghp_" + "aZ7" * 12
MARK = "[redacted:github-token]"

FORMS: dict[str, Any] = {
    "alone": lambda text: text,
    "in a list": lambda text: [1, text, None],
    "deep": lambda text: {"a": {"b": [{"c": text}]}},
    "in prose": lambda text: {"body": f"see {text} and then é"},
    "as a key": lambda text: {text: 1},
    "in JSON inside a string": lambda text: {"x": json.dumps({"t": text, "u": ["é", text]})},
    "in JSON inside JSON inside a string": lambda text: {"x": json.dumps(json.dumps({"t": text}))},
    "URL-encoded": lambda text: {"next": f"https://x.io/?q={quote(text, safe='')}&z=1"},
    "in a Python repr": lambda text: repr({"a": text}),
    "assigned": lambda text: f"TOKEN={text}\nDEBUG=1",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_planted_secret_shows_nowhere(form: str, planted: list[Any]) -> None:
    shown = []
    for one in planted:
        clean, hits = redact(FORMS[form](one.text))
        text = json.dumps(clean, ensure_ascii=False)
        if one.shows_in(text) or one.shows_in(json.loads(json.dumps(text))) or not hits:
            shown.append((one.rule, text))
    assert shown == []


@pytest.mark.parametrize("form", FORMS)
def test_json_is_redacted_as_the_value_that_it_writes(form: str, planted: list[Any]) -> None:
    values = [FORMS[form](one.text) for one in planted]
    assert [redact_json(orjson.dumps(value)) for value in values] == [
        orjson.dumps(redact(value)[0]) for value in values
    ]


def test_json_is_redacted_by_name_and_by_path_too() -> None:
    written = orjson.dumps({"password": "hunter2", "a": {"b": 7}, "c": "d"})
    assert orjson.loads(redact_json(written, names=True, paths=["a.b"])) == {
        "password": "[redacted:field-name]",
        "a": {"b": 0},
        "c": "d",
    }


def test_json_without_a_secret_comes_back_as_it_is_however_it_is_spaced() -> None:
    written = json.dumps({"a": [1, 2, {"b": "ünïcode %20 and more"}] * 99}, indent=2).encode()
    assert redact_json(written) is written


def test_each_kind_is_named_by_its_rule(planted: list[Any]) -> None:
    wrong = [(one.rule, redact(one.text)[1]) for one in planted if Hit(one.rule, "") not in redact(one.text)[1]]
    assert wrong == []


def test_five_hundred_secrets_in_one_payload_are_all_found(many_planted: list[Any]) -> None:
    payload = {"items": [{"id": number, "text": one.text} for number, one in enumerate(many_planted)]}
    clean, hits = redact(payload)
    text = json.dumps(clean)
    assert [one.rule for one in many_planted if one.shows_in(text)] == []
    assert sum(hit.count for hit in hits) >= len(many_planted) >= 500
    assert len(hits) < 250


@pytest.mark.skipif(not CORPUS.exists(), reason="the shared corpus is not beside this checkout")
def test_clean_payloads_have_no_hits() -> None:
    hits = []
    for file in sorted(CORPUS.glob("p*.json")):
        payload = orjson.loads(file.read_bytes())
        texts = [block.get("text", "") for block in payload["content"]]
        hits += [(file.name, hit) for part in (payload, *texts, *map(_parsed, texts)) for hit in redact(part)[1]]
    assert hits == []


def _parsed(text: str) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        return None


def test_words_about_passwords_in_a_log_of_logins_stay() -> None:
    log = "sshd: rhost=173.234.31.186 \nFailed password for invalid user ada from 173.234.31.186\nuser=a password x"
    assert redact(log) == (log, [])


def test_what_is_clean_comes_back_as_the_same_object() -> None:
    value = {"items": [{"name": "monkey", "author": "x", "nextPageToken": "abc"}], "note": "the disk-usage task-list"}
    assert redact(value) == (value, [])
    assert redact(value)[0] is value


def test_branches_without_a_hit_stay_the_same_objects_and_the_input_is_not_touched() -> None:
    value: Any = {"clean": [1, {"a": "b"}], "dirty": [{"t": TOKEN}, {"u": 1}]}
    before = copy.deepcopy(value)
    clean, hits = redact(value)
    assert clean == {"clean": [1, {"a": "b"}], "dirty": [{"t": MARK}, {"u": 1}]}
    assert hits == [Hit("github-token", "dirty[0].t")]
    assert value == before
    assert clean["clean"] is value["clean"]
    assert clean["dirty"][1] is value["dirty"][1]


def test_redacting_twice_is_redacting_once(planted: list[Any]) -> None:
    once, _ = redact([one.text for one in planted])
    assert redact(once)[0] is once


def test_only_the_secret_of_a_url_is_replaced() -> None:
    assert redact("psql postgres://app:s3cr3t@db:5432/x ok") == (
        "psql postgres://app:[redacted:database-url]@db:5432/x ok",
        [Hit("database-url", "")],
    )


def test_a_password_with_an_at_sign_is_replaced_whole() -> None:
    assert redact("mysql://app:p@ss@db/x")[0] == "mysql://app:[redacted:database-url]@db/x"


@pytest.mark.parametrize(
    "value",
    [
        {"SecretAccessKey": "<S>"},
        {"aws_secret_access_key": "<S>"},
        {"env": [{"name": "AWS_SECRET_ACCESS_KEY", "value": "<S>"}]},
        {"tags": [{"Key": "aws-secret", "Value": "<S>"}]},
        [["AWS_SECRET_ACCESS_KEY", "<S>"]],
    ],
)
def test_a_secret_known_only_by_its_name_is_found_wherever_the_name_stands(value: Any) -> None:
    secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    planted = json.loads(json.dumps(value).replace("<S>", secret))
    clean, hits = redact(planted)
    assert clean == json.loads(json.dumps(value).replace("<S>", "[redacted:aws-secret-key]"))
    assert [hit.rule for hit in hits] == ["aws-secret-key"]


@pytest.mark.parametrize("name", ["token:", "token=", "api_key: ", '"api_key":', "'secret':"])
def test_a_name_keeps_its_sign_where_a_text_was_split_into_words(name: str) -> None:
    value = "Qm58RscAm7OzFNu6My5arnZEoRt224ZSRy5ydy4s"
    for form in ({"args": [name, value]}, {name: [value]}, [{"name": name, "value": value}]):
        assert value not in json.dumps(redact(form)[0])


def test_a_private_key_split_into_lines_is_hidden_line_by_line() -> None:
    body = ["MIIEpAIBAAKCAQEA7bq1", "abcdEFGHijklMNOP1234=="]
    lines = ["# key", "-----BEGIN RSA PRIVATE KEY-----", *body, "-----END RSA PRIVATE KEY-----", "afterwards"]
    clean, hits = redact(
        {"lines": lines, "rows": [{"n": n, "text": line} for n, line in enumerate(lines)], "x": "afterwards"}
    )
    hidden = [lines[0], lines[1], *["[redacted:private-key]"] * 2, lines[4], lines[5]]
    assert clean == {
        "lines": hidden,
        "rows": [{"n": n, "text": line} for n, line in enumerate(hidden)],
        "x": "afterwards",
    }
    assert hits == [Hit("private-key", "lines[]", 2), Hit("private-key", "rows[].text", 2)]


KEY_BYTES = b"".join(hashlib.sha256(bytes([number])).digest() for number in range(19))[:600]
KEY_LINES = [line.decode() for line in base64.encodebytes(KEY_BYTES).split()]
COMMENT = "Comment: " + "words of a comment " * 10
RSA_BEGIN = "-----BEGIN RSA PRIVATE KEY-----"
RSA_END = "-----END RSA PRIVATE KEY-----"


def _logged(line: str) -> str:
    labels = {
        "pod": "api-7d9c5b6f8-abcde",
        "image": "registry.example/app/api:1.2.3",
        "host": "node-12." + "zone." * 20,
    }
    return json.dumps({"log": f"{line}\n", "stream": "stdout", "time": "2025-11-19T23:00:00.123456789Z", **labels})


@pytest.mark.parametrize(
    ("lines", "sep"),
    [
        (["-----BEGIN PGP PRIVATE KEY BLOCK-----", "Version: GnuPG v2", COMMENT, COMMENT, "", *KEY_LINES], "\n"),
        ([_logged(line) for line in (RSA_BEGIN, *KEY_LINES)], "\n"),
        ([_logged(line) for line in (*KEY_LINES, RSA_END)], "\n"),
        ([RSA_BEGIN, *KEY_LINES[:-1], "k3Jd9w=="], "\n\n"),
        ([RSA_BEGIN, *KEY_LINES[:-1], "k3Jd9w=="], "\r\n\r\n\r\n"),
    ],
    ids=["long comments", "logged and cut before its end", "logged and cut before its start", "blank", "two blank"],
)
def test_a_cut_private_key_is_hidden_to_its_last_line_whatever_stands_between(lines: list[str], sep: str) -> None:
    clean, _ = redact(f"{sep.join(lines)}\nafterwards")
    assert not [line for line in (*KEY_LINES, "k3Jd9w==") if line in clean]
    assert clean.endswith("\nafterwards")


def test_what_stands_far_behind_a_cut_private_key_is_left_alone() -> None:
    words = "The service goes on. " * 10
    more = "\n".join([words, words, f"sha256:{KEY_BYTES[:32].hex()}", words, words, words, words, KEY_LINES[0]])
    clean, _ = redact(f"{RSA_BEGIN}\n{KEY_LINES[1]}\n{more}")
    assert clean.endswith(f"\n{more}")


def test_code_that_speaks_of_private_keys_is_left_alone() -> None:
    code = 'if text.startswith("-----BEGIN PRIVATE KEY-----"):\n    return load(text)\n'
    assert redact(code) == (code, [])


def test_placeholders_are_left_alone() -> None:
    texts = [
        "https://user:<password>@host",
        "postgres://u:${PASSWORD}@h/d",
        "Authorization: Bearer {token}",
        "https://u:***@h",
    ]
    assert redact(texts) == (texts, [])


def test_a_token_without_a_real_header_is_no_jwt() -> None:
    cursor = "eyJub3QiOiJhIGhlYWRlciJ9.eyJhIjoxfQ.c2ln"
    assert redact([cursor, "eyJhbGci.e.f"]) == ([cursor, "eyJhbGci.e.f"], [])


def test_two_secrets_as_keys_stay_two_keys() -> None:
    other = TOKEN[::-1].removesuffix("_phg")
    clean, hits = redact({TOKEN: 1, "ghp_" + other: 2, "plain": 3})
    assert clean == {MARK: 1, f"{MARK} #2": 2, "plain": 3}
    assert TOKEN not in str(hits)


def test_a_path_below_a_secret_key_does_not_show_it() -> None:
    assert redact({TOKEN: {"inner": TOKEN}})[1] == [
        Hit("github-token", ""),
        Hit("github-token", f'"{MARK}".inner'),
    ]


@pytest.mark.parametrize(
    "name", ["api_key", "apiKey", "X-Api-Key", "APIKey", "apiKeys", "client_secret", "DB_PASSWORD", "userPasswords"]
)
def test_a_name_says_that_its_value_is_secret(name: str) -> None:
    assert redact({name: "hunter2"}) == ({name: "hunter2"}, [])
    assert redact({name: "hunter2"}, names=True) == ({name: "[redacted:field-name]"}, [Hit("field-name", name)])


@pytest.mark.parametrize(
    "name",
    ["monkey", "author", "nextPageToken", "page_token", "tokens", "max_tokens", "keyboard", "hasPassword", "secretary"],
)
def test_a_name_that_only_looks_like_one_is_left_alone(name: str) -> None:
    value = {name: "hunter2"}
    assert redact(value, names=True)[0] is value


def test_names_are_read_inside_text_too() -> None:
    text = 'x-api-key: abcd1234, "password": "hunter2" nextPageToken=abcd1234'
    assert redact(text, names=True)[0] == (
        'x-api-key: [redacted:field-name], "password": "[redacted:field-name]" nextPageToken=abcd1234'
    )


def test_what_is_hidden_by_name_or_path_keeps_its_type() -> None:
    value: Any = {"secret": {"a": "x", "n": 7, "f": 1.5, "b": True, "none": None, "l": ["y", ""]}, "pin": 1234}
    assert redact(value, names=True) == (
        {
            "secret": {
                "a": "[redacted:field-name]", "n": 0, "f": 0.0, "b": False, "none": None,
                "l": ["[redacted:field-name]", ""],
            },
            "pin": 0,
        },
        [Hit("field-name", "secret"), Hit("field-name", "pin")],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("path", "hit"),
    [
        ("a.b", ["a.b"]),
        ("list.v", ["list[].v"]),
        ("list[].v", ["list[].v"]),
        ("list[1].v", ["list[1].v"]),
        ("list[:1].v", ["list[0].v"]),
        ("list[-1].v", ["list[1].v"]),
        ("list[:-1].v", ["list[0].v"]),
        ("**.v", ["list[].v"]),
        ("a.*", ["a.b"]),
        ("a.**", ["a"]),
        ("**.list[1]", ["list[1]"]),
        ("list.v.deeper", []),
        ("a[0]", []),
    ],
)
def test_a_path_names_the_places_to_hide(path: str, hit: list[str]) -> None:
    value: Any = {"a": {"b": "x"}, "list": [{"v": "y"}, {"v": "z"}]}
    clean, hits = redact(value, values=False, paths=[path])
    assert [(one.rule, one.path) for one in hits] == [("path", where) for where in hit]
    assert (clean is value) is (hit == [])


@pytest.mark.parametrize("key", ["Prénom", "PRÉNOM", "pre\u0301nom", "prenom", "pré\u200bnom"])
def test_a_path_goes_by_a_name_in_any_spelling(key: str) -> None:
    for path in ("**.prénom", "list[0].pre\u0301nom", "LIST[].prén*"):
        value = {"list": [{key: "x", "n": 1}]}
        assert redact(value, paths=[path])[0] == {"list": [{key: "[redacted:path]", "n": 1}]}


@pytest.mark.parametrize("name", ["SecretAccess\u200bKey", "secret_access&shy;_key", "secret%5Faccess%5Fkey"])
def test_a_name_of_a_secret_is_read_as_somebody_who_decodes_it_reads_it(name: str) -> None:
    key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCY3zQ9mK4pL7"
    for value in ({name: key}, {"name": name, "value": key}, [name, key]):
        assert key not in str(redact(value)[0])


@pytest.mark.parametrize(
    "between",
    [
        "\n",
        "\r\n",
        "\n    ",
        "\n> ",
        "\n\n",
        "\\\n",
        "\n+",
        "\n-",
        "\\n",
        '",\n  "',
        "' +\n  '",
        "\n  12\t",
        "\n7: ",
        "\n│ ",
    ],
)
@pytest.mark.parametrize("width", [24, 32, 50, 60, 64, 70, 76, 79])
def test_base64_in_lines_is_one_text(width: int, between: str) -> None:
    text = base64.b64encode(b"before it; the token is ghp_16C7e42F292c6912E7710c838347Ae178B4a, and after").decode()
    lines = between.join(text[at : at + width] for at in range(0, len(text), width))
    assert redact(f"see:\n{lines}\n(end)")[0] == "see:\n[redacted:github-token]\n(end)"


def test_base64_of_a_token_among_other_bytes_is_found() -> None:
    token = b"ghp_aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC2"
    for size in range(6):
        text = base64.b64encode(b"\xff\xfe\x00\x01\x80\x81"[:size] + token + b"\xff").decode()
        assert redact(text)[0] == MARK or text[8:] not in redact(text)[0]


def test_nothing_is_looked_at_when_everything_is_off() -> None:
    value = {"t": TOKEN}
    assert redact(value, values=False)[0] is value


def test_what_cannot_be_written_is_looked_at_piece_by_piece() -> None:
    clean, hits = redact({"half": f"\ud800 {TOKEN}", "big": 2**70, "ok": "é", "pair": ("a", TOKEN)})
    assert clean == {"half": f"\ud800 {MARK}", "big": 2**70, "ok": "é", "pair": ["a", MARK]}
    assert [hit.path for hit in hits] == ["half", "pair[1]"]


def test_what_cannot_be_read_is_masked() -> None:
    clean, hits = redact({"a": [object(), "fine"], "b": TOKEN})
    assert clean == {"a": ["[redacted:unreadable]", "fine"], "b": MARK}
    assert hits == [Hit("unreadable", "a[0]"), Hit("github-token", "b")]


def test_a_value_too_deep_to_walk_is_masked_where_the_walk_ends() -> None:
    deep: Any = TOKEN
    for _ in range(5000):
        deep = [deep]
    clean, hits = redact(deep)
    assert hits[0].rule == "unreadable"
    while isinstance(clean, list):
        clean = clean[0]
    assert clean == "[redacted:unreadable]"


def test_basic_credentials_must_decode() -> None:
    real = base64.b64encode(b"admin:hunter2!").decode()
    assert redact(f"Basic {real}")[0] == "Basic [redacted:basic-auth]"
    assert redact("Basic Subscription2024")[1] == []


@settings(max_examples=60, deadline=None)
@given(
    before=st.text(alphabet=st.characters(blacklist_categories=["Cs"], blacklist_characters="_"), max_size=12),
    after=st.text(alphabet=" .,;\"'\n)}]é", max_size=6),
)
def test_a_token_is_found_whatever_stands_around_it(before: str, after: str) -> None:
    clean, _ = redact({"x": before + TOKEN + after})
    assert clean == {"x": before + MARK + after}


def test_many_places_of_one_rule_are_told_as_a_few() -> None:
    clean, hits = redact({f"user {n}": {"t": TOKEN} for n in range(50)} | {"list": [TOKEN] * 9})
    assert TOKEN not in str(clean)
    assert hits == [
        *(Hit("github-token", f"user {n}.t") for n in range(8)),
        Hit("github-token", "**", 51),
    ]


@pytest.mark.parametrize(
    "text", ["Basic dXNlcm5hbWUX", "Basic AAAA\u00e9", "eyJ2YWx1ZSI6MX0.eyJhIjoxfQ.x", "eyJhbGciOjF9.eyJhIjoxfQ.x"]
)
def test_what_does_not_decode_is_no_credential(text: str) -> None:
    assert redact(text)[1] == []


def test_a_number_that_does_not_decode_is_no_discord_token() -> None:
    assert redact("MTIzNDU2Nzg5MDEyMzQ1Njc4.AbCdEf." + "aB3_" * 8)[1] == [Hit("discord-token", "")]
    assert redact("MTIzzzzzzzzzzzzzzzzzzzzz.AbCdEf." + "aB3_" * 8)[1] == []


def test_a_name_that_is_itself_a_secret_does_not_show_with_its_value() -> None:
    name = f"secret_key {TOKEN}"
    clean, hits = redact([[name, "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"]])
    assert TOKEN not in str(clean)
    assert {hit.rule for hit in hits} >= {"github-token"}


def test_a_path_rule_leaves_what_is_already_hidden_or_empty() -> None:
    value: Any = {"a": "", "b": MARK, "c": None}
    assert redact(value, values=False, paths=["a", "b", "c"]) == (value, [])


def test_a_path_holds_inside_strings_that_hold_json_at_any_depth() -> None:
    inner = json.dumps({"ssn": "123-45-6789", "n": 1})
    value = {"result": inner, "deep": [json.dumps({"again": inner})], "other": '{"a": 1}', "text": "{not json"}
    for paths in (["**.ssn"], ["result.ssn", "deep[].again.ssn"]):
        clean, hits = redact(value, paths=paths)
        assert "123-45" not in json.dumps(clean)
        assert json.loads(clean["result"]) == {"ssn": "[redacted:path]", "n": 1}
        assert (clean["other"], clean["text"], len(hits) > 0) == ('{"a": 1}', "{not json", True)
        assert b"123-45" not in redact_json(orjson.dumps(value), paths=paths)


@pytest.mark.parametrize(
    "sign", [*map(chr, range(33)), "\x7f", "é", "\\b", "\\f", "\\u0000", "\\u00e9", "\\x07"], ids=ascii
)
def test_a_sign_that_json_escapes_makes_no_difference(sign: str) -> None:
    for text in (
        f"https://admin:aZ7oO56vB5WJ{sign}@internal.example.com/path",
        f"redis://:aZ7Ins7pJg9i{sign}eeI9@cache:6379/0",
        f'{{"a": "https://admin:p{sign}ssw0rdX1@host.example/"}}',
    ):
        clean, _ = redact(text)
        assert redact([text])[0] == [clean]
        assert orjson.loads(redact_json(orjson.dumps([text]))) == [clean]


def test_source_code_is_marked_at_most_in_three_of_a_hundred_thousand_lines() -> None:
    library = Path(os.__file__).parent
    files = [*library.glob("*.py"), *(library / "email").glob("*.py"), *(library / "http").glob("*.py")]
    lines = marked = 0
    for file in files:
        written = file.read_text(errors="replace").splitlines()
        lines += len(written)
        marked += sum(map(operator.ne, written, redact(written)[0]))
    assert lines > 100_000
    assert 1e4 * marked / lines <= 0.3


SECRET = "q8Zk3vT9xW2mL7pR4sYd"


@pytest.mark.parametrize("mark", ["[redacted:x]", "[redacted:url-password]", "[redacted:path]", "%5Bredacted:x%5D"])
@pytest.mark.parametrize(
    "text",
    [
        "postgres://u:MARKSECRET@h/db",
        "https://u:SECRETMARK@h/",
        "Authorization: Bearer MARKSECRET",
        "FASTLY_API_TOKEN=MARKSECRET",
        "FASTLY_API_TOKEN=[redacted:SECRET]",
        "machine h login u password MARKSECRET",
        "curl -u admin:MARKSECRET",
        "kind: Secret\ndata:\n  p: MARKSECRET",
    ],
)
def test_a_mark_in_an_answer_hides_no_secret_beside_it(text: str, mark: str) -> None:
    said = text.replace("MARK", mark).replace("SECRET", SECRET)
    once, hits = redact({"said": said})
    assert SECRET not in str(once)
    assert hits
    assert redact(once)[0] is once


def test_a_mark_hides_no_secret_that_its_key_names() -> None:
    assert SECRET not in str(redact({"FASTLY_API_TOKEN": f"[redacted:x]{SECRET}"})[0])


@pytest.mark.parametrize("said", ["[redacted:password] hunter2zebra", "[redacted:hunter2zebra]"])
def test_only_a_whole_mark_of_a_rule_counts_as_redacted(said: str) -> None:
    assert redact({"password": said}, names=True)[0] == {"password": "[redacted:field-name]"}
    assert redact({"pin": said}, paths=["**.pin"])[0] == {"pin": "[redacted:path]"}


BETWEEN = ("\x1b(B", "\x1b=", "\x1bPa\x1b\\", "\x1b_a\x1b\\", "\x9d0;t\x9c", "\x9b31m", "\x1b7", *"\r\v\f\x85")


@pytest.mark.parametrize("between", BETWEEN)
def test_no_sequence_for_a_terminal_and_no_break_hides_a_token(between: str) -> None:
    said = f"log {TOKEN[:12]}{between}{TOKEN[12:]} x"
    for form in ("alone", "in a list", "deep", "in prose", "as a key", "assigned"):
        assert TOKEN[14:] not in str(redact(FORMS[form](said))[0])


@pytest.mark.parametrize(
    "words",
    [
        ["curl", "-u", "admin:{}", "https://x.example.com/"],
        ["sshpass", "-p", "{}", "ssh", "root@h"],
        ["mysql", "-uroot", "-p{}", "db"],
        ["snowsql", "--password", "{}"],
        ["wget", "--password={}", "http://x.example.com"],
        ["--token={}"],
    ],
)
def test_a_password_among_the_words_of_a_command_is_found(words: list[str]) -> None:
    secret = "Zx9kQ2mL7vR4tB8nYw45"
    words = [word.format(secret) for word in words]
    texts = [" ".join(["run", *words]), f"Command '{words}' returned non-zero exit status 1.", json.dumps(words)]
    for value in (words, {"args": words}, [words, ["ls", "-l"]], *texts):
        clean, hits = redact(value, values=True)
        assert secret not in str(clean)
        assert len(hits) == 1
