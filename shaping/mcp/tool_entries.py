"""The tools of a server as a client is shown them, by what is known of the client and by the config."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.errors.codes import list_codes
from shaping.mcp.output_schema import advertised_schema, inside_wrapper, warn_unmatched
from shaping.mcp.sessions import BOTH, ToolEntry, choose_channels
from shaping.nearest import did_you_mean, nearest
from shaping.response import EXPAND
from shaping.settings.patterns import is_for, is_pattern, ranked
from shaping.settings.plan import full_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from shaping.clients import KnownClient
    from shaping.settings.model import Config
    from shaping.settings.plan import Plan

logger = logging.getLogger("shaping")

_RESEMBLES: Final = 0.85  # how alike two names are before one is taken for a slip of the other
_COMPARED = 200  # tools that a rule is compared with: a server may list thousands
CONTROL = "_shape"
_OWN = orjson.loads(Path(__file__).with_name("tools.json").read_bytes())
EXPAND_TOOL: dict[str, Any] = _OWN["expand"]  # our own tool
_CONTROL_SCHEMA: dict[str, Any] = _OWN["control"]  # the argument of other tools by which an agent shapes their answers


def tool_entry(
    tool: Mapping[str, Any], plan: Plan, client: KnownClient, config: Config, *, relay: bool = False
) -> ToolEntry | None:
    """Return a tool as a client is shown it, or None where the config drops it from the list.

    The plan has its full name, by which the config may have rules for it.
    """
    rules = _rules(plan.tool, config)
    if rules.get("drop"):
        return None
    for_app, for_model = _audience(tool)
    if not for_model:
        return ToolEntry(dict(tool), BOTH, for_model=False)
    # Where a tool is not enabled its results go out as they come.
    chosen = choose_channels(plan.channels, client, typed=plan.typed or for_app, relay=relay) if plan.enabled else BOTH
    declared = tool.get("outputSchema")
    if declared is not None:
        warn_unmatched(plan, inside_wrapper(declared) or dict(declared))
    shown = None
    if declared is not None and chosen.structured:
        shown = advertised_schema(plan, declared) if plan.enabled or plan.closed else dict(declared)
    wire = {key: value for key, value in tool.items() if key != "outputSchema"}
    if for_app and declared is not None:
        wire["outputSchema"] = declared
    elif shown is not None:
        wire["outputSchema"] = shown
    if config.agent_controls and plan.enabled:
        schema = tool.get("inputSchema") or {"type": "object"}
        wire["inputSchema"] = {**schema, "properties": {**(schema.get("properties") or {}), CONTROL: _CONTROL_SCHEMA}}
    described = _described(tool.get("description"), rules)
    if described is not None:
        wire["description"] = described
    hinted = bool(client.tool_meta) and plan.surface == "mcp"
    if hinted:
        wire["_meta"] = {**client.tool_meta, **(tool.get("_meta") or {})}
    return ToolEntry(
        wire,
        chosen,
        plan.channels != "auto",
        declared,
        None if for_app else shown,
        client.tool_meta_limit if hinted else client.limit,
        for_app,
    )


def is_dropped(name: str, config: Config) -> bool:
    """Return whether the config drops a tool from the list."""
    return bool(_rules(name, config).get("drop"))


def expand_entry(client: KnownClient, taken: Collection[str] = ()) -> dict[str, Any]:
    """Return the definition of the tool that brings back what was left out, under a name that no other tool has."""
    name = EXPAND
    while name in taken:
        name = f"{name}_"
    meta = {**client.tool_meta, **client.expand_meta}
    return {**EXPAND_TOOL, "name": name, **({"_meta": meta} if meta else {})}


def log_idle_rules(config: Config, servers: Mapping[str, str], logged: set[str]) -> None:
    """Log, once, rules that name a server and match none of its tools, and names that only resemble a tool's.

    Other rules may be for other servers, or for commands. `servers` has the server of each tool that is listed.
    """
    names = [full_name(tool, server) for tool, server in sorted(servers.items())]
    for pattern in config.tool_overrides or {}:
        server, slash, _ = pattern.rpartition("/")
        meant = not slash or any(is_for(name.partition("/")[0], server) for name in names)
        may_be_wrong = slash or not is_pattern(pattern)
        if not (meant and may_be_wrong) or pattern in logged or any(is_for(name, pattern) for name in names):
            continue
        near = nearest(pattern, (names if slash else list(servers))[:_COMPARED], n=1, least=_RESEMBLES)
        if slash or near:
            logged.add(pattern)
            logger.warning("the rules for %r match no tool that the server lists.%s", pattern, did_you_mean(near))


def _audience(tool: Mapping[str, Any]) -> tuple[bool, bool]:
    """Return whether an app draws a tool's results (MCP Apps), and whether the model is shown them."""
    meta = tool.get("_meta") or {}
    ui: Any = meta.get("ui") if isinstance(meta.get("ui"), dict) else {}
    visibility = ui.get("visibility")
    for_model = not isinstance(visibility, list) or "model" in visibility
    return bool(ui.get("resourceUri") or meta.get("ui/resourceUri")), for_model


def _rules(name: str, config: Config) -> dict[str, Any]:
    rules: dict[str, Any] = {}
    for pattern in ranked(name, config.tools):
        rules |= config.tools[pattern].model_dump(exclude_none=True)
    return rules


def _described(description: str | None, rules: Mapping[str, Any]) -> str | None:
    text: str | None = rules.get("description", description)
    most = rules.get("max_description")
    if text is not None and most is not None and len(text) > most:
        text = _cut(text, most)
    return list_codes(text or "", rules["codes"]) if rules.get("codes") else text


def _cut(text: str, most: int) -> str:
    """Cut at the last sentence that fits, else at the last word: half a word says nothing."""
    head = text[:most]
    sentence = max(head.rfind(". "), head.rfind(".\n"))
    if sentence > most // 2:
        return head[: sentence + 1]
    return head[:-1].rsplit(None, 1)[0].rstrip(",;:") + "…" if " " in head else head
