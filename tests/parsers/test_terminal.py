from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from shaping.parsers import terminal
from shaping.parsers.terminal import clean_lines, is_error_line, render_terminal


@pytest.mark.parametrize(
    ("printed", "seen"),
    [
        ("\x1b[1;31mred\x1b[0m text\n", "red text\n"),
        ("dos\r\nlines\r\n", "dos\nlines\n"),
        ("10%\r20%\r100%\ndone\n", "100%\ndone\n"),
        ("long line\rshort\n", "shortline\n"),
        ("long line\r\x1b[Kshort\n", "short\n"),
        ("long line\x1b[2K\rx\n", "x\n"),
        ("abcdef\x1b[1G\x1b[2C\x1b[1Kz\n", "  zdef\n"),
        ("abc\x1b[2DX\n", "aXc\n"),
        ("spin |\b/\b-\n", "spin -\n"),
        ("one\ntwo\n\x1b[2Anew\n\x1b[1Bthree\n", "new\ntwo\nthree\n"),
        ("a\nb\x1b[1Fc\x1b[1Ed\n", "c\nd\n"),
        ("\x1b]0;title\x07text\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "textlink\n"),
        ("bell\x07 and\x1b(B nul\x00\n", "bell and nul\n"),
        ("./a name\x00./b.txt\x00", "./a name\n./b.txt\n"),
        ("w\x00i\x00d\x00e\x00\n\x00", "wide\n"),
        ("tab\there\n", "tab\there\n"),
        ("error: it broke\rnext\n", "error: it broke\nnext\n"),
        ("error: it broke\x1b[2K\n", "error: it broke\n"),
    ],
)
def test_text_reads_as_a_terminal_shows_it_in_the_end(printed: str, seen: str) -> None:
    assert "\n".join(clean_lines(printed)) == seen


def test_repeated_lines_are_counted_and_blank_runs_are_one() -> None:
    assert clean_lines("y\ny\ny\n\n\n\nz\n") == ["y (x3)", "", "z", ""]


def test_lines_that_differ_only_in_when_they_were_written_are_repeats() -> None:
    klog = "".join(f'E1116 10:08:12.39{n}730   27010 memcache.go:265] "refused"\n' for n in range(5))
    plain = "2026-01-01T12:00:00Z try again\n2026-01-01T12:00:05Z try again\n12:00:09 try again\n"
    assert clean_lines(klog + plain) == [
        'E1116 10:08:12.390730   27010 memcache.go:265] "refused" (x5)',
        "2026-01-01T12:00:00Z try again (x3)",
        "",
    ]
    times = ["12:00:01", "12:00:02", ""]
    assert clean_lines("\n".join(times)) == times


def test_progress_told_line_by_line_is_its_last_line() -> None:
    bar = "".join(f"Downloading {'#' * n}{' ' * (10 - n)} {n * 10}% {n}.5 MB/s\n" for n in range(1, 11))
    assert clean_lines(bar + "ok\n") == ["Downloading ########## 100% 10.5 MB/s", "ok", ""]


def test_percentages_that_are_no_progress_stay() -> None:
    disks = "/dev/sda1 50G 20G 40% /mnt/1\n/dev/sda2 50G 45G 90% /mnt/2\n"
    falling = "cpu 90%\ncpu 40%\n"
    assert clean_lines(disks + falling) == [*disks.splitlines(), *falling.splitlines(), ""]


@given(st.text(alphabet="ab \n\t\x1b[]0123;mKAGH\r\b\x07é", max_size=60))
@settings(max_examples=150, deadline=None)
def test_nothing_that_a_program_prints_is_too_odd(text: str) -> None:
    seen = render_terminal(text)
    assert "\x1b" not in seen
    assert "\r" not in seen


@pytest.mark.parametrize(
    "line",
    [
        "unknown option: --no-such", "cp: missing file operand",
        "error: x", "ERROR x", "E   assert 1 == 2", "ValueError: no", "java.lang.NullPointerException", "FAILED t.py",
        "fatal: no", "Traceback (most recent call last):", "not ok 3 - x", "src/a.py:3:1: F401 unused",
        "ls: cannot access 'x'", "bash: x: command not found", "panic: oh", "Permission denied", "2 errors, 0 warnings",
        "exit code 0 with errors", "10 input errors", "0 input errors, 3 output failures",
    ],
)  # fmt: skip
def test_lines_that_tell_of_an_error(line: str) -> None:
    assert is_error_line(line)


@pytest.mark.parametrize(
    "line",
    [
        "0 errors", "no errors found", "10 passed, 0 failed", "0 input errors, 0 CRC", "0 output buffer failures",
        "terror", "all is well", "",
    ],
)  # fmt: skip
def test_lines_that_do_not(line: str) -> None:
    assert not is_error_line(line)


@pytest.mark.parametrize("text", ["a " * 4_000 + "\r" * 8_000, "a" * 8_000 + "\x1b[1K" * 2_000, "abc\x1b[1K" * 2_000])
def test_painting_a_line_again_and_again_looks_at_each_character_once(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []

    def count(line: str) -> bool:
        looked.append(len(line))
        return is_error_line(line)

    monkeypatch.setattr(terminal, "is_error_line", count)
    render_terminal(text)
    assert sum(looked) <= len(text)


def test_what_would_be_painted_over_a_very_wide_row_begins_a_new_one() -> None:
    assert render_terminal("x" * 2_000 + "\rdone") == "x" * 2_000 + "\ndone"


def test_lines_that_end_in_a_carriage_return_alone_are_lines_unless_they_paint_progress() -> None:
    notes = "\r".join(f"note {n}: what happened on day {n}" for n in range(9))
    assert render_terminal(notes) == notes.replace("\r", "\n")
    assert render_terminal("\r".join(f"fetched {n}%" for n in range(90, 101))) == "fetched 100%"
    assert render_terminal("\r".join("-\\|/" * 9)) == "/"
