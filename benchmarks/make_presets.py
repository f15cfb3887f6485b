# ruff: noqa: E501 (a tool's fields stand in few lines)
"""Write config/presets/servers/*.json with `suggest`: `python -m benchmarks.make_presets [NAME...] [--folder DIR]`.

Most are made from recordings of the real server packages in front of stand-ins of their services (a first run of
`benchmarks.learning_services`), those of azure-devops, pagerduty and trello and a few tools of github from the corpora.
For each tool it is said here which fields answer what agents ask of it: they are kept, stand in the preset as contracts,
and let `suggest` leave out the others. What such a server's second run says of the same tools, with other data, goes to
tests/learning/recorded/, where tests/learning/test_presets.py asks the contracts of it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from benchmarks import corpus
from benchmarks.learning import asked_fields, chunks
from benchmarks.learning_services import record
from shaping import Shaper
from shaping.learning.statistics import TrafficStatistics
from shaping.learning.suggest import suggest
from shaping.learning.traffic import ToolCall, Usage, read_file, traffic_files
from shaping.tokens import exact

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT: Final = Path(__file__).parents[1]
PLACE: Final = ROOT / "config" / "presets" / "servers"
RECORDED: Final = ROOT / "tests" / "learning" / "recorded" / "presets.2026-11-17.jsonl.gz"
TARGET: Final = 0.95  # more than can be reached, so that all steps are tried
# The servers that a preset is for, and the fields that answer what is asked of each tool.
RECORDED_TOOLS: Final[Mapping[str, tuple[list[str], Mapping[str, str | dict[str, str]]]]] = {
    "github": (
        ["github*"],
        {
            "list_issues": "[].number title state user.login assignees[].login labels[].name comments created_at updated_at closed_at"
            " state_reason milestone.title body html_url",
            "get_issue": "number title state user.login assignees[].login labels[].name comments created_at updated_at closed_at"
            " state_reason milestone.title body html_url",
            "search_issues": "total_count items[].number items[].title items[].state items[].user.login items[].labels[].name"
            " items[].created_at items[].updated_at items[].closed_at items[].pull_request.merged_at items[].body items[].html_url",
            "list_pull_requests": "[].number title state draft user.login head.ref base.ref requested_reviewers[].login labels[].name"
            " created_at updated_at merged_at closed_at milestone.title body html_url",
            "get_pull_request": "number title state draft user.login head.ref head.sha base.ref requested_reviewers[].login"
            " labels[].name created_at updated_at merged_at closed_at milestone.title mergeable mergeable_state body html_url",
            "get_pull_request_files": "[].filename status additions deletions patch",
            "list_commits": "[].sha commit.message commit.author.name commit.author.date",
        },
    ),
    "gitlab": (
        ["*gitlab*"],
        {
            "list_merge_requests": "[].iid title state draft author.username assignees[].username reviewers[].username labels"
            " source_branch target_branch created_at updated_at web_url detailed_merge_status has_conflicts description merged_at closed_at milestone.title",
            "get_merge_request": "iid title state draft author.username reviewers[].username labels source_branch target_branch"
            " created_at updated_at web_url detailed_merge_status has_conflicts description sha merged_at closed_at milestone.title head_pipeline.status",
            "list_issues": "[].iid title state author.username assignees[].username labels created_at updated_at closed_at due_date milestone.title web_url description",
            "get_issue": "iid title state author.username assignees[].username labels created_at updated_at closed_at due_date milestone.title web_url description",
        },
    ),
    "atlassian": (
        ["*atlassian*", "*jira*"],
        {
            "jira_search": "total issues[].key issues[].summary issues[].status.name issues[].priority.name issues[].assignee.display_name"
            " issues[].updated issues[].labels issues[].issue_type.name issues[].description issues[].resolution.name issues[].duedate",
            "jira_get_issue": "key summary status.name priority.name assignee.display_name reporter.display_name created updated labels"
            " issue_type.name description resolution.name duedate comments attachments parent.key",
        },
    ),
    "slack": (
        ["*slack*"],
        {
            "slack_list_channels": "channels[].id channels[].name channels[].topic.value channels[].num_members channels[].is_archived",
            "slack_get_channel_history": "messages[].ts messages[].user messages[].text messages[].reply_count messages[].thread_ts"
            " messages[].reactions[].name messages[].files[].name messages[].attachments[].text messages[].bot_id",
            "slack_get_thread_replies": "messages[].ts messages[].user messages[].text messages[].reactions[].name messages[].files[].name messages[].attachments[].text messages[].bot_id",
            "slack_get_users": "members[].id members[].name members[].real_name members[].profile.title members[].profile.email"
            " members[].deleted members[].is_bot members[].tz",
            "slack_get_user_profile": "profile.real_name profile.display_name profile.title profile.email profile.status_text",
        },
    ),
    "notion": (
        ["*notion*"],
        {
            "API-post-search": "results[].id results[].object results[].url results[].last_edited_time results[].properties.**.plain_text"
            " results[].properties.**.name results[].properties.**.number results[].properties.**.start results[].properties.**.end results[].properties.**.checkbox results[].properties.**.url results[].properties.**.string",
            "API-query-data-source": "results[].id results[].url results[].last_edited_time results[].properties.**.plain_text"
            " results[].properties.**.name results[].properties.**.number results[].properties.**.start results[].properties.**.end results[].properties.**.checkbox results[].properties.**.url results[].properties.**.string",
            "API-retrieve-a-page": "id url last_edited_time properties.**.plain_text properties.**.name properties.**.number"
            " properties.**.start properties.**.end properties.**.checkbox properties.**.url properties.**.string",
            "API-get-block-children": "results[].id results[].type results[].has_children results[].**.plain_text results[].**.checked results[].**.url results[].**.language results[].**.title",
        },
    ),
    "grafana": (
        ["*grafana*"],
        {
            "get_dashboard_by_uid": "dashboard.uid dashboard.title dashboard.tags dashboard.time dashboard.panels[].id"
            " dashboard.panels[].title dashboard.panels[].type dashboard.panels[].targets[].expr dashboard.panels[].datasource.uid"
            " dashboard.templating dashboard.panels[].fieldConfig.defaults.unit dashboard.panels[].fieldConfig.defaults.thresholds meta.url",
            "search_dashboards": "dashboards[].uid dashboards[].title dashboards[].tags",
        },
    ),
    "kubernetes": (
        ["*kubernetes*", "*k8s*"],
        {
            "pods_get": "metadata.name metadata.namespace metadata.labels metadata.creationTimestamp spec.nodeName spec.containers[].name"
            " spec.containers[].image spec.containers[].resources spec.containers[].env spec.containers[].ports status.phase status.podIP"
            " status.conditions[].type status.conditions[].status status.conditions[].reason status.conditions[].message"
            " status.reason status.message metadata.deletionTimestamp status.containerStatuses[].ready"
            " status.containerStatuses[].restartCount status.containerStatuses[].state status.containerStatuses[].lastState",
            "pods_list_in_namespace": "[].NAMESPACE NAME READY STATUS RESTARTS AGE NODE IP",
        },
    ),
    # Not `query` and `execute_sql`: their rows are those of your own tables, and have no field that all have.
    "postgres": (
        ["*postgres*"],
        {
            "list_schemas": "[].schema_name",
            "list_objects": "[].name type",
            "get_object_details": "columns[].column columns[].data_type columns[].is_nullable columns[].default constraints[].name constraints[].type constraints[].columns indexes[].definition",
        },
    ),
    # Texts without fields: what stands in them is asked for by patterns.
    "playwright": (
        ["*playwright*"],
        {
            "browser_snapshot": {"Which page is it?": "^- Page URL: (.+)", "What is its title?": "^- Page Title: (.+)"},
        },
    ),
    "sentry": (
        ["*sentry*"],
        {
            "get_sentry_resource": {
                "Which issue is it?": r"^# Issue (\S+)",
                "What happened, how often, to whom?": r"^\*\*(?:Description|Culprit|Status|Occurrences|Users Impacted)\*\*: (.+)",
                "Where did it happen?": r'Most Relevant Frame:\*\*\n.+\n +File "(.+?)", line',
                "In which event, environment and release?": r"^\*\*(?:Event ID|environment|release)\*\*: (.+)",
                "Where does a person read on?": r"^\*\*URL\*\*: (.+)",
            },
        },
    ),
}  # fmt: skip
# From the corpora: the servers, and the payloads that were recorded of their tools.
CORPUS_TOOLS: Final[Mapping[str, tuple[list[str], list[str]]]] = {
    "github": (["github*"], ["p02", "k04"]),
    "pagerduty": (["*pagerduty*"], ["k06"]),
    "trello": (["*trello*"], ["k05"]),
    "azure-devops": (["*azure-devops*", "*azdo*"], ["k07"]),
}


def from_recordings(tools: Mapping[str, str | dict[str, str]], calls: list[ToolCall], usage: Usage) -> dict[str, Any]:
    """Make the rules of a server's tools from its recorded calls."""
    overrides: dict[str, Any] = {}
    for tool, asked in tools.items():
        answers = _questions(asked)
        traffic = TrafficStatistics()
        for call in (one for one in calls if one.tool == tool):
            # What was used later is known for texts by the calls alone; of data it is said which fields answer.
            traffic.add(call, usage if isinstance(asked, dict) else Usage())
        (found,) = suggest(traffic, config={"tool_overrides": {tool: {"answers": answers}}}, target=TARGET)
        if found.rules and (found.after < found.now or "prune" in found.override):
            overrides[tool] = {**found.override, "answers": answers}
            print(f"  {tool}: {found.before:,} tokens as sent, {found.now:,} shaped, {found.after:,} with the preset")
        else:
            print(f"  {tool}: nothing to leave out")
    return overrides


