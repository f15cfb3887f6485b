"""`shaping suggest`: rules for the tools of some recorded traffic."""

from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from shaping.cli.output import JSON, Answer, columns, progress, quiet, stopped
from shaping.learning.drift import Baseline, baseline_path
from shaping.learning.statistics import read_traffic
from shaping.learning.suggest import EMPTY, ToolSuggestion, suggest as suggested, with_suggestions
from shaping.settings.files import bundled, write_file
from shaping.settings.jsonc import read_text
from shaping.settings.loading import load

TRAFFIC = typer.Argument(metavar="TRAFFIC", help="A folder that `--record` wrote, or one file of it.", exists=True)
OUTPUT = typer.Option(
    "-o", "--output", metavar="FILE", help="The config to add the rules to, or to write; without it, they are printed."
)
TARGET = typer.Option(
    metavar="PERCENT", help="How much of all tokens to save, as 60%; without it, only fields without information go."
)
INTERACTIVE = typer.Option("--interactive", help="Ask about each rule before it is written.")
SCHEDULER = typer.Option(metavar="tcp://HOST:PORT", help="Read the traffic on a Dask cluster.")
WORKERS = typer.Option(metavar="N", min=1, help="How many processes read the traffic; without it, one for each core.")


def suggest(
    traffic: Annotated[Path, TRAFFIC],
    *,
    output: Annotated[Path | None, OUTPUT] = None,
    target: Annotated[str | None, TARGET] = None,
    interactive: Annotated[bool, INTERACTIVE] = False,
    scheduler: Annotated[str | None, SCHEDULER] = None,
    workers: Annotated[int | None, WORKERS] = None,
    as_json: Annotated[bool, JSON] = False,
) -> Answer:
    """Suggest rules from recorded traffic, with what each saves; values that the agent used later are kept."""
    quiet()
    share = _share(target)
    text = output.read_text() if output is not None and output.exists() else EMPTY
    config = dict(read_text(text, str(output or "response_config.json")).data)
    load(config)
    with progress() as show:
        found = read_traffic(traffic, workers=workers, scheduler=scheduler, progress=show)
    chosen = suggested(found, config=config, target=share, workers=workers)
    none = [] if any(one.rules for one in chosen) else ["this traffic suggests no rules of its own"]
    for line in () if as_json else _fields(chosen):
        typer.echo(line, err=True)
    if interactive:
        chosen = [_asked(one) for one in chosen]
    written = with_suggestions(text, chosen)
    if output is not None:
        _write(output, written, Baseline.of(found))
    notes = [*none, *_table(chosen, share), *([f"wrote {output}"] if output is not None else [])]
    lines = [written.removesuffix("\n")] if output is None else []
    return Answer({"config": written, "tools": [asdict(one) for one in chosen]}, lines, notes)


def _share(target: str | None) -> float | None:
    if target is None:
        return None
    try:
        share = float(target.removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not 0 < share < 1:
        raise stopped(f"--target is {target!r}; expected a percentage such as 60%")
    return share


def _asked(one: ToolSuggestion) -> ToolSuggestion:
    kept = [
        rule for rule in one.rules if typer.confirm(f"{one.tool}: {rule.key} {rule.value}\n  {rule.comment}", err=True)
    ]
    return replace(one, rules=tuple(kept))


def _write(output: Path, text: str, baseline: Baseline) -> None:
    try:
        write_file(output, text.encode(), like=output)
        schema = output.with_name("response_config.schema.json")
        if not schema.exists():
            write_file(schema, bundled("config", schema.name))
        write_file(baseline_path(output), baseline.written().encode())
    except OSError as problem:
        raise stopped(f"cannot write {problem.filename}: {problem.strerror}", 1) from None


def _fields(chosen: Iterable[ToolSuggestion]) -> Iterable[str]:
    for one in sorted(chosen, key=lambda one: (-one.before, one.tool)):
        if not one.fields:
            continue
        yield f"{one.tool}: its fields by their share of the tokens"
        width = max(len(each.path) for each in one.fields)
        for each in one.fields:
            yield f"  {each.share:>4.0%}  {each.path:<{width}}  {'; '.join(each.notes)}".rstrip()
        if one.more_fields:
            rest = 1 - sum(each.share for each in one.fields)
            used = f"; used later: {', '.join(one.more_used)}" if one.more_used else ""
            yield f"  {rest:>4.0%}  {one.more_fields:,} more{used}"
        yield ""


def _table(chosen: Iterable[ToolSuggestion], target: float | None) -> Iterable[str]:
    rows = sorted(chosen, key=lambda one: (-one.before, one.tool))
    heads = ("tool", "calls", "tokens as sent", "shaped now", "with the rules")
    yield from columns([heads, *((one.tool, one.calls, one.before, one.now, one.after) for one in rows)])
    before, now, after = (sum(getattr(one, name) for one in rows) for name in ("before", "now", "after"))
    saved = f"{1 - after / before:.0%} of {before:,} tokens saved" if before else "there are no calls"
    yield f"{saved}; {1 - now / before:.0%} without these rules" if before else saved
    if before:
        error = sum(one.error for one in rows)
        how = f"to within {error:,}" if error else "exactly"
        yield f"Tokens of o200k_base: as sent, counted {how}; the others by samples of each tool's calls."
    if target is not None and after > (1 - target) * before:
        yield f"{target:.0%} is out of reach: what is left was used later, or it is not known what was"
