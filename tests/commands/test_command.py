from __future__ import annotations

import asyncio
import json
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from shaping import Shaper, shape
from shaping.commands import command, plan_for, run_command
from shaping.commands.storage import streams_of
from shaping.commands.stream import stream_command
from shaping.store.expand import stream_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from shaping.envelope import Envelope


def ran(*argv: str, **said: Any) -> Envelope[Any]:
    return asyncio.run(command(argv, **said))


def test_a_command_is_a_tool_in_python(shaper: Shaper, tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    envelope = ran("ls", cwd=tmp_path, shaper=shaper)
    assert (envelope.ok, envelope.meta.source) == (True, "command")
    assert "a\n" in envelope.data["stdout"]
    assert ran("cat", stdin=b'{"a": 1}', shaper=shaper).data == {"a": 1}
    assert ran("sh", "-c", "echo $X", env={**os.environ, "X": "y"}, shaper=shaper).data == {"stdout": "y\n"}


def test_a_field_that_is_given_as_a_string_is_one_path(shaper: Shaper) -> None:
    envelope = ran("echo", '{"id": 1, "name": "x"}', fields="id", shaper=shaper)
    assert (envelope.data, envelope.warnings) == ({"id": 1}, ())


def test_a_command_needs_no_shaper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAPING_CONFIG", str(tmp_path / "config.json"))
    (tmp_path / "config.json").write_text("{}")
    assert ran("echo", "hi").data == {"stdout": "hi\n"}
    with pytest.raises(ValueError, match="at least the name"):
        ran()


def test_a_program_that_is_not_there_is_not_found(shaper: Shaper, tmp_path: Path) -> None:
    (tmp_path / "kubectl").touch(0o755)
    envelope = ran("kubeclt", "get", env={"PATH": str(tmp_path)}, shaper=shaper)
    assert envelope.error is not None
    assert (envelope.error.code, envelope.error.similar, envelope.meta.exit_code) == ("NOT_FOUND", ("kubectl",), 127)  # type: ignore[union-attr]  # a command's meta


@pytest.mark.parametrize(
    ("prepare", "code", "exit_code"),
    [
        (lambda path: path.write_text("x"), "PERMISSION_DENIED", 126),
        (lambda path: (path.write_text("\x00\x01"), path.chmod(0o755)), "BAD_ARGUMENT", 126),
        (lambda path: (path.write_text("#!/nowhere/sh\n"), path.chmod(0o755)), "NOT_FOUND", 127),
    ],
)
def test_a_program_that_cannot_be_run_says_why(
    prepare: Callable[[Path], object], code: str, exit_code: int, shaper: Shaper, tmp_path: Path
) -> None:
    prepare(tmp_path / "program")
    envelope = ran(str(tmp_path / "program"), shaper=shaper)
    assert envelope.error is not None
    assert (envelope.error.code, envelope.render("invariant")["meta"]["exit_code"]) == (code, exit_code)


def test_words_that_no_system_takes_are_told(shaper: Shaper) -> None:
    long = ran("echo", "x" * 3_000_000, shaper=shaper).error
    nul = ran("echo", "a\0b", shaper=shaper).error
    assert long is not None
    assert nul is not None
    assert (long.code, nul.code) == ("TOO_LARGE", "BAD_ARGUMENT")


def test_a_cancelled_call_ends_the_command(shaper: Shaper, tmp_path: Path) -> None:
    note, ready = tmp_path / "ended", tmp_path / "ready"

    async def main() -> None:
        script = f"trap 'echo yes > {note}; exit' TERM; : > {ready}; while :; do sleep 0.05; done"
        task = asyncio.create_task(command(["sh", "-c", script], shaper=shaper))
        while not ready.exists() and not task.done():  # noqa: ASYNC110  a file is no event
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert note.read_text() == "yes\n"


def test_what_outgrows_memory_goes_to_the_store_as_it_comes(shaper: Shaper) -> None:
    argv = ["seq", "-w", "0", "1399999"]
    plan = plan_for(shaper, argv, {"max_tokens": 300})
    envelope = run_command(shaper, plan, argv, {}).envelope
    assert envelope.data["stdout"].startswith("0000000\n")
    assert envelope.data["stdout"].endswith("1399999\n")
    assert envelope.meta.ref is not None
    whole = b"".join(stream_parts(shaper.keeper("command").store, streams_of(shaper, envelope.meta.ref)["stdout"]))
    assert whole == b"".join(b"%07d\n" % n for n in range(1_400_000))


def test_a_stream_of_json_lines_is_shaped_line_by_line(make_shaper: Callable[..., Shaper]) -> None:
    mine = make_shaper({"tool_overrides": {"printf": {"include_only": ["id"]}}})
    emitted: list[bytes] = []
    text = '{"id": 1, "x": 2}\n\nplain \\033[1mtext\\033[0m\n{"id": 2, "x": 3}'
    argv = ["printf", text]
    envelope = stream_command(mine, plan_for(mine, argv, {}), argv, {}, emitted.append).envelope
    assert emitted == [b'{"id":1}\n', b'"plain text"\n', b'{"id":2}\n']
    assert (envelope.data, envelope.ok) == ({"lines": 3}, True)
    assert envelope.meta.ref is not None
    assert b"".join(
        stream_parts(mine.keeper("command").store, streams_of(mine, envelope.meta.ref)["stdout"])
    ).startswith(b'{"id": 1, "x": 2}')


def test_private_fields_are_in_no_line_of_a_stream_and_behind_no_ref(make_shaper: Callable[..., Shaper]) -> None:
    mine = make_shaper({"tool_overrides": {"printf": {"private": ["hash"]}}})
    emitted: list[bytes] = []
    argv = ["printf", '{"id": 1, "hash": "deadbeef"}\n{"hash": "deadbeef"\n']
    envelope = stream_command(mine, plan_for(mine, argv, {}), argv, {}, emitted.append).envelope
    assert emitted[0] == b'{"id":1}\n'
    assert b"withheld" in emitted[1]
    assert envelope.meta.ref is not None
    assert "deadbeef" not in repr(emitted) + repr(mine.expand(envelope.meta.ref, surface="command").value)


def test_lines_after_one_that_names_a_private_field_are_withheld(make_shaper: Callable[..., Shaper]) -> None:
    mine = make_shaper({"tool_overrides": {"printf": {"private": ["hash"]}}})
    emitted: list[bytes] = []
    argv = ["printf", 'first\n"hash":\n"deadbeef"\n{"id": 1}\n']
    stream_command(mine, plan_for(mine, argv, {}), argv, {}, emitted.append)
    assert [line.startswith((b'"[withheld', b'"[private')) for line in emitted] == [False, True, True, False]


@pytest.mark.parametrize(
    "lines",
    [
        "pay:\n  hash:\n    kind: sha1\n\n    value: deadbeef\n    more: deadbeef\nlast: 1\n",
        "hash:\n- deadbeef\n- deadbeef\nlast: 1\n",
        '{\n "hash": {\n  "kind": "sha1",\n  "value": "deadbeef"\n },\nlast: 1\n',
        "## Hash\n\ndeadbeef\n\nlast: 1\n",
    ],
)
def test_a_block_below_a_private_name_leaves_in_no_line_of_a_stream(
    make_shaper: Callable[..., Shaper], lines: str
) -> None:
    mine = make_shaper({"tool_overrides": {"printf": {"private": ["hash"]}}})
    emitted: list[bytes] = []
    argv = ["printf", lines]
    stream_command(mine, plan_for(mine, argv, {}), argv, {}, emitted.append)
    assert b"deadbeef" not in b"".join(emitted)
    assert b"last: 1" in b"".join(emitted)


KEY = [
    "-----BEGIN PRIVATE KEY-----",
    *(f"MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7{at:012d}" for at in range(9)),
]


@pytest.mark.parametrize("line", ["{}", '{{"line": "{}"}}', '["{}"]', '[1, "{}"]'])
def test_a_private_key_leaves_no_stream_line_by_line(make_shaper: Callable[..., Shaper], line: str) -> None:
    mine, emitted = make_shaper({}), list[bytes]()
    argv = ["printf", "%s\\n", *map(line.format, [*KEY, "-----END PRIVATE KEY-----", "after"])]
    stream_command(mine, plan_for(mine, argv, {}), argv, {}, emitted.append)
    assert b"MIIEvQ" not in b"".join(emitted)
    assert b"after" in emitted[-1]


@pytest.mark.parametrize(
    "lines",
    [
        ['["name","salary"]', '["Bob",987654]'],
        ['"Bob\'s salary is"', "987654"],
        ['{"columns":["n","salary"]}', '{"rows":[["x",987654]]}'],
        ['{"name":"salary"}', '{"value":987654}'],
        ["salary: ", "987654"],
        ['{"salary":', "987654}"],
        ["name,salary", "Bob,987654"],
    ],
)
def test_a_private_name_in_one_line_of_a_stream_takes_its_value_from_the_next(
    make_shaper: Callable[..., Shaper], lines: list[str]
) -> None:
    mine, emitted = make_shaper({"tool_overrides": {"*": {"private": ["**.salary"]}}}), list[bytes]()
    argv = ["printf", "%s\\n", *lines, '{"id": 7}']
    stream_command(mine, plan_for(mine, argv, {}), argv, {}, emitted.append)
    assert b"987654" not in b"".join(emitted)
    assert emitted[-1] == b'{"id":7}\n'

    @shape(tool="t", shaper=mine)
    def yielding() -> Iterator[Any]:
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:
                yield line

    assert "987654" not in str(list(yielding()))


@pytest.mark.parametrize(
    "form",
    [
        lambda line: f"{line}\n",
        lambda line: f"{line}\n".encode(),
        lambda line: {"number": 1, "line": line},
        lambda line: SimpleNamespace(line=line),
    ],
    ids=["text", "bytes", "object", "instance"],
)
def test_a_private_key_leaves_no_generator_line_by_line(form: Callable[[str], Any]) -> None:
    @shape(tool="t", shaper=Shaper({}))
    def yielding() -> Iterator[Any]:
        yield from map(form, [*KEY, "-----END PRIVATE KEY-----"])
        yield "after"

    answers = list(yielding())
    assert "MIIEvQ" not in str(answers)
    assert "after" in str(answers[-1])


def test_a_stream_is_emitted_while_the_command_runs_and_ends_with_its_failure(shaper: Shaper) -> None:
    argv = ["sh", "-c", "echo '[1]'; echo oops >&2; exit 4"]
    emitted: list[bytes] = []
    envelope = stream_command(shaper, plan_for(shaper, argv, {}), argv, {}, emitted.append).envelope
    assert (emitted, envelope.error and envelope.error.code) == ([b"[1]\n"], "EXECUTION_ERROR")
    assert envelope.error is not None
    assert envelope.error.details == {"lines": 1}
    missing = ["nosuchprogram-of-ours"]
    gone = stream_command(shaper, plan_for(shaper, missing, {}), missing, {}, emitted.append).envelope
    assert gone.error is not None
    assert gone.error.code == "NOT_FOUND"


def test_a_line_without_end_is_not_waited_for_for_ever(shaper: Shaper) -> None:
    emitted: list[bytes] = []
    argv = ["sh", "-c", r"head -c 9000000 /dev/zero | tr '\0' x"]
    stream_command(shaper, plan_for(shaper, argv, {"max_tokens": 100}), argv, {}, emitted.append)
    assert len(emitted) <= 2