def _questions(asked: str | dict[str, str]) -> list[dict[str, str]]:
    if isinstance(asked, dict):
        return [{"question": question, "pattern": pattern} for question, pattern in asked.items()]
    prefix = "[]." if asked.startswith("[].") else ""
    paths = [path if path.startswith(prefix) else prefix + path for path in asked.split()]
    return [{"question": f"What is at {path}?", "path": path} for path in paths]


def from_corpus(wanted: list[str]) -> dict[str, Any]:
    """Make rules from payloads of the corpora: only what says nothing goes, and what their questions ask for stays."""
    overrides: dict[str, Any] = {}
    for payload in (one for folder in (corpus.PAYLOADS, corpus.MORE) for one in corpus.payloads(folder)):
        if payload.name[:3] not in wanted:
            continue
        answers = [{"question": question, "path": path} for question, path in asked_fields(payload)]
        traffic = TrafficStatistics()
        for call in chunks(payload):
            traffic.add(call, Usage())
        (found,) = suggest(traffic, config={"tool_overrides": {payload.tool: {"answers": answers}}})
        if found.rules and ("prune" in found.override or _saves(payload, found.override)):
            overrides[payload.tool] = {**found.override, "answers": answers}
    return overrides


def _saves(payload: corpus.Payload, override: dict[str, Any]) -> bool:
    """Return whether rules save anything on the payload as it is."""
    call = ToolCall(payload.tool, payload.result)
    configs: list[dict[str, Any]] = [{}, {"tool_overrides": {payload.tool: override}}]
    texts = (call.text_after(Shaper(config, watch=False)) for config in configs)
    without, with_rules = map(exact, texts)
    return with_rules < without


