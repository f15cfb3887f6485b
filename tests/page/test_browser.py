"""The page in a real Chromium."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shaping.page import document
from shaping.page.data import FINDINGS, PageSource
from tests.page.conftest import Home, issues, make_home

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("home")
    home, file = make_home(folder), folder / "report.html"
    command = [sys.executable, "-m", "shaping", "report", "-o", str(file)]
    subprocess.run(command, env=home.environ, check=True, capture_output=True)
    return file.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 360])
def test_the_report_loads_and_fits_its_window(width: int, scheme: str, report: str, open_page: Open) -> None:
    page = open_page(report, width=width, scheme=scheme)
    for details in page.locator("details").all():
        if details.get_attribute("open") is None:
            details.locator("summary").click()
    assert page.locator("details:not([open])").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.title() == "What shaping saved"


def test_light_and_dark_differ_and_are_readable(report: str, open_page: Open) -> None:
    colours = "getComputedStyle(document.body).backgroundColor + getComputedStyle(document.body).color"
    light, dark = (open_page(report, scheme=scheme).evaluate(colours) for scheme in ("light", "dark"))
    assert _contrast(light) > 7
    assert _contrast(dark) > 7
    assert light != dark


def _contrast(colours: str) -> float:
    found = [[int(part) for part in each] for each in re.findall(r"rgb\((\d+), (\d+), (\d+)\)", colours)]

    def luminance(rgb: list[int]) -> float:
        parts = [part / 255 / 12.92 if part <= 10 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in rgb]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    low, high = sorted(map(luminance, found))
    return (high + 0.05) / (low + 0.05)


def test_the_table_of_tools_is_sorted_by_the_column_that_is_chosen(report: str, open_page: Open) -> None:
    page = open_page(report)
    names = page.locator("#tools tbody th span:first-child")
    assert names.all_inner_texts()[0] == "github/list_issues"
    page.locator("#tools thead button").first.click()
    assert names.all_inner_texts() == sorted(names.all_inner_texts())
    page.get_by_role("button", name="Read").first.click()
    read = [int(cell.get_attribute("data-value")) for cell in page.locator("#tools tbody td:nth-child(4)").all()]
    assert read == sorted(read, reverse=True)
    assert page.locator("#tools th[aria-sort=descending]").inner_text().strip("↓ ") == "Read"


def test_a_call_opens_with_what_was_sent_beside_what_was_read(report: str, open_page: Open) -> None:
    page = open_page(report)
    call = page.locator("details.call", has_text="list_issues")
    call.locator("summary").click()
    sent, read = call.locator("pre").all()
    assert sent.bounding_box()["x"] < read.bounding_box()["x"]
    removed = sent.locator("del").all_inner_texts()
    assert any("avatar_url" in text for text in removed)
    assert any("milestone" in text for text in removed)
    assert not any("title" in text for text in removed)
    assert "29,Issue 29 of the list,user" in read.inner_text()
    assert "links" in call.locator(".reasons").inner_text()


def test_fields_are_drawn_by_their_tokens(report: str, open_page: Open) -> None:
    page = open_page(report)
    boxes = page.locator("#fields details", has_text="list_issues").locator(".field").all()
    sizes = {box.get_attribute("title").split(":")[0]: box.bounding_box() for box in boxes}
    avatar, number = sizes["[].user.avatar_url"], sizes["[].number"]
    assert avatar["width"] * avatar["height"] > 3 * number["width"] * number["height"]
    assert "gone" in page.locator('.field[title^="[].user.avatar_url"]').get_attribute("class")


def test_without_scripts_the_page_reads_as_a_report(report: str, open_page: Open) -> None:
    page = open_page(report, scripts=False)
    text = page.locator("main").inner_text()
    assert all(
        word in text for word in ("github/list_issues", "files/read_file", "Config in force", "Savings over time")
    )
    page.locator("details.call summary").first.click()
    assert page.locator("details.call[open] pre").count() >= 1


def test_a_call_arrives_while_the_page_is_open_and_what_is_read_stays(
    home: Home, page_of: str, open_page: Open
) -> None:
    page = open_page(page_of)
    page.locator("#state:has-text('live')").wait_for()
    page.locator("details.call summary").first.click()
    page.locator("#tools thead button").first.click()
    opened = page.locator("details.call[open]").get_attribute("id")
    home.record("list_pulls", issues(12))
    page.locator("#tools tbody tr", has_text="list_pulls").wait_for()
    assert page.locator("details.call").first.inner_text().count("list_pulls") == 1
    assert page.locator("details.call[open]").get_attribute("id") == opened
    names = page.locator("#tools tbody th span:first-child").all_inner_texts()
    assert names == sorted(names)
    assert page.locator(".card", has_text="Calls").locator("strong").inner_text() == "4"


def test_what_tools_and_clients_say_is_text_and_never_markup(home: Home, tmp_path: Path, open_page: Open) -> None:
    attack = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>'\"&"
    home.record(attack, {"items": [{attack: attack, "gone": None}, {attack: attack, "gone": None}]}, server=attack)
    database = _database(home)
    drift = dict.fromkeys(("tool", "path", "kind", "message", "rule"), attack)
    database.path.with_name(FINDINGS).write_text(json.dumps({"drift": [drift], "contracts": []}))
    source = PageSource(database)
    (tmp_path / "attacked.html").write_text(document(source.collect()))
    subprocess.run(
        [sys.executable, "-m", "shaping", "last", "--html", str(tmp_path / "last.html")],
        env=home.environ,
        check=True,
        capture_output=True,
    )
    for file in ("attacked.html", "last.html"):
        page = open_page((tmp_path / file).as_uri())
        assert page.title() != "taken"
        assert page.locator("img").count() == 0
        assert page.locator("script").count() == 1
        assert "onerror" in page.locator("body").inner_text()


def _database(home: Home) -> Any:
    from shaping.ledger import LedgerDatabase

    return LedgerDatabase(home.ledger)
