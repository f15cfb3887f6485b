from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from shaping.settings.files import bundled, bundled_path

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_three_profiles_ship() -> None:
    shipped = {path.name for path in bundled_path("profiles", "").iterdir()}
    assert {"minimal.json", "standard.json", "debug.json"} <= shipped


def test_the_bundled_global_sets_only_the_profile() -> None:
    assert json.loads(bundled("config", "response_config.json"))["global"] == {"profile": "minimal"}


def test_the_wheels_copy_is_asked_before_the_checkouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / "shaping"
    (tmp_path / "site" / "config").mkdir(parents=True)
    (tmp_path / "site" / "config" / "x.json").write_text("checkout")
    monkeypatch.setattr(sys.modules["shaping.settings.files"], "_PACKAGE", package)
    assert bundled("config", "x.json") == b"checkout"
    (package / "_bundled" / "config").mkdir(parents=True)
    (package / "_bundled" / "config" / "x.json").write_text("wheel")
    assert bundled("config", "x.json") == b"wheel"
    assert bundled_path("config", "x.json") == package / "_bundled" / "config" / "x.json"
