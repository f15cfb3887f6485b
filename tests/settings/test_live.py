from __future__ import annotations

import gc
import gzip
import json
import logging
import os
import shutil
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shaping.settings.jsonc import ConfigError
from shaping.settings.live import LiveConfig, shared_live_config
from shaping.settings.loading import load
from shaping.settings.plan import Overrides

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Write = Callable[[str, Any], Path]

NAME = "response_config.json"
PATIENCE = 60  # seconds until a test gives up; an edit is live within a fraction of one


def eventually(happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def config(number: int) -> dict[str, Any]:
    return {"global": {"max_items": number}}


def number(live: LiveConfig) -> int | None:
    return live.current.plan("search").max_items


@pytest.fixture
def live(project: Path, environ: dict[str, str]) -> Iterator[LiveConfig]:
    live = LiveConfig(cwd=project, environ=environ)
    live.start()
    yield live
    live.close()


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    caplog.set_level(logging.WARNING, "shaping")
    return lambda: [record.getMessage() for record in caplog.records if record.name == "shaping"]


def test_a_file_that_appears_and_is_edited_is_followed_and_one_that_disappears_stays_in_use(
    live: LiveConfig, write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    assert number(live) is None
    path = write(NAME, config(1))
    eventually(lambda: number(live) == 1)
    write(NAME, config(2))
    eventually(lambda: number(live) == 2)
    path.unlink()
    eventually(lambda: live.problem is not None)
    assert (number(live), live.current.files) == (2, (str(path),))
    assert "the last good config stays in use" in caplog.text
    assert "is gone" in caplog.text
    write(NAME, config(3))
    eventually(lambda: number(live) == 3)
    assert live.problem is None


def test_the_watcher_writes_nothing_into_the_log_of_an_application(
    live: LiveConfig, write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        write(NAME, config(1))
        eventually(lambda: number(live) == 1)
        write(NAME, config(2))
        eventually(lambda: number(live) == 2)
    assert [record.getMessage() for record in caplog.records if record.name.startswith("watchfiles")] == []


@pytest.mark.parametrize("name", [".shaping/response_config.json", ".code-scalpel/response_config.json"])
def test_a_file_in_a_directory_that_is_made_later_is_found(live: LiveConfig, write: Write, name: str) -> None:
    write(name, config(1))
    eventually(lambda: number(live) == 1)
    write(name, config(2))
    eventually(lambda: number(live) == 2)


def test_a_directory_that_goes_and_comes_back_is_followed(live: LiveConfig, project: Path, write: Write) -> None:
    write(".shaping/response_config.json", config(1))
    eventually(lambda: number(live) == 1)
    shutil.rmtree(project / ".shaping")
    eventually(lambda: live.problem is not None)
    assert number(live) == 1
    write(".shaping/response_config.json", config(2))
    eventually(lambda: number(live) == 2)


def test_a_stronger_place_takes_over_and_does_not_give_back_when_it_is_lost(live: LiveConfig, write: Write) -> None:
    write(".shaping/response_config.json", config(1))
    eventually(lambda: number(live) == 1)
    stronger = write(NAME, config(2))
    eventually(lambda: number(live) == 2)
    stronger.unlink()
    eventually(lambda: live.problem is not None)
    assert number(live) == 2


def test_the_users_own_config_is_watched_before_its_directory_exists(live: LiveConfig, environ: dict[str, str]) -> None:
    directory = Path(environ["XDG_CONFIG_HOME"], "shaping")
    directory.mkdir(parents=True)
    (directory / NAME).write_text(json.dumps(config(1)))
    eventually(lambda: number(live) == 1)


def test_a_file_that_is_replaced_by_rename_is_taken(live: LiveConfig, write: Write) -> None:
    path = write(NAME, config(1))
    eventually(lambda: number(live) == 1)
    write("draft.tmp", config(2)).replace(path)
    eventually(lambda: number(live) == 2)
    write("draft.tmp", config(3)).replace(path)
    eventually(lambda: number(live) == 3)


def test_a_file_whose_time_goes_backwards_is_taken(live: LiveConfig, write: Write) -> None:
    path = write(NAME, config(1))
    eventually(lambda: number(live) == 1)
    draft = write("draft.tmp", config(2))
    os.utime(draft, (1_000_000_000, 1_000_000_000))
    draft.replace(path)
    eventually(lambda: number(live) == 2)
    path.write_text(json.dumps(config(3)))
    os.utime(path, (999_999_999, 999_999_999))
    eventually(lambda: number(live) == 3)


def test_a_file_that_is_a_link_follows_what_it_links_to(
    project: Path, environ: dict[str, str], write: Write, tmp_path: Path
) -> None:
    target = tmp_path / "elsewhere" / "real.json"
    target.parent.mkdir()
    target.write_text(json.dumps(config(1)))
    (project / NAME).symlink_to(target)
    live = LiveConfig(cwd=project, environ=environ)
    live.start()
    target.write_text(json.dumps(config(2)))
    eventually(lambda: number(live) == 2)
    live.close()


def test_profiles_beside_the_config_are_watched_too(live: LiveConfig, write: Write) -> None:
    write(NAME, {"tool_overrides": {}})
    write("profiles/mine.json", {"max_items": 1})
    eventually(lambda: "mine" in live.current.profiles)
    write("profiles/mine.json", {"max_items": 2})
    eventually(lambda: live.current.plan("search", profile="mine").max_items == 2)
    write("profiles/mine.json", {}).unlink()
    eventually(lambda: "mine" not in live.current.profiles)


def test_a_bad_edit_keeps_the_last_good_config_warns_once_and_the_next_good_edit_takes(
    live: LiveConfig, write: Write, warnings: Callable[[], list[str]]
) -> None:
    path = write(NAME, config(1))
    eventually(lambda: number(live) == 1)
    good = live.current
    write(NAME, config(-5))
    eventually(lambda: live.problem)
    for _ in range(3):
        os.utime(path)
        assert live.reload() is False
    assert live.current is good
    problem = "$.global.max_items is -5; expected a positive integer, or null for no limit. (line 1)"
    assert warnings() == [f"the last good config stays in use, because {path} has 1 problem:\n  {problem}"]
    write(NAME, '{"global": {')
    eventually(lambda: len(warnings()) == 2)
    assert live.current is good
    write(NAME, config(2))
    eventually(lambda: number(live) == 2)
    assert live.problem is None
    assert len(warnings()) == 2


def test_at_the_start_a_bad_config_falls_back_to_the_bundled_one_with_one_warning(
    project: Path, environ: dict[str, str], write: Write, warnings: Callable[[], list[str]]
) -> None:
    write(NAME, config(-5))
    live = LiveConfig(cwd=project, environ=environ)
    assert live.current.hash == load({}).hash
    assert isinstance(live.problem, ConfigError)
    assert [text.split(",")[0] for text in warnings()] == ["the bundled default is used"]
    write(NAME, config(1))
    assert live.reload() is True
    assert number(live) == 1
    assert live.problem is None


def test_a_strict_start_raises(project: Path, environ: dict[str, str], write: Write) -> None:
    write(NAME, config(-5))
    with pytest.raises(ConfigError, match="max_items"):
        LiveConfig(cwd=project, environ=environ, strict=True)


def test_a_file_asked_for_by_name_that_vanishes_leaves_the_last_good_config(
    project: Path, environ: dict[str, str], write: Write, warnings: Callable[[], list[str]]
) -> None:
    path = write("mine.json", config(1))
    live = LiveConfig(path, cwd=project, environ=environ)
    live.start()
    path.unlink()
    eventually(warnings)
    assert number(live) == 1
    write("mine.json", config(2))
    eventually(lambda: number(live) == 2)
    live.close()


@pytest.mark.parametrize(("given", "variable"), [("mine.json", {}), (None, {"SHAPING_CONFIG": "mine.json"})])
def test_a_file_asked_for_by_name_must_be_there(
    project: Path, environ: dict[str, str], given: str | None, variable: dict[str, str]
) -> None:
    with pytest.raises(ConfigError, match="does not exist; expected a config file"):
        LiveConfig(given, cwd=project, environ={**environ, **variable})


PROTECTING = {
    "not JSON": '{"global": {"private": ["ssn"]',
    "an unknown key": '{"global": {"private": ["ssn"], "profil": "minimal"}}',
    "a wrong type": '{"global": {"private": "ssn"}}',
    "a bad path": '{"global": {"private": ["a..b"]}}',
    "redact beside a mistake": '{"global": {"redact": {"names": true}, "max_tokens": -5}}',
    "a misspelt tool section": '{"tool_overides": {"x": {"private": ["ssn"]}}}',
    "cut short": '{"tool_overrides": {"x": {"redact": {"pa',
    "cut short before the word": '{"tool_overrides": {"x": {"priv',
    "no JSON before the word": '{"global": {"profile": minimal}}',
    "empty": "",
    "the word itself misspelt": '{"global": {"privat": ["ssn"]}}',
    "the word in capitals": '{"global": {"Private": ["ssn"]}}',
    "the word escaped": '{"global": {"priv\\u0061te" ["ssn"]}}',
    "the word and its section misspelt": '{"globals": {"privaet": ["ssn"]}}',
}


@pytest.mark.parametrize("text", PROTECTING.values(), ids=PROTECTING.keys())
def test_a_config_that_protects_something_is_used_as_written_or_not_at_all(
    project: Path, environ: dict[str, str], text: str
) -> None:
    (project / NAME).write_text(text)
    with pytest.raises(ConfigError, match=NAME):
        LiveConfig(cwd=project, environ=environ)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
def test_a_config_that_cannot_be_read_may_protect_something(
    project: Path, environ: dict[str, str], encoding: str
) -> None:
    (project / NAME).write_bytes('{"global": {"private": ["ssn"]}}'.encode(encoding))
    with pytest.raises(ConfigError, match=NAME):
        LiveConfig(cwd=project, environ=environ)


@pytest.mark.parametrize("where", ["the tree", "the user's directory"])
@pytest.mark.parametrize(
    "raw",
    [b"\0" * 60, b"\x80\x81\xff", gzip.compress(b'{"global": {"private": ["ssn"]}}')],
    ids=["zeros", "bytes", "gzip"],
)
def test_a_config_of_bytes_may_protect_something(
    project: Path, environ: dict[str, str], raw: bytes, where: str
) -> None:
    place = (project if where == "the tree" else Path(environ["XDG_CONFIG_HOME"], "shaping")) / NAME
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(raw)
    with pytest.raises(ConfigError, match=NAME):
        LiveConfig(cwd=project, environ=environ)


@pytest.mark.parametrize("where", ["the tree", "the user's directory"])
@pytest.mark.parametrize("kind", ["a directory", "a link to nothing", "a link to itself"])
def test_a_config_that_is_no_file_may_protect_something(
    project: Path, environ: dict[str, str], kind: str, where: str
) -> None:
    place = (project if where == "the tree" else Path(environ["XDG_CONFIG_HOME"], "shaping")) / NAME
    place.parent.mkdir(parents=True, exist_ok=True)
    if kind == "a directory":
        place.mkdir()
    else:
        place.symlink_to(place if kind == "a link to itself" else "gone.json")
    with pytest.raises(ConfigError, match=r"cannot be read \(.*expected a file that can be read"):
        LiveConfig(cwd=project, environ=environ)


def test_a_config_that_protects_nothing_falls_back_with_a_warning(
    project: Path, environ: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    (project / NAME).write_text('{"global": {"profil": "minimal"}}')
    live = LiveConfig(cwd=project, environ=environ)
    assert live.problem is not None
    assert "the bundled default is used, because" in caplog.text


def test_the_users_own_config_stays_in_use_when_it_disappears_beside_one_of_the_working_tree(
    project: Path, environ: dict[str, str], write: Write
) -> None:
    own = Path(environ["XDG_CONFIG_HOME"], "shaping", NAME)
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text('{"global": {"private": ["ssn"]}}')
    write(NAME, config(1))
    nothing_allowed = {**environ, "XDG_DATA_HOME": str(project.parent / "data")}
    live = LiveConfig(cwd=project, environ=nothing_allowed)
    own.unlink()
    assert live.reload() is False
    assert live.current.plan("search").private_paths == ("ssn",)
    assert f"{own} has 1 problem" in str(live.problem)


@pytest.mark.parametrize("allowed", [False, True])
@pytest.mark.parametrize("lost", ["gone", "wrong"])
def test_the_users_own_edits_take_effect_while_a_config_of_the_working_tree_is(
    lost: str, project: Path, environ: dict[str, str], write: Write, *, allowed: bool
) -> None:
    own = Path(environ["XDG_CONFIG_HOME"], "shaping", NAME)
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text('{"global": {"private": ["ssn"]}}')
    tree = write(NAME, {"global": {"max_items": 1, "private": ["pin"]}})
    seen = environ if allowed else {**environ, "XDG_DATA_HOME": str(project.parent / "data")}
    live = LiveConfig(cwd=project, environ=seen)
    tree.write_text("{") if lost == "wrong" else tree.unlink()
    assert live.reload() is False
    own.write_text('{"global": {"private": ["ssn", "salary"]}}')
    assert live.reload() is True
    assert set(live.current.plan("search").private_paths) == {"ssn", "salary", "pin"}
    assert number(live) == 1
    assert str(tree) in str(live.problem)
    own.unlink()
    assert live.reload() is False
    tree.write_text(json.dumps(config(2)))
    assert live.reload() is False, "the user's own is gone now"
    assert set(live.current.plan("search").private_paths) == {"ssn", "salary", "pin"}
    own.write_text('{"global": {"private": ["ssn"]}}')
    assert live.reload() is True
    assert live.current.plan("search").private_paths == ("ssn",)
    assert live.problem is None


def test_a_config_that_disappears_while_it_is_looked_for_stays_in_use(
    project: Path, environ: dict[str, str], write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(NAME, config(1))
    live = LiveConfig(cwd=project, environ=environ)

    def too_late(*given: Any, **named: Any) -> Any:
        path.unlink(missing_ok=True)
        return load(*given, **named)

    monkeypatch.setattr("shaping.settings.live.load", too_late)
    assert live.reload() is False
    assert number(live) == 1
    assert "is gone" in str(live.problem)


def test_reloading_says_whether_anything_changed(project: Path, environ: dict[str, str], write: Write) -> None:
    live = LiveConfig(cwd=project, environ=environ)
    assert live.reload() is False
    write(NAME, config(1))
    assert live.reload() is True
    before = live.current
    write(NAME, '// a comment\n{"global": {"max_items": 1}}')
    assert live.reload() is False
    assert live.current is before


def test_plans_in_use_are_compiled_before_the_swap(project: Path, environ: dict[str, str], write: Write) -> None:
    live = LiveConfig(cwd=project, environ=environ)
    live.current.plan("search", overrides=Overrides(max_tokens=5))
    live.current.plan("search")
    write(NAME, config(1))
    live.reload()
    assert [plan.max_items for plan in live.current.plans._known.values()] == [1]


def test_a_mapping_is_never_watched_and_nothing_is_started_twice(project: Path, environ: dict[str, str]) -> None:
    before = set(threading.enumerate())
    fixed = LiveConfig(config(1), cwd=project, environ=environ)
    fixed.start()
    assert (number(fixed), set(threading.enumerate()) - before, fixed.directories()) == (1, set(), frozenset())
    fixed.close()
    live = LiveConfig(cwd=project, environ=environ)
    live.start()
    live.start()
    assert len(set(threading.enumerate()) - before) == 1
    live.close()
    eventually(lambda: not set(threading.enumerate()) - before)


def test_a_closed_config_stays_and_can_be_started_again(project: Path, environ: dict[str, str], write: Write) -> None:
    live = LiveConfig(cwd=project, environ=environ)
    live.start()
    live.close()
    write(NAME, config(1))
    assert number(live) is None
    live.start()
    eventually(lambda: number(live) == 1)
    live.close()


def test_a_config_that_nobody_holds_ends_its_thread(project: Path, environ: dict[str, str]) -> None:
    before = set(threading.enumerate())
    live = LiveConfig(cwd=project, environ=environ)
    live.start()
    gone = weakref.ref(live)
    del live
    gc.collect()
    eventually(lambda: gone() is None)
    eventually(lambda: not set(threading.enumerate()) - before)


def test_a_fault_of_ours_does_not_end_the_watching(
    live: LiveConfig, write: Write, monkeypatch: pytest.MonkeyPatch, warnings: Callable[[], list[str]]
) -> None:
    def fail() -> None:
        raise RuntimeError("a fault")

    with monkeypatch.context() as patch:
        patch.setattr(live, "_load", fail)
        write(NAME, config(1))
        eventually(warnings)
    write(NAME, config(2))
    eventually(lambda: number(live) == 2)


def test_without_a_watcher_the_files_are_looked_at_by_hand(
    project: Path, environ: dict[str, str], write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no watches left")

    monkeypatch.setattr("watchfiles.watch", refuse)
    monkeypatch.setattr("shaping.settings.live._LOOK_AGAIN_MS", 20)
    live = LiveConfig(cwd=project, environ=environ)
    live.start()
    write(NAME, config(1))
    eventually(lambda: number(live) == 1)
    live.close()


def test_an_edit_within_the_same_tick_of_the_files_clock_is_taken_too(
    project: Path, environ: dict[str, str], write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(NAME, config(1))
    monkeypatch.setattr("shaping.settings.live._stat", lambda file: (str(file), 1, 1, 1, 1) if file == path else None)
    settled = LiveConfig(cwd=project, environ=environ)
    monkeypatch.setattr("shaping.settings.live._FRESH_NS", 1 << 63)
    fresh = LiveConfig(cwd=project, environ=environ)
    write(NAME, config(2))
    assert [live.reload_if_touched() for live in (settled, fresh)] == [False, True]


def test_a_forked_process_watches_by_itself(project: Path, run_forking: Callable[..., str]) -> None:
    script = """
import json, os, pathlib, sys, time
from shaping.settings.live import LiveConfig
project = pathlib.Path(sys.argv[1])
live = LiveConfig(cwd=project, environ=dict(os.environ))
live.start()

def taken():
    deadline = time.monotonic() + 60
    while live.current.plan("search").max_items != 1 and time.monotonic() < deadline:
        time.sleep(0.01)
    return live.current.plan("search").max_items == 1

read, ready = os.pipe()
child = os.fork()
if child == 0:
    os.write(ready, b"ready")
    os._exit(0 if taken() else 1)
os.read(read, 5)
(project / "response_config.json").write_text(json.dumps({"global": {"max_items": 1}}))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), taken())
live.close()
"""
    assert run_forking(script, project) == "0 True\n"


def test_a_process_that_is_forked_to_run_another_program_starts_no_thread(
    project: Path, run_forking: Callable[..., str]
) -> None:
    script = """
import os, pathlib, sys, threading
from shaping.settings.live import LiveConfig
live = LiveConfig(cwd=pathlib.Path(sys.argv[1]), environ=dict(os.environ))
live.start()
child = os.fork()
if child == 0:
    os._exit(threading.active_count())
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
live.close()
"""
    assert run_forking(script, project) == "1\n"


def test_tools_of_one_place_share_one_live_config(
    project: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    for name in ("other.json", "x.json"):
        (project / name).write_text("{}")
    one = shared_live_config(environ=environ)
    assert shared_live_config(environ=environ) is one
    assert shared_live_config("other.json", environ=environ) is not one
    assert shared_live_config(environ={**environ, "SHAPING_CONFIG": "x.json"}) is not one
    monkeypatch.chdir(project.parent)
    assert shared_live_config(environ=environ) is not one


def test_who_asks_for_a_shared_config_gets_the_file_as_it_is_now(
    project: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = project / "response_config.json"
    file.write_text('{"global": {"profile": "standard"}}', encoding="utf-8")
    monkeypatch.chdir(project)
    held = shared_live_config(environ=environ)
    file.write_text('{"global": {"profile": "debug"}}', encoding="utf-8")
    assert shared_live_config(environ=environ) is held
    assert held.current.plan("any").profile == "debug"


def test_each_plan_comes_from_exactly_one_generation_in_a_storm_of_reloads(
    live: LiveConfig, write: Write, environ: dict[str, str]
) -> None:
    """Every choice of config n is n, so a plan that mixes two configs shows two numbers."""

    def numbered(each: int) -> dict[str, Any]:
        override = {"max_items": each, "max_string": each, "include_only": [f"f{each}"]}
        return {"global": {"max_tokens": each}, "tool_overrides": {"search": override}}

    write(NAME, numbered(1))
    eventually(lambda: number(live) == 1)
    seen: set[tuple[object, ...]] = set()
    done = threading.Event()

    def plan() -> None:
        while not done.is_set():
            loaded_config = live.current
            made = loaded_config.plan("search")
            assert made.fields is not None
            seen.add((made.max_tokens, made.max_items, made.max_string, *(made.fields.include or ()), made.config_hash))
            assert loaded_config.plan("search") is made

    def more_than(count: int) -> Callable[[], bool]:
        return lambda: len(seen) > count

    threads = [threading.Thread(target=plan) for _ in range(4)]
    for thread in threads:
        thread.start()
    for each in range(2, 14):
        before = len(seen)
        write("draft.tmp", numbered(each)).replace(live._cwd / NAME)
        live.reload()
        if each % 4 == 0:  # now and then until it was seen, else as fast as it goes
            eventually(more_than(before))
    done.set()
    for thread in threads:
        thread.join()
    hashes = {each: load(numbered(each), environ=environ).hash for each in range(1, 14)}
    assert seen <= {(each, each, each, f"f{each}", hashes[each]) for each in hashes}
    assert len(seen) > 1
