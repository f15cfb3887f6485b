from __future__ import annotations

import copy
import logging
import math
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from shaping import Shaped, Shaper, using
from shaping.envelope import local_envelope
from shaping.errors import make_error
from shaping.response import Warned
from shaping.settings.jsonc import ConfigError
from shaping.settings.plan import Overrides

RAW = {
    "items": [
        {"number": 1, "title": "Broken", "user": {"login": "ada", "node_id": "MDQ6"}, "assignee": None},
        {"number": 2, "title": "Slow", "user": {"login": "bob", "node_id": "MDQ7"}, "assignee": None},
    ],
    "total": 2,
    "next": None,
}
CONFIG = {"tool_overrides": {"list": {"include_only": ["items[].number", "items[].user.login"]}}}


def test_minimal_gives_the_data_without_what_says_nothing() -> None:
    assert Shaper({}).shape({"a": 1, "b": None, "c": []}).value == {"data": {"a": 1}}


def test_standard_gives_data_and_warnings_where_there_are_some() -> None:
    assert Shaper({}).shape({"a": 1, "x": math.nan}, profile="standard").value["data"] == {"a": 1, "x": "NaN"}
    assert "NOT_A_NUMBER" in str(Shaper({}).shape({"x": math.nan}, profile="standard").value["warnings"])


def test_debug_gives_everything_even_where_null() -> None:
    value = Shaper({}).shape({"a": 1, "b": None}, tool="t", profile="debug").value
    assert value["data"] == {"a": 1, "b": None}
    for member in (
        "tier",
        "tool_version",
        "tool_id",
        "request_id",
        "capabilities",
        "duration_ms",
        "error",
        "upgrade_hints",
    ):
        assert member in value


def test_debug_shows_the_hash_of_the_config_it_came_from() -> None:
    shaper = Shaper(CONFIG)
    shaped = shaper.shape(RAW, tool="list", profile="debug")
    assert shaped.value["config_hash"] == shaper.loaded_config.hash


def test_a_field_list_selects_inside_lists() -> None:
    assert Shaper(CONFIG).shape(RAW, tool="list").value == {
        "data": {"items": [{"number": 1, "user": {"login": "ada"}}, {"number": 2, "user": {"login": "bob"}}]}
    }


def test_a_field_list_never_opens_what_it_does_not_select() -> None:
    class Trap:
        def __iter__(self) -> Any:
            raise AssertionError("opened")

    assert Shaper({"tool_overrides": {"t": {"include_only": ["a"]}}}).shape(
        {"a": 1, "trap": Trap()}, tool="t"
    ).value == {"data": {"a": 1}}


def test_a_generator_inside_a_filtered_value_is_read_once() -> None:
    shaper = Shaper({"tool_overrides": {"t": {"include_only": ["items[].a"]}}})
    shaped = shaper.shape({"items": ({"a": n, "b": n} for n in range(2)), "c": 1}, tool="t")
    assert shaped.value == {"data": {"items": [{"a": 0}, {"a": 1}]}}
    assert {omission.path for omission in shaped.omissions} == {"items[].b", "c"}


def test_omissions_say_what_was_left_out_and_why() -> None:
    shaped = Shaper(CONFIG).shape(RAW, tool="list")
    assert {(o.path, o.count, o.reason) for o in shaped.omissions} == {
        ("items[].title", 2, "fields"),
        ("items[].user.node_id", 2, "fields"),
        ("items[].assignee", 2, "fields"),
        ("total", 1, "fields"),
        ("next", 1, "fields"),
    }


def test_input_is_never_mutated() -> None:
    raw = copy.deepcopy(RAW)
    for profile in ("minimal", "standard", "debug"):
        Shaper(CONFIG).shape(raw, tool="list", profile=profile)
    assert raw == RAW


def test_shaping_twice_is_shaping_once() -> None:
    shaper = Shaper({})
    shaped = shaper.shape(RAW)
    assert shaper.shape(shaped) is shaped


def test_same_input_and_config_give_the_same_bytes() -> None:
    first, second = (orjson.dumps(Shaper(CONFIG).shape(RAW, tool="list").value) for _ in range(2))
    assert first == second


def test_a_private_path_leaves_in_no_profile() -> None:
    shaper = Shaper({"tool_overrides": {"*": {"private": ["**.node_id"]}}})
    for profile in ("minimal", "standard", "debug"):
        shaped = shaper.shape(RAW, tool="list", profile=profile)
        assert b"MDQ" not in orjson.dumps(shaped.value)
        assert "MDQ" not in shaped.text


