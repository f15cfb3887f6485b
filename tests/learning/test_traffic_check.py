"""`shaping check --traffic`: answer contracts, and a planted regression of each kind of drift."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from shaping import Recorder, Shaper
from shaping.learning.drift import Baseline, DriftWatch, baseline_path, find_drift
from shaping.learning.statistics import read_traffic
from shaping.learning.traffic import ToolCall
from shaping.learning.traffic_check import check_call
from shaping.settings.loading import load

TOOLS = [
    {"name": "list", "description": "List orders.", "inputSchema": {"type": "object"}},
    {"name": "get", "description": "Get an order.", "inputSchema": {"type": "object"}},
]
STATES = ("paid", "sent", "open")


def orders(day: int) -> list[dict[str, Any]]:
    return [
        {
            "number": day * 1_000 + n,
            "state": STATES[n % 3],
            "total": 9.5 + n,
            "buyer": {"name": f"Buyer {n}", "email": f"b{n}@example.com"},
        }
        for n in range(15)
    ]


def record(folder: Path, day: int, change: Any = None, tools: list[dict[str, Any]] | None = None) -> Path:
    recorder, plan = Recorder(folder), Shaper({}).plan("shop/list", surface="mcp")
    recorder.record_tools("shop", TOOLS if tools is None else tools)
    for call in range(4):
        listed = orders(day * 10 + call)
        for order in listed if change else ():
            change(order)
        result = {"content": [{"type": "text", "text": json.dumps({"orders": listed})}]}
        recorder.record(plan, result, server="shop", session=f"{day}-{call}")
    recorder.close()
    return folder


def config_with(folder: Path, override: dict[str, Any]) -> Path:
    path = folder / "response_config.json"
    path.write_text(json.dumps({"tool_overrides": {"shop/list": override}}, indent=2))
    return path


def check(config: Path, traffic: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "shaping", "check", str(config), "--traffic", str(traffic), *words]
    environ = {**os.environ, "SHAPING_LEDGER": str(config.parent / "ledger.sqlite")}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environ)


def test_a_contract_that_is_kept_passes_and_one_that_is_not_names_the_rule(tmp_path: Path) -> None:
    pytest.importorskip("jmespath")
    traffic = record(tmp_path / "traffic", 1)
    answers = [
        {"question": "Who bought?", "path": "orders[].buyer.name"},
        {"question": "How many are open?", "jmespath": "length(orders[?state=='open'])", "expected": 5},
    ]
    good = check(config_with(tmp_path, {"answers": answers}), traffic)
    assert good.returncode == 0, good.stderr
    assert "8 answers compared, 0 contracts not kept, 0 changes" in good.stdout
    bad = check(
        config_with(tmp_path, {"answers": answers, "exclude_fields": ["**.email", "orders.buyer.name"]}), traffic
    )
    assert bad.returncode == 1
    assert "not kept: shop/list: 'Who bought?'" in bad.stderr
    assert "(4 calls)" in bad.stderr
    assert "exclude_fields 'orders.buyer.name', tool override shop/list (" in bad.stderr
    assert re.search(r"response_config\.json:\d+\)", bad.stderr), "the file and the line of the rule"
    assert "How many are open?" not in bad.stderr


def test_a_pattern_asks_of_the_text_that_a_model_reads(tmp_path: Path) -> None:
    lines = "\n".join(f"- step {n} of the build took {n} seconds and left nothing to say" for n in range(400))
    text = f"Page URL: https://example.com/{{}}\n{lines}\nVerdict: passed in {{}} s\n"
    recorder, plan = Recorder(tmp_path / "traffic"), Shaper({}).plan("shop/list", surface="mcp")
    for n in range(3):
        result = {"content": [{"type": "text", "text": text.format(n, n)}]}
        recorder.record(plan, result, server="shop")
    recorder.close()
    answers = [
        {"question": "Which page?", "pattern": r"^Page URL: (\S+)"},
        {"question": "How did it end?", "pattern": r"^Verdict: \w+"},
    ]
    good = check(config_with(tmp_path, {"answers": answers, "max_tokens": 500}), tmp_path / "traffic")
    assert good.returncode == 0, good.stderr
    assert "6 answers compared, 0 contracts not kept" in good.stdout
    steps = {"question": "How long was step 200?", "pattern": r"step 200 of the build took (\d+)"}
    bad = check(config_with(tmp_path, {"answers": [steps], "max_tokens": 500}), tmp_path / "traffic")
    assert bad.returncode == 1
    assert "'How long was step 200?' is \"200\" in the tool's data and missing in what the model reads" in bad.stderr
    assert "max_tokens" in bad.stderr


def test_a_contract_that_no_call_can_answer_does_not_pass(tmp_path: Path) -> None:
    traffic = record(tmp_path / "traffic", 1)
    answers = [{"question": "Who?", "path": "orders[].buyer.name"}, {"question": "What?", "path": "orders[].naem"}]
    answers.append({"question": "Which?", "pattern": "order: (.*)"})
    done = check(config_with(tmp_path, {"answers": answers}), traffic)
    assert done.returncode == 1
    assert "'Which?': no recorded answer of this tool has anything at order: (.*)" in done.stderr
    assert (
        "not answered: shop/list: 'What?': no recorded answer of this tool has anything at orders[].naem" in done.stderr
    )
    assert "'Who?'" not in done.stderr


def test_that_no_tool_has_answers_is_said(tmp_path: Path) -> None:
    done = check(config_with(tmp_path, {"max_tokens": 500}), record(tmp_path / "traffic", 1))
    assert done.returncode == 0, done.stderr
    assert "4 calls: no answers compared (no tool of the config has `answers`), 0 changes" in done.stdout


def test_the_contracts_of_a_config_that_is_not_allowed_are_asked_too(tmp_path: Path) -> None:
    traffic = record(tmp_path / "traffic", 1)
    answers = [{"question": "Who?", "path": "orders[].buyer.name"}]
    config_with(tmp_path, {"answers": answers, "exclude_fields": ["orders.buyer"]})
    environ = {**os.environ, "SHAPING_LEDGER": "off", "XDG_DATA_HOME": str(tmp_path / "data")}
    command = [sys.executable, "-m", "shaping", "check", "--traffic", str(traffic)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ, cwd=tmp_path)
    assert done.returncode == 1
    assert "not kept: shop/list: 'Who?'" in done.stderr


def test_a_file_that_is_no_recording_is_told(tmp_path: Path) -> None:
    file = tmp_path / "orders.json"
    file.write_text(json.dumps({"orders": orders(1)}))
    done = check(config_with(tmp_path, {}), file)
    assert (done.returncode, done.stderr.startswith(f"{file} is not a recording")) == (1, True)


def test_a_budget_that_cuts_an_answer_and_an_include_that_leaves_it_out_are_named(tmp_path: Path) -> None:
    traffic = record(tmp_path / "traffic", 1)
    answers = [{"question": "Which orders?", "path": "orders[].number"}]
    cut = check(config_with(tmp_path, {"answers": answers, "max_items": 5}), traffic)
    assert cut.returncode == 1
    assert "max_items" in cut.stderr
    left = check(config_with(tmp_path, {"answers": answers, "include_only": ["orders.state"]}), traffic)
    assert left.returncode == 1
    assert "include_only" in left.stderr


def test_an_expected_answer_that_the_tool_itself_no_longer_gives_is_told(tmp_path: Path) -> None:
    pytest.importorskip("jmespath")
    traffic = record(tmp_path / "traffic", 1)
    answers = [{"question": "How many?", "jmespath": "length(orders)", "expected": 16}]
    done = check(config_with(tmp_path, {"answers": answers}), traffic)
    assert done.returncode == 1
    assert "16 is expected" in done.stderr


def drift_after(tmp_path: Path, change: Any = None, tools: Any = None, **override: Any) -> list[tuple[str, str, str]]:
    config = config_with(tmp_path, override or {"exclude_fields": ["orders.buyer.email"]})
    baseline_path(config).write_text(Baseline.of(read_traffic(record(tmp_path / "before", 1))).written())
    traffic = read_traffic(record(tmp_path / "after", 2, change, tools))
    found = find_drift(traffic, load(config), Baseline.read(baseline_path(config)))
    assert all(one.rule for one in found)
    return [(one.kind, one.tool, one.path) for one in found]


def test_unchanged_traffic_of_another_day_has_no_drift(tmp_path: Path) -> None:
    assert drift_after(tmp_path) == []


def test_a_configured_path_that_matches_nothing_any_more(tmp_path: Path) -> None:
    def rename(order: dict[str, Any]) -> None:
        order["buyer"]["mail"] = order["buyer"].pop("email")

    found = drift_after(tmp_path, rename)
    assert ("unmatched", "shop/list", "orders.buyer.email") in found


def test_a_new_field_above_a_token_share(tmp_path: Path) -> None:
    def grow(order: dict[str, Any]) -> None:
        order["history"] = "created, paid, packed, handed over, delivered"
        order["v"] = 1

    assert drift_after(tmp_path, grow) == [("new", "shop/list", "orders[].history")]


def test_a_type_that_changed(tmp_path: Path) -> None:
    def to_text(order: dict[str, Any]) -> None:
        order["total"] = f"{order['total']} EUR"

    assert ("type", "shop/list", "orders[].total") in drift_after(tmp_path, to_text)


def test_a_value_that_an_enumeration_never_had(tmp_path: Path) -> None:
    def refund(order: dict[str, Any]) -> None:
        order["state"] = "refunded" if order["number"] % 7 == 0 else order["state"]

    assert drift_after(tmp_path, refund) == [("values", "shop/list", "orders[].state")]


@pytest.mark.parametrize(
    ("member", "value", "kind"),
    [
        ("description", "List all orders.", "description"),
        ("inputSchema", {"type": "object", "properties": {"page": {"type": "integer"}}}, "schema"),
        ("outputSchema", {"type": "object"}, "schema"),
    ],
)
def test_a_changed_definition(tmp_path: Path, member: str, value: Any, kind: str) -> None:
    tools: list[dict[str, Any]] = deepcopy(TOOLS)
    tools[0][member] = value
    assert drift_after(tmp_path, None, tools) == [(kind, "shop/list", "")]


def test_a_vanished_tool(tmp_path: Path) -> None:
    assert drift_after(tmp_path, None, TOOLS[:1]) == [("vanished", "shop/get", "")]


def test_the_command_tells_drift_with_the_rule_to_add_and_keeps_it_for_the_page(tmp_path: Path) -> None:
    config = config_with(tmp_path, {"include_only": ["orders.number", "orders.shipped_at"]})
    baseline_path(config).write_text(Baseline.of(read_traffic(record(tmp_path / "before", 1))).written())
    done = check(config, record(tmp_path / "after", 2, lambda order: order.update(memo="word " * 20)))
    assert done.returncode == 0, "warnings alone exit 0"
    assert "include_only 'orders.shipped_at' matches nothing in this traffic" in done.stderr
    assert 'add "orders[].memo" to include_only' in done.stderr
    kept = json.loads((tmp_path / "drift.json").read_text())
    assert {one["kind"] for one in kept["drift"]} == {"unmatched", "new"}
    shown = json.loads(check(config, tmp_path / "after", "--json").stdout)["data"]
    assert shown["drift"] == kept["drift"]


def test_while_calls_are_recorded_a_change_is_logged_once_and_kept_for_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SHAPING_LEDGER", str(tmp_path / "ledger.sqlite"))
    config = config_with(tmp_path, {"exclude_fields": ["orders.buyer.email"]})
    baseline_path(config).write_text(Baseline.of(read_traffic(record(tmp_path / "before", 1))).written())
    shaper = Shaper(config, watch=False)
    recorder = Recorder(tmp_path / "after", watch=DriftWatch(shaper))
    recorder.record_tools("shop", TOOLS[:1])
    for call in range(30):
        listed = [{**order, "memo": "word " * 20} for order in orders(call)]
        result = {"content": [{"type": "text", "text": json.dumps({"orders": listed})}]}
        recorder.record(shaper.plan("shop/list", surface="mcp"), result, server="shop")
    recorder.close(30)
    told = [message for message in caplog.messages if "the traffic has changed" in message]
    assert len(told) == len(set(told)) == 2
    assert any("no longer has this tool" in message for message in told)
    kept = json.loads((tmp_path / "drift.json").read_text())
    assert [(one["kind"], one["path"]) for one in kept["drift"]] == [("vanished", ""), ("new", "orders[].memo")]


def test_a_private_path_is_never_idle_and_a_contract_on_one_is_not_answered(tmp_path: Path) -> None:
    answers = [{"question": "Whose?", "path": "orders.buyer.email"}, {"question": "What?", "path": "orders.colour"}]
    override = {"private": ["**.email"], "answers": answers}
    config = config_with(tmp_path, override)
    recorder = Recorder(tmp_path / "traffic")
    result = {"content": [{"type": "text", "text": json.dumps({"orders": orders(1)})}]}
    recorder.record(Shaper(config, watch=False).plan("shop/list", surface="mcp"), result, server="shop")
    recorder.close()
    done = check(config, tmp_path / "traffic")
    assert done.returncode == 1
    assert "matches nothing" not in done.stderr
    said = "not answered: shop/list: 'Whose?': no recorded answer of this tool has anything at orders.buyer.email"
    assert said in done.stderr
    assert "'What?': no recorded answer of this tool has anything at orders.colour" in done.stderr


def test_rules_for_no_tool_and_redacted_paths_that_never_matched_are_told(tmp_path: Path) -> None:
    rules = {
        "global": {"private": ["**.email", "**.e_mail"], "redact": {"paths": ["orders.buyer.name", "orders.pin"]}},
        "tool_overrides": {
            "shop/list": {"private": ["orders.buyer.mail", "email"], "redact": {"paths": ["orders.buyer.nam"]}},
            "shop/get": {"max_items": 5},
            "shop/lst": {"max_items": 5},
            "shpo/*": {"max_items": 5},
        },
    }
    config = tmp_path / "response_config.json"
    config.write_text(json.dumps(rules))
    done = check(config, record(tmp_path / "traffic", 1))
    assert done.returncode == 0, done.stderr
    told = sorted(line for line in done.stderr.splitlines() if line.startswith("changed: "))
    assert [line.partition("; ")[0].removeprefix("changed: ") for line in told] == [
        "global: redact.paths 'orders.pin' matches nothing in this traffic",
        "shop/list: private 'email' matches nothing but deeper in this traffic",
        "shop/list: redact.paths 'orders.buyer.nam' matches nothing in this traffic",
        "shop/lst: these rules match no tool of this traffic",
        "shpo/*: these rules match no tool of this traffic",
    ]
    assert "shop/lst: these rules match no tool of this traffic; write 'shop/list'" in done.stderr


def test_a_question_that_cannot_be_asked_of_what_is_left_is_not_kept() -> None:
    pytest.importorskip("jmespath")
    answers = [{"question": "How many lines?", "jmespath": "length(lines)"}]
    config = {"tool_overrides": {"orders": {"answers": answers, "exclude_fields": ["lines"]}}}
    report = check_call(Shaper(config), ToolCall("orders", {"id": 1, "lines": [{"sku": "a"}]}, "value"))
    (failure,) = report.failures.values()
    assert (failure.raw, failure.read) == ("1", "null")
    assert "exclude_fields" in failure.reason
