"""The bars of the issue, small; `benchmarks/bench_commands.py` runs them in full."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from shaping import tokens
from shaping.commands import plan_for, run_command
from shaping.commands.storage import streams_of
from shaping.store.expand import stream_parts

if TYPE_CHECKING:
    from shaping.envelope import Envelope
    from shaping.shaper import Shaper

SHAPING = str(Path(sys.executable).with_name("shaping"))
COMMANDS = """
ls; ls -la; ls nowhere; cat few; cat few nowhere; cat noise; cat doc.json; cat lines; cat rows.csv; seq 1 9000; seq x
head -c 90 noise; sort few; wc few; grep 1 few; grep x few; grep x nowhere; expr 1 / 0; true; false; echo; od -c noise
diff few rows.csv; find . -name few; git init -q; git status --porcelain; git log; git bogus; awk BEGIN{exit(3)}
"""


def given_back(shaper: Shaper, envelope: Envelope[Any], name: str) -> bytes | None:
    """The exact bytes of an output, from the store or from the answer; None where only its data is there."""
    if envelope.meta.ref is not None:
        return b"".join(stream_parts(shaper.keeper("command").store, streams_of(shaper, envelope.meta.ref)[name]))
    error = envelope.error
    if error is None:
        shown = envelope.data if name == "stdout" else envelope.meta.extensions.get("stderr", "")
        if isinstance(envelope.data, dict) and envelope.data.keys() <= {"stdout", "stderr"}:
            shown = envelope.data.get(name, "")
    else:
        shown = (error.details or {}).get("stdout", "") if name == "stdout" else error.detail
        if shown is None:
            return error.message.split(": ", 1)[-1].encode() + b"\n"
    return shown.encode() if isinstance(shown, str) else None


def test_exit_codes_are_the_commands_and_no_byte_is_lost(shaper: Shaper, tmp_path: Path) -> None:
    files = {"few": "2\n1\n", "doc.json": '{"a": [null]}', "lines": '{"n":1}\n{"n":2}\n', "rows.csv": "a,b\n1,2\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "noise").write_bytes(bytes(range(256)) * 300)
    for command in COMMANDS.replace("\n", "; ").strip("; ").split("; "):
        argv = command.split()
        direct = subprocess.run(argv, cwd=tmp_path, capture_output=True, check=False)
        plan = plan_for(shaper, argv, {"dialect": "invariant"})
        envelope = run_command(shaper, plan, argv, {"cwd": tmp_path}).envelope
        assert (command, envelope.render("invariant")["meta"]["exit_code"]) == (command, direct.returncode)
        assert envelope.ok == (direct.returncode == 0)
        for name, raw in (("stdout", direct.stdout), ("stderr", direct.stderr)):
            back = given_back(shaper, envelope, name)
            if name == "stderr" and not raw:
                assert envelope.error is None or not envelope.error.detail
            elif back is None:
                assert (command, envelope.data) == (command, _read(raw))
            else:
                assert (command, back) == (command, raw)


def _read(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return [json.loads(line) for line in raw.splitlines()]


@given(
    raw=st.one_of(
        st.binary(max_size=300),
        st.text(alphabet='a1 %\r\n\x1b[Km;é"\\{},', max_size=200).map(str.encode),
        st.lists(st.sampled_from([b"error: x\n", b"10%\r", b"20%\n", b"same\n", b"\n", b"\x1b[2K"])).map(b"".join),
    ),
    code=st.integers(0, 2),
    budget=st.sampled_from([None, 160, 400]),
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_whatever_is_printed_comes_back_to_the_byte_within_the_budget(
    raw: bytes, code: int, budget: int | None, shaper: Shaper, replay: Any
) -> None:
    envelope = replay(shaper, ["x"], raw, b"", code, max_tokens=budget)
    back = given_back(shaper, envelope, "stdout")
    assert back == raw or (back is None and (envelope.data or envelope.error) is not None)
    if budget is not None:
        assert (
            tokens.exact(json.dumps(envelope.render("invariant"), ensure_ascii=False, separators=(",", ":"))) <= budget
        )


# A process is charged with what its parent held when it was forked, so a small one starts the command and looks.
MEASURE = """
import json, os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
told = process.stdout.read().decode()
_, status, usage = os.wait4(process.pid, 0)
print(json.dumps([status, told[:3], usage.ru_maxrss]))
"""


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="this system does not tell how much memory a process held")
def test_output_without_end_is_held_in_bounded_memory(tmp_path: Path) -> None:
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", MEASURE, SHAPING, "run", "--", "sh", "-c", "yes | head -c 200M"]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path, check=True)
    status, beginning, kilobytes = json.loads(done.stdout)
    assert (status, beginning) == (0, "y (")
    assert kilobytes < 200 * 1024