def _recorded(run: int, folder: Path) -> tuple[list[ToolCall], Usage]:
    """Return the calls of a run under the names of the presets and of the tools themselves, and what they used."""
    place = folder / f"services-traffic{run}"
    traffic = place if place.exists() else record(run, folder)
    usage, calls = Usage(), []
    for call in (one for path in traffic_files(traffic) for one in read_file(path) if isinstance(one, ToolCall)):
        usage.add_call(call)
        for name, (servers, tools) in RECORDED_TOOLS.items():
            # A proxy writes the server's name before that of a tool that two servers have.
            own = next((one for one in (call.tool, call.tool.removeprefix(f"{call.server}_")) if one in tools), None)
            if own is not None and any(fnmatchcase(call.server, pattern) for pattern in servers):
                calls.append(replace(call, server=name, tool=own))
    return calls, usage


def keep_for_tests(calls: list[ToolCall]) -> None:
    """Keep one call of each tool that a preset has rules for."""
    kept: dict[tuple[str, str], bytes] = {}
    for call in calls:
        line = {"time": call.time, "server": call.server, "tool": call.tool, "form": "mcp", "result": call.result}
        kept.setdefault((call.server, call.tool), orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
    RECORDED.parent.mkdir(parents=True, exist_ok=True)
    RECORDED.write_bytes(gzip.compress(b"".join(kept[key] for key in sorted(kept)), mtime=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "shaping-learning")
    parser.add_argument("names", nargs="*", help="the presets to write; all where none is named")
    given = parser.parse_args()
    folder = given.folder
    folder.mkdir(parents=True, exist_ok=True)
    calls, usage = _recorded(1, folder)
    PLACE.mkdir(parents=True, exist_ok=True)
    for name in given.names or sorted({*RECORDED_TOOLS, *CORPUS_TOOLS}):
        print(name)
        servers, tools = RECORDED_TOOLS.get(name, ([], {}))
        from_corpora, payloads = CORPUS_TOOLS.get(name, ([], []))
        overrides = {
            **from_corpus(payloads),
            **from_recordings(tools, [call for call in calls if call.server == name], usage),
        }
        made = {
            "$schema": "../../response_config.schema.json",
            "servers": servers or from_corpora,
            "tool_overrides": overrides,
        }
        if overrides:
            (PLACE / f"{name}.json").write_text(json.dumps(made, indent=2, ensure_ascii=False) + "\n")
    keep_for_tests(_recorded(2, folder)[0])


if __name__ == "__main__":
    main()
