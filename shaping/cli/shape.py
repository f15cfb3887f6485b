"""`shaping shape`: shape a JSON document as a tool's answer would be."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from shaping import Shaped, Shaper, using
from shaping.cleaning import unmatched
from shaping.cli.output import CONFIG, FIELDS, JSON, MAX_TOKENS, PROFILE, Answer, saved_or_more, stopped
from shaping.cli.payloads import Payload, data_of, read_bytes, text_of, why_no_json
from shaping.commands.capture import is_text
from shaping.parsers import parse
from shaping.parsers.json import read_json_or_text
from shaping.present import Presented
from shaping.present.notices import missing, noise_notice
from shaping.response import Warned, counted
from shaping.settings.choices import Surface  # noqa: TC001 (Typer reads the annotations)
from shaping.settings.plan import Overrides
from shaping.tokens import Tokens

# Problems of the config or the call were logged when it was read.
_LOGGED = frozenset({"BAD_CONFIG", "BAD_REQUEST", "PRIVATE_PATH"})

FILE = typer.Argument(
    metavar="FILE",
    help="A file of JSON or JSON lines; - or nothing for standard input. Any other text is shaped as text, and of an"
    " MCP result the data that it carries.",
    show_default=False,
)
TOOL = typer.Option(metavar="NAME", help="The tool whose rules apply.")
AS_VALUE = typer.Option("--value", help="Print the shaped JSON instead of the text a model reads.")
AS_MCP = typer.Option("--mcp", help="Print the whole MCP result that the file holds, shaped, and not its data alone.")
CLIENT = typer.Option(metavar="NAME", help="With --mcp: the client the result is for, by its clientInfo.name.")
QUIET = typer.Option("--quiet", "-q", help="Do not print the token counts and what was left out to standard error.")


def shape(
    file: Annotated[str, FILE] = "-",
    *,
    tool: Annotated[str, TOOL] = "",
    config: Annotated[Path | None, CONFIG] = None,
    profile: Annotated[str | None, PROFILE] = None,
    max_tokens: Annotated[int | None, MAX_TOKENS] = None,
    fields: Annotated[str | None, FIELDS] = None,
    value: Annotated[bool, AS_VALUE] = False,
    mcp: Annotated[bool, AS_MCP] = False,
    client: Annotated[str | None, CLIENT] = None,
    quiet: Annotated[bool, QUIET] = False,
    as_json: Annotated[bool, JSON] = False,
) -> Answer:
    """Shape a tool's answer and print what the model would read; the token counts go to standard error."""
    if client is not None and not mcp:
        raise stopped("--client is for a whole MCP result; add --mcp")
    shaper = Shaper(config, watch=False)
    shaper.keeper("command")  # decides the store: the user's own, where `shaping expand` looks
    kept = tuple(path.strip() for path in fields.split(",")) if fields else ()
    # Refuses a profile that there is not, and paths that cannot be read.
    shaper.loaded_config.plan("", profile=profile, overrides=Overrides(fields=kept or None))
    raw = read_bytes(file)
    if not is_text(raw):
        raise stopped(f"{_name(file)} holds {len(raw):,} bytes that are not UTF-8 text")
    if file == "-" and not raw.strip():
        typer.echo("warning: standard input was empty", err=True)
    payload = Payload(file, text_of(raw))
    if isinstance(payload.value, str) and (why := why_no_json(payload.text)):
        typer.echo(f"warning: this looks like JSON and is not, so it is shaped as text: {why}", err=True)
    with using(profile, fields=kept or None, max_tokens=max_tokens):
        if not mcp:
            whole = max_tokens is None
            data = payload.data if shaper.plan(tool).enabled else payload.text.removesuffix("\n")
            return _shaped(shaper, data, tool, kept, value=value, quiet=quiet, as_json=as_json, whole=whole)
        given = _mcp_result(payload)
        result, data = shaper.shape_result(given, tool=tool, client=client), data_of(given)
        notes = _told(unmatched(data, kept, shaper.plan(tool, surface="mcp").private))
    return Answer(result, [orjson.dumps(result, option=orjson.OPT_INDENT_2).decode()], notes)


