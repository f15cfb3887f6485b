from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from shaping.settings.files import bundled
from shaping.settings.jsonc import ConfigError
from shaping.settings.loading import load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shaping.settings.loading import LoadedConfig

NOISE = ("links", "opaque", "bulk", "boilerplate", "repeats", "constants")


def decided(loaded_config: LoadedConfig, profile: str) -> dict[str, Any]:
    return {choice.name: choice.value for choice in loaded_config.explain("any", profile=profile)}


def source(loaded_config: LoadedConfig, profile: str, choice: str) -> str:
    return next(found.source for found in loaded_config.explain("any", profile=profile) if found.name == choice)


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        (
            "minimal",
            {
                "prune": NOISE,
                "encoding": "auto",
                "lossless": False,
                "max_tokens": 20_000,
                "omissions": "line",
                "envelope": (),
            },
        ),
        (
            "standard",
            {
                "prune": ("repeats", "constants"),
                "encoding": "auto",
                "lossless": True,
                "max_tokens": 20_000,
                "omissions": "list",
                "envelope": ("error", "warnings", "upgrade_hints"),
            },
        ),
        (
            "debug",
            {"prune": (), "encoding": "json", "lossless": True, "max_tokens": None, "omissions": "full"},
        ),
    ],
)
def test_the_bundled_profiles_are_those_of_the_design(profile: str, expected: dict[str, Any]) -> None:
    found = decided(load({}), profile)
    assert {name: found[name] for name in expected} == expected
    dropped = [found[f"exclude_{kind}"] for kind in ("null_values", "empty_arrays", "empty_objects")]
    assert dropped == [profile != "debug"] * 3
    assert (found["exclude_default_values"], found["debug"]) == (False, profile == "debug")


def test_debug_includes_every_member_there_is() -> None:
    schema = json.loads(bundled("config", "response_config.schema.json"))
    every = schema["$defs"]["EnvelopeChoice"]["properties"]["include"]["items"]["enum"]
    assert decided(load({}), "debug")["envelope"] == tuple(every)


def test_every_bundled_profile_makes_every_choice_a_profile_without_a_parent_must_make() -> None:
    made = {name: set(json.loads(bundled("profiles", f"{name}.json"))) for name in ("minimal", "standard", "debug")}
    assert made["minimal"] == made["standard"] == made["debug"] - {"max_items", "max_string"}


def test_a_profile_changes_only_what_it_says_and_adds_envelope_members_to_its_parents() -> None:
    config = {"profiles": {"audit": {"extends": "standard", "envelope": {"include": ["request_id", "duration_ms"]}}}}
    loaded_config = load(config)
    expected = {
        **decided(load({}), "standard"),
        "profile": "audit",
        "envelope": ("error", "warnings", "upgrade_hints", "request_id", "duration_ms"),
    }
    assert decided(loaded_config, "audit") == expected


def test_a_profile_may_take_members_away_and_switch_single_noise_rules() -> None:
    config = {
        "profiles": {
            "quiet": {"extends": "standard", "envelope": {"exclude": ["warnings"]}, "prune": {"links": True}},
            "quieter": {"extends": "quiet", "prune": {"repeats": False}},
        }
    }
    found = decided(load(config), "quieter")
    assert (found["envelope"], found["prune"]) == (("error", "upgrade_hints", "!warnings"), ("links", "constants"))


def test_a_profile_that_extends_nothing_starts_from_minimal() -> None:
    loaded_config = load({"profiles": {"small": {"max_tokens": 500}}})
    assert decided(loaded_config, "small") == {
        **decided(loaded_config, "minimal"),
        "profile": "small",
        "max_tokens": 500,
    }
    assert loaded_config.sources.profiles.lineage("small") == ("small", "minimal")


def test_a_bundled_profile_can_be_changed_by_name() -> None:
    loaded_config = load({"profiles": {"minimal": {"max_tokens": 500}}})
    assert decided(loaded_config, "minimal") == {**decided(load({}), "minimal"), "max_tokens": 500}


def test_a_bundled_profile_that_is_made_to_extend_another_starts_from_that_one() -> None:
    loaded_config = load({"profiles": {"minimal": {"extends": "standard", "max_tokens": 500}}})
    expected = {**decided(load({}), "standard"), "profile": "minimal", "max_tokens": 500}
    assert decided(loaded_config, "minimal") == expected


def test_profiles_in_a_directory_beside_the_config_count_and_those_inside_it_win(
    project: Path, environ: dict[str, str], write: Callable[[str, Any], Path]
) -> None:
    write(".shaping/response_config.json", {"profiles": {"mine": {"max_items": 7}}})
    write(".shaping/profiles/mine.json", '{"extends": "debug", // as a file\n"max_items": 5, "max_string": 9}')
    write("profiles/other.json", {})
    loaded_config = load(cwd=project, environ=environ)
    assert loaded_config.profiles == ("debug", "mine", "minimal", "standard")
    expected = {**decided(load({}), "debug"), "profile": "mine", "max_items": 7, "max_string": 9}
    assert decided(loaded_config, "mine") == expected
    assert loaded_config.files == tuple(
        str(project / ".shaping" / name) for name in ("response_config.json", "profiles/mine.json")
    )


def test_each_choice_of_a_profile_knows_which_profile_and_line_it_came_from(
    project: Path, environ: dict[str, str], write: Callable[[str, Any], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("response_config.json", '{"profiles": {\n"mine": {\n"extends": "standard",\n"max_items": 5}}}')
    monkeypatch.chdir(project)
    loaded_config = load(environ=environ)
    assert source(loaded_config, "mine", "max_items") == "profile mine (response_config.json:4)"
    assert source(loaded_config, "mine", "omissions") == "profile standard (bundled)"


def test_what_ships_is_told_from_what_a_user_wrote() -> None:
    profiles = load({"profiles": {"minimal": {}, "mine": {}}}).sources.profiles
    assert {name: profiles.sections[name][-1].is_bundled for name in profiles.names()} == {
        "debug": True, "mine": False, "minimal": False, "standard": True,
    }  # fmt: skip


def test_a_stranger_in_the_directory_is_left_alone_with_a_warning(
    project: Path, environ: dict[str, str], write: Callable[[str, Any], Path]
) -> None:
    write("response_config.json", {})
    write("profiles/empty.json", {})
    stranger = write("profiles/aws.json", {"region": "eu"})
    loaded_config = load(cwd=project, environ=environ)
    assert loaded_config.profiles == ("debug", "empty", "minimal", "standard")
    assert [(warning.file, str(warning)) for warning in loaded_config.warnings] == [
        (str(stranger), "$ has no key that a profile has; expected a profile; the file is left alone. (line 1)")
    ]


def test_a_profile_whose_only_key_is_misspelt_is_a_problem_and_no_stranger(
    project: Path, environ: dict[str, str], write: Callable[[str, Any], Path]
) -> None:
    write("response_config.json", {})
    write("profiles/mine.json", {"max_token": 5})
    with pytest.raises(ConfigError, match="Did you mean 'max_tokens'"):
        load(cwd=project, environ=environ)
