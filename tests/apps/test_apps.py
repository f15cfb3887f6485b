from __future__ import annotations

import io
import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import click
import pytest
import typer

import shaping
from shaping import Shaper, ToolError
from shaping.apps import shape_click, shape_typer
from shaping.apps.command_call import PrintedOutput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

RENAMED = {"user create": "users add"}
TOKEN = "ghp_" + "a1B2" * 9


@pytest.fixture
def shaper(tmp_path: Path) -> Iterator[Shaper]:
    made = Shaper({"store": {"kind": "sqlite", "path": str(tmp_path / "store")}}, expandable=True)
    yield made
    made.close()


def listed(count: int) -> list[dict[str, Any]]:
    return [{"id": n, "name": f"user {n}", "note": None} for n in range(count)]


def added(name: str) -> dict[str, str]:
    if name == "taken":
        raise ToolError("CONFLICT", "there is one of that name")
    if name == "broken":
        raise ValueError("no such letters")
    print("adding", name)  # noqa: T201 (the command under test talks)
    return {"name": name}


def left(how: str) -> None:
    if how == "words":
        sys.exit(f"no way: {TOKEN}")
    if how == "printed":
        print("cannot reach", TOKEN)  # noqa: T201 (the command under test talks)
        sys.exit(4)
    if how == "done":
        print("all done")  # noqa: T201 (the same)
        sys.exit()
    raise KeyboardInterrupt


def typer_app() -> typer.Typer:
    app, users = typer.Typer(), typer.Typer()
    app.add_typer(users, name="users")

    @users.command("list")
    def list_users(count: int = 3) -> list[dict[str, Any]]:
        """List the users there are."""
        return listed(count)

    @users.command()
    def add(name: str, etag: Annotated[str, typer.Option()] = "own") -> dict[str, str]:
        return {**added(name), "etag": etag}

    @app.command()
    def hello(code: int = 0) -> None:
        typer.echo("hello")
        if code != 99:
            raise typer.Exit(code)

    @app.command()
    def stop() -> None:
        raise typer.Abort

    @app.command()
    def leave(how: str) -> None:
        left(how)

    @app.command()
    def ask(name: Annotated[str, typer.Option(prompt=True)]) -> str:
        return name

    @app.command()
    async def later() -> str:
        return "done"

    return app


def click_app() -> click.Group:
    @click.group("app")
    def app() -> None: ...

    @app.group()
    def users() -> None: ...

    @users.command("list")
    @click.option("--count", default=3, help="How many.")
    def list_users(count: int) -> list[dict[str, Any]]:
        """List the users there are."""
        return listed(count)

    @users.command()
    @click.argument("name")
    @click.option("--etag", default="own")
    def add(name: str, etag: str) -> dict[str, str]:
        return {**added(name), "etag": etag}

    @app.command()
    @click.option("--code", default=0)
    @click.pass_context
    def hello(ctx: click.Context, code: int) -> None:
        click.echo("hello")
        if code != 99:
            ctx.exit(code)

    @app.command()
    def stop() -> None:
        raise click.Abort

    @app.command()
    @click.argument("how")
    def leave(how: str) -> None:
        left(how)

    @app.command()
    @click.option("--name", prompt=True)
    def ask(name: str) -> str:
        return name

    @app.command()
    async def later() -> str:
        return "done"

    return app


def _typer(shaper: Shaper) -> Any:
    return shape_typer(typer_app(), name="app", shaper=shaper, renamed=RENAMED, version="1.2")


def _click(shaper: Shaper) -> Any:
    return shape_click(click_app(), shaper=shaper, renamed=RENAMED, version="1.2")


