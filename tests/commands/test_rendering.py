from __future__ import annotations

import json
import re
import subprocess
import sys
from base64 import b64encode
from random import Random
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from shaping import interpret, tokens
from shaping.commands.process import ProcessExit
from shaping.commands.storage import PART, PartWriter, streams_of
from shaping.errors import ToolError
from shaping.shaper import Shaper
from shaping.store.backends import StoreError
from shaping.store.expand import Stream, stream_parts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def printed(shaper: Shaper, ref: str, name: str = "stdout") -> bytes:
    return b"".join(stream_parts(shaper.keeper("command").store, streams_of(shaper, ref)[name]))


def test_text_that_fits_is_given_to_the_byte_and_needs_no_ref(shaper: Shaper, replay: Any) -> None:
    envelope = replay(shaper, ["ls"], "a\nb\n", "note\n")
    assert envelope.data == {"stdout": "a\nb\n", "stderr": "note\n"}
    assert (envelope.ok, envelope.meta.ref, envelope.meta.extensions) == (True, None, {"exit_code": 0})
    assert replay(shaper, ["true"]).data == {"stdout": ""}


def test_what_was_cleaned_can_be_expanded_to_the_byte(shaper: Shaper, replay: Any) -> None:
    raw = b"\x1b[31mred\x1b[0m\r\n\xff\xfe\n" + b"same\n" * 5
    envelope = replay(shaper, ["x"], raw, b"\x1b[1me\n")
    assert envelope.data == {"stdout": "red\n\ufffd\ufffd\nsame (x5)\n", "stderr": "e\n"}
    assert (printed(shaper, envelope.meta.ref), printed(shaper, envelope.meta.ref, "stderr")) == (raw, b"\x1b[1me\n")


def test_text_over_budget_is_cut_and_pages_on_from_its_cursor(shaper: Shaper, replay: Any) -> None:
    raw = "".join(f"line {n}\n" for n in range(2000))
    envelope = replay(shaper, ["x"], raw, max_tokens=200)
    wire = envelope.render("invariant")
    assert tokens.exact(orjson.dumps(wire).decode()) <= 200
    assert wire["meta"]["truncated"] is True
    ref, _, cursor = wire["meta"]["cursor"].partition(":")
    assert ref == wire["meta"]["ref"]
    head = wire["data"]["stdout"].split("…")[0]
    assert raw.startswith(head)
    page = shaper.expand(ref, cursor=cursor, max_tokens=200, surface="command")
    assert raw[len(head) :].startswith(page.envelope.data)
    assert printed(shaper, ref).decode() == raw


def test_one_long_line_is_cut_and_expands(shaper: Shaper, replay: Any) -> None:
    raw = "é" * 40_000
    envelope = replay(shaper, ["x"], raw)
    assert (len(envelope.data["stdout"]) < 1000, envelope.meta.truncated) == (True, True)
    assert printed(shaper, envelope.meta.ref).decode() == raw


def test_a_cut_standard_error_pages_on_where_there_is_no_other_output(shaper: Shaper, replay: Any) -> None:
    envelope = replay(shaper, ["x"], "", "".join(f"note {n}\n" for n in range(900)), max_tokens=200)
    assert "//stderr~" in envelope.meta.cursor


def test_json_is_shaped_by_the_rules_of_its_command(make_shaper: Callable[..., Shaper], replay: Any) -> None:
    mine = make_shaper({"tool_overrides": {"kubectl get *": {"include_only": ["items[].name"]}}})
    raw = '{"items": [{"name": "a", "uid": 1}, {"name": "b", "uid": 2}], "kind": "List"}\n'
    envelope = replay(mine, ["kubectl", "get", "pods", "-o", "json"], raw, "deprecated\n")
    assert envelope.data == {"items": [{"name": "a"}, {"name": "b"}]}
    assert envelope.meta.extensions == {"exit_code": 0, "stderr": "deprecated\n"}
    assert printed(mine, envelope.meta.ref).decode() == raw
    assert mine.expand(envelope.meta.ref, "items[1]", surface="command").envelope.data == {"name": "b", "uid": 2}


