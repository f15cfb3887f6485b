"""What a program printed, in a member of a result, is shortened as a text of its own would be."""

from __future__ import annotations

from typing import Any

from shaping.noise import reduce

LOG = "\n".join(f"2026-11-17 10:00:{n:02d} INFO [app.web] served /orders/{n} in {n * 7} ms" for n in range(40))
MINIMAL = ("links", "opaque", "boilerplate", "bulk", "repeats", "constants")


def test_log_lines_in_a_member_are_written_as_rows() -> None:
    value: Any = {"pod": "web-0", "logs": LOG}
    reduced: Any = reduce(value, MINIMAL)[0]
    assert len(reduced["logs"]) < 0.7 * len(LOG)
    assert reduced["logs"].startswith("[40]")
    assert "39 in 273 ms" in reduced["logs"] or "39 273" in reduced["logs"]


def test_a_file_that_was_read_keeps_its_letters() -> None:
    value: Any = {"path": "app.log", "content": LOG}
    assert reduce(value, MINIMAL)[0] is value


def test_frames_of_libraries_in_a_member_are_counted() -> None:
    frames = "".join(f'  File "/x/site-packages/lib{n}.py", line {n}, in run\n    go()\n' for n in range(9))
    start = 'Traceback (most recent call last):\n  File "app.py", line 3, in <module>\n    main()\n'
    value: Any = {"exit_code": 1, "stderr": f"{start}{frames}ValueError: no"}
    reduced: Any = reduce(value, MINIMAL)[0]
    assert "[7 frames of libraries]" in reduced["stderr"]
    assert reduced["stderr"].endswith("ValueError: no")