@pytest.fixture(params=[_typer, _click], ids=["typer", "click"])
def call(
    request: pytest.FixtureRequest, shaper: Shaper, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Call the application as a process would be: exit code, standard output, standard error."""
    main = request.param(shaper)

    def call(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main(list(words))
        told = capsys.readouterr()
        return int(stopped.value.code or 0), told.out, told.err

    return call


def wire(call: Any, *words: str) -> tuple[int, dict[str, Any]]:
    code, out, _ = call(*words, "--output", "json")
    return code, json.loads(out)


def test_what_a_command_returns_is_its_data(call: Any) -> None:
    code, told = wire(call, "users", "list")
    assert (code, told["ok"], told["error"], told["warnings"]) == (0, True, None, [])
    assert told["data"] == [{"id": n, "name": f"user {n}"} for n in range(3)]
    code, out, err = call("users", "list", "--fields", "id")
    assert (code, json.loads(out), err) == (0, [{"id": 0}, {"id": 1}, {"id": 2}], "")


def test_what_a_command_prints_stands_for_what_it_returns_or_is_talk(call: Any) -> None:
    assert wire(call, "hello", "--code", "99")[1]["data"] == {"text": "hello\n"}
    assert wire(call, "hello")[1]["data"] == {"text": "hello\n"}
    assert call("hello", "--code", "99") == (0, "hello\n", "")
    code, out, err = call("users", "add", "ada", "--output", "json")
    assert (code, json.loads(out)["data"], err) == (0, {"name": "ada", "etag": "own"}, "adding ada\n")
    assert call("users", "add", "ada", "--quiet")[2] == ""
    assert call("later") == (0, "done\n", "")


def test_failures_have_the_codes_of_the_registry(call: Any) -> None:
    code, told = wire(call, "users", "add", "taken")
    assert (code, told["ok"], told["data"], told["error"]["code"]) == (6, False, None, "CONFLICT")
    assert call("users", "add", "taken")[::2] == (
        6,
        "there is one of that name\nRead the current state and resolve the conflict first.\n",
    )
    assert wire(call, "users", "add", "broken")[0] in {1, 3}
    assert wire(call, "hello", "--code", "5")[1]["error"]["code"] == "NOT_FOUND"
    assert call("hello", "--code", "5")[0] == 5
    code, told = wire(call, "stop")
    assert (code, told["error"]["code"]) == (1, "ABORTED")


@pytest.mark.parametrize(
    ("how", "code", "error"),
    [
        ("words", 1, ("GENERAL_ERROR", "no way: [redacted:github-token]", None)),
        (
            "printed",
            4,
            ("PRECONDITION", "The command exited with 4", {"stdout": "cannot reach [redacted:github-token]\n"}),
        ),
        ("interrupt", 130, ("ABORTED", "app leave was stopped", None)),
    ],
)
def test_a_command_that_leaves_its_own_way_is_answered_all_the_same(
    call: Any, how: str, code: int, error: tuple[str, str, Any]
) -> None:
    exited, told = wire(call, "leave", how)
    said = told["error"]
    assert (exited, (said["code"], said["message"], said.get("details"))) == (code, error)


def test_a_command_that_leaves_without_fault_has_said_its_answer(call: Any) -> None:
    code, told = wire(call, "leave", "done")
    assert (code, told["ok"], told["data"]) == (0, True, {"text": "all done\n"})


@pytest.mark.parametrize("how", ["words", "interrupt"])
def test_for_people_a_command_leaves_as_ever(shaper: Shaper, how: str) -> None:
    with pytest.raises((SystemExit, KeyboardInterrupt)) as stopped:
        _typer(shaper)(["leave", how])
    assert getattr(stopped.value, "code", 130) in {f"no way: {TOKEN}", 130}


def test_a_prompt_stands_beside_the_answer_that_a_program_reads(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("ada\n"))
    code, out, err = call("ask", "--output", "json")
    assert (code, json.loads(out)["data"], err.startswith("Name: ")) == (0, {"value": "ada"}, True)


@pytest.mark.parametrize("how", ["text", "bytes", "program", "echo"])
def test_a_command_prints_its_talk_in_any_way_there_is(shaper: Shaper, how: str, capsys: Any) -> None:
    @click.group()
    def app() -> None: ...

    @app.command()
    def talk() -> dict[str, int]:
        if how == "text":
            print("h\udcff")  # noqa: T201 (this is the talk)
        elif how == "bytes":
            sys.stdout.buffer.write(b"h\xff\n")
        elif how == "program":
            subprocess.run([sys.executable, "-c", "print('h')"], stdout=sys.stdout, check=True)
        else:
            click.echo(b"h")
        return {"a": 1}

    with pytest.raises(SystemExit) as stopped:
        shape_click(app, shaper=shaper)(["talk", "--output", "json"])
    out, err = capsys.readouterr()
    assert (stopped.value.code, json.loads(out)["data"], err[:1]) == (0, {"a": 1}, "h")


def test_talk_is_kept_in_memory_where_no_file_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/no/such/place")
    printed = PrintedOutput()
    printed.write("a")
    assert (printed.getvalue(), printed.write("b"), printed.getvalue()) == ("a", 1, "ab")


def test_help_is_the_output_even_where_json_was_asked_for(call: Any) -> None:
    code, out, err = call("users", "list", "--output", "json", "--help")
    assert (code, "--count" in out, err) == (0, True, "")


def test_a_field_that_names_nothing_is_told(call: Any) -> None:
    code, told = wire(call, "users", "list", "--count", "1", "--fields", "id,nmae")
    assert (code, told["data"], told["warnings"]) == (0, [{"id": 0}], ["--fields: nothing at nmae; did you mean name?"])
    assert call("users", "list", "--fields", "id,nmae")[2] == "--fields: nothing at nmae; did you mean name?\n"
    assert call("users", "list", "--fields", "id,nmae", "--quiet")[2] == ""


def test_fields_of_which_none_is_there_are_a_wrong_argument_told_once(
    call: Any, caplog: pytest.LogCaptureFixture
) -> None:
    code, out, err = call("users", "list", "--fields", "nmae")
    assert (code, out) == (3, "")
    assert err.splitlines() == [
        "--fields: nothing at nmae; did you mean name?",
        "The command has run; only its answer was not printed.",
    ]
    assert call("users", "list", "--fields", "id,nmae")[0] == 0
    assert call("users", "list", "--fields", "id", "--count", "0")[::2] == (0, "")
    assert caplog.messages == []
    code, told = wire(call, "users", "list", "--fields", "nmae")
    assert (code, told["ok"], told["error"]["code"]) == (3, False, "ARG_ERROR")


def test_a_wrong_call_is_an_argument_error_before_anything_is_done(call: Any) -> None:
    for words, near in (
        (("users", "nope"), "users"),
        (("users", "list", "--count", "x"), "users list"),
        (("users", "list", "--nope"), "users list"),
    ):
        code, told = wire(call, *words)
        assert (code, told["error"]["code"], told["error"]["phase"]) == (3, "ARG_ERROR", "validation")
        assert told["error"]["suggestion"].endswith(f" {near} --help.")
    code, out, err = call("users", "list", "--nope")
    assert (code, out) == (3, "")
    assert "--nope" in err
    assert "Value error" not in call("users", "list", "--output", "xml")[2]


@pytest.mark.parametrize(
    ("option", "config", "number"), [(None, "contract", 3), (None, "posix", 2), ("posix", "contract", 2)]
)
def test_an_application_chooses_its_table_of_exit_codes(
    option: Any, config: str, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    app = shape_typer(typer_app(), name="t", shaper=Shaper({"exit_codes": config}), exit_codes=option)
    with pytest.raises(SystemExit) as ended:
        app.main(["users", "list", "--nope", "--output", "json"])
    told = json.loads(capsys.readouterr().out)
    assert (ended.value.code, told["error"]["code"], told["error"]["retryable"]) == (number, "ARG_ERROR", True)
    with pytest.raises(SystemExit):
        app.main(["manifest", "--output", "json"])
    assert json.loads(capsys.readouterr().out)["data"]["exit_codes"][str(number)] == "ARG_ERROR"


def test_a_renamed_command_redirects(call: Any) -> None:
    code, told = wire(call, "user", "create", "ada lovelace")
    assert (code, told["error"]["code"]) == (13, "REDIRECTED")
    assert told["error"]["redirect"] == {
        "command": "app users add 'ada lovelace' --output json",
        "permanent": True,
        "reason": "renamed",
    }
    assert call("user", "create", "x")[0] == 13


def test_a_limit_pages_by_cursor_without_calling_again(call: Any) -> None:
    told = wire(call, "users", "list", "--count", "50", "--limit", "2")[1]
    assert ([user["id"] for user in told["data"]], told["meta"]["truncated"]) == ([0, 1], True)
    code, page = wire(call, "users", "list", "--cursor", told["meta"]["cursor"])
    assert (code, page["data"][0]["id"]) == (0, 2)
    assert call("users", "list", "--count", "50", "--limit", "2")[2].startswith("there is more: --cursor r_")
    code, told = wire(call, "users", "list", "--cursor", "r_nope:x")
    assert (code, told["error"]["code"]) == (5, "REF_NOT_FOUND")


def test_every_page_has_the_limit_and_the_fields_that_were_asked_for(call: Any) -> None:
    seen: list[Any] = []
    cursor: list[str] = []
    for _ in range(4):
        told = wire(call, "users", "list", "--count", "7", "--limit", "2", "--fields", "id", *cursor)[1]
        seen.append(told["data"])
        cursor = ["--cursor", told["meta"].get("cursor", "")]
    assert seen == [[{"id": 0}, {"id": 1}], [{"id": 2}, {"id": 3}], [{"id": 4}, {"id": 5}], [{"id": 6}]]
    assert cursor == ["--cursor", ""]


def test_pages_without_a_limit_go_on_to_the_end(call: Any) -> None:
    told = wire(call, "users", "list", "--count", "4000")[1]
    seen = [user["id"] for user in told["data"]]
    while "cursor" in told["meta"]:
        told = wire(call, "users", "list", "--cursor", told["meta"]["cursor"])[1]
        seen += [user["id"] for user in told["data"]]
    assert seen == [*range(4000)]


def test_an_etag_spares_what_is_known(call: Any) -> None:
    tag = wire(call, "users", "list", "--etag", "")[1]["meta"]["etag"]
    told = wire(call, "users", "list", "--etag", tag)[1]
    assert (told["data"], told["meta"]["not_modified"], told["ok"]) == (None, True, True)


def test_an_option_of_the_commands_own_stays_its_own(call: Any) -> None:
    assert wire(call, "users", "add", "ada", "--etag", "mine")[1]["data"] == {"name": "ada", "etag": "mine"}


def test_verbose_and_debug_choose_profiles(call: Any) -> None:
    assert "note" not in wire(call, "users", "list", "--count", "40", "--verbose")[1]["data"][0]
    told = wire(call, "users", "list", "--debug")[1]
    assert (told["data"][0]["note"], "config_hash" in told["meta"]) == (None, True)


def test_debug_prints_where_a_crash_came_from(call: Any) -> None:
    assert "Traceback" not in call("users", "add", "broken")[2]
    told = call("users", "add", "broken", "--debug")[2]
    assert told.startswith("Traceback (most recent call last):\n")
    assert "in added\nValueError: no such letters\n" in told


def test_the_manifest_lists_commands_flags_exit_codes_and_schemas(call: Any) -> None:
    manifest = wire(call, "manifest", "--verbose")[1]["data"]
    commands = {command["name"]: command for command in manifest["commands"]}
    assert set(commands) == {
        "users list", "users add", "hello", "stop", "leave", "ask", "later", "manifest",
    }  # fmt: skip
    flags = {flag["name"]: flag for flag in commands["users list"]["flags"]}
    assert {"--count", "--output", "--fields", "--limit", "--cursor", "--etag", "--quiet"} <= flags.keys()
    assert flags["--output"]["choices"] == ["text", "json"]
    assert (flags["--count"]["default"], flags["--quiet"]["type"]) == (3, "boolean")
    assert commands["users list"]["help"] == "List the users there are."
    assert commands["users list"]["output"]["type"] == "array"
    assert commands["users add"]["arguments"][0]["name"] == "name"
    assert (manifest["version"], manifest["exit_codes"]["13"]) == ("1.2", "REDIRECTED")
    assert manifest["renamed"] == [{"command": "user create", "replacement": "users add"}]
    assert manifest["etag"] == wire(call, "manifest", "--verbose")[1]["data"]["etag"]


def test_help_exits_0(call: Any) -> None:
    code, out, _ = call("users", "list", "--help")
    assert code == 0
    assert "--output" in out


def test_a_caller_that_goes_on_afterwards_finds_the_answer_printed(
    shaper: Shaper, capsys: pytest.CaptureFixture[str]
) -> None:
    _typer(shaper)(["later", "--output", "json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["data"] == {"value": "done"}


def test_a_caller_that_handles_errors_itself_gets_them(shaper: Shaper) -> None:
    main = _click(shaper)
    with pytest.raises(click.UsageError):
        main(["nope"], standalone_mode=False)


def test_a_single_command_is_shaped_and_reads_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    app = typer.Typer()

    @app.command()
    def only() -> dict[str, int]:
        return {"a": 1}

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["only", "--output=json"])
    with pytest.raises(SystemExit):
        shape_typer(app)()
    assert json.loads(capsys.readouterr().out)["data"] == {"a": 1}


def test_a_return_type_without_a_schema_is_no_fault() -> None:
    from shaping.apps import manifest_of

    class Odd:
        pass

    @click.command()
    def odd() -> Odd:
        return Odd()

    (described,) = manifest_of(odd, name="x", exit_codes={})["commands"]
    assert described == {"name": "", "help": "", "arguments": [], "flags": [], "output": {}}


class Gone(Exception):  # noqa: N818 (an application's own)
    pass


def failing_app() -> click.Group:
    app = click.Group("app")

    @app.command()
    def noted() -> dict[str, bool]:
        shaping.note(warning="--old is deprecated", request_id="req-7")
        time.sleep(0.05)
        return {"done": True}

    @app.command()
    def locked() -> None:
        shaping.note(request_id="req-8")
        time.sleep(0.05)
        raise ToolError("RATE_LIMITED", "slow down", retry_after=5, details={"ssn": "123-45-6789", "who": "bob"})

    @app.command()
    def gone() -> None:
        raise Gone("it went")

    @app.command()
    def boom() -> None:
        raise click.ClickException("the disk is full")

    @app.command()
    def steps() -> Iterator[dict[str, int]]:
        yield {"step": 1}
        raise ToolError("CONFLICT", "step 2 is taken")

    @app.command()
    def speaks(kind: str = "failed") -> dict[str, Any]:
        return envelopes[kind]

    meta = {"duration_ms": 3, "truncated": True, "cursor": "c-2"}
    envelopes: dict[str, dict[str, Any]] = {
        "page": {"ok": True, "data": [1], "error": None, "warnings": ["old"], "meta": meta},
        "failed": {
            "ok": False,
            "data": None,
            "error": {"code": "TOKEN_EXPIRED", "message": "expired", "retryable": True},
            "warnings": [],
            "meta": {"duration_ms": 3},
        },
    }
    app.commands["speaks"].params.append(click.Option(["--kind"], default="failed"))
    config = {
        "errors": {f"{Gone.__module__}.{Gone.__qualname__}": "NOT_FOUND"},
        "tool_overrides": {"app *": {"private": ["ssn"]}},
    }
    return shape_click(app, shaper=Shaper(config), renamed={"old": "gone"})  # type: ignore[no-any-return]  # the group


def answer_of(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    with pytest.raises(SystemExit) as ended:
        failing_app().main([*words, "--output", "json"])
    return int(ended.value.code or 0), json.loads(capsys.readouterr().out)


def test_what_a_command_notes_and_the_time_it_took_are_in_its_envelope(capsys: pytest.CaptureFixture[str]) -> None:
    code, told = answer_of(capsys, "noted")
    assert (code, told["warnings"], told["meta"]["request_id"]) == (0, ["--old is deprecated"], "req-7")
    assert told["meta"]["duration_ms"] >= 50
    _, told = answer_of(capsys, "locked")
    assert told["meta"]["request_id"] == "req-8"
    assert told["meta"]["duration_ms"] >= 50


def test_the_config_holds_for_the_errors_of_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer_of(capsys, "locked")[1]["error"]["details"] == {"who": "bob"}
    code, told = answer_of(capsys, "gone")
    assert (code, told["error"]["code"], told["error"]["message"]) == (5, "NOT_FOUND", "it went")


def test_only_a_refused_command_line_is_a_wrong_argument(capsys: pytest.CaptureFixture[str]) -> None:
    code, told = answer_of(capsys, "boom")
    assert (code, told["error"]["code"], told["error"]["message"]) == (1, "GENERAL_ERROR", "the disk is full")
    assert "phase" not in told["error"]
    code, told = answer_of(capsys, "boom", "--odd")
    assert (code, told["error"]["code"], told["error"]["phase"]) == (3, "ARG_ERROR", "validation")


def test_a_command_that_yields_and_then_fails_has_failed(capsys: pytest.CaptureFixture[str]) -> None:
    code, told = answer_of(capsys, "steps")
    assert (code, told["ok"], told["error"]["message"]) == (6, False, "step 2 is taken")


def test_an_envelope_that_a_command_returns_is_not_wrapped_again(capsys: pytest.CaptureFixture[str]) -> None:
    code, told = answer_of(capsys, "speaks")
    assert (code, told["ok"], told["data"], told["error"]["code"]) == (8, False, None, "TOKEN_EXPIRED")
    code, told = answer_of(capsys, "speaks", "--kind", "page")
    assert (code, told["data"], told["warnings"], told["meta"]["cursor"]) == (0, [1], ["old"], "c-2")


def test_people_read_what_to_do_next(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["locked"], ["old", "--fields", "a"]):
        with pytest.raises(SystemExit):
            failing_app().main(words)
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "slow down",
        "Wait, then call again.",
        "Retry after 5 s.",
        "'app old' is now 'app gone'",
        "Use: app gone --fields a",
    ]


def test_an_option_that_nobody_knows_is_refused() -> None:
    with pytest.raises(TypeError, match="nmae: not known; expected name, shaper, renamed, version, exit_codes"):
        shape_click(click_app(), nmae="app")  # type: ignore[call-arg]  # that is the case
