from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

from shaping import Shaper
from shaping.settings.loading import load

RAW = {f"field{n}": n for n in range(4)}


def config(kept: int) -> str:
    return json.dumps(
        {
            "global": {"profile": "traced"},
            "profiles": {"traced": {"extends": "minimal", "envelope": {"include": ["config_hash"]}}},
            "tool_overrides": {"tool": {"include_only": [f"field{kept}"], "rename": {f"field{kept}": f"kept{kept}"}}},
        }
    )


def test_every_response_in_a_storm_of_reloads_comes_from_exactly_one_config(tmp_path: Path) -> None:
    file = tmp_path / "response_config.json"
    expected: dict[str, dict[str, int]] = {}
    for kept in range(4):
        file.write_text(config(kept))
        expected[load(file).hash] = {f"kept{kept}": kept}
    shaper = Shaper(file)
    seen: list[dict[str, Any]] = []
    hashes: set[str] = set()
    over = threading.Event()

    def shape_on() -> None:
        while not over.is_set():
            answer = shaper.shape(RAW, tool="tool").value
            seen.append(answer)
            hashes.add(answer["config_hash"])

    threads = [threading.Thread(target=shape_on) for _ in range(6)]
    for thread in threads:
        thread.start()
    # Six busy threads may keep the watcher waiting: the storm goes on until it has been seen.
    deadline, turn = time.monotonic() + 300, 0
    while turn < 24 or (len(hashes) < 2 and time.monotonic() < deadline):
        file.write_text(config(turn % 4) if turn % 5 else "{ not json")
        time.sleep(0.03)
        turn += 1
    over.set()
    for thread in threads:
        thread.join(60)
    assert all(answer["data"] == expected[answer["config_hash"]] for answer in seen)
    assert len(hashes) > 1


def test_a_config_that_appears_after_the_start_takes_effect(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    shaper = Shaper()
    assert shaper.shape(RAW, tool="tool").value == {"data": RAW}
    (tmp_path / "response_config.json").write_text('{"tool_overrides": {"tool": {"include_only": ["field1"]}}}')
    deadline = time.monotonic() + 60
    while shaper.shape(RAW, tool="tool").value != {"data": {"field1": 1}} and time.monotonic() < deadline:
        time.sleep(0.02)
    assert shaper.shape(RAW, tool="tool").value == {"data": {"field1": 1}}
