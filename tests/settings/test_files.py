from __future__ import annotations

import os
from pathlib import Path

import pytest

from shaping.settings.files import config_places, find, is_present, user_directory
from shaping.settings.jsonc import ConfigError


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository below a directory that has a config of its own, and a working directory two levels down."""
    (tmp_path / "response_config.json").write_text("{}")
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "a" / "b").mkdir(parents=True)
    return tmp_path / "repo"


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")
    return path


def test_places_are_looked_at_in_the_stated_order(repository: Path) -> None:
    user = repository.parent / "xdg"
    environ = {"XDG_CONFIG_HOME": str(user)}
    expected = [
        directory / name
        for directory in (repository / "a", repository)
        for name in ("response_config.json", ".shaping/response_config.json", ".code-scalpel/response_config.json")
    ] + [user / "shaping" / "response_config.json"]
    assert list(config_places(None, cwd=repository / "a", environ=environ)) == expected
    for place in reversed(expected):
        touch(place)
        assert find(None, cwd=repository / "a", environ=environ) == place
    variable = touch(repository / "by_variable.json")
    environ["SHAPING_CONFIG"] = "../by_variable.json"
    found = find(None, cwd=repository / "a", environ=environ)
    assert found is not None
    assert found.resolve() == variable
    explicit = touch(repository / "a" / "explicit.json")
    assert find("explicit.json", cwd=repository / "a", environ=environ) == explicit


def test_the_search_stops_at_the_repositorys_root(repository: Path) -> None:
    assert find(None, cwd=repository / "a" / "b", environ={"HOME": str(repository)}) is None


def test_without_a_repository_all_parents_are_looked_at(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    place = touch(tmp_path / ".shaping" / "response_config.json")
    assert find(None, cwd=tmp_path / "a", environ={"HOME": str(tmp_path)}) == place


@pytest.mark.parametrize(
    ("config", "environ", "asked_by"),
    [("missing.json", {}, "config"), (None, {"SHAPING_CONFIG": "missing.json"}, "SHAPING_CONFIG")],
)
def test_a_file_that_was_asked_for_by_name_must_exist(
    tmp_path: Path, config: str | None, environ: dict[str, str], asked_by: str
) -> None:
    with pytest.raises(ConfigError, match="does not exist; expected a config file") as caught:
        find(config, cwd=tmp_path, environ=environ)
    assert [problem.path for problem in caught.value.problems] == [asked_by]


def test_a_directory_is_not_a_config(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a file; expected a config file"):
        find(tmp_path, cwd=tmp_path, environ={})


def test_an_empty_variable_is_as_good_as_none(repository: Path) -> None:
    environ = {"SHAPING_CONFIG": "", "XDG_CONFIG_HOME": "", "HOME": str(repository)}
    assert find(None, cwd=repository, environ=environ) is None


def test_a_tilde_is_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    place = touch(tmp_path / "mine.json")
    assert find("~/mine.json", cwd=Path("/"), environ={}) == place


def test_the_users_directory_is_the_platforms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_directory({}).is_relative_to(tmp_path)
    assert user_directory({}).name == "shaping"


def test_xdg_config_home_moves_the_users_directory() -> None:
    assert user_directory({"XDG_CONFIG_HOME": "/etc/me"}) == Path("/etc/me/shaping")


def test_a_place_that_may_not_be_looked_at_holds_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> os.stat_result:
        raise PermissionError

    monkeypatch.setattr(os, "lstat", refuse)
    assert not is_present(Path("/root/response_config.json"))
