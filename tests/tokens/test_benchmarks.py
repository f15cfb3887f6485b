from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks import make_vocabulary
from benchmarks.fidelity import NUMBERS, README, Row, numbers
from benchmarks.ranks import rank_file
from benchmarks.results import HEADER, RESULTS, write_section
from shaping.cli.payloads import read_payloads
from shaping.tokens import encoding

if TYPE_CHECKING:
    from collections.abc import Iterator

PAYLOADS = Path(__file__).parents[2] / "benchmarks" / "payloads"


def sections(text: str) -> Iterator[str]:
    yield from (line for line in text.splitlines() if line.startswith(("<!--", "numbers")))


def test_a_section_is_replaced_where_it_stands_and_the_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "RESULTS.md"
    for name, body in (("Tokens", "numbers 1"), ("Speed", "numbers 2"), ("Tokens", "numbers 3 \\1")):
        write_section(name, body, recipe={"payload": "made up"}, path=path)
    text = path.read_text()
    assert text.startswith(HEADER)
    assert list(sections(text)) == [
        "<!-- Tokens -->",
        "numbers 3 \\1",
        "<!-- end Tokens -->",
        "<!-- Speed -->",
        "numbers 2",
        "<!-- end Speed -->",
    ]
    assert all(f"- {word}: " in text for word in ("payload", "command", "date", "machine", "versions"))


def measured(folder: str) -> tuple[list[Row], int]:
    """Return the rows of one table of RESULTS.md and the number of questions in it."""
    table = RESULTS.read_text().partition(f"### {folder}, minimal\n")[2].partition("\n| **all** |")[0]
    rows = []
    for line in table.splitlines()[3:]:
        name, *figures, lost = line.strip("| ").split(" | ")
        before, compact, after, kept, answered, held, recovered = (
            int(figure.replace(",", "")) for figure in figures if not figure.endswith("%")
        )
        missing = () if lost == "-" else tuple(lost.split(", "))
        rows.append(Row(name, before, compact, after, kept, answered, held, recovered, missing))
    return rows, sum(row.held + row.recovered + len(row.lost) for row in rows)


def test_the_readme_has_the_numbers_that_were_measured() -> None:
    found = NUMBERS.search(README.read_text())
    assert found
    assert found[0] == numbers([measured("payloads"), measured("more")])


def test_the_results_say_what_the_folders_of_their_recipes_are() -> None:
    assert RESULTS.read_text().startswith(HEADER)


def test_every_payload_has_its_provenance_and_every_provenance_its_payload() -> None:
    table = (PAYLOADS / "PROVENANCE.md").read_text()
    named = {line.split("`")[1] for line in table.splitlines() if line.startswith("| `")}
    assert named == {path.name for path in PAYLOADS.iterdir()} - {"PROVENANCE.md"}


def test_every_payload_is_a_result_of_a_tool() -> None:
    assert [payload.name for payload in read_payloads([str(PAYLOADS)]) if not payload.is_mcp] == []


def test_rank_files_are_found_by_content_in_a_package_that_names_them_otherwise(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as archive:
        archive.writestr("other/cache/9b5ad71b", rank_file("cl100k_base"))
        archive.writestr("other/o200k.gz", gzip.compress(rank_file("o200k_base"), 1))
    found = make_vocabulary.rank_files(tmp_path / "other.whl")
    assert {make_vocabulary.definition(name)["sha256"] for name in encoding.NAMES} == found.keys()


@pytest.mark.parametrize("name", encoding.NAMES)
def test_the_tables_kept_are_the_ones_the_script_would_write(name: str) -> None:
    assert make_vocabulary.table(rank_file(name)) == encoding.read_data(f"{name}.table")


def test_the_definitions_kept_are_the_ones_the_script_would_write() -> None:
    made = {name: make_vocabulary.definition(name) for name in make_vocabulary.NAMES}
    assert made == json.loads(encoding.read_data("encodings.json"))


def test_a_package_without_the_rank_files_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as archive:
        archive.writestr("other/ranks", b"x" * 200_000)
    with pytest.raises(SystemExit, match="has no file with the sha256 that tiktoken expects of o200k_base"):
        make_vocabulary.main(str(tmp_path / "other.whl"))


def test_ranks_with_a_hole_are_refused() -> None:
    with pytest.raises(SystemExit, match="the ranks are not dense"):
        make_vocabulary.table(b"YQ== 0\nYg== 2\n")
