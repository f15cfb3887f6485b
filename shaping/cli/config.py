"""The commands for configs: allow, check, explain, init and profiles."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from shaping.cli.output import CONFIG, Answer, columns, progress, quiet, stopped
from shaping.ledger import LedgerDatabase
from shaping.nearest import did_you_mean, nearest
from shaping.page.data import own_choices, plain, readable
from shaping.response import counted
from shaping.settings.check import contract_problems
from shaping.settings.choices import Surface
from shaping.settings.chooser import checked_environment, environment_profile
from shaping.settings.files import bundled, config_places, find, is_in_tree, ledger_path, refuse_links
from shaping.settings.jsonc import ConfigError, report, short_name
from shaping.settings.loading import LoadedConfig, load
from shaping.settings.patterns import is_for
from shaping.settings.plan import PROTECTIVE_CHOICES, ResolvedChoice, full_name
from shaping.settings.sources import Origin, server_presets
from shaping.settings.trust import allow as record, forget

# Choices by which something is missing from an answer, shown even where they are as bundled.
_LEAVES_OUT: Final = frozenset(
    {"prune", "exclude_null_values", "exclude_empty_arrays", "exclude_empty_objects", "max_tokens"}
)
ALLOWED = typer.Argument(
    metavar="PATH",
    help="The config, or a directory: all configs below it, later ones and edits too; without it, the one in use here.",
)
FORGET = typer.Option("--forget", help="Take back what was allowed.")
CHECKED = typer.Argument(
    metavar="PATH", help="The config to check, or a directory to look in; without it, the config that is found."
)
TRAFFIC = typer.Option(
    metavar="DIR",
    help="Recorded traffic: do the config's `answers` still hold for it, and what has changed?",
    exists=True,
)
TOOL = typer.Option(metavar="NAME", help="The tool to explain.")
PROFILE = typer.Option(
    metavar="NAME", help="The profile that a call would choose; without it, the one the environment chooses."
)
SURFACE = typer.Option(metavar="python|mcp|command", help="Where the tool is called from.")
TIER = typer.Option(metavar="TIER", help="The caller's tier, for rules under exclude_when_tier.")
ALL = typer.Option("--all", help="Show every choice, also those that are as the bundled default has them.")
DIRECTORY = typer.Argument(help="Where to write; without it, here.", show_default=False, file_okay=False)

_VARIABLES: Final = ("SHAPING_DEBUG", "SCALPEL_MCP_INFO", "SHAPING_PROFILE")  # the strongest first
_ALL_TIME: Final = 1e12  # seconds


def allow(path: Annotated[Path | None, ALLOWED] = None, *, take_back: Annotated[bool, FORGET] = False) -> Answer:
    """Trust a config that lies in a project, as it is now: all of it applies. After an edit, allow it again."""
    place = path or find(None, cwd=Path.cwd(), environ=os.environ)
    if place is None:
        raise stopped("there is no config here; `shaping check` says where it looks", 1, code="NOT_FOUND")
    _need(place)
    if not take_back and place.resolve() in {Path.home().resolve(), Path(place.resolve().anchor)}:
        raise stopped(f"{place} is not allowed: that would be nearly every config; name a project below it")
    if place.is_file():
        load(place)
    if take_back:
        done = "is no longer allowed" if forget(place, os.environ) else "was not allowed"
    elif path is None and not is_in_tree(place, None, environ=os.environ):
        done = "is your own and needs no permission"
    else:
        record(place, os.environ)
        done = "is allowed: every config below it, now and later" if place.is_dir() else "is allowed as it is now"
    told = {"path": str(place), "allowed": done.startswith("is allowed")}
    return Answer(told, [f"{short_name(str(place.absolute()))} {done}"])


def check(path: Annotated[Path | None, CHECKED] = None, *, traffic: Annotated[Path | None, TRAFFIC] = None) -> Answer:
    """Check a config, its profiles and the SHAPING variables; exit 1 on any problem. Warnings alone exit 0."""
    if path is not None:
        _need(path)
    found = _loaded(path)
    checked_environment(os.environ, found.profiles)
    if problems := contract_problems(found.sources):
        raise ConfigError(problems)
    if traffic is not None:
        return _check_traffic(traffic, found)
    unused = list(_rules_without_tool(found))
    notes = [*report(found.warnings, "warning"), *unused]
    ignored = any(warning.needs_allow for warning in found.warnings)
    state = "has no errors, but not all of it applies" if ignored else "is good"
    if not found.files:
        looked = config_places(None, cwd=path.absolute() if path is not None else Path.cwd(), environ=os.environ)
        notes.append(f"no config was found; the bundled default applies. Looked for: {_places(looked)}")
    return Answer(
        {"files": list(found.files), "hash": found.hash},
        [f"{short_name(file)} {state}" for file in found.files],
        notes,
        [*map(str, found.warnings), *unused],
    )


def _need(place: Path) -> None:
    if not place.exists():
        raise stopped(f"there is no file {place}", code="FILE_NOT_FOUND")


def _loaded(path: Path | None) -> LoadedConfig:
    """Load the config to check, as it applies: one of the working tree only in part until it is allowed."""
    if path is not None and path.is_dir():
        return load(cwd=path.absolute())
    found = find(None, cwd=Path.cwd(), environ=os.environ) if path is not None and path.is_file() else None
    return load(None if found is not None and path is not None and found.samefile(path) else path)


def _rules_without_tool(config: LoadedConfig) -> Iterator[str]:
    """Name the rules that match no tool of the ledger, or of the traffic that the config was suggested from."""
    from shaping.learning.drift import Baseline, baseline_path, idle_rules  # noqa: PLC0415 (only a config with rules needs it)

    rules = config.config.tool_overrides or {}
    tools = _tools_called() if rules else set()
    for file in map(Path, config.files if rules else ()):
        tools |= {*(baseline.tools if (baseline := Baseline.read(baseline_path(file))) is not None else ())}
    for rule, near in idle_rules(rules, tools) if tools else ():
        so_far = f"{len(tools):,} tools were" if len(tools) > 1 else f"only {next(iter(tools))} was"
        meant = did_you_mean([near] if near else [])
        yield f"note: the rules for {rule!r} match no tool called so far ({so_far}).{meant}"


def _tools_called() -> set[str]:
    """Return the tools of the ledger, each with the name of its server."""
    path = ledger_path()
    called = [] if path is None else LedgerDatabase(path).sums(seconds=_ALL_TIME)
    return {full_name(one.tool, one.server) for one in called if one.kind != "definition"}


def _unknown(tool: str, config: LoadedConfig) -> list[str]:
    """Say of a tool that was not called so far and has no rules that it may be misspelt."""
    called, rules = _tools_called(), config.config.tool_overrides or {}
    names = called | {name.rpartition("/")[2] for name in called}
    if not names or tool in names or any(is_for(tool, rule) for rule in rules) or _server_rules(config, tool):
        return []
    return [f"no tool {tool!r} was called so far.{did_you_mean(nearest(tool, sorted(names), n=1))}"]


def _places(files: Sequence[Path]) -> str:
    """Name the places of a search: the directory where it starts, the one where it ends, and the user's own."""
    *near, own = files
    first, last = near[0].parent, near[-1].parent
    names = ", ".join(dict.fromkeys(str(file.relative_to(first)) for file in near if file.is_relative_to(first)))
    upwards = "" if first in (last, last.parent) else f" and up to {near[-1].parent.parent}"
    return f"{names} in {first}{upwards}; {own}"


