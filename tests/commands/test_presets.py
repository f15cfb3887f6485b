from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from shaping import tokens
from shaping.parsers.terminal import clean_lines, is_error_line
from shaping.settings.files import bundled, bundled_path
from shaping.settings.sources import presets_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from shaping.envelope import Envelope
    from shaping.shaper import Shaper

CASES = Path(__file__).parents[1] / "cases" / "commands"
PRESETS = sorted(path.stem for path in bundled_path("config", "presets").glob("*.json"))
MUST: dict[str, list[str]] = json.loads((CASES / "must.json").read_text())
Replay = "Callable[..., Envelope[Any]]"


def recorded(name: str) -> dict[str, Any]:
    case: dict[str, Any] = json.loads((CASES / f"{name}.json").read_text())
    return {**case, "stdout": "\n".join(case["stdout"]), "stderr": "\n".join(case["stderr"])}


def said(envelope: Envelope[Any]) -> str:
    """Everything a reader is told, as text."""
    error = envelope.error
    told = [envelope.data] if error is None else [error.message, error.detail or "", error.details or {}]
    return "\n".join(_texts(told))


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in _texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [str(value)]


def test_every_recording_has_its_list_and_every_program_a_recording() -> None:
    assert {path.stem for path in CASES.glob("*-*.json")} == set(MUST)
    programs = ["cargo", "eslint", "git", "go", "mypy", "npm", "pip", "pytest", "ruff", "tsc"]
    assert programs == PRESETS
    assert sorted({name.partition("-")[0] for name in MUST}) == programs


@pytest.mark.parametrize("name", sorted(MUST))
def test_no_error_line_and_no_failing_test_is_lost(name: str, shaper: Shaper, replay: Any) -> None:
    case = recorded(name)
    envelope = replay(shaper, case["argv"], case["stdout"], case["stderr"], case["exit_code"])
    told = said(envelope)
    assert [line for line in MUST[name] if line not in told] == []
    assert envelope.ok == (case["exit_code"] == 0)


@pytest.mark.parametrize("name", sorted(MUST))
def test_a_tight_budget_is_kept_and_the_first_error_stays(name: str, shaper: Shaper, replay: Any) -> None:
    case = recorded(name)
    envelope = replay(shaper, case["argv"], case["stdout"], case["stderr"], case["exit_code"], max_tokens=400)
    wire = json.dumps(envelope.render("invariant"), ensure_ascii=False, separators=(",", ":"))
    assert tokens.exact(wire) <= 400
    errors = [line for line in clean_lines(case["stderr"] or case["stdout"]) if is_error_line(line)]
    if envelope.error is not None and errors:
        assert any(word in wire for word in re.findall(r"\w{4,}", errors[0]))


@pytest.mark.parametrize("name", ["pytest-many", "pytest-verbose"])
def test_three_failures_among_two_thousand_tests_are_told_within_600_tokens(
    name: str, shaper: Shaper, replay: Any
) -> None:
    case = recorded(name)
    for budget in ({}, {"max_tokens": 600}):
        envelope = replay(shaper, case["argv"], case["stdout"], case["stderr"], case["exit_code"], **budget)
        wire = json.dumps(envelope.render("invariant"), ensure_ascii=False, separators=(",", ":"))
        assert tokens.exact(wire) <= 600
        assert [line for line in MUST[name] if line not in said(envelope)] == []


@pytest.mark.parametrize("program", PRESETS)
def test_a_preset_fits_the_schema_it_names(program: str) -> None:
    schema = json.loads(bundled("config", "response_config.schema.json"))
    preset = json.loads(bundled("config", f"presets/{program}.json"))
    assert [error.message for error in Draft202012Validator(schema).iter_errors(preset)] == []
    for override in preset["tool_overrides"].values():
        for pattern in (*override.get("keep_lines", ()), *override.get("drop_lines", ())):
            re.compile(pattern)


def test_a_preset_is_found_by_the_program_and_nothing_else() -> None:
    assert [Path(document.file).name for document in presets_for("git log")] == ["git.json"]
    assert presets_for("nosuchprogram x") == presets_for("../git") == presets_for("") == ()


def test_any_config_outranks_a_preset_and_explain_names_it(make_shaper: Callable[..., Shaper]) -> None:
    mine = make_shaper({"tool_overrides": {"git *": {"exit_codes": {"1": "NOT_FOUND"}}}})
    assert dict(mine.plan("git merge", surface="command").exit_codes) == {1: "NOT_FOUND", 129: "BAD_ARGUMENT"}
    assert mine.plan("git merge").exit_codes == {1: "NOT_FOUND"}
    told = {choice.name: choice for choice in mine.loaded_config.explain("git log", surface="command")}
    assert told["keep_lines"].source == "preset git"


def test_exit_codes_that_a_preset_knows_have_its_code(shaper: Shaper, replay: Any) -> None:
    codes = {name: replay(shaper, case["argv"], case["stdout"], case["stderr"], case["exit_code"]).error
             for name in MUST if (case := recorded(name))["exit_code"]}  # fmt: skip
    assert {name: error.code for name, error in codes.items()} == {
        "cargo-build": "CORRECTION_NEEDED",
        "cargo-test": "CORRECTION_NEEDED",
        "eslint-errors": "CORRECTION_NEEDED",
        "git-merge": "CONFLICT",
        "git-push": "EXECUTION_ERROR",
        "go-build": "CORRECTION_NEEDED",
        "go-test": "CORRECTION_NEEDED",
        "mypy-errors": "CORRECTION_NEEDED",
        "npm-install": "EXECUTION_ERROR",
        "npm-missing": "EXECUTION_ERROR",
        "npm-test": "EXECUTION_ERROR",
        "pip-install": "EXECUTION_ERROR",
        "pytest-broken": "ABORTED",
        "pytest-many": "CORRECTION_NEEDED",
        "pytest-verbose": "CORRECTION_NEEDED",
        "ruff-check": "CORRECTION_NEEDED",
        "ruff-json": "CORRECTION_NEEDED",
        "tsc-errors": "CORRECTION_NEEDED",
        "tsc-pretty": "CORRECTION_NEEDED",
    }
