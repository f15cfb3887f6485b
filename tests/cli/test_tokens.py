from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner, Result

from benchmarks import texts
from shaping.cli.app import build
from shaping.tokens import exact

if TYPE_CHECKING:
    from pathlib import Path


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(build(), ["tokens", *arguments], input=stdin)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "short.txt").write_text("hello world")
    (tmp_path / "long.json").write_text(texts.make("issues", 1, 60_000))
    return str(tmp_path / "short.txt"), str(tmp_path / "long.json")


def test_one_file_is_one_line(files: tuple[str, str]) -> None:
    assert run(files[0]).stdout == f"2  exact  {files[0]}\n"


def test_several_files_have_a_total_and_each_its_label(files: tuple[str, str]) -> None:
    short, long, total = run(*files).stdout.splitlines()
    assert short.split() == ["2", "exact", files[0]]
    assert long.split()[1] == "sampled"
    assert int(total.split()[0].replace(",", "")) == 2 + int(long.split()[0].replace(",", ""))


def test_exactly_means_long_files_too(files: tuple[str, str], tmp_path: Path) -> None:
    tokens = exact((tmp_path / "long.json").read_text())
    assert run("--exact", files[1]).stdout == f"{tokens:,}  exact  {files[1]}\n"


def test_standard_input_is_counted() -> None:
    assert run("-", stdin="hello world").stdout == "2  exact  -\n"


def test_a_program_reads_an_envelope(files: tuple[str, str]) -> None:
    told = json.loads(run("--json", "--tokenizer", "cl100k_base", files[0]).stdout)
    data = told["data"]
    assert told["ok"] is True
    assert {key: data[key] for key in ("tokenizer", "files", "total")} == {
        "tokenizer": "cl100k_base",
        "files": [{"file": files[0], "tokens": 2, "method": "exact", "error_bound": 0.0}],
        "total": 2,
    }
    assert [other["family"] for other in data["elsewhere"]] == ["claude", "gemini"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["no such file"], 2, "cannot read no such file: No such file or directory"),
        (["--tokenizer", "o200k", "-"], 2, "Did you mean 'o200k_base'?"),
        (["--tokenizer", "chars", "--exact", "-"], 1, "cannot count exactly"),
    ],
)
def test_what_is_wrong_is_said_on_standard_error(arguments: list[str], code: int, said: str) -> None:
    result = run(*arguments, stdin="text")
    assert (result.exit_code, result.stdout) == (code, "")
    assert said in result.stderr