def test_json_that_is_told_whole_needs_no_ref_and_a_table_has_one(shaper: Shaper, replay: Any) -> None:
    assert replay(shaper, ["x"], '{"a": [1, 2]}').meta.ref is None
    table = replay(shaper, ["x"], "a,b\n1,2\n")
    assert (table.data, printed(shaper, table.meta.ref)) == ([{"a": 1, "b": 2}], b"a,b\n1,2\n")


@pytest.mark.parametrize("code", [0, 1])
def test_data_beside_a_standard_error_that_is_not_shown_whole_has_a_ref(
    code: int, make_shaper: Callable[..., Shaper], replay: Any
) -> None:
    mine = make_shaper({"tool_overrides": {"x": {"drop_lines": ["^noise"]}}})
    for said in ("noise\n", "".join(f"note {n}\n" for n in range(3000))):
        envelope = replay(mine, ["x"], '{"a": 1}', said, code, max_tokens=2000)
        assert printed(mine, envelope.meta.ref, "stderr").decode() == said
        assert tokens.exact(orjson.dumps(envelope.render("invariant")).decode()) <= 2000


@pytest.mark.parametrize(
    ("wire", "told"),
    [
        ({"ok": True, "data": {"a": 1}}, (True, {"a": 1}, None)),
        ({"ok": False, "error": {"code": "NOT_FOUND", "message": "gone"}}, (False, None, "NOT_FOUND")),
        ({"ok": False, "error": "channel_not_found"}, (True, {"ok": False, "error": "channel_not_found"}, None)),
        ({"ok": True, "data": [1], "channel": 3}, (True, {"ok": True, "data": [1], "channel": 3}, None)),
    ],
)
def test_an_envelope_without_meta_is_not_nested_and_an_answer_like_it_is_data(
    shaper: Shaper, replay: Any, wire: dict[str, Any], told: Any
) -> None:
    envelope = replay(shaper, ["x"], json.dumps(wire))
    assert (envelope.ok, envelope.data, envelope.error and envelope.error.code) == told


def test_fields_of_an_answer_that_looks_like_an_envelope_are_its_own(
    make_shaper: Callable[..., Shaper], replay: Any
) -> None:
    mine = make_shaper({"tool_overrides": {"x": {"include_only": ["data.a"]}}})
    assert replay(mine, ["x"], '{"ok": true, "data": {"a": 1, "b": 2}}').data == {"data": {"a": 1}}


def test_rows_without_a_private_column_cost_no_more_than_with_it(
    make_shaper: Callable[..., Shaper], respond_to: Any
) -> None:
    mine = make_shaper({"tool_overrides": {"x": {"private": ["salary"]}}})
    raw = "name,salary,team\nada,120000,core\nbob,90000,web\neve,70000,ops\n"
    shown = respond_to(mine, ["x"], raw, dialect=None).printed
    assert shown == "[3]:\nname,team\nada,core\nbob,web\neve,ops\n"
    assert mine.shape(raw, tool="x").text == shown.rstrip()


def test_lines_that_the_config_drops_are_told_only_where_they_cost_more_than_saying_so(
    make_shaper: Callable[..., Shaper], respond_to: Any
) -> None:
    mine = make_shaper({"tool_overrides": {"x": {"drop_lines": [r"^\.+ +\[|^part"]}}})
    parts = "".join(f"part {chr(97 + number)} was built\n" for number in range(10))
    assert respond_to(mine, ["x"], "....  [100%]\n22 passed\n", dialect=None).printed == "22 passed\n"
    told = respond_to(mine, ["x"], f"{parts}22 passed\n", dialect=None)
    assert told.stderr.startswith("(10 lines left out: shaping expand r_")


def test_a_rule_for_blank_lines_leaves_the_line_break_that_ends_an_output(
    make_shaper: Callable[..., Shaper], respond_to: Any
) -> None:
    mine = make_shaper({"tool_overrides": {"x": {"drop_lines": [r"^\s*$"]}}})
    assert respond_to(mine, ["x"], "one\n\ntwo\n", dialect=None).stdout == "one\ntwo\n"
    assert respond_to(mine, ["x"], "one\n\ntwo", dialect=None).stdout == "one\ntwo"
    assert respond_to(mine, ["x"], "\n\n", dialect=None).stdout == ""


