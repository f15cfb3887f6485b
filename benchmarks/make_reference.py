"""Write docs/reference/ from the code: `python -m benchmarks.make_reference`; a test compares."""

from __future__ import annotations

import inspect
import json
import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args, get_origin

import typer
from pydantic import BaseModel

from benchmarks.config_schema import config_schema, config_schema_text
from benchmarks.results import markdown_table
from shaping.cli.app import COMMANDS, build
from shaping.clients.config_files import CLIENTS
from shaping.errors.codes import COMMANDS as COMMAND_SPELLINGS, LEAN, OPERATIONS, registry
from shaping.redaction.credentials import CREDENTIALS
from shaping.response import Reason
from shaping.settings.choices import NoiseGroup

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT: Final = Path(__file__).parents[1]
FOLDER: Final = ROOT / "docs" / "reference"
LINE: Final = 100  # columns of a signature that stays on one line
NOTICE: Final = "<!-- Written by `python -m benchmarks.make_reference` from the code; a test compares. -->"

VARIABLES: Final = {
    "SHAPING": "`on` (default); `off` passes every result as the tool sent it, secrets and `private` fields included; "
    "`observe` does the same and measures",
    "SHAPING_DEBUG": "`1` shows everything but secrets and `private` fields: the profile `debug`",
    "SHAPING_PROFILE": "the profile of every call of this process",
    "SHAPING_CONFIG": "the config file, instead of the one that is found",
    "SHAPING_LEDGER": "another file for the ledger, or `off`",
    "SHAPING_PRICES": "a file of prices in place of the bundled ones, for the amounts that `shaping stats` states",
    "SHAPING_SERVE_TOKEN": "the token of `shaping serve --api`, instead of one made at each start",
    "SHAPING_PROXY_URL": "written by `shaping wrap` into a client's file: the address of a remote server",
    "SHAPING_PROXY_HEADER_": "written by `shaping wrap`, with a number behind it: a header for a remote server",
    "SCALPEL_MCP_INFO": "`DEBUG` means the same as `SHAPING_DEBUG=1`, for users of Code Scalpel",
    "NO_COLOR": "no colours and no progress bars",
    "CLAUDE_CONFIG_DIR": "where Claude Code keeps its settings, for `shaping hook`",
    "CODEX_HOME": "where Codex keeps its config, for `shaping wrap`",
    "XDG_CONFIG_HOME": "the directory that holds your config directory, `shaping/`",
    "XDG_DATA_HOME": "the same for your data: the ledger, and backups of wrapped files",
    "XDG_CACHE_HOME": "the same for your cache: what was left out of answers, and OAuth tokens",
}

# One example a key; each is checked as a config by a test. A key below a tool stands under `tool_overrides`.
EXAMPLES: Final[Mapping[str, Any]] = {
    "enabled": False,
    "exclude_null_values": False,
    "exclude_empty_arrays": False,
    "exclude_empty_objects": False,
    "exclude_default_values": True,
    "prune": {"links": False},
    "envelope": {"include": ["warnings", "request_id"]},
    "encoding": "json",
    "max_tokens": 4000,
    "max_items": 50,
    "max_string": 2000,
    "dialect": "invariant",
    "profile": "standard",
    "rename": {"user.login": "author"},
    "redact": {"names": True, "paths": ["**.ssn"]},
    "channels": "text",
    "typed": True,
    "defaults": {"page": 1},
    "private": ["**.salary"],
    "on_unreadable": "pass",
    "overflow": "auto",
    "keep_lines": ["^FAILED"],
    "drop_lines": ["^Downloading"],
    "parse": ["json", "lines"],
    "include_only": ["number", "title", "user.login"],
    "exclude_fields": ["**.*_url"],
    "include_on_error": ["query"],
    "exclude_when_tier": {"free": ["cost"]},
    "exit_codes": {"1": "NOT_FOUND"},
    "answers": [{"question": "Who opened it?", "path": "user.login"}],
    "description": "What the night jobs see.",
    "extends": "minimal",
    "lossless": True,
    "omissions": "list",
    "debug": False,
}
# What holds where neither the config nor a profile says anything; a test compares the plans.
IMPLIED: Final[Mapping[str, Any]] = {
    "enabled": True,
    "max_items": None,
    "max_string": None,
    "rename": {},
    "redact": {"values": True},
    "channels": "auto",
    "typed": False,
    "defaults": {},
    "private": [],
    "overflow": "ref",
    "on_unreadable": "withhold",
    "keep_lines": [],
    "drop_lines": [],
    "exclude_fields": [],
    "include_on_error": [],
    "exclude_when_tier": {},
    "exit_codes": {},
    "answers": [],
}
TOP_EXAMPLES: Final[Mapping[str, Any]] = {
    "global": {"profile": "standard"},
    "profiles": {"nightly": {"extends": "minimal", "max_tokens": 2000}},
    "tool_overrides": {"github/list_*": {"max_items": 50}},
    "tokenizer": "cl100k_base",
    "store": {"kind": "sqlite", "ttl_seconds": 3600},
    "agent_controls": True,
    "tools": {"delete_*": {"drop": True}, "search": {"max_description": 400, "codes": ["NOT_FOUND"]}},
    "tools_changed": "announce",
    "allow_eval": True,
    "errors": {"requests.exceptions.Timeout": "TIMEOUT"},
    "presets": True,
    "exit_codes": "posix",
}

