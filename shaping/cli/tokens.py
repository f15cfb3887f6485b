"""`shaping tokens`: what files cost."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shaping.cli.support.output import print_result
from shaping.tokens import CountingError, TokenCount, UnknownTokenizerError, counter, multipliers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


FILES = typer.Argument(metavar="FILE...", help="Files to count, or - for standard input.")
TOKENIZER = typer.Option(metavar="NAME", help="o200k_base, cl100k_base, chars, or one that is installed.")
EXACT = typer.Option("--exact", help="Count long files exactly too, instead of by samples.")
JSON = typer.Option("--json", help="Print an envelope for a program to read.")


def tokens(
    files: Annotated[list[str], FILES],
    *,
    tokenizer: Annotated[str, TOKENIZER] = "o200k_base",
    exact: Annotated[bool, EXACT] = False,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Count the tokens of files, and say of each number how well it is known."""
    try:
        chosen = counter(tokenizer)
        texts = {file: _read(file) for file in files}
        counts = {file: TokenCount(chosen.exact(text)) if exact else chosen.count(text) for file, text in texts.items()}
    except (UnknownTokenizerError, CountingError) as problem:
        typer.echo(str(problem), err=True)
        raise typer.Exit(2 if isinstance(problem, UnknownTokenizerError) else 1) from None
    if as_json:
        print_result(_told(counts, tokenizer))
        return
    for line in _lines(counts):
        typer.echo(line)


def _read(file: str) -> str:
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as problem:
        typer.echo(f"cannot read {file}: {problem.strerror}", err=True)
        raise typer.Exit(2) from None
    return raw.decode(errors="replace")


def _told(counts: Mapping[str, TokenCount], tokenizer: str) -> dict[str, Any]:

    files = [
        {"file": file, "tokens": int(count), "method": count.method, "error_bound": count.error_bound}
        for file, count in counts.items()
    ]
    elsewhere = [{"family": other.family, "about": other.label, "source": other.source} for other in multipliers()]
    return {"tokenizer": tokenizer, "files": files, "total": sum(counts.values()), "elsewhere": elsewhere}


def _lines(counts: Mapping[str, TokenCount]) -> Iterator[str]:
    width = len(f"{sum(counts.values()):,}")
    labels = max(len(count.label) for count in counts.values())
    for file, count in counts.items():
        yield f"{int(count):>{width},}  {count.label:<{labels}}  {file}"
    if len(counts) > 1:
        yield f"{sum(counts.values()):>{width},}  {'':<{labels}}  total"