def test_json_over_budget_is_cut_in_the_tree(shaper: Shaper, replay: Any) -> None:
    raw = json.dumps([{"id": n, "name": f"thing {n}"} for n in range(500)])
    envelope = replay(shaper, ["x"], raw, max_tokens=300)
    wire = envelope.render("invariant")
    assert tokens.exact(orjson.dumps(wire).decode()) <= 300
    assert wire["meta"]["truncated"] is True
    ref, _, cursor = wire["meta"]["cursor"].partition(":")
    page = shaper.expand(ref, cursor=cursor, max_tokens=300, surface="command").envelope.data
    assert page[0]["id"] == len(envelope.data)


def test_a_failure_has_a_code_and_what_was_printed(shaper: Shaper, replay: Any) -> None:
    wire = replay(shaper, ["make"], "gcc x.c\n", "x.c:1:1: error: no\nmake: *** [x] Error 1\n", 2).render("invariant")
    assert wire == {
        "ok": False,
        "data": None,
        "error": {
            "code": "EXECUTION_ERROR",
            "message": "make exited with 2: x.c:1:1: error: no",
            "detail": "x.c:1:1: error: no\nmake: *** [x] Error 1\n",
            "retryable": False,
            "suggestion": "See what it printed; its exit codes are its own.",
            "details": {"stdout": "gcc x.c\n"},
        },
        "warnings": [],
        "meta": {"duration_ms": 1, "exit_code": 2},
    }


def test_the_headline_of_a_traceback_is_what_was_raised(shaper: Shaper, replay: Any) -> None:
    trace = 'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\n    fail("error")\n'
    twice = f"{trace}KeyError: 1\n\nDuring handling of the above exception, another exception occurred:\n\n{trace}"
    said = {trace + "ZeroDivisionError: division by zero\n": "x exited with 1: ZeroDivisionError: division by zero"}
    said |= {twice + "Stop\nmore\n": "x exited with 1: Stop", trace: f"x exited with 1: {trace.splitlines()[0]}"}
    rich = "╭──── Traceback (most recent call last) ────╮\n│ app.py:7 in add │\n╰─────╯\nValueError: seven\n"
    said |= {rich: "x exited with 1: ValueError: seven"}
    for stderr, message in said.items():
        assert replay(shaper, ["x"], "", stderr, 1).error.message == message


def test_ok_comes_from_the_exit_code_and_not_from_what_was_said(shaper: Shaper, replay: Any) -> None:
    assert replay(shaper, ["x"], '{"ok": false, "error": "all is lost"}').ok
    failed = replay(shaper, ["x"], '{"ok": true}', exit_code=1)
    assert (failed.ok, failed.error.details) == (False, {"stdout": {"ok": True}})


def test_a_config_maps_exit_codes(make_shaper: Callable[..., Shaper], replay: Any) -> None:
    mine = make_shaper({"tool_overrides": {"grep": {"exit_codes": {"1": "NOT_FOUND"}}}})
    assert replay(mine, ["grep", "x"], exit_code=1).error.code == "NOT_FOUND"
    assert replay(mine, ["grep", "x"], exit_code=2).error.code == "EXECUTION_ERROR"


def test_a_partial_failure_keeps_its_data(make_shaper: Callable[..., Shaper], replay: Any) -> None:
    mine = make_shaper({"tool_overrides": {"sync": {"exit_codes": {"3": "PARTIAL_FAILURE"}}}})
    assert replay(mine, ["sync"], '{"done": 3}', exit_code=3).render("invariant")["data"] == {"done": 3}
    assert replay(mine, ["sync"], "3 done\n", exit_code=3).render("invariant")["data"] == {"stdout": "3 done\n"}


def test_fields_that_come_back_on_error_come_back(make_shaper: Callable[..., Shaper], replay: Any) -> None:
    rules = {"include_only": ["id"], "include_on_error": ["why"]}
    mine = make_shaper({"tool_overrides": {"x": rules}})
    raw = '{"id": 1, "why": "because", "noise": 2}'
    assert replay(mine, ["x"], raw).data == {"id": 1}
    assert replay(mine, ["x"], raw, exit_code=1).error.details == {"stdout": {"id": 1, "why": "because"}}