NOISE: Final[Mapping[str, str]] = {
    "links": "addresses of API endpoints, pictures and pages beside the one that a person opens",
    "opaque": "identifiers that only the server reads (`node_id`, cursors, hashes), beside a readable one",
    "bulk": "base64, encoded blobs and embedded files; their size is told",
    "boilerplate": "members that say the same in every answer of every tool: licences, navigation, styling",
    "repeats": "the same object or long text again: written once, then referred to (text only, nothing is lost)",
    "constants": "what every record of a list says: written once above it (text only, nothing is lost)",
}
REASONS: Final[Mapping[str, str]] = {
    "fields": "`include_only` or `exclude_fields` of the config, or the caller's own choice of fields",
    "private": "a `private` path; it cannot be asked back",
    "tier": "`exclude_when_tier`",
    "null": "the member was null",
    "empty": "the member was an empty list or object",
    "default": "the member had its declared default",
    "links": "noise rule `links`",
    "opaque": "noise rule `opaque`",
    "bulk": "noise rule `bulk`",
    "boilerplate": "noise rule `boilerplate`",
    "items": "the rest of a list, cut to the budget or to `max_items`",
    "string": "the middle of a long text",
    "depth": "a subtree, cut to the budget",
}
PLACES: Final = {"global": "`global`", "profile": "a profile", "tool": "a tool"}
MODULES: Final = (
    "shaping",
    "shaping.apps",
    "shaping.operations",
    "shaping.agent",
    "shaping.errors",
    "shaping.envelope",
    "shaping.tokens",
    "shaping.encoders",
    "shaping.pytest",
)

ABOUT_KEYS: Final = (
    "The keys of `response_config.json`: comments and trailing commas are allowed, unknown keys are reported with "
    "the nearest known one, and `shaping check` checks a file. `shaping init` writes one with its schema, so that "
    "an editor completes and explains the keys."
)
ABOUT_CHOICES: Final = (
    "An override of a tool (`tool_overrides.NAME`, also a pattern as `github/*`) outranks `global`, and both "
    "outrank the profile. Where the three bundled profiles differ, the default is given as minimal / standard / "
    "debug."
)
ABOUT_COMMANDS: Final = (
    "Exit codes: 0 done, 1 the job failed or found problems, 2 the command was called wrongly (a wrong option, a "
    "missing file), 5 nothing is kept at a ref or a path. `shaping run` exits as its command does, or with 124 "
    "(ended by --timeout), 125 (wrong options or a fault of shaping), 126 (may not be run) or 127 (no such program); "
    "with --cursor, as `shaping expand`. Every command takes `--json`."
)
ABOUT_CODES: Final = (
    "What a program can branch on. `retryable` says whether the same call may be made again, if it has no side "
    "effects; in the wire form `invariant` a wrong argument is retryable too, which means the corrected call. "
    'The exit code is that of programs made by `shape_typer`; `"exit_codes": "posix"` in the config makes it 2 '
    "for a wrong argument and 3 for a partial failure. Some codes follow from an exit code, an HTTP status or "
    "an exception. An application registers its own with `shaping.errors.register`, a plugin with "
    "`register_plugin`."
)
ABOUT_SPELLINGS: Final = (
    "Some wire forms write a code in the spelling of the contract they follow; `flat` and MCP write the code itself. "
    "Every spelling is read. `sourced` is also how operations and other people's commands spell it."
)
ABOUT_API: Final = (
    "What is listed here is public: it is typed, and it changes only as [Versions](../versions.md) says. So are the "
    "integrations of the [frameworks](../frameworks.md) page and the pytest fixture of [servers](../servers.md). "
    "Everything else may change without notice."
)
ABOUT_CLIENTS: Final = (
    "What each client does with a tool's result, and where that is known from: measured in a run against a "
    "scripted model (`benchmarks/clients`), or read in its source or issues. `reads` is the channel that its "
    "model sees of a result that has both; results above the limit are cut by the client, so shaping stays below "
    "it. The file is `config/clients.json`."
)
ABOUT_REDACTION: Final = (
    "The kinds of secrets that are replaced by `[redacted:NAME]` wherever they stand; how each looks, and what "
    "only looks like it, is in `tests/cases/redaction/kinds.json`. [What redaction cannot do](../redaction.md)."
)


