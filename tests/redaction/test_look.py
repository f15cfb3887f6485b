"""The first look at a whole value chooses the rules to try, and never leaves out one that would find something."""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson
import pytest
from hypothesis import given, settings, strategies as st

from shaping.proxy.messages import may_hold_secret
from shaping.redaction import redact, redact_json
from shaping.redaction.credentials import CREDENTIALS
from shaping.redaction.redact import _RedactionWalk, rules_for
from tests.redaction.conftest import plant

if TYPE_CHECKING:
    from collections.abc import Callable

PLANTED = plant(1)
NAMES = (
    "id name key Key Name header url note token apiKey password client_secret data kind text value Value Authorization"
    " AWS_SECRET_ACCESS_KEY PGPASSWORD api_key= mailgun_domain next_page"
)
NAME = st.sampled_from(NAMES.split())
NOISE = st.sampled_from(
    ["", "é", 1, None, "a\nb\tc", "\\", '"quoted"', "https://example.com/a?b=1&c=2", "lorem ipsum " * 120]
)
# How a tool may write a part of what it says.
WRITTEN: list[Callable[[str], str]] = [
    *[str] * 6,
    "see {} ok".format,
    lambda text: json.dumps({"a": text}),
    lambda text: json.dumps({text: 1}),
    lambda text: json.dumps(json.dumps([text])),
    lambda text: text.replace("/", "\\/"),
    lambda text: "".join(f"\\u{ord(one):04x}" for one in text),
    lambda text: quote(text, safe=""),
    html.escape,
    *[lambda text, sign=sign: re.sub(r"(\w{5})", rf"\g<1>{sign}", text) for sign in "\u200b\r\x1b"],
    lambda text: "words " * 300 + text,
]
# How what stands before a secret and the secret may stand in a value; they may be one text.
SHAPES: list[Callable[[str, str, str], Any]] = [
    lambda before, secret, _: {before: secret},
    lambda before, secret, _: {before + secret: 1},
    lambda before, secret, _: [before, secret],
    lambda before, secret, _: [before, [secret]],
    lambda before, secret, name: {before: [secret, name]},
    lambda before, secret, name: {before: [[name, 1, [secret]]]},
    lambda before, secret, name: {"name": before, name: True, "value": secret},
    lambda before, secret, _: {"Value": secret, "Key": before},
    lambda before, secret, name: {"header": before, "id": {"x": name}, "value": [secret]},
    lambda before, secret, name: {name: before, "value": secret},
    lambda before, secret, name: {name: secret, "note": before},
    lambda before, secret, _: [*before.split(" "), *secret.split(" ")],
    lambda before, secret, name: {name: before + secret},
]


@st.composite
def _values(draw: st.DrawFn) -> Any:
    one = draw(st.sampled_from(PLANTED))
    at = draw(st.sampled_from([max(one.text.find(one.secret), 0), 0]))
    name, before, secret = draw(NAME), one.text[:at], one.text[at:]
    before = draw(st.sampled_from([before, before.rstrip("=: ")])) or name
    written = draw(st.sampled_from(WRITTEN))
    which = draw(st.sampled_from(["both", "before", "secret"]))
    before = before if which == "secret" else written(before)
    secret = secret if which == "before" else written(secret)
    value = draw(st.sampled_from(SHAPES))(before, secret, name)
    for around in draw(st.lists(st.sampled_from("lonst"), max_size=2)):
        noise = draw(NOISE)
        value = {
            "l": [noise, value],
            "o": {draw(NAME): value, "zz": noise},
            "n": {draw(NAME): noise, "x": {draw(NAME): value}},
            "s": {draw(NAME): json.dumps(value, ensure_ascii=False)},
            "t": [value, [noise]],
        }[around]
    return value


@settings(max_examples=600)
@given(value=_values())
def test_what_any_rule_masks_is_masked_after_a_first_look(value: Any) -> None:
    masked = _RedactionWalk(rules=CREDENTIALS, names=False).run(value)
    assert redact(value)[0] == masked
    line = orjson.dumps({"jsonrpc": "2.0", "id": 1, "result": value})
    for written in (orjson.dumps(value), json.dumps(value).encode(), json.dumps(value, ensure_ascii=False).encode()):
        assert orjson.loads(redact_json(written)) == masked
        assert masked == value or rules_for(None, written).rules
    assert masked == value or may_hold_secret(line)


@pytest.mark.parametrize(
    "value",
    [
        {"name": "Authorization", "enabled": True, "value": "<S>"},
        {"value": "<S>", "name": "API_TOKEN"},
        {"api_key=": "<S>"},
        {"PGPASSWORD": "<S>"},
        {"x": "postgres://app:s3c\\Ret<S>@db:5432/x"},
        {"https://corp\\ada:<S>@db/x": 1},
        {"client_secret": [[1, ["<S>"]]]},
    ],
)
def test_a_secret_is_found_however_far_from_its_name_and_beside_a_backslash(value: Any) -> None:
    secret = "aZ7J4bIo5q1xZ2aZ7J4bIo5q"
    given_value = json.loads(json.dumps(value).replace("<S>", secret))
    assert secret not in json.dumps(redact(given_value)[0])