def test_field_rules_for_an_output_that_is_text_are_told_of(shaper: Shaper, replay: Any) -> None:
    told = replay(shaper, ["x"], "just words\n", fields=["a"])
    assert (told.data, [warned.code for warned in told.warnings]) == ({"stdout": "just words\n"}, ["NOT_DATA"])
    assert replay(shaper, ["x"], "", fields=["a"]).warnings == ()


def test_a_signal_and_a_timeout_have_codes_of_their_own(shaper: Shaper, replay: Any) -> None:
    killed = replay(shaper, ["x"], ended=ProcessExit(137, "SIGKILL"))
    assert (killed.error.code, killed.error.message) == ("ABORTED", "x was ended by SIGKILL")
    assert killed.meta.extensions == {"exit_code": 137, "signal": "SIGKILL"}
    late = replay(shaper, ["x"], "so far\n", ended=ProcessExit(143, "SIGTERM", timed_out=True, duration_ms=1500.0))
    assert (late.error.code, late.meta.exit_code) == ("TIMEOUT", 124)
    assert (late.error.message, late.error.details) == ("x was ended after 1.5 s", {"stdout": "so far\n"})


def test_a_program_that_speaks_the_contract_is_taken_at_its_codes(shaper: Shaper, replay: Any) -> None:
    said = {
        "ok": False,
        "data": None,
        "error": {"code": "RATE_LIMITED", "message": "slow down", "retryable": True, "retry_after": 30},
        "warnings": ["old"],
        "meta": {"duration_ms": 1},
    }
    envelope = replay(shaper, ["x"], json.dumps(said), exit_code=11)
    assert (envelope.error.code, envelope.error.retry_after, envelope.meta.exit_code) == ("RATE_LIMITED", 30, 11)
    assert [warned.message for warned in envelope.warnings] == ["old"]
    good = {**said, "ok": True, "data": {"id": 1}, "error": None}
    assert replay(shaper, ["x"], json.dumps(good)).data == {"id": 1}
    # Its number alone counts: an envelope that denies the failure is overruled by the table.
    assert replay(shaper, ["x"], json.dumps(good), exit_code=5).error.code == "NOT_FOUND"
    for damaged in (3, "no token", None):
        failed = replay(shaper, ["x"], json.dumps({**said, "error": damaged}), exit_code=8).error
        assert failed.code == "AUTH_REQUIRED"
        assert damaged is None or failed.details["stdout"]["error"] == damaged


def test_an_unchanged_answer_is_not_modified(shaper: Shaper, replay: Any) -> None:
    tag = replay(shaper, ["x"], "same\n", etag="").meta.etag
    again = replay(shaper, ["x"], "same\n", etag=tag)
    assert (again.data, again.meta.not_modified) == (None, True)
    assert replay(shaper, ["x"], '{"a": 1}', etag="").meta.etag
    assert replay(shaper, ["x"], "same\n", exit_code=1, etag=tag).error is not None


def test_secrets_are_in_no_answer_no_error_and_no_store(shaper: Shaper, replay: Any) -> None:
    for code in (0, 1):
        for stdout in (f"token {SECRET}\n", json.dumps({"token": SECRET, "gone": None})):
            envelope = replay(shaper, ["curl", SECRET], stdout, f"used {SECRET}\n", code)
            assert SECRET not in repr(envelope)
            assert any("github" in warned.message for warned in envelope.warnings)
            assert SECRET.encode() not in printed(shaper, envelope.meta.ref) + printed(
                shaper, envelope.meta.ref, "stderr"
            )


def test_redaction_that_is_off_leaves_the_bytes(make_shaper: Callable[..., Shaper], replay: Any) -> None:
    mine = make_shaper({"tool_overrides": {"vault": {"redact": "off"}}})
    envelope = replay(mine, ["vault"], f"\x1b[1m{SECRET}\n")
    assert envelope.data == {"stdout": f"{SECRET}\n"}
    assert SECRET.encode() in printed(mine, envelope.meta.ref)