def pages() -> dict[str, str]:
    """Write every page of the reference, by file name."""
    made = {
        "config.md": _config(),
        "commands.md": _commands(),
        "errors.md": _errors(),
        "environment.md": _environment(),
        "python.md": _python(),
        "clients.md": _clients(),
        "redaction.md": _redaction(),
    }
    return {name: f"{NOTICE}\n\n{text.strip()}\n".replace("---:", "---") for name, text in made.items()}


def security_page() -> str:
    """Return SECURITY.md as a page of the site, which holds nothing that is not below docs/."""
    return (ROOT / "SECURITY.md").read_text(encoding="utf-8").replace("](docs/", "](")


def choices() -> dict[str, tuple[str, ...]]:
    """Return every key that stands under `global`, a profile or a tool, with the places it may stand in."""
    definitions = config_schema()["$defs"]
    places: dict[str, tuple[str, ...]] = {}
    for place, name in (("global", "Global"), ("profile", "Profile"), ("tool", "ToolOverride")):
        for key in definitions[name]["properties"]:
            if key != "$schema":
                places[key] = (*places.get(key, ()), place)
    return places


def _config() -> str:
    schema = config_schema()
    definitions = schema["$defs"]
    bundled = json.loads((ROOT / "config" / "response_config.json").read_text(encoding="utf-8"))
    profiles = {
        name: json.loads((ROOT / "profiles" / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("minimal", "standard", "debug")
    }
    members = {**definitions["Profile"]["properties"], **definitions["ToolOverride"]["properties"]}
    top = [
        _entry(
            key,
            _described(schema, node),
            takes=_takes(schema, node),
            default=_json(bundled[key]) if key in bundled else "unset",
            example=_json({key: TOP_EXAMPLES[key]}),
        )
        for key, node in schema["properties"].items()
        if key != "$schema"
    ]
    below = [
        _entry(
            key,
            _described(schema, members[key]),
            takes=_takes(schema, members[key]),
            default=_defaults(key, profiles),
            example=_json({key: EXAMPLES[key]}),
            where="under " + ", ".join(PLACES[place] for place in places),
        )
        for key, places in choices().items()
    ]
    nested = [
        (f"`{owner}.{key}`", _takes(schema, node), _described(schema, node))
        for owner, name in (("envelope", "EnvelopeChoice"), ("redact", "RedactRules"), ("store", "StoreSettings"),
                            ("tools.NAME", "ToolListing"))
        for key, node in definitions[name]["properties"].items()
    ]  # fmt: skip
    return "\n\n".join(
        (
            "# Config keys",
            ABOUT_KEYS,
            "## At the top",
            *top,
            "## Choices under `global`, a profile, or a tool",
            ABOUT_CHOICES,
            *below,
            "## Keys inside these",
            markdown_table(("key", "takes", "meaning"), nested),
            "## Noise rules",
            "What `prune` switches on and off.",
            markdown_table(("rule", "what it drops"), [(f"`{rule}`", NOISE[rule]) for rule in get_args(NoiseGroup)]),
            "## Reasons of omissions",
            "What stands in `Omission.reason` and below an answer.",
            markdown_table(
                ("reason", "why something is missing"), [(f"`{name}`", REASONS[name]) for name in get_args(Reason)]
            ),
        )
    )


def _entry(key: str, meaning: str, **facts: str) -> str:
    lines = [f"- {name}: {fact}" for name, fact in facts.items()]
    return "\n".join((f"### {key}", "", meaning, "", *lines))


def _defaults(key: str, profiles: Mapping[str, Mapping[str, Any]]) -> str:
    implied = _json(IMPLIED[key]) if key in IMPLIED else "unset"
    found = [_json(profile.get(key)) if key in profile else implied for profile in profiles.values()]
    if key == "envelope":
        found = ["none", "`error`, `warnings`, `upgrade_hints`", "all"]
    if key in {"description", "extends"} or len(set(found)) == 1:
        return found[0] if key not in {"description", "extends"} else "unset"
    return " / ".join(found)


def _json(value: Any) -> str:
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def _described(schema: Mapping[str, Any], node: Mapping[str, Any]) -> str:
    return " ".join(str(node.get("description") or _resolved(schema, node).get("description", "")).split())


def _resolved(schema: Mapping[str, Any], node: Mapping[str, Any]) -> Mapping[str, Any]:
    return schema["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node


def _takes(schema: Mapping[str, Any], node: Mapping[str, Any]) -> str:
    node = _resolved(schema, node)
    if "enum" in node:
        return ", ".join(f"`{json.dumps(value)}`" for value in node["enum"])
    for several in ("anyOf", "oneOf"):
        if several in node:
            return " or ".join(dict.fromkeys(_takes(schema, one) for one in node[several]))
    kind = node.get("type", "any value")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array":
        return f"list of {_takes(schema, node.get('items', {}))}"
    return str(kind)


def _commands() -> str:
    group: Any = typer.main.get_command(build())  # Typer's own copy of Click has no public classes
    parts = [
        "# Commands",
        ABOUT_COMMANDS,
    ]
    for name in sorted(COMMANDS):
        command = group.commands[name]
        arguments = [one for one in command.params if one.param_type_name == "argument"]
        shown = " ".join(["shaping", name, *(_metavar(one) for one in arguments)])
        rows = [
            (", ".join(f"`{_flag(one, name)}`" for name in (*one.opts, *one.secondary_opts)), _cell(one.help or ""))
            for one in command.params
            if one.param_type_name == "option" and not one.hidden
        ]
        parts.extend((f"## {name}", f"`{shown}`", inspect.cleandoc(command.help or "")))
        if rows:
            parts.append(markdown_table(("option", "meaning"), rows))
    return "\n\n".join(parts)


def _metavar(argument: Any) -> str:
    name = str(argument.metavar or argument.name or "").strip("[]")
    return name if argument.required else f"[{name}]"


def _flag(option: Any, name: str) -> str:
    return f"{name} {option.metavar}" if option.metavar and not option.is_flag else name


def _errors() -> str:
    rows: list[tuple[str, ...]] = []
    spellings = (LEAN, OPERATIONS, COMMAND_SPELLINGS)
    for code in sorted(registry.codes()):
        spec = registry.definition(code)
        retryable = "yes" if spec.retryable else "no"
        rows.append((f"`{code}`", str(spec.http), retryable, str(spec.exit_code), _cell(spec.hint or "")))
    return "\n\n".join(
        (
            "# Error codes",
            ABOUT_CODES,
            markdown_table(("code", "HTTP", "retryable", "exit code", "hint"), rows),
            "## Spellings of the wire forms",
            ABOUT_SPELLINGS,
            markdown_table(
                ("code", "`lean`", "`sourced`", "`invariant`"),
                [
                    (f"`{code}`", *(f"`{table[code]}`" if code in table else "" for table in spellings))
                    for code in sorted(set().union(*spellings))
                ],
            ),
        )
    )


def _environment() -> str:
    rows = [(f"`{name}`", text) for name, text in VARIABLES.items()]
    return "\n\n".join(("# Environment variables", markdown_table(("variable", "what it does"), rows)))


def _python() -> str:
    parts = [
        "# Python API",
        ABOUT_API,
    ]
    for name in MODULES:
        module = import_module(name)
        parts.extend((f"## {name}", inspect.cleandoc(module.__doc__ or "")))
        for public in module.__all__:
            parts.extend(_documented(public, getattr(module, public)))
    return "\n\n".join(part for part in parts if part)


def _documented(name: str, value: Any) -> list[str]:
    if inspect.ismodule(value):
        return [f"### {name}", f"The module [`{value.__name__}`](#{value.__name__.replace('.', '')})."]
    if get_origin(value) is not None and get_args(value):  # a Literal or a union
        shown = (one.__name__ if inspect.isclass(one) else json.dumps(one, default=str) for one in get_args(value))
        return [f"### {name}", f"One of {', '.join(f'`{one}`' for one in shown)}."]
    if not (inspect.isclass(value) or callable(value)):
        return [f"### {name}", f"A constant of type `{type(value).__name__}`."]
    parts = [f"### {name}", f"```text\n{_signature(name, value)}\n```", inspect.getdoc(value) or ""]
    if inspect.isclass(value) and value.__module__.startswith("shaping"):
        members = {member: one for member, one in vars(value).items() if not member.startswith("_")}
        read = {member: inspect.getdoc(one) for member, one in members.items() if isinstance(one, property)}
        parts.append("\n".join(f"- `{member}`: {said.splitlines()[0]}" for member, said in read.items() if said))
        for member, one in members.items():
            if inspect.isfunction(one) and (said := inspect.getdoc(one)):
                parts.extend((f"#### {name}.{member}", f"```text\n{_signature(member, one)}\n```", said))
    return parts


def _signature(name: str, value: Any) -> str:
    if inspect.isclass(value) and issubclass(value, BaseModel):
        value.model_rebuild()  # a model has its signature once it is built, which the package leaves to its first use
    try:
        signature = inspect.signature(value)
        # What is checked besides the type is said by the page of config keys; each version of pydantic writes it anew.
        plain = [
            one.replace(annotation=get_args(one.annotation)[0]) if get_origin(one.annotation) is Annotated else one
            for one in signature.parameters.values()
            if one.name != "self"
        ]
        words = [_plain(str(one.replace(default=_shown(one.default)))) for one in plain]
        returned = _plain(str(signature).rpartition(" -> ")[2]) if " -> " in str(signature) else ""
    except (TypeError, ValueError):
        return name
    for index, one in enumerate(plain):
        if one.kind is one.KEYWORD_ONLY and not any(p.kind is p.VAR_POSITIONAL for p in plain):
            words.insert(index, "*")
            break
    line = f"{name}({', '.join(words)})" + (f" -> {returned}" if returned and returned != "None" else "")
    if len(line) <= LINE:
        return line
    return f"{name}(\n" + "".join(f"    {word},\n" for word in words) + ")" + line.rpartition(")")[2]


class _Unsaid:
    """A default that says nothing to a reader: an object, a function, the environment of this process."""

    def __repr__(self) -> str:
        return "…"


def _shown(default: Any) -> Any:
    is_plain = default is inspect.Parameter.empty or isinstance(default, str | int | float | None)
    return default if is_plain or type(default) is tuple else _Unsaid()


def _plain(written: str) -> str:
    """Leave out quotes of postponed annotations and modules' names."""
    written = re.sub(r"(^|: |-> )[~']([^']*)'?", r"\1\2", written)
    return re.sub(r"\b(?:shaping|typing|collections\.abc)(?:\.[a-z_]+)*\.(?=[A-Z])", "", written)


_BOUNDS = {"since": ">=", "before": "<"}


def _clients() -> str:
    known = json.loads((ROOT / "config" / "clients.json").read_text(encoding="utf-8"))
    rows: list[tuple[str, ...]] = []
    for one in known["clients"]:
        limit = ", ".join(f"{number:,} {unit}" for unit, number in (one.get("limit") or {}).items())
        measured = one.get("measured")
        rows.append(
            (
                f"{one['client']} {','.join(sign + one[key] for key, sign in _BOUNDS.items() if key in one)}".rstrip(),
                ", ".join(f"`{name}`" for name in one["names"]),
                one.get("reads") or "unknown",
                limit or "not known",
                f"{measured['version']}, {measured['date']}" if measured else "read about",
            )
        )
    return "\n\n".join(
        (
            "# Clients",
            ABOUT_CLIENTS,
            markdown_table(("client", "its name in MCP", "reads", "limit", "measured"), rows),
            "## Files that `shaping wrap --client NAME` looks for",
            markdown_table(
                ("name", "in the project", "in your home", "where desktop applications keep theirs"),
                [
                    (
                        f"`{name}`",
                        *(", ".join(f"`{file}`" for file in files) for files in (at.project, at.home, at.desktop)),
                    )
                    for name, at in CLIENTS.items()
                ],
            ),
        )
    )


def _redaction() -> str:
    names = sorted({rule.name for rule in CREDENTIALS.rules})
    return "\n\n".join(
        (
            "# Redaction rules",
            ABOUT_REDACTION,
            ", ".join(f"`{name}`" for name in names),
        )
    )


def _listed(files: tuple[str, ...]) -> str:
    return ", ".join(f"`{file}`" for file in files)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    (ROOT / "config" / "response_config.schema.json").write_bytes(config_schema_text())
    (ROOT / "docs" / "security.md").write_text(security_page(), encoding="utf-8")  # not kept: the site alone needs it
    print(f"{FOLDER} written")


if __name__ == "__main__":
    main()
