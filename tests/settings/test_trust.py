from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shaping import Shaper
from shaping.settings.files import user_directory
from shaping.settings.jsonc import ConfigError
from shaping.settings.live import LiveConfig
from shaping.settings.loading import load
from shaping.settings.patterns import may_overlap
from shaping.settings.trust import allow, forget, is_allowed

NAME = "response_config.json"
WIDE = {
    "store": {"kind": "sqlite", "path": "/etc/cron.d/x"},
    "errors": {"builtins.ValueError": "NOT_FOUND"},
    "tools": {"delete": {"description": "safe to call"}},
    "allow_eval": True,
    "global": {"redact": "off", "max_tokens": None, "profile": "debug", "private": ["ssn"]},
    "tool_overrides": {"search": {"include_only": ["id"], "max_items": 3, "redact": {"values": False, "names": True}}},
    "profiles": {"loud": {"extends": "debug", "debug": True, "max_items": 2}},
}


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment whose user has allowed nothing yet."""
    return {"XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path / "config")}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    directory = tmp_path / "project"
    (directory / ".git").mkdir(parents=True)
    return directory


def write(path: Path, data: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))
    return path


def test_only_what_narrows_applies_of_a_config_that_is_not_allowed(tree: Path, environ: dict[str, str]) -> None:
    write(tree / NAME, WIDE)
    found = load(cwd=tree, environ=environ)
    default = load({})
    plan = found.plan("search")
    assert (plan.max_items, plan.private_paths, plan.profile) == (3, ("ssn",), "minimal")
    assert plan.fields is not None
    assert (plan.redact.off, plan.redact.values, plan.redact.names) == (False, True, True)
    assert plan.max_tokens == default.plan("search").max_tokens
    assert (found.store, found.config.errors, found.config.tools) == (
        default.store,
        default.config.errors,
        default.config.tools,
    )
    assert not found.config.allow_eval
    assert not found.plan("search", profile="loud").debug
    (warning,) = [str(warning) for warning in found.warnings if "not allowed" in str(warning)]
    assert "`store`, `errors`, `tools`, `allow_eval`, `redact`, `max_tokens`, `profile`" in warning
    assert "shaping allow" in warning


@pytest.mark.parametrize(("budget", "told"), [(50_000, True), (5_000, False)])
def test_a_budget_above_the_profiles_is_named_as_waiting(
    tree: Path, environ: dict[str, str], budget: int, told: bool
) -> None:
    write(tree / NAME, {"global": {"max_tokens": budget}})
    found = load(cwd=tree, environ=environ)
    assert found.plan("search").max_tokens == min(budget, 20_000)
    assert any("`max_tokens`" in str(warning) for warning in found.warnings) == told


@pytest.mark.parametrize(("own", "budgets"), [({}, (15_000, 304)), ({"global": {"max_tokens": 500}}, (500, 500))])
def test_a_tools_budget_outranks_its_files_global_one_but_not_the_users(
    tree: Path, environ: dict[str, str], own: dict[str, Any], budgets: tuple[int, int]
) -> None:
    write(Path(environ["XDG_CONFIG_HOME"], "shaping", NAME), own)
    write(tree / NAME, {"global": {"max_tokens": 304}, "tool_overrides": {"search": {"max_tokens": 15_000}}})
    found = load(cwd=tree, environ=environ)
    assert (found.plan("search").max_tokens, found.plan("list").max_tokens) == budgets


def test_a_config_that_is_allowed_applies_whole_until_it_changes(tree: Path, environ: dict[str, str]) -> None:
    path = write(tree / NAME, {"errors": {"builtins.ValueError": "NOT_FOUND"}})
    allow(path, environ)
    assert load(cwd=tree, environ=environ).config.errors == {"builtins.ValueError": "NOT_FOUND"}
    write(path, {"errors": {"builtins.ValueError": "CONFLICT"}})
    assert not is_allowed(path, environ)
    assert load(cwd=tree, environ=environ).config.errors == {}
    allow(path, environ)
    assert forget(path, environ)
    assert not forget(path, environ)
    assert load(cwd=tree, environ=environ).config.errors == {}


def test_a_profile_beside_an_allowed_config_is_part_of_what_was_allowed(tree: Path, environ: dict[str, str]) -> None:
    path = write(tree / NAME, {"errors": {"builtins.ValueError": "NOT_FOUND"}})
    allow(path, environ)
    write(tree / "profiles" / "quiet.json", {"max_items": 1})
    assert not is_allowed(path, environ)


def test_a_directory_can_be_allowed(tree: Path, environ: dict[str, str]) -> None:
    write(tree / NAME, {"errors": {"builtins.ValueError": "NOT_FOUND"}})
    allow(tree.parent, environ)
    assert load(cwd=tree, environ=environ).config.errors == {"builtins.ValueError": "NOT_FOUND"}


def test_a_config_that_only_narrows_is_not_asked_about(tree: Path, environ: dict[str, str]) -> None:
    write(tree / NAME, {"tool_overrides": {"search": {"include_only": ["id"], "max_tokens": 500}}})
    assert load(cwd=tree, environ=environ).warnings == ()


@pytest.mark.parametrize("how", ["argument", "variable", "own"])
def test_a_config_that_the_user_names_or_owns_is_not_asked_about(tree: Path, environ: dict[str, str], how: str) -> None:
    place = Path(environ["XDG_CONFIG_HOME"], "shaping", NAME) if how == "own" else tree / NAME
    path = write(place, {"errors": {"builtins.ValueError": "NOT_FOUND"}})
    variable = {"SHAPING_CONFIG": str(path)} if how == "variable" else {}
    found = load(path if how == "argument" else None, cwd=tree, environ={**environ, **variable})
    assert found.config.errors == {"builtins.ValueError": "NOT_FOUND"}


def test_a_config_that_is_not_allowed_takes_nothing_from_the_users_own(tree: Path, environ: dict[str, str]) -> None:
    own = {"global": {"private": ["ssn"]}, "tool_overrides": {"search": {"exclude_fields": ["token"]}}}
    write(Path(environ["XDG_CONFIG_HOME"], "shaping", NAME), own)
    write(tree / NAME, {"global": {"private": []}, "tool_overrides": {"search": {"exclude_fields": []}}})
    plan = load(cwd=tree, environ=environ).plan("search")
    assert plan.fields is not None
    assert plan.fields.apply({"ssn": 1, "token": 2, "id": 3}) == {"id": 3}


def test_allowing_takes_effect_while_a_server_runs(tree: Path, environ: dict[str, str]) -> None:
    path = write(tree / NAME, {"errors": {"builtins.ValueError": "NOT_FOUND"}})
    live = LiveConfig(cwd=tree, environ=environ)
    assert live.current.config.errors == {}
    allow(path, environ)
    assert live.reload_if_touched()
    assert live.current.config.errors == {"builtins.ValueError": "NOT_FOUND"}


def test_an_error_of_a_config_that_protects_something_is_told_with_file_line_and_fix(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / NAME).write_text('{\n  "global": {"private": ["ssn"], "profil": "minimal"}\n}')
    monkeypatch.chdir(tree)
    with pytest.raises(ValueError, match=r"response_config.json has 1 problem:\n.*Did you mean 'profile'.*line 2"):
        Shaper()


def cost(config: dict[str, Any]) -> float:
    started = time.process_time()
    load(config)
    return time.process_time() - started


def overrides(n: int) -> dict[str, Any]:
    return {"tool_overrides": {f"tool{at:05}.*": {"rename": {"a": "b"}, "defaults": {"x": 1}} for at in range(n)}}


def chain(n: int) -> dict[str, Any]:
    return {"profiles": {f"p{at}": {"extends": f"p{at + 1}" if at + 1 < n else "minimal"} for at in range(n)}}


@pytest.mark.parametrize("make", [overrides, chain])
def test_loading_takes_time_in_proportion_to_the_config(make: Any) -> None:
    cost(make(50))
    small, large = min(cost(make(500)) for _ in range(3)), min(cost(make(4000)) for _ in range(2))
    assert large < max(small, 0.02) * 8**1.3 + 0.5


@pytest.mark.parametrize("path", ["/etc/cron.d/x", "../x.sqlite", "link/x.sqlite"])
def test_a_store_of_an_allowed_config_stays_in_the_project(tree: Path, environ: dict[str, str], path: str) -> None:
    (tree / "link").symlink_to(tree.parent)
    allow(write(tree / NAME, {"store": {"kind": "sqlite", "path": path}}), environ)
    with pytest.raises(ConfigError, match=r"\$\.store\.path is .*; expected a file in the project"):
        load(cwd=tree, environ=environ)


def test_a_store_may_lie_in_the_project_or_in_the_users_directories(tree: Path, environ: dict[str, str]) -> None:
    for path in ("store.sqlite", ".shaping/store.sqlite", str(Path(environ["XDG_DATA_HOME"]) / "shaping" / "a.sqlite")):
        allow(write(tree / ".shaping" / NAME, {"store": {"kind": "sqlite", "path": path}}), environ)
        assert load(cwd=tree, environ=environ).store.path == path


PROTECTS = {"global": {"private": ["**.email"], "max_tokens": 300}, "tool_overrides": {"*": {"include_only": ["ok"]}}}
WRONG = ['{"global" {}}', '{"tool_overrides": {"t": {"answers": {}}}}', '{"tools": {"include": ["*"]}}', "[]", "\udcff"]


@pytest.mark.parametrize("text", WRONG, ids=["no JSON", "a wrong type", "an unknown key", "a list", "no text"])
def test_a_mistake_in_a_config_of_the_working_tree_takes_nothing_from_the_users_own(
    tree: Path, environ: dict[str, str], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = user_directory(environ) / "response_config.json"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(json.dumps(PROTECTS))
    (tree / "response_config.json").write_bytes(text.encode(errors="surrogateescape"))
    monkeypatch.chdir(tree)
    shaped = Shaper(environ=environ, watch=False).shape({"email": "ada@example.com", "ok": 1, "more": 2}, tool="t")
    assert shaped.data == {"ok": 1}


@pytest.mark.parametrize("kind", ["a directory", "a pipe", "a link to nothing", "an empty file", "zeros"])
def test_what_is_no_config_in_the_working_tree_stops_nobody_who_has_one(
    tree: Path, environ: dict[str, str], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(user_directory(environ) / NAME, PROTECTS)
    place = tree / NAME
    make: dict[str, Callable[[], Any]] = {
        "a directory": place.mkdir,
        "a pipe": lambda: os.mkfifo(place),
        "a link to nothing": lambda: place.symlink_to("nothing"),
        "an empty file": place.touch,
        "zeros": lambda: place.write_bytes(bytes(60)),
    }
    make[kind]()
    monkeypatch.chdir(tree)
    shaped = Shaper(environ=environ, watch=False).shape({"email": "ada@example.com", "ok": 1, "more": 2}, tool="t")
    assert shaped.data == {"ok": 1}


def test_a_mistake_in_the_users_own_config_is_told_although_the_working_tree_has_a_good_one(
    tree: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = user_directory(environ) / "response_config.json"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text('{"global": {"private": "**.email"}}')
    (tree / "response_config.json").write_text('{"global": {"max_items": 5}}')
    monkeypatch.chdir(tree)
    with pytest.raises(ConfigError, match="private"):
        Shaper(environ=environ, watch=False)


@pytest.mark.parametrize(
    "stranger",
    [
        {"tool_overrides": {"t": {"include_only": ["**"]}}},
        {"tool_overrides": {"t": {"include_on_error": ["**"]}}},
        {"tool_overrides": {"t": {"max_tokens": 100_000}}},
        {"global": {"max_tokens": 100_000}},
        {"profiles": {"minimal": {"max_tokens": 100_000}}},
        {"profiles": {"mine": {"extends": "debug"}}},
        {"profiles": {"mine": {}, "theirs": {"extends": "mine"}}, "global": {"profile": "theirs"}},
        {"profiles": {"mine": {}}, "tool_overrides": {"t": {"profile": "mine"}}},
        {"tool_overrides": {"t": {"drop_lines": ["(a+)+$"], "exit_codes": {"1": "NOT_FOUND"}}}},
    ],
    ids=json.dumps,
)
def test_what_the_user_says_is_the_stronger_however_exactly_a_stranger_names_a_tool(
    tree: Path, environ: dict[str, str], stranger: dict[str, Any]
) -> None:
    own = user_directory(environ) / "response_config.json"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(json.dumps({**PROTECTS, "profiles": {"mine": {"extends": "debug"}}}))
    (tree / "response_config.json").write_text(json.dumps(stranger))
    plan = load(cwd=tree, environ=environ).plan("t")
    assert plan.fields is not None
    assert plan.error_fields is not None
    assert (plan.max_tokens, plan.debug, plan.error_fields.include) == (300, False, ("ok",))
    assert plan.fields.apply({"ok": 1, "email": 2, "more": 3}) == {"ok": 1}


def test_profiles_that_go_round_in_a_circle_only_because_the_users_are_not_for_others_are_a_problem(
    tree: Path, environ: dict[str, str]
) -> None:
    write(user_directory(environ) / NAME, {"profiles": {"standard": {"max_items": 3}}})
    write(tree / NAME, {"profiles": {"minimal": {"extends": "theirs"}, "theirs": {"extends": "standard"}}})
    with pytest.raises(ConfigError, match=f"{NAME} has 1 problem:\n.*goes round in a circle"):
        load(cwd=tree, environ=environ)


def test_a_config_that_another_user_left_in_a_shared_directory_is_not_read(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give files to others")
    shared = tmp_path / "shared"
    (shared / "mine").mkdir(parents=True)
    for name in ("response_config.json", ".shaping/response_config.json"):
        place = shared / name
        place.parent.mkdir(exist_ok=True)
        place.write_text('{"global": {"max_items": 1}}')
        os.chown(place, 4242, 4242)
        os.chown(place.parent if place.parent != shared else place, 4242, 4242)
    assert load(cwd=shared / "mine", environ=environ).plan("t").max_items is None
    os.chown(shared, 4242, 4242)  # a working tree of theirs, which somebody works in
    assert load(cwd=shared / "mine", environ=environ).plan("t").max_items == 1


@pytest.mark.parametrize(
    "project",
    [
        {"global": {"max_tokens": 2000}},
        {
            "global": {"redact": "off", "private": ["**.salary"], "on_unreadable": "pass"},
            "tool_overrides": {"t": {"redact": False, "private": []}},
        },
        {"tool_overrides": {"t": {"redact": {"names": False, "paths": []}, "rename": {"pin": "p", "ssn": "s"}}}},
    ],
)
def test_what_the_user_holds_back_is_held_back_whatever_an_allowed_config_says(
    tree: Path, environ: dict[str, str], project: dict[str, Any]
) -> None:
    users = {
        "global": {"private": ["**.ssn"], "redact": {"names": True, "paths": ["acct"]}},
        "tool_overrides": {"t": {"private": ["**.pin"]}},
    }
    write(user_directory(environ) / NAME, users)
    allow(write(tree / NAME, project), environ)
    plan = load(cwd=tree, environ=environ).plan("t")
    assert {"**.ssn", "**.pin"} <= {*plan.private_paths}
    assert (plan.redact.off, plan.redact.names, "acct" in plan.redact.paths) == (False, True, True)
    assert ("**.salary" in plan.private_paths) == ("**.salary" in project.get("global", {}).get("private", ()))
    assert plan.private is not None
    assert plan.private.withhold


def test_only_what_the_user_holds_back_is_added_to_an_allowed_config(tree: Path, environ: dict[str, str]) -> None:
    write(user_directory(environ) / NAME, {"global": {"max_items": 3, "redact": "off"}})
    allow(write(tree / NAME, {"global": {"redact": True}}), environ)
    plan = load(cwd=tree, environ=environ).plan("t")
    assert (plan.max_items, plan.fields, plan.redact.off, plan.redact.names) == (None, None, False, True)


def test_an_allowed_config_that_protects_is_not_dropped_for_a_mistake_in_the_users_own(
    tree: Path, environ: dict[str, str]
) -> None:
    write(user_directory(environ) / NAME, {"global": {"max_items": "many"}})
    allow(write(tree / NAME, {"global": {"private": ["ssn"]}}), environ)
    with pytest.raises(ConfigError, match="max_items"):
        LiveConfig(cwd=tree, environ=environ)


@pytest.mark.parametrize(
    ("data", "unit"),
    [
        ({"global": {"private": [f"**.a{n}" for n in range(5_000)]}}, "values"),
        ({"global": {"private": ["a" * 300_000]}}, "bytes"),
        ({"global": {"private": [f"**.a{n}" for n in range(201)]}}, "private or redacted paths"),
    ],
)
def test_a_config_that_is_too_large_is_refused_until_it_is_allowed(
    tree: Path, environ: dict[str, str], data: dict[str, Any], unit: str
) -> None:
    config = write(tree / NAME, data)
    with pytest.raises(ConfigError, match=f"too large to be applied so .*{unit}.*shaping allow"):
        LiveConfig(cwd=tree, environ=environ)
    allow(config, environ)
    assert load(cwd=tree, environ=environ).plan("t").private_paths == tuple(data["global"]["private"])


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("name", ["response_config.json", "profiles/mine.json"])
def test_a_pipe_or_a_device_in_the_working_tree_is_a_problem_and_not_read(
    name: str, kind: str, project: Path, environ: dict[str, str]
) -> None:
    (project / "profiles").mkdir()
    (project / "response_config.json").write_text("{}")
    place = project / name
    place.unlink(missing_ok=True)
    os.mkfifo(place) if kind == "pipe" else place.symlink_to("/dev/zero")
    for _ in range(2):
        with pytest.raises(ConfigError, match="is a pipe or a device; expected a file that can be read"):
            load(cwd=project, environ=environ)
        allow(project / "response_config.json", environ)


@pytest.mark.parametrize("pattern", ["*" + "a*" * 30, "*" + "a*" * 800])
def test_many_patterns_that_may_meet_are_compared_up_to_a_bound(
    pattern: str, project: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs: list[str] = []

    def counted(one: str, other: str) -> bool:
        pairs.append(one)
        return may_overlap(one, other)

    monkeypatch.setattr("shaping.settings.check.may_overlap", counted)
    overrides = {f"{pattern}{number:04}": {"max_items": 1} for number in range(100_000 // len(pattern))}
    allow(write(project / NAME, {"tool_overrides": overrides}), environ)
    load(cwd=project, environ=environ)
    assert len(pairs) <= 10_000


@pytest.mark.parametrize("text", ["null", "[]", "7", '"x"'])
def test_a_config_of_the_tree_that_is_no_object_is_an_error(tree: Path, text: str) -> None:
    (tree / NAME).write_text(text)
    argv = [sys.executable, "-m", "shaping", "shape", "-"]
    said = subprocess.run(argv, cwd=tree, input='{"a": 1}', capture_output=True, text=True, timeout=60, check=False)
    assert said.returncode != 0
    assert "an object, such as {}" in said.stderr


@pytest.mark.parametrize(
    ("override", "fix"),
    [
        ({"t": {"private": ["/salary"]}}, "'**.salary'"),
        ({"t": {"private": ["/a/salary"]}}, "'a.salary'"),
        ({"t ": {"private": ["salary"]}}, "'t'"),
    ],
)
def test_a_path_or_a_tool_that_can_match_nothing_is_an_error_that_says_what_to_write(
    override: dict[str, Any], fix: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(fix)):
        Shaper({"tool_overrides": override})


def test_a_key_that_begins_with_a_slash_is_quoted() -> None:
    shaper = Shaper({"tool_overrides": {"t": {"private": ['"/salary"']}}})
    assert "98765" not in shaper.shape({"/salary": 98765, "x": 1}, tool="t").text
