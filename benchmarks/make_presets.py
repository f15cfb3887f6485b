"""Write config/presets/servers/*.json with `suggest` from the corpora's payloads: `python -m benchmarks.make_presets`.

A preset only leaves out what says nothing: it is for everybody, and nobody's later calls were recorded. What the
corpora's questions ask for is kept, and stands in the preset as contracts, which tests/learning/test_presets.py checks.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from benchmarks import corpus
from benchmarks.learning import asked_fields, chunks
from shaping import Shaper
from shaping.learning.fields import ALWAYS
from shaping.learning.replay import text_after
from shaping.learning.statistics import TrafficStatistics
from shaping.learning.suggest import suggest
from shaping.learning.traffic import ToolCall
from shaping.learning.usage import Usage
from shaping.tokens import exact

PLACE: Final = Path(__file__).parents[1] / "config" / "presets" / "servers"
# Each preset: the names that its servers have, and the payloads that were recorded of their tools.
PRESETS: Final[dict[str, tuple[list[str], list[str]]]] = {
    "github": (["github*"], ["p01", "p02", "p03", "k04"]),
    "gitlab": (["gitlab*"], ["k03"]),
    "atlassian": (["*atlassian*", "*jira*"], ["k01"]),
    "grafana": (["*grafana*"], ["k21"]),
    "datadog": (["*datadog*"], ["k08", "k09"]),
    "pagerduty": (["*pagerduty*"], ["k06"]),
    "trello": (["*trello*"], ["k05"]),
    "azure-devops": (["*azure-devops*", "*azdo*"], ["k07"]),
}


def preset(servers: list[str], wanted: list[str]) -> dict[str, Any]:
    """Make a preset from payloads."""
    overrides: dict[str, Any] = {}
    for payload in (one for folder in (corpus.PAYLOADS, corpus.MORE) for one in corpus.payloads(folder)):
        if payload.name[:3] not in wanted:
            continue
        answers = [{"question": question, "path": path} for question, path in asked_fields(payload)]
        traffic = TrafficStatistics()
        for call in chunks(payload):
            traffic.add(call, Usage())
        (found,) = suggest(traffic, config={"tool_overrides": {payload.tool: {"answers": answers}}})
        # What is the same in one recording need not be so for everybody.
        rules = replace(found, rules=tuple(rule for rule in found.rules if rule.reason != ALWAYS))
        if rules.rules and ("prune" in rules.override or _saves(payload, rules.override)):
            overrides[payload.tool] = {**rules.override, "answers": answers}
    return {"$schema": "../../response_config.schema.json", "servers": servers, "tool_overrides": overrides}


def _saves(payload: corpus.Payload, override: dict[str, Any]) -> bool:
    """Return whether rules save anything on the payload as it is."""
    call = ToolCall(payload.tool, payload.result)
    configs: list[dict[str, Any]] = [{}, {"tool_overrides": {payload.tool: override}}]
    texts = (text_after(Shaper(config, watch=False), call) for config in configs)
    without, with_rules = map(exact, texts)
    return with_rules < without


def main() -> None:
    PLACE.mkdir(parents=True, exist_ok=True)
    for name, (servers, wanted) in PRESETS.items():
        made = preset(servers, wanted)
        if made["tool_overrides"]:
            (PLACE / f"{name}.json").write_text(json.dumps(made, indent=2, ensure_ascii=False) + "\n")
        print(name, {tool: len(rules.get("exclude_fields", ())) for tool, rules in made["tool_overrides"].items()})


if __name__ == "__main__":
    main()