def _shaped(
    shaper: Shaper,
    data: Any,
    tool: str,
    kept: tuple[str, ...],
    *,
    value: bool,
    quiet: bool,
    as_json: bool,
    whole: bool,  # whether no budget was asked for, so that another profile shows all
) -> Answer:
    """Shape data into what a model would read; what is missing and what it cost goes to standard error."""
    # A model reads the data as MCP sends it; programs, and whoever debugs, read an envelope.
    surface: Surface = "python" if value or as_json or shaper.plan(tool).debug else "mcp"
    plan = shaper.plan(tool, surface=surface)
    # A budget is for what is printed: the text of a table holds more of it than its JSON would.
    how: Any = {"tool": tool, "surface": surface, "as_json": value or as_json}
    shaped = shaper.shape(data, warnings=(*unmatched(data, kept, plan.private),), **how)
    before = shaped.tokens.before
    if shaped.truncated and isinstance(data, str) and (found := parse(data, ("csv", "pipes"))) is not None:
        # Written as records it is no cheaper than as text, but it can be cut between two of them.
        data = found.value
        shaped = shaper.shape(data, warnings=(*unmatched(data, kept, plan.private),), **how)
    # These are for whoever writes the config, so they are no part of what the model would read.
    misconfigured = () if kept or plan.fields is None else unmatched(data, plan.fields.include or (), plan.private)
    if as_json:
        # Where the tool's own text goes to the model, nothing is left out of it.
        whole_data = _is_whole(shaped.text, data)
        warnings = [str(warning) for warning in (*shaped.warnings, *misconfigured)]
        data = data if whole_data else shaped.data
        return Answer(data, warnings=warnings, meta=_meta(shaped, before, whole=whole_data))
    # What is missing is said on standard error, nulls and empties included.
    noise = noise_notice(shaped) if isinstance(shaped, Presented) else ""
    printed = orjson.dumps(shaped.value).decode() if value else shaped.text.removesuffix(noise)
    notes = _told((*(warning for warning in shaped.warnings if warning.code not in _LOGGED), *misconfigured))
    if not quiet:
        same = printed == shaped.text and before == shaped.tokens.before
        tokens = shaped.tokens if same else Tokens(before, printed, plan.tokenizer)
        notes.append(_token_counts(tokens, envelope=plan.dialect != "none"))
        if not _is_whole(printed, data) and (left_out := _left_out(shaped, everything=whole)):
            notes.append(left_out)
    shaper.close()
    return Answer(None, [printed], notes)


def _token_counts(tokens: Tokens, *, envelope: bool = False) -> str:
    """Describe the token counts before and after, with their precision."""
    if not tokens.before:
        return f"0 tokens before, {tokens.after:,} after"
    how = tokens.method if tokens.method == "exact" else f"{tokens.method}, within {tokens.error_bound:.1f}%"
    why = ", for the envelope" if envelope and tokens.saved < 0 else ""
    change = saved_or_more(tokens.ratio) + why
    return f"{counted(tokens.before, 'token')} before, {tokens.after:,} after: {change} ({how})"


def _is_whole(printed: str, data: Any) -> bool:
    """Return whether all of the data was printed: nulls stay where naming them costs more."""
    return bool(printed == data or read_json_or_text(printed) == data)


def _left_out(shaped: Shaped, *, everything: bool) -> str:
    """Say what was left out, and how to see it; the original is kept for that."""
    # A budget for the call holds under every profile.
    hint = "; --profile debug shows all" if everything else ""
    if shaped.ref is not None:
        hint = f"; shaping expand {shaped.ref} shows all"
    return f"{line}{hint}" if (line := missing(shaped)) else ""


def _told(warnings: Iterable[Warned]) -> list[str]:
    return [f"warning: {warning}" for warning in warnings]


def _meta(shaped: Shaped, before: int, *, whole: bool) -> dict[str, Any]:
    """Return the envelope members of --json: token counts, and what was left out."""
    meta = shaped.envelope.meta
    told = {} if whole else {name: getattr(meta, name) for name in ("truncated", "shown", "omissions")}
    prices = {"before": before, "after": shaped.tokens.after}
    return {name: value for name, value in told.items() if value} | {"tokens": prices}


def _mcp_result(payload: Payload) -> dict[str, Any]:
    result = payload.value
    channels = {"content": list, "structuredContent": dict}
    if not isinstance(result, dict) or not any(isinstance(result.get(name), kind) for name, kind in channels.items()):
        expected = "expected an object with a list `content`; without --mcp it is shaped as data"
        raise stopped(f"{_name(payload.name)} holds no MCP result: {expected}")
    return result


def _name(file: str) -> str:
    return "standard input" if file == "-" else file
