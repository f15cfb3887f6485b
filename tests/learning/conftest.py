from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

TRANSCRIPTS = Path(__file__).parents[1] / "cases" / "transcripts"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home directory in which four real clients have left one session each, of the same three calls."""
    place = tmp_path / "home"
    shutil.copytree(TRANSCRIPTS, place)
    database = place / ".local" / "share" / "opencode" / "opencode.db"
    database.parent.mkdir(parents=True)
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript((place / "opencode.sql").read_text())
    return place