def _check_traffic(folder: Path, config: LoadedConfig) -> Answer:
    """Check traffic; end with 1 where a contract is not kept, or no call can answer it."""
    from shaping.learning.traffic_check import check_traffic  # noqa: PLC0415 (most checks read no traffic: costs 100 ms)

    quiet()
    with progress() as show:
        found = check_traffic(folder, config, progress=show)
    failures = [*found.contracts.failures.values()]
    told = {"changed": found.drift, "not kept": failures, "not answered": found.unanswered}
    notes = [f"{what}: {one}" for what, ones in told.items() for one in ones]
    if not found.compared and not found.contracts.asked:
        notes.append(
            "fields were not compared with earlier ones: `shaping suggest FOLDER -o CONFIG` notes what there is now"
        )
    compared = f"{counted(found.contracts.asked, 'answer')} compared, {counted(len(failures), 'contract')} not kept"
    if not any(rules.answers for rules in (config.config.tool_overrides or {}).values()):
        compared = "no answers compared (no tool of the config has `answers`)"
    compared += f", {len(found.unanswered)} not answered" if found.unanswered else ""
    data = {
        "calls": found.calls,
        "asked": found.contracts.asked,
        "contracts": [asdict(one) for one in failures],
        "unanswered": list(found.unanswered),
        "drift": [asdict(one) for one in found.drift],
    }
    line = f"{counted(found.calls, 'call')}: {compared}, {counted(len(found.drift), 'change')}"
    return Answer(data, [line], notes, exit_code=1 if failures or found.unanswered else 0)