def test_private_paths_are_in_no_stored_output(make_shaper: Callable[..., Shaper], replay: Any) -> None:
    mine = make_shaper({"tool_overrides": {"x": {"private": ["password_hash"]}}})
    envelope = replay(mine, ["x"], '{"id": 1, "password_hash": "h"}')
    assert envelope.data == {"id": 1}
    with pytest.raises(ToolError, match="REF_NOT_FOUND"):
        streams_of(mine, envelope.meta.ref)
    assert mine.expand(envelope.meta.ref, surface="command").envelope.data == {"id": 1}


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize(
    "raw",
    [
        '{"id": 1, "password_hash": "deadbeef"',
        "id: 1\npassword_hash: deadbeef\n",
        "id,password_hash\n1,deadbeef,x\n2\n",
        "\x1b[31mpassword\x1b[0m_hash=deadbeef\n",
        "User(id=1, password_hash='deadbeef')\n",
    ],
)
def test_what_may_hold_private_fields_and_cannot_be_read_is_withheld(
    raw: str, code: int, make_shaper: Callable[..., Shaper], replay: Any
) -> None:
    mine = make_shaper({"tool_overrides": {"x": {"private": ["**.password_hash"], "drop_lines": ["^noise"]}}})
    envelope = replay(mine, ["x"], raw, "noise\n", code, max_tokens=400)
    assert "deadbeef" not in repr(envelope)
    assert "withheld" in repr(envelope)
    assert "deadbeef" not in repr(mine.expand(envelope.meta.ref, surface="command").value)


def test_data_in_a_text_loses_its_private_fields_alone(make_shaper: Callable[..., Shaper], replay: Any) -> None:
    mine = make_shaper({"tool_overrides": {"x": {"private": ["**.password_hash"]}}})
    envelope = replay(mine, ["x"], 'found:\n[{"id": 1, "password_hash": "deadbeef"}]\nand more\n')
    assert envelope.data == {"stdout": 'found:\n[{"id":1}]\nand more\n'}


def test_debug_drops_no_line(make_shaper: Callable[..., Shaper], replay: Any) -> None:
    mine = make_shaper({"tool_overrides": {"x": {"drop_lines": ["noise"]}}})
    assert replay(mine, ["x"], "noise\nrest\n").data == {"stdout": "rest\n"}
    assert replay(mine, ["x"], "noise\nrest\n", profile="debug").data == {"stdout": "noise\nrest\n"}