def test_a_field_of_a_higher_tier_is_left_out_below_it() -> None:
    config = {"tool_overrides": {"t": {"exclude_when_tier": {"community": ["taint"]}}}}
    assert Shaper(config, tier="community").shape({"a": 1, "taint": 2}, tool="t").value == {"data": {"a": 1}}
    assert Shaper(config, tier="pro").shape({"a": 1, "taint": 2}, tool="t").value == {"data": {"a": 1, "taint": 2}}


def test_a_secret_never_leaves_and_its_place_is_warned_of() -> None:
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    shaped = Shaper({}).shape({"config": {"remote": token}}, profile="debug")
    assert token not in orjson.dumps(shaped.value).decode()
    assert token not in shaped.text
    assert [(w.code, w.path) for w in shaped.warnings] == [("REDACTED", "config.remote")]


def test_a_fault_in_shaping_costs_nobody_the_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(value: Any, *_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr("shaping.shaper.clean", broken)
    with caplog.at_level(logging.CRITICAL):
        shaped = Shaper({}).shape({"a": 1, "b": None})
    assert shaped.value["data"] == {"a": 1, "b": None}
    assert [w.code for w in shaped.warnings] == ["SHAPING_FAULT"]
    assert "ZeroDivisionError" in str(shaped.value["warnings"])
    assert '"a":1' in shaped.text
    assert shaped.tokens.before > 0


def test_after_a_fault_secrets_and_private_paths_still_stay_in(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(value: Any, *_: Any) -> Any:
        raise ZeroDivisionError

    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    shaper = Shaper({"tool_overrides": {"t": {"private": ["hidden"]}}})
    monkeypatch.setattr("shaping.shaper.clean", broken)
    value = shaper.shape({"a": token, "hidden": "x", "b": 2}, tool="t").value
    assert value["data"]["b"] == 2
    assert "hidden" not in value["data"]
    assert token not in str(value)


def test_switched_off_the_very_value_comes_back() -> None:
    raw = {"a": None}
    shaped = Shaper({}, environ={"SHAPING": "off"}).shape(raw)
    assert shaped.value is raw
    assert shaped.text == '{"a":null}'
    assert shaped.tokens.before == shaped.tokens.after


def test_observing_hands_on_the_very_value_and_measures(caplog: pytest.LogCaptureFixture) -> None:
    raw: dict[str, Any] = {"rows": [{"n": n, "b": None, "c": {"d": None, "e": []}} for n in range(9)]}
    with caplog.at_level(logging.INFO, "shaping"):
        shaped = Shaper({}, environ={"SHAPING": "observe"}).shape(raw, tool="watched")
    assert shaped.value is raw
    assert shaped.tokens.after < shaped.tokens.before
    assert "watched" in caplog.text


def test_tokens_know_the_price_before_and_after() -> None:
    tokens = Shaper(CONFIG).shape(RAW, tool="list").tokens
    assert tokens.saved == tokens.before - tokens.after > 0
    assert tokens.method == "exact"


def test_a_bare_string_is_its_own_text_under_the_none_dialect() -> None:
    with using(dialect="none"):
        shaped = Shaper({}).shape("plain words")
    assert shaped.value == "plain words"
    assert shaped.text == "plain words"


def test_a_bad_config_is_refused_when_it_is_given() -> None:
    with pytest.raises(ConfigError, match="minimla"):
        Shaper({"global": {"profile": "minimla"}})


def test_a_missing_config_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.json"):
        Shaper(tmp_path / "nowhere.json")


def test_a_bad_request_is_warned_about_and_the_answer_still_comes() -> None:
    with using(fields=["a..b"]):
        shaped = Shaper({}).shape({"a": 1})
    assert shaped.value["data"] == {"a": 1}
    assert [w.code for w in shaped.warnings] == ["BAD_REQUEST"]


@pytest.mark.parametrize("value", [0, 1.5, "x", True, None, [], {}, [[]], ""])
def test_a_bare_value_of_any_kind_is_an_answer(value: Any) -> None:
    assert Shaper({}).shape(value).value == {"data": value}


def test_a_shaped_response_says_what_it_is() -> None:
    shaped = Shaper({}).shape({"a": 1}, tool="t")
    assert isinstance(shaped, Shaped)
    assert "tool='t'" in repr(shaped)
    assert "minimal" in repr(shaped)
    assert shaped.envelope.data == {"a": 1}
    assert shaped.envelope.ok
    assert shaped.data == {"a": 1}
    assert not shaped.truncated
    assert shaped.cursor is None


def test_a_config_that_is_found_broken_is_warned_of_in_every_response(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "response_config.json").write_text('{"global": {"profile": "minimla"}}')
    monkeypatch.chdir(tmp_path)
    shaped = Shaper().shape({"a": 1})
    assert shaped.value == {"data": {"a": 1}}
    assert [w.code for w in shaped.warnings] == ["BAD_CONFIG"]
    assert "response_config.json is wrong at $.global.profile" in shaped.warnings[0].message


def test_observing_leaves_a_generator_to_its_reader() -> None:
    shaper = Shaper({}, environ={"SHAPING": "observe"})
    value = {"number": float("nan"), "items": iter([1, 2])}
    assert shaper.shape(value).value is value
    assert list(value["items"]) == [1, 2]


def test_a_fault_after_a_generator_was_read_keeps_what_it_gave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shaping.cleaning.drop_empties", _broken)
    shaped = Shaper({}).shape(iter([1, 2]), request_id="r1", warnings=(Warned("TOOL", "mind"),))
    assert shaped.data == [1, 2]
    assert shaped.value["request_id"] == "r1"
    assert [warned.code for warned in shaped.warnings] == ["TOOL", "SHAPING_FAULT"]


def _broken(*_: Any) -> Any:
    raise RuntimeError


@pytest.mark.parametrize("step", ["may_be_envelope", "data_in", "clean_call"])
def test_a_fault_in_reading_an_answer_does_not_cost_it(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"shaping.shaper.{step}", _broken)
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    answer, told = ("[1, 2]", "[1, 2]") if step == "data_in" else ({"a": secret}, {"a": "[redacted:github-token]"})
    shaped = Shaper({}).shape(answer, error=make_error("TIMEOUT", f"no answer for {secret}"))
    assert shaped.data == told
    assert secret not in str(shaped.value)
    assert shaped.failed
    assert [warned.code for warned in shaped.warnings] == ["SHAPING_FAULT"]


def test_a_fault_of_a_recorder_does_not_cost_the_answer() -> None:
    def record(shaped: object) -> None:
        raise RuntimeError(shaped)

    assert Shaper({}, recorder=record).shape({"a": 1}).data == {"a": 1}


def test_an_envelope_that_a_tool_answers_with_is_shaped_and_not_wrapped_again() -> None:
    envelope = local_envelope({"a": 1, "b": None}, "search", warnings=["mind"], request_id="r1")
    assert Shaper({}).shape(envelope, profile="standard").value == {
        "request_id": "r1",
        "warnings": ["mind"],
        "data": {"a": 1, "b": None},
    }


def test_the_details_of_a_failure_stay_beside_the_error_of_an_envelope() -> None:
    envelope = local_envelope({"tried": 3}, "search", error=make_error("NOT_FOUND", "gone"))
    shaped = Shaper({}).shape(envelope)
    assert shaped.failed
    assert shaped.value == {"error": {"error": "gone", "error_code": "not_found"}, "data": {"tried": 3}}


def test_a_value_that_cannot_even_be_asked_for_an_attribute_is_an_answer() -> None:
    class Touchy:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(name)

    assert Shaper({}).shape(Touchy()).value["data"].endswith("Touchy>")


def test_a_default_profile_gives_way_to_block_and_environment() -> None:
    def chosen(**environ: str) -> str:
        return Shaper({}, environ=environ).shape(1, default_profile="standard").plan.profile

    assert chosen() == "standard"
    assert chosen(SHAPING_DEBUG="1") == "debug"
    with using(profile="minimal"):
        assert chosen() == "minimal"


def test_the_log_of_a_fault_tells_where_and_of_what_kind_but_nothing_of_the_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(value: Any, *_: Any) -> Any:
        raise ValueError(f"cannot do {value!r}")

    monkeypatch.setattr("shaping.shaper.clean", broken)
    monkeypatch.setattr(sys.modules["shaping.cleaning"], "redact", broken)
    shaped = Shaper({"tool_overrides": {"t": {"private": ["secret"]}}}).shape({"secret": "hunter2"}, tool="t")
    assert shaped.data == "[withheld: redaction failed]"
    assert "ValueError" in caplog.text
    assert "in broken" in caplog.text
    assert "hunter2" not in caplog.text


WIRE_FORMS = [
    {"ok": True, "data": {"a": 1, "b": None}, "error": None, "warnings": [], "meta": {"request_id": "r1"}},
    {"data": {"a": 1, "b": None}, "request_id": "r1"},
    {"ok": True, "a": 1, "b": None, "_meta": {"request_id": "r1"}},
]


@pytest.mark.parametrize("dialect", ["lean", "flat", "invariant"])
@pytest.mark.parametrize("wire", WIRE_FORMS, ids=["invariant", "lean", "flat"])
def test_an_answer_in_one_of_our_wire_forms_is_not_wrapped_again(wire: dict[str, Any], dialect: str) -> None:
    with using(dialect=dialect):
        shaped = Shaper({}).shape(copy.deepcopy(wire), tool="t")
    assert shaped.data == {"a": 1}
    assert shaped.envelope.meta.request_id == "r1"
    assert not shaped.failed


def test_a_failure_in_one_of_our_wire_forms_stays_a_failure() -> None:
    wire: dict[str, Any] = {
        "ok": False,
        "data": None,
        "error": {"code": "NOT_FOUND", "message": "gone"},
        "warnings": [],
        "meta": {"source": "local"},
    }
    for dialect in ("lean", "flat", "invariant", "none"):
        with using(dialect=dialect):
            shaped = Shaper({}).shape(wire, tool="t")
        assert shaped.failed
        assert shaped.envelope.error is not None
        assert shaped.envelope.error.code == "NOT_FOUND"


def test_fields_are_those_of_the_data_inside_a_wire_form() -> None:
    shaper = Shaper({"tool_overrides": {"t": {"include_only": ["functions"]}}})
    assert shaper.shape({"data": {"functions": [1], "other": 2}}, tool="t").value == {"data": {"functions": [1]}}


def test_a_path_that_starts_with_data_says_that_it_is_a_field() -> None:
    shaper = Shaper({"tool_overrides": {"t": {"include_only": ["data.items"]}}})
    raw = {"data": {"items": [1], "other": 2}}
    assert shaper.shape(raw, tool="t").value == {"data": {"data": {"items": [1]}}}


def test_a_config_whose_fields_an_answer_does_not_have_is_told_in_the_answer_and_once_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shaper = Shaper({"tool_overrides": {"list": {"include_only": ["nubmer"]}}})
    with caplog.at_level(logging.WARNING, "shaping"):
        shaped = [shaper.shape([{"number": 1}, {"number": 2}], tool="list") for _ in range(3)]
    assert [warned.code for warned in shaped[0].warnings] == ["NO_SUCH_FIELD"]
    message = "include_only names nothing that this answer has (nubmer)"
    assert message in shaped[0].text
    assert shaped[0].value["warnings"] == [{"code": "NO_SUCH_FIELD", "message": message}]
    assert caplog.text.count(message) == 1
    assert shaper.shape([], tool="list").warnings == ()


def test_a_wrong_config_is_told_without_the_frames_of_its_reader() -> None:
    with pytest.raises(ConfigError, match="max_tokns is not a known key") as raised:
        Shaper({"global": {"max_tokns": 3}})
    assert len(raised.traceback) <= 4


@pytest.mark.parametrize("profile", ["minimal", "standard"])
@pytest.mark.parametrize(
    "form", ["{time} {level} worker handled request {n}", '{{"time":"{time}","level":"{level}","msg":"request {n}"}}']
)
def test_a_log_that_is_cut_keeps_its_errors_and_says_of_which_levels_lines_are_missing(form: str, profile: str) -> None:
    levels = ["ERROR" if n % 400 == 333 else "WARN" if n % 90 == 1 else "INFO" for n in range(2_000)]
    lines = [
        form.format(time=f"2026-11-17T10:{n // 60:02d}:{n % 60:02d}Z", level=level, n=n)
        for n, level in enumerate(levels)
    ]
    shaped = Shaper(expandable=True).shape(
        "\n".join(lines), tool="logs", profile=profile, overrides=Overrides(max_tokens=2_000, dialect="none")
    )
    assert shaped.truncated
    assert all(f"request {n}" in shaped.text or f" {n}" in shaped.text for n in range(333, 2_000, 400))
    assert "WARN" in shaped.notice


def test_a_misspelt_name_among_good_ones_is_logged_once_with_the_nearest(caplog: pytest.LogCaptureFixture) -> None:
    shaper = Shaper({"tool_overrides": {"t": {"include_only": ["number", "titel", "closed_at"]}}})
    answer = [{"number": n, "title": "Widget", "url": "u"} for n in range(3)]
    assert [shaper.shape(answer, tool="t").data for _ in range(2)] == [[{"number": n} for n in range(3)]] * 2
    assert [record.getMessage() for record in caplog.records] == [
        "'t': include_only: nothing at titel; did you mean title?"
    ]
