"""Watching traffic for drift while it is recorded: what has changed is logged once, and kept for the page."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shaping.learning.drift import Baseline, baseline_path, find_drift, findings_path, keep_findings
from shaping.learning.statistics import TrafficStatistics
from shaping.learning.traffic import ToolCall
from shaping.learning.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shaping.learning.drift import Drift
    from shaping.shaper import Shaper

logger = logging.getLogger("shaping")

_EVERY: Final = 10  # calls after which it is looked again
_MOST: Final = 2_000  # calls that are looked at, so that a long session holds no more


class DriftWatch:
    """Takes the lines of a recorder, on its thread, and compares them with the baseline beside the config."""

    def __init__(self, shaper: Shaper) -> None:
        self._shaper = shaper
        self._traffic = TrafficStatistics()
        self._calls = 0
        self._told: dict[str, Drift] = {}

    def __call__(self, line: Mapping[str, Any]) -> None:
        """Take a line that was recorded."""
        if "tools" in line:
            self._traffic.define(time.time(), line["server"], line["tools"])
            self._look()
            return
        self._calls += 1
        if self._calls > _MOST:
            return
        call = ToolCall(line["tool"], line["result"], line["form"], line["server"], line["client"])
        self._traffic.add(call, Usage())
        if self._calls % _EVERY == 0:
            self._look()

    def _look(self) -> None:
        config = self._shaper.generation
        baseline = Baseline.read(baseline_path(Path(config.files[0]))) if config.files else None
        if baseline is None:
            return
        fresh = [one for one in find_drift(self._traffic, config, baseline) if str(one) not in self._told]
        for one in fresh:
            self._told[str(one)] = one
            logger.warning("the traffic has changed: %s", one)
        if fresh and (path := findings_path()) is not None:
            keep_findings([*self._told.values()], [], time.time(), path)