def test_a_store_out_of_reach_costs_the_ref_and_nothing_else(
    make_shaper: Callable[..., Shaper], replay: Any, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    mine = make_shaper({"store": {"kind": "sqlite", "path": str(tmp_path / "file" / "store.sqlite")}})
    envelope = replay(mine, ["x"], "\x1b[1mbold\n")
    assert (envelope.data, envelope.meta.ref) == ({"stdout": "bold\n"}, None)
    assert [warned.code for warned in replay(mine, ["x"], "\x1b[1mbold\n").warnings] == ["NOT_KEPT"]
    with pytest.raises(ToolError, match="UNAVAILABLE"):
        streams_of(mine, "r_x")


def test_more_than_the_store_keeps_is_told(make_shaper: Callable[..., Shaper], replay: Any, tmp_path: Path) -> None:
    mine = make_shaper({"store": {"kind": "sqlite", "path": str(tmp_path / "s"), "max_bytes": 40_000}})
    raw = "".join(f"{n}\n" for n in range(9_000))
    envelope = replay(mine, ["x"], raw, max_tokens=300)
    assert printed(mine, envelope.meta.ref) == raw.encode()[:20_000]
    assert any("20,000 of the 43,890 bytes of stdout" in warned.message for warned in envelope.warnings)


def test_a_key_across_the_border_of_two_parts_is_stored_in_neither(shaper: Shaper) -> None:
    writer = PartWriter(shaper, shaper.plan("x", surface="command").redact)
    digits = Random(3)  # noqa: S311 (nobody's secret)
    body = "MIIEowIBAAKCAQEA" + "\n".join(b64encode(digits.randbytes(48)).decode() for _ in range(12))
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\n"
    line = "x" * 63 + "\n"
    raw = line * (PART // 64 - 4) + key + line * 4
    writer.write(raw.encode())
    stream = writer.finish()
    assert stream.kept == len(raw)
    stored = b"".join(stream_parts(shaper.keeper("command").store, stream)).decode()
    assert "MIIEowIBAAKCAQEA" not in stored
    assert stored.count(line) == PART // 64


def test_a_part_that_is_gone_is_told(shaper: Shaper) -> None:
    with pytest.raises(ToolError, match="REF_NOT_FOUND"):
        list(stream_parts(shaper.keeper("command").store, Stream("p_gone", 1, 1, 1)))


def test_shaping_that_is_off_leaves_the_output_alone_and_keeps_how_it_ended(
    shaper: Shaper, replay: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHAPING", "off")
    raw = "\x1b[1mbold\n\n\n" + "long line\n" * 300
    assert replay(shaper, ["x"], raw, max_tokens=100).data == {"stdout": raw}
    assert replay(shaper, ["x"], '{"a": null}').data == {"a": None}
    failed = replay(shaper, ["x"], '{"a": null}', exit_code=3)
    assert (failed.meta.exit_code, failed.error.details) == (3, {"stdout": {"a": None}})


def test_a_fault_in_shaping_does_not_hide_how_the_command_ended(
    make_shaper: Callable[..., Shaper], replay: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shaping.shaper.clean", lambda *_: 1 / 0)
    envelope = replay(make_shaper(), ["x"], '{"a": 1}')
    assert (envelope.ok, envelope.meta.exit_code, envelope.meta.source) == (True, 0, "command")
    assert any(warned.code == "SHAPING_FAULT" for warned in envelope.warnings)


class Failing:
    """A store that breaks after so many values."""

    secret = b"k" * 32
    at_hand = local = True

    def __init__(self, good: int) -> None:
        self.good = good

    def put(self, ref: str, payload: bytes, *, meta: object, ttl: float) -> None:
        self.good -= 1
        if self.good < 0:
            raise StoreError("full")

    def close(self) -> None: ...


@pytest.mark.parametrize("good", [0, 1, 2, 3])
def test_a_store_that_breaks_on_the_way_is_told_and_loses_no_answer(good: int, shaper: Shaper, replay: Any) -> None:
    shaper.keeper("command").store = Failing(good)  # type: ignore[assignment]  # only what a command writes with
    envelope = replay(shaper, ["x"], "\x1b[1mout\n", "\x1b[1merr\n")
    assert envelope.data == {"stdout": "out\n", "stderr": "err\n"}
    warned = [warned.code for warned in replay(shaper, ["x"], "\x1b[1mout\n").warnings]
    assert "NOT_KEPT" in warned


def test_a_writer_that_failed_takes_no_more(shaper: Shaper) -> None:
    writer = PartWriter(shaper, shaper.plan("x", surface="command").redact)
    writer._store = Failing(1)  # type: ignore[assignment]  # the same
    for _ in range(4):
        writer.write(b"x\n" * (PART // 2))
    assert (writer.failed, writer.finish().kept) == (True, PART)


@pytest.mark.parametrize("code", [0, 1])
def test_fields_that_were_asked_for_and_are_not_there_are_warned_of(code: int, shaper: Shaper, replay: Any) -> None:
    envelope = replay(shaper, ["x"], '[{"title": "a"}]', "", code, fields=["titel", "title"])
    assert [str(warning) for warning in envelope.warnings] == ["NO_SUCH_FIELD: nothing at titel; did you mean title?"]


def test_what_is_not_text_is_told_by_its_size_and_expands_to_the_byte(shaper: Shaper, replay: Any) -> None:
    raw = bytes(range(256)) * 40
    envelope = replay(shaper, ["cat", "picture.png"], raw)
    assert envelope.data == {"stdout": "[10,240 bytes that are not UTF-8 text]\n"}
    assert printed(shaper, envelope.meta.ref) == raw


def test_a_few_odd_bytes_leave_a_text_a_text(shaper: Shaper, replay: Any) -> None:
    assert "caf\ufffd" in replay(shaper, ["ls"], b"caf\xe9 " * 3).data["stdout"]
    assert "plain words" in replay(shaper, ["ls"], b"plain words and caf\xe9\n" * 40).data["stdout"]


def test_a_config_that_is_not_in_use_is_warned_of_in_the_envelope(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replay: Any
) -> None:
    (tmp_path / "bad.json").write_text('{"globl": {}}')
    monkeypatch.setenv("SHAPING_CONFIG", str(tmp_path / "bad.json"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    mine = Shaper(expandable=True, watch=False)
    for printed_text in ("words\n", '{"a": 1}'):
        assert [warning.code for warning in replay(mine, ["x"], printed_text).warnings] == ["BAD_CONFIG"]
    mine.close()


def test_a_program_that_speaks_the_contract_fails_with_its_own_error_and_nothing_beside_it(
    shaper: Shaper, replay: Any
) -> None:
    error = {"code": "NOT_FOUND", "message": "no such user", "retryable": False}
    said = {"ok": False, "data": None, "error": error, "warnings": ["old"], "meta": {}}
    wire = replay(shaper, ["users"], json.dumps(said), "", 5).render("invariant")
    assert wire == said | {"meta": {"duration_ms": 1, "exit_code": 5}}


def test_a_program_that_speaks_the_contract_tells_no_secret(shaper: Shaper, replay: Any) -> None:
    token = "ghp_" + "a1B2" * 9
    error = {"code": "NOT_FOUND", "message": f"no {token}", "suggestion": token, "details": {"k": token}}
    said = {"ok": False, "data": {"k": token}, "error": error, "warnings": [f"old {token}"], "meta": {}}
    wire = json.dumps(replay(shaper, ["users"], json.dumps(said), "", 5).render("invariant", debug=True))
    assert (token in wire, wire.count("[redacted:github-token]")) == (False, 5)


def test_what_is_private_is_not_offered_for_a_field_that_is_not_there(make_shaper: Any, replay: Any) -> None:
    shaper = make_shaper({"tool_overrides": {"*": {"private": ["users"]}}})
    envelope = replay(shaper, ["x"], '{"id": 1, "users": {"ada": 1}}', "", 0, fields=["users.zz", "usres"])
    assert [str(warning) for warning in envelope.warnings] == [
        "NO_SUCH_FIELD: nothing at users; there is: id",
        "NO_SUCH_FIELD: nothing at usres; there is: id",
    ]


def test_whatever_the_size_error_lines_are_kept_and_counts_are_true(shaper: Shaper, respond_to: Any) -> None:
    lines = [f"line {n} " + "x" * 60 for n in range(200_000)]
    lines[70_000] = "ERROR: the disk is full"
    lines[150_123] = "Traceback (most recent call last):"
    response = respond_to(shaper, ["x"], "\n".join(lines) + "\n", dialect="none")
    assert {"ERROR: the disk is full", "Traceback (most recent call last):"} <= set(response.stdout.splitlines())
    gaps = [int(gap.replace(",", "")) for gap in re.findall(r"^… ([\d,]+) lines? …$", response.stdout, re.MULTILINE)]
    shown = len(response.stdout.splitlines()) - len(gaps)
    assert shown + sum(gaps) == len(lines)
    assert f"({sum(gaps):,} of 200,000 lines left out: shaping expand " in response.stderr


def test_error_lines_that_have_no_room_are_counted_whatever_the_size(shaper: Shaper, respond_to: Any) -> None:
    lines = [f"error {n}: " + "x" * 60 for n in range(200_000)]
    response = respond_to(shaper, ["x"], "\n".join(lines) + "\n", dialect="none", max_tokens=500)
    said = re.search(r"([\d,]+) of 200,000 lines left out, ([\d,]+) of them errors", response.stderr)
    assert said is not None
    assert said[1] == said[2]


OWN_META = {
    "truncated": True,
    "cursor": "next-7",
    "request_id": "req-1",
    "region": "eu",
    "duration_ms": 3,
}


@pytest.mark.parametrize("form", ["invariant", "none"])
def test_what_a_programs_own_envelope_says_about_its_data_is_passed_on(
    form: str, shaper: Shaper, respond_to: Any
) -> None:
    own: dict[str, Any] = {"ok": True, "data": [{"id": 1}], "error": None, "warnings": [], "meta": OWN_META}
    response = respond_to(shaper, ["users"], json.dumps(own), dialect=form)
    meta = response.envelope.meta
    assert (meta.truncated, meta.cursor, meta.request_id) == (True, "next-7", "req-1")
    assert meta.extensions["region"] == "eu"
    if form == "none":
        assert response.stderr == "(there is more: --cursor next-7; request_id req-1)\n"
    else:
        assert getattr(interpret(json.loads(response.stdout)), "cursor", None) == "next-7"


def test_what_a_failed_programs_own_envelope_says_besides_its_error_is_passed_on(shaper: Shaper, replay: Any) -> None:
    error = {"code": "NOT_FOUND", "message": "no such user", "retryable": False}
    own: dict[str, Any] = {"ok": False, "data": None, "error": error, "warnings": [], "meta": OWN_META}
    meta = replay(shaper, ["users"], json.dumps(own), "", 5).meta
    assert (meta.extensions["region"], meta.extensions["exit_code"], meta.request_id) == ("eu", 5, "req-1")


def test_a_program_that_has_nothing_new_says_so_through_us(shaper: Shaper, respond_to: Any) -> None:
    own: dict[str, Any] = {
        "ok": True,
        "data": None,
        "error": None,
        "warnings": [],
        "meta": {"not_modified": True, "etag": "abc"},
    }
    assert respond_to(shaper, ["users"], json.dumps(own)).envelope.meta.not_modified
    response = respond_to(shaper, ["users"], json.dumps(own), dialect="none")
    assert (response.stdout, response.stderr) == ("", "(not modified)\n")


def test_an_envelope_without_an_error_member_is_not_nested(shaper: Shaper, replay: Any) -> None:
    own: dict[str, Any] = {"ok": True, "data": {"id": 1}, "meta": {"request_id": "req-1"}}
    envelope = replay(shaper, ["users"], json.dumps(own))
    assert (envelope.data, envelope.meta.request_id) == ({"id": 1}, "req-1")


def test_a_failure_in_a_programs_envelope_is_one_even_if_it_exits_with_0(shaper: Shaper, respond_to: Any) -> None:
    error = {"code": "NOT_FOUND", "message": "no such user", "retryable": False}
    own: dict[str, Any] = {"ok": False, "data": None, "error": error, "warnings": [], "meta": {}}
    response = respond_to(shaper, ["users"], json.dumps(own))
    assert (response.envelope.ok, response.envelope.error.code, response.exit_code) == (False, "NOT_FOUND", 0)
    plain = respond_to(shaper, ["users"], json.dumps(own), dialect="none")
    assert plain.stderr.startswith("(NOT_FOUND: no such user")


def test_blank_lines_of_a_diff_stay_as_they_are(shaper: Shaper, respond_to: Any) -> None:
    body = "".join(f" line {n} of the file\n \n \n-old {n}  \n+new {n}\t\n+\n+\n+\n" for n in range(40))
    raw = f"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,160 +1,160 @@\n{body}"
    response = respond_to(shaper, ["git", "diff"], raw, dialect="none")
    assert (response.stdout, response.stderr) == (raw, "")


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("options", [[], ["--json"], ["--stream"]])
def test_a_redacted_path_is_masked_where_a_commands_text_assigns_it(
    tmp_path: Path, options: list[str], *, enabled: bool
) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"tool_overrides": {"*": {"enabled": enabled, "redact": {"paths": ["**.pin"]}}}}))
    code = "import sys; print('pin: 4711'); print('pin=4711', file=sys.stderr); sys.exit(3)"
    run = [sys.executable, "-m", "shaping", "run", "--config", str(config), *options, "--", sys.executable, "-c", code]
    done = subprocess.run(run, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "pin" in done.stdout + done.stderr
    assert "4711" not in done.stdout + done.stderr
