from __future__ import annotations

import hashlib
import json
import logging
from typing import Any

import orjson
import pytest
from hypothesis import given, settings, strategies as st

from shaping.errors import ToolError
from shaping.operations.guard import MAX_CODE_BYTES, admit, visible
from shaping.operations.spec import ManifestError, Spec

PIECES = [
    "x",
    "=",
    "(",
    ")",
    "[",
    "]",
    "'a'",
    "+",
    ".",
    "process",
    "`",
    "${",
    "}",
    "import",
    "open",
    "\\",
    "\ud800",
    "\0",
    "f'{",
    ":",
    "\n",
]
READ = Spec("read", "query")
PYTHON = Spec("run", "eval", language="python", code_members=("code",))
SCRIPT = Spec("script", "eval", language="javascript")


def http_error(tool: Spec, payload: Any, *, allow_eval: bool = True) -> tuple[str, dict[str, Any] | None]:
    with pytest.raises(ToolError) as caught:
        admit(tool, payload, allow_eval=allow_eval)
    return caught.value.detail.code, caught.value.detail.details


def digest(payload: Any) -> str:
    return hashlib.sha256(orjson.dumps(payload, option=orjson.OPT_SORT_KEYS)).hexdigest()


def test_eval_tools_are_not_listed_unless_allowed() -> None:
    assert visible([READ, PYTHON, SCRIPT]) == [READ]
    assert visible([READ, PYTHON], allow_eval=True) == [READ, PYTHON]


def test_an_eval_tool_is_not_callable_unless_allowed() -> None:
    assert http_error(PYTHON, {"code": "1"}, allow_eval=False) == ("PERMISSION_DENIED", None)


def test_a_keyword_is_refused_by_name_and_hash_and_never_by_payload() -> None:
    payload = {"code": "secret = 'hunter2'\nimport subprocess"}
    with pytest.raises(ToolError) as caught:
        admit(PYTHON, payload, allow_eval=True)
    detail = caught.value.detail
    assert (detail.code, detail.details, detail.phase) == (
        "EVAL_BLOCKED_KEYWORD",
        {"construct": "subprocess", "code_hash": digest(payload)},
        "validation",
    )
    assert "hunter2" not in detail.model_dump_json()


@pytest.mark.parametrize(
    ("tool", "code", "construct"),
    [
        (PYTHON, "os . system('ls')", "os.system"),
        (PYTHON, "\uff43\uff54\uff59\uff50\uff45\uff53.CDLL", "ctypes"),
        (SCRIPT, "process .exit()", "process.exit"),
        (SCRIPT, "// require ('fs')", "require("),
        (SCRIPT, "new Function ('x')", "Function("),
    ],
)
def test_keywords_are_found_whatever_stands_between(tool: Spec, code: str, construct: str) -> None:
    payload = {"code": code}
    assert http_error(tool, payload) == ("EVAL_BLOCKED_KEYWORD", {"construct": construct, "code_hash": digest(payload)})


@pytest.mark.parametrize("code", ["myFunction(1)", "page.evaluate('x')", "xrequire(1)", "requires(1)"])
def test_a_word_that_only_contains_a_keyword_passes(code: str) -> None:
    admit(SCRIPT, {"code": code}, allow_eval=True)


def test_a_construct_is_refused_where_no_keyword_stands() -> None:
    payload = {"code": "process['ex' + 'it']()"}
    assert http_error(SCRIPT, payload) == (
        "EVAL_BLOCKED_CONSTRUCT",
        {"construct": "process", "code_hash": digest(payload)},
    )


def test_code_that_does_not_parse_is_refused() -> None:
    payload = {"code": "def ("}
    assert http_error(PYTHON, payload) == (
        "EVAL_BLOCKED_CONSTRUCT",
        {"construct": "unparsable", "code_hash": digest(payload)},
    )


def test_code_that_is_too_long_is_refused() -> None:
    code, details = http_error(PYTHON, {"code": "1" * (MAX_CODE_BYTES + 1)})
    assert (code, (details or {})["construct"]) == ("EVAL_BLOCKED_CONSTRUCT", "code of more than 65536 bytes")


def test_an_eval_tool_in_no_declared_language_cannot_be_made() -> None:
    with pytest.raises(ManifestError, match="language is None; expected python or javascript"):
        Spec("odd", "eval")


def test_where_no_member_is_named_every_text_is_code() -> None:
    code, _ = http_error(SCRIPT, {"steps": [{"body": "eval?.('1')"}]})
    assert code == "EVAL_BLOCKED_CONSTRUCT"


def test_where_a_member_is_named_the_others_are_not_code() -> None:
    admit(PYTHON, {"code": "1 + 1", "note": "import os"}, allow_eval=True)


def test_a_payload_that_is_no_object_is_all_code() -> None:
    assert http_error(PYTHON, "import os")[0] == "EVAL_BLOCKED_CONSTRUCT"


def test_every_eval_call_is_logged_by_hash_and_never_by_payload(caplog: pytest.LogCaptureFixture) -> None:
    good, bad = b'{"code":"1 + 41"}', b'{"code":"eval(\'secret\')"}'
    with caplog.at_level(logging.INFO, logger="shaping"):
        admit(PYTHON, json.loads(good), allow_eval=True)
        http_error(PYTHON, json.loads(bad))
    assert [record.getMessage() for record in caplog.records] == [
        f"eval tool=run sha256={hashlib.sha256(payload).hexdigest()} bytes={len(payload)}" for payload in (good, bad)
    ]


def nested(levels: int) -> Any:
    value: Any = "leaf"
    for _ in range(levels):
        value = [value]
    return value


def test_other_payloads_are_checked_for_shape_and_size() -> None:
    admit(READ, {"q": "import os; eval(1)", "deep": nested(60)})
    cycle: list[Any] = []
    cycle.extend([cycle] * 1000)
    assert http_error(READ, nested(80)) == ("BAD_ARGUMENT", None)
    assert http_error(READ, cycle) == ("BAD_ARGUMENT", None)
    assert http_error(READ, {"x": object()}) == ("BAD_ARGUMENT", None)
    assert http_error(READ, {"x": "a" * 5_000_000}) == ("TOO_LARGE", None)


def outcome(tool: Spec, payload: Any) -> str:
    try:
        admit(tool, payload, allow_eval=True)
    except ToolError as refused:
        return refused.code
    return "passed"


@settings(max_examples=150, deadline=None)
@given(
    code=st.text(max_size=60) | st.lists(st.sampled_from(PIECES), max_size=8).map(" ".join),
    tool=st.sampled_from([PYTHON, SCRIPT]),
)
def test_any_text_passes_or_is_refused_and_nothing_else_happens(code: str, tool: Spec) -> None:
    known = {"passed", "EVAL_BLOCKED_KEYWORD", "EVAL_BLOCKED_CONSTRUCT", "BAD_ARGUMENT"}
    assert outcome(tool, {"code": code}) in known
