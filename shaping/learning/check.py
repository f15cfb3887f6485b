"""`shaping check --traffic`: contracts asked of recorded traffic, and what changed since its rules were made."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shaping.learning.contracts import ContractReport, check_call, total, unanswered
from shaping.learning.drift import Baseline, baseline_path, find_drift, find_idle, findings_path, keep_findings
from shaping.learning.reading import parallel, read_traffic
from shaping.learning.traffic import ToolCall, folder_size, pieces, read_piece
from shaping.settings.sources import GIVEN_NAME
from shaping.shaper import Shaper

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shaping.learning.drift import Drift
    from shaping.learning.traffic import Piece
    from shaping.settings import LoadedConfig


@dataclass(frozen=True, slots=True)
class TrafficCheck:
    """What a check of some traffic found."""

    calls: int
    contracts: ContractReport
    unanswered: tuple[str, ...]  # contracts that no call of the traffic could answer
    drift: tuple[Drift, ...]
    compared: bool  # whether there was a baseline to compare with


def check_traffic(
    folder: Path, config: LoadedConfig, *, progress: Callable[[str, int, int], None] = lambda *_: None
) -> TrafficCheck:
    """Read the traffic, ask the contracts of every call, and compare with the baseline beside the config."""
    traffic = read_traffic(folder, progress=progress)
    own = [file for file in config.files if file != GIVEN_NAME]
    baseline = Baseline.read(baseline_path(Path(own[0]))) if own else None
    merged = ContractReport()
    if any(one.answers for one in (config.config.tool_overrides or {}).values()):
        with parallel(folder_size(folder)) as run:
            merged = total(run(partial(contracts_of, _given(config)), pieces(folder)))
    drift = [*find_idle(traffic, config), *find_drift(traffic, config, baseline)]
    path = findings_path()
    if path is not None:
        with suppress(OSError):  # the page shows it where it can be written; the check has its result all the same
            keep_findings(drift, [*merged.failures.values()], time.time(), path)
    calls = sum(one.calls for one in traffic.tools.values())
    return TrafficCheck(calls, merged, tuple(unanswered(config, merged)), tuple(drift), baseline is not None)


def contracts_of(config: Path | Mapping[str, Any], piece: Piece) -> ContractReport:
    """Ask the contracts of a config of all calls of a piece."""
    shaper = Shaper(config, watch=False)
    return total(check_call(shaper, one) for one in read_piece(piece) if isinstance(one, ToolCall) and not one.failed)


def _given(config: LoadedConfig) -> Path | Mapping[str, Any]:
    """Return a config as other processes can be given it: its file, so that failures name the place of a rule."""
    document = [document for document in config.sources.configs if document.data][-1]  # one not allowed ends in {}
    return document.data if document.file == GIVEN_NAME else Path(document.file)
