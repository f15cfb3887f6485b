"""What `shaping check --traffic` prints."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from shaping.cli.support.output import print_result, quiet, reading_progress, stopped
from shaping.learning.check import check_traffic
from shaping.learning.traffic import TrafficError
from shaping.response import counted

if TYPE_CHECKING:
    from pathlib import Path

    from shaping.settings import LoadedConfig


def report_traffic(folder: Path, config: LoadedConfig, *, as_json: bool) -> None:
    """Check traffic and print what was found; end with 1 where a contract is not kept, or no call can answer it."""
    quiet()
    try:
        with reading_progress() as progress:
            found = check_traffic(folder, config, progress=progress)
    except TrafficError as problem:
        raise stopped(str(problem), 1, code="FILE_NOT_FOUND") from None
    failures = [*found.contracts.failures.values()]
    if as_json:
        drift = [asdict(one) for one in found.drift]
        broken = [asdict(one) for one in failures]
        asked = {"asked": found.contracts.asked, "contracts": broken, "unanswered": list(found.unanswered)}
        print_result({"calls": found.calls, **asked, "drift": drift})
    else:
        for drift_found in found.drift:
            typer.echo(f"changed: {drift_found}", err=True)
        for failure in failures:
            typer.echo(f"not kept: {failure}", err=True)
        for unanswered in found.unanswered:
            typer.echo(f"not answered: {unanswered}", err=True)
        if not found.compared:
            typer.echo("no baseline to compare with: `shaping suggest TRAFFIC -o CONFIG` writes one", err=True)
        compared = f"{counted(found.contracts.asked, 'answer')} compared, {counted(len(failures), 'contract')} not kept"
        typer.echo(f"{counted(found.calls, 'call')}: {compared}, {counted(len(found.drift), 'change')}")
    if failures or found.unanswered:
        raise typer.Exit(1)
