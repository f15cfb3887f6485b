"""A diff that is cut says of which files lines are missing: git's own counts, less what is shown, are what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from shaping import Shaper
from shaping.parsers.sections import DiffLines

SHAPING = str(Path(sys.executable).with_name("shaping"))


def git(folder: Path, *words: str) -> str:
    names = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    done = subprocess.run(["git", *names, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nine changed files, one of them removed, with lines that look like headers of a diff."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    for n in range(9):
        (folder / f"part {n}.sql").write_text("".join(f"-- {n} {row}\nselect {row};\n" for row in range(30)))
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "begin")
    for n in range(8):
        lines = (f"++ {n} {row}\nselect {row + (row % (n + 2) == 0)};\n" for row in range(30 + n))
        (folder / f"part {n}.sql").write_text("".join(lines).rstrip("\n"))
    (folder / "part 8.sql").unlink()
    return folder


def said_missing(text: str, told: str) -> dict[str, tuple[int, int]]:
    """Add up, by file, what is said to be missing; what more files miss stands under their number."""
    found = re.findall(r"(?:of|,) ([^,(]+?) \+(\d+) -(\d+)", told)
    assert found, text
    return {file: (int(added), int(removed)) for file, added, removed in found}


def shown_changes(text: str) -> tuple[int, int]:
    lines = [line for line in text.splitlines() if not re.match(r"(\+\+\+|---) (a/|b/|/dev)", line)]
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)


def in_git(folder: Path) -> dict[str, tuple[int, int]]:
    rows = (line.split("\t") for line in git(folder, "diff", "--numstat").splitlines())
    return {file: (int(added), int(removed)) for added, removed, file in rows}


def test_counts_are_those_of_git(repository: Path) -> None:
    lines = git(repository, "diff").split("\n")
    read = DiffLines.of(lines)
    assert read is not None
    known = in_git(repository)
    assert read.list_missing(range(len(lines))).startswith(
        ", ".join(f"{file} +{added} -{removed}" for file, (added, removed) in list(known.items())[:6])
    )
    assert DiffLines.of(["no diff", "+ at all", "- of anything"]) is None


@pytest.mark.parametrize("surface", ["command", "mcp"])
def test_a_cut_diff_lists_what_it_left_out_by_file(repository: Path, surface: str) -> None:
    if surface == "command":
        words = [SHAPING, "run", "--max-tokens", "700", "--", "git", "diff"]
        done = subprocess.run(words, cwd=repository, capture_output=True, text=True, check=True)
        text, told = done.stdout, done.stderr
    else:
        shaped = Shaper({"global": {"max_tokens": 700}}, expandable=True).shape(
            git(repository, "diff"), surface="mcp", as_json=False
        )
        text, told = re.sub(r"…\[.*\]…", "\n", shaped.text.removesuffix(shaped.notice)), shaped.notice
        assert shaped.tokens.after <= 700
    missing, known = said_missing(text, told), in_git(repository)
    named = [file for file in missing if file in known]
    assert named == list(known)[: len(named)]
    assert len(named) == 6
    assert set(missing) == {*named, f"{len(known) - 6} more files"}
    for sign in (0, 1):
        cut = sum(one[sign] for one in missing.values())
        assert cut + shown_changes(text)[sign] == sum(one[sign] for one in known.values())


def test_a_small_budget_and_any_other_text_list_nothing(repository: Path) -> None:
    diff = git(repository, "diff")
    small = Shaper({"global": {"max_tokens": 150}}, expandable=True).shape(diff, surface="mcp")
    log = "".join(f"+++ line {n} of a log\n" for n in range(3_000))
    other = Shaper({"global": {"max_tokens": 700}}, expandable=True).shape(log, surface="mcp")
    assert ".sql +" not in small.notice
    assert " of " not in other.notice