def explain(
    *,
    tool: Annotated[str, TOOL],
    profile: Annotated[str | None, PROFILE] = None,
    config: Annotated[Path | None, CONFIG] = None,
    surface: Annotated[Surface, SURFACE] = "python",
    tier: Annotated[str | None, TIER] = None,
    everything: Annotated[bool, ALL] = False,
) -> Answer:
    """Show the settings that apply to a tool, and which file, line or profile each comes from."""
    found = load(config)
    chosen = profile or environment_profile(checked_environment(os.environ, found.profiles))
    choices = found.explain(tool, profile=chosen, tier=tier, surface=surface)
    if profile is None and chosen is not None:
        choices = [_by_environment(choice) if choice.name == "profile" else choice for choice in choices]
    own = {choice.name for choice in own_choices(choices, found, surface)}
    leaves_out = {choice.name for choice in choices if choice.name in _LEAVES_OUT and choice.value}
    enabled = next(choice.value for choice in choices if choice.name == "enabled")
    # What a tool that is not enabled goes without follows from that, and no line says it.
    listed = own | leaves_out if enabled else own & PROTECTIVE_CHOICES
    shown = [*choices] if everything else [one for one in reversed(choices) if one.name in listed]
    rows = [(one.name, one.source, readable(plain(one.value))) for one in shown]
    lines = columns([("choice", "source", "value"), *rows])
    rules, waiting = _server_rules(found, tool), [*_waiting(found, tool)]
    for key, served in rules:
        named = ", ".join(sorted((found.config.tool_overrides or {})[key].model_fields_set))
        server = served.partition("/")[0]
        lines.append(f"if {tool} is a tool of the server {server}, {key} ({named}) also applies: --tool {served}")
    rest = len(choices) - len(shown)
    others = "other choices are as bundled" if enabled else "other choices change nothing, for the tool is not enabled"
    notes = [f"{rest} {others}; --all shows them"] if rest else []
    notes += [*_unknown(tool, found), "`shaping last` shows what was left out of a call, and why"]
    notes.append(f"config {found.hash}: {', '.join(found.files) or 'the bundled default'}")
    data = {
        "tool": tool,
        "config_hash": found.hash,
        "files": list(found.files),
        "choices": [{"choice": one.name, "value": plain(one.value), "source": one.source} for one in choices],
        "server_rules": [key for key, _ in rules],
    }
    return Answer(data, [*lines, *waiting], notes, waiting)


def _server_rules(config: LoadedConfig, tool: str) -> list[tuple[str, str]]:
    """List the keys with a server's name that match a tool given without one, each with the tool's full name."""
    if "/" in tool:
        return []
    keys = [key for key in config.config.tool_overrides or {} if "/" in key]
    return [(key, name) for key in keys if is_for(name := f"{key.rpartition('/')[0]}/{tool}", key)]


def _waiting(config: LoadedConfig, tool: str) -> Iterator[str]:
    """Name the lines for a tool that do not apply until the config of the working tree is allowed."""
    named = {key for key, _ in _server_rules(config, tool)}
    for document in (*config.sources.configs, *config.sources.profile_files):
        for keys in document.left_out:
            if keys[0] != "tool_overrides" or is_for(tool, str(keys[1])) or keys[1] in named:
                place = f"{short_name(document.file)}:{document.line(keys)}"
                yield f"{'.'.join(map(str, keys))} ({place}) does not apply until `shaping allow`"


def _by_environment(choice: ResolvedChoice) -> ResolvedChoice:
    decided = next(name for name in _VARIABLES if environment_profile({name: os.environ.get(name, "")}))
    return replace(choice, origins=(Origin(decided),))


def init(directory: Annotated[Path, DIRECTORY] = Path()) -> Answer:
    """Write a commented response_config.json and its schema; a file that is there already is left as it is."""
    schema = "response_config.schema.json"
    files = {"response_config.json": bundled("config", "starter.json"), schema: bundled("config", schema)}
    try:
        refuse_links(directory)
        directory.mkdir(parents=True, exist_ok=True)
        written = {directory / name: _write(directory / name, content) for name, content in files.items()}
    except OSError as error:
        raise stopped(f"cannot write in {directory}: {error.strerror}", 1) from None
    return Answer(
        [{"file": str(file), "written": new} for file, new in written.items()],
        [f"{file} written" for file, new in written.items() if new],
        [f"{file} was there already; left as it is" for file, new in written.items() if not new],
    )


def _write(path: Path, content: bytes) -> bool:
    try:
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError:
        return False
    return True


def profiles(*, config: Annotated[Path | None, CONFIG] = None) -> Answer:
    """List the profiles: what each is for, what it extends, and which file defines it."""
    found = load(config)
    listed = list(_listed(found))
    told = [one["description"] or "extends " + ", ".join(one["extends"]) for one in listed]
    lines = columns([(one["name"], f"{said}  ({one['source']})") for one, said in zip(listed, told, strict=True)])
    state = "on" if found.config.presets else 'off; "presets": true in a config switches them on'
    lines.append(f"\nRules for well-known servers ({state}):")
    for document in server_presets():
        names: Any = document.data["servers"]
        tools = document.choices("tool_overrides")
        lines.append(f"preset {Path(document.file).stem}  for servers named {', '.join(names)}: {', '.join(tools)}")
    return Answer(listed, lines)


def _listed(found: LoadedConfig) -> Iterator[dict[str, Any]]:
    known = found.sources.profiles
    for name in found.profiles:
        section = known.sections[name][-1]
        line = section.document.line(section.keys) if section.keys else None
        place = short_name(section.document.file) + (f":{line}" if line else "")
        yield {
            "name": name,
            "description": section.choices.get("description"),
            "extends": list(known.lineage(name)[1:]),
            "source": "bundled" if section.is_bundled else place,
        }
