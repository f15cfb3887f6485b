from importlib.metadata import EntryPoint
from typing import Any

import pytest

from shaping.errors import CodeDefinition, CodeError, CodeRegistry, UnknownCodeError

FULL = {"http": 503, "retryable": True, "hint": "Wait."}
LOST = {"http": 404, "retryable": False, "hint": "Look again.", "exit_code": 79, "side_effects": "none"}


@pytest.fixture
def registry() -> CodeRegistry:
    return CodeRegistry(discover=False)


def test_a_plugins_code_carries_its_namespace(registry: CodeRegistry) -> None:
    registry.register_plugin("production", {"FULL": FULL, "LOST": CodeDefinition(**LOST)})  # type: ignore[arg-type]
    assert registry.definition("production.FULL") == CodeDefinition(http=503, retryable=True, hint="Wait.")
    assert registry.definition("production.LOST").exit_code == 79
    assert registry.codes()[-2:] == ("production.FULL", "production.LOST")
    assert registry.find("FULL") is None


@pytest.mark.parametrize("namespace", ["", "Production", "1st", "a-b", "a.b", "a_b", "é"])
def test_a_namespace_is_lower_case_letters_and_digits(registry: CodeRegistry, namespace: str) -> None:
    with pytest.raises(CodeError, match="expected lower-case letters and digits"):
        registry.register_plugin(namespace, {"FULL": FULL})


@pytest.mark.parametrize("key", ["", "full", "Full", "_FULL", "FULL_", "A__B", "A-B", "1A", "FULL\n"])
def test_a_key_is_in_screaming_snake_case(registry: CodeRegistry, key: str) -> None:
    with pytest.raises(CodeError, match="expected SCREAMING_SNAKE_CASE"):
        registry.register_plugin("production", {key: FULL})


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({**FULL, "side_effects": "partial"}, "retryable needs side_effects 'none'"),
        ({**FULL, "exit_code": 137}, "126 to 255 belong to the shell"),
        ({**FULL, "htttp": 500}, "htttp"),
        ({}, "missing"),
    ],
)
def test_codes_are_registered_all_or_none(registry: CodeRegistry, given: dict[str, Any], why: str) -> None:
    with pytest.raises(CodeError, match=f"production.BAD: .*{why}"):
        registry.register_plugin("production", {"GOOD": FULL, "BAD": given})
    assert registry.find("production.GOOD") is None


def test_a_differing_redefinition_is_refused_with_both_shown(registry: CodeRegistry) -> None:
    registry.register_plugin("production", {"FULL": FULL})
    with pytest.raises(CodeError) as caught:
        registry.register_plugin("production", {"NEW": FULL, "FULL": {**FULL, "http": 429}})
    assert str(caught.value) == (
        "production is registered with another meaning:\n"
        "  production.FULL is CodeDefinition(http=503, retryable=True, hint='Wait.', exit_code=1,"
        " side_effects='none', interrupts=False)\n"
        "    and would be CodeDefinition(http=429, retryable=True, hint='Wait.', exit_code=1,"
        " side_effects='none', interrupts=False)"
    )
    assert registry.find("production.NEW") is None


def test_what_is_registered_twice_is_unregistered_twice(registry: CodeRegistry) -> None:
    registry.register_plugin("production", {"FULL": FULL})
    registry.register_plugin("production", {"FULL": FULL, "LOST": LOST})
    assert registry.unregister_plugin("production") is True
    assert registry.find("production.FULL") is not None
    assert registry.find("production.LOST") is None
    assert registry.unregister_plugin("production") is True
    assert registry.find("production.FULL") is None
    assert registry.unregister_plugin("production") is False


def test_after_unregistering_a_code_may_mean_something_else(registry: CodeRegistry) -> None:
    registry.register_plugin("production", {"FULL": FULL})
    registry.unregister_plugin("production")
    registry.register_plugin("production", {"FULL": {**FULL, "http": 429}})
    assert registry.definition("production.FULL").http == 429


def test_an_unknown_code_is_answered_with_the_nearest(registry: CodeRegistry) -> None:
    with pytest.raises(UnknownCodeError, match="Did you mean 'NOT_FOUND'") as caught:
        registry.definition("NOT_FUOND")
    assert (caught.value.code, caught.value.similar[0]) == ("NOT_FUOND", "NOT_FOUND")
    with pytest.raises(UnknownCodeError, match=r"'QQQ' is not a registered error code\.$"):
        registry.definition("QQQ")


def test_codes_of_installed_packages_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Loads(EntryPoint):
        def load(self) -> Any:
            return {"FULL": FULL}

    def found(*, group: str) -> list[EntryPoint]:
        asked.append(group)
        return [Loads("production", "x:y", group)]

    monkeypatch.setattr("importlib.metadata.entry_points", found)
    registry = CodeRegistry()
    assert registry.find("NOT_FOUND") is not None
    assert asked == []
    assert registry.find("production.FULL") == CodeDefinition(**FULL)  # type: ignore[arg-type]
    assert "production.FULL" in registry.codes()
    assert asked == ["shaping.error_codes"]


def test_a_broken_package_does_not_stand_in_the_way(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken = EntryPoint("production", "no.such.module:codes", "shaping.error_codes")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [broken])
    assert CodeRegistry().find("production.FULL") is None
    assert "the error codes of 'no.such.module:codes' cannot be loaded" in caplog.text


@pytest.mark.parametrize(
    "wrong",
    [
        {"http": "500"},
        {"http": True},
        {"retryable": "yes"},
        {"hint": None},
        {"side_effects": "maybe"},
        {"exit_code": "1"},
    ],
)
def test_a_definition_of_the_wrong_kind_is_refused_by_name(wrong: dict[str, Any]) -> None:
    given = {"http": 500, "retryable": False, "hint": "x", **wrong}
    with pytest.raises(CodeError, match=f"prod.X: {next(iter(wrong))} is"):
        CodeRegistry(discover=False).register_plugin("prod", {"X": given})
