"""Suggestions: made from recordings of a real server, measured, written into a config and used."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from shaping import Recorder, Shaper
from shaping.cli.app import build
from shaping.learning.record import recordings
from shaping.learning.statistics import TrafficStatistics, read_traffic
from shaping.learning.suggest import EMPTY, suggest, with_suggestions
from shaping.learning.traffic import ToolCall, Usage, missing, read_file, traffic_files
from shaping.settings.jsonc import read
from shaping.settings.loading import load

WORDS = ("harbour", "lantern", "meadow", "quarry", "timber", "violet", "willow", "anchor", "copper", "drizzle")


def issue(number: int, seed: random.Random) -> dict[str, Any]:
    """Make an issue like those of a code host."""
    title = " ".join(seed.choice(WORDS) for _ in range(5))
    return {
        "number": 4_000 + number,
        "title": title,
        "state": seed.choice(["open", "closed"]),
        "node_id": f"I_kw{seed.getrandbits(80):020x}",
        "body": "\n".join(" ".join(seed.choice(WORDS) for _ in range(20)) for _ in range(3)),
        "user": {"login": f"user{seed.randrange(9)}", "type": "User", "site_admin": False},
        "performed_via": "web-client-5.2.1",
        "display_title": title,
    }


def record(folder: Path, *, sessions: int = 6, seed: int = 1) -> None:
    """Record sessions in which an agent lists issues and then asks for one of them by its number."""
    chance = random.Random(seed)  # noqa: S311 (the same data in every run)
    recorder, plan = Recorder(folder), Shaper({}).plan
    for session in range(sessions):
        listed = [issue(number, chance) for number in range(20)]
        result = {"content": [{"type": "text", "text": json.dumps(listed)}]}
        about: dict[str, Any] = {"server": "hub", "session": f"s{session}"}
        recorder.record(plan("hub/list", surface="mcp"), result, arguments={"repo": "octo/cat"}, **about)
        recorder.flush()
        number = listed[chance.randrange(6)]["number"]
        one = {"content": [{"type": "text", "text": json.dumps(issue(number - 4_000, chance))}]}
        recorder.record(plan("hub/get", surface="mcp"), one, arguments={"issue_number": number}, **about)
        recorder.flush()
    recorder.close()


@pytest.fixture
def traffic(tmp_path: Path) -> Path:
    record(tmp_path / "traffic")
    return tmp_path / "traffic"


def test_what_was_used_stays_and_what_says_nothing_goes(traffic: Path) -> None:
    by_tool = {one.tool: one for one in suggest(read_traffic(traffic))}
    rules = by_tool["hub/list"].override
    assert "display_title" in rules["exclude_fields"], "the same as the title"
    # What never changed so far may be news one day, and is said once for all records.
    assert not {"number", "title", "body", "state", "performed_via"} & set(rules["exclude_fields"])
    assert by_tool["hub/list"].after < by_tool["hub/list"].now < by_tool["hub/list"].before


def test_no_more_rules_are_taken_than_the_target_needs(traffic: Path) -> None:
    def saved(target: float | None) -> tuple[float, int]:
        found = suggest(read_traffic(traffic), target=target)
        share = 1 - sum(one.after for one in found) / sum(one.before for one in found)
        return share, sum(len(one.rules) for one in found)

    most, all_rules = saved(0.99)
    least, _ = saved(0.01)
    half = least + (most - least) / 2
    reached, rules = saved(half)
    assert half <= reached < most
    assert rules <= all_rules


@pytest.mark.parametrize("percent", [20, 50, 80])
def test_what_the_rules_of_all_tools_leave_is_no_more_than_the_target_allows(traffic: Path, percent: int) -> None:
    statistics = read_traffic(traffic)
    before, most = [sum(getattr(one, name) for one in suggest(statistics, target=0.99)) for name in ("before", "after")]
    after = sum(one.after for one in suggest(statistics, target=percent / 100))
    assert after <= max(most, before * (1 - percent / 100)) + len(statistics.tools), "each tool's number is rounded"


def test_a_target_is_reached_and_the_values_of_other_sessions_that_were_used_are_still_read(
    traffic: Path, tmp_path: Path
) -> None:
    found = suggest(read_traffic(traffic), target=0.9)
    overrides = {one.tool: one.override for one in found if one.rules}
    assert sum(one.after for one in found) <= 0.12 * sum(one.before for one in found)
    assert "number" in overrides["hub/list"]["include_only"]
    record(tmp_path / "later", seed=2)
    shaper = Shaper({"tool_overrides": overrides})
    calls = sorted(_calls(tmp_path / "later"), key=lambda call: call.time)
    for listing, asked in zip(calls[::2], calls[1::2], strict=True):
        assert str(asked.arguments["issue_number"]) in listing.text_after(shaper)


def test_a_contract_keeps_the_field_that_it_asks_for(traffic: Path) -> None:
    answers = [{"question": "Who opened it?", "path": "user.login"}]
    config = {"tool_overrides": {"hub/list": {"answers": answers}}}
    by_tool = {one.tool: one for one in suggest(read_traffic(traffic), config=config, target=0.95)}
    shaper = Shaper({"tool_overrides": {"hub/list": by_tool["hub/list"].override}})
    listing = next(call for call in _calls(traffic) if call.tool == "list")
    text = listing.text_after(shaper)
    assert all(one["user"]["login"] in text for one in listing.data()[0])
    assert listing.data()[0][0]["body"][:40] not in text


def test_a_noise_rule_that_takes_what_was_used_is_switched_off() -> None:
    links = [f"https://api.example.com/v1/records/{n * 7919 % 9973:x}" for n in range(9)]
    page = "https://example.com/records/{}"
    records = [{"id": n, "name": f"no. {n}", "html_url": page.format(n), "url": url} for n, url in enumerate(links)]
    usage, found = Usage(), TrafficStatistics()
    listing = ToolCall("rows", {"content": [{"type": "text", "text": json.dumps(records)}]}, session="s", time=1)
    usage.add_call(ToolCall("fetch", {"content": []}, session="s", time=2, arguments={"at": links[4]}))
    found.add(listing, usage)
    assert missing(links, listing.text_after(Shaper({}))) == set(links)
    (one,) = suggest(found)
    assert one.override["prune"] == {"links": False}
    assert not missing(links, listing.text_after(Shaper({"tool_overrides": {one.tool: one.override}})))


def test_the_same_traffic_gives_the_same_suggestion_however_it_is_read(traffic: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    whole = read_traffic(traffic)
    compressed = traffic.with_name("compressed")
    for number, file in enumerate(recordings(traffic)):
        target = compressed / file.relative_to(traffic)
        target.parent.mkdir(parents=True, exist_ok=True)
        if number % 2:
            target.with_name(f"{target.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        else:
            target.with_name(f"{target.name}.zst").write_bytes(zstandard.compress(file.read_bytes()))
    again = read_traffic(compressed)
    assert again == whole
    assert suggest(again, target=0.8) == suggest(whole, target=0.8)


def test_statistics_merge_in_any_order_and_any_grouping(traffic: Path) -> None:
    calls = list(_calls(traffic))
    usage = Usage()
    for call in calls:
        usage.add_call(call)

    def of(some: list[ToolCall]) -> TrafficStatistics:
        found = TrafficStatistics()
        for call in some:
            found.add(call, usage)
        return found

    whole = of(calls).ordered()
    for seed in range(5):
        shuffled = random.Random(seed).sample(calls, len(calls))  # noqa: S311 (the same order in every run)
        parts = [of(shuffled[:3]), of(shuffled[3:4]), of(shuffled[4:])]
        assert parts[0].merge(parts[1]).merge(parts[2]).ordered() == whole
        assert parts[2].merge(parts[0].merge(parts[1])).ordered() == whole


def test_lines_that_are_torn_are_passed_over(traffic: Path) -> None:
    whole, file = read_traffic(traffic), recordings(traffic)[0]
    file.write_bytes(file.read_bytes() + b'{"time": "2026-')
    assert read_traffic(traffic) == whole


CONFIG = """\
{
  // The team's own rules.
  "global": { "profile": "minimal" }, // keep
  "tool_overrides": {
    "hub/*": { "exclude_fields": ["**.node_id"] }, // ids nobody reads
    "hub/get": {
      "max_tokens": 900 /* agreed in May */
    }
    // the end of the rules
  }
}
"""


def test_an_existing_config_keeps_its_comments_its_order_and_its_rules(traffic: Path) -> None:
    config = dict(read(CONFIG).value)  # type: ignore[arg-type]  # an object
    found = suggest(read_traffic(traffic), config=config)
    written = with_suggestions(CONFIG, found)
    for comment in ("// The team's own rules.", "// keep", "// ids nobody reads", "/* agreed in May */", "// the end"):
        assert comment in written
    data: Any = read(written).value
    assert list(data["tool_overrides"]) == ["hub/*", "hub/get", "hub/list"]
    assert data["tool_overrides"]["hub/get"]["max_tokens"] == 900
    rules = data["tool_overrides"]["hub/list"]["exclude_fields"]
    assert rules[0] == "**.node_id", "a list that stands nearer to the tool would replace it"
    assert "display_title" in rules
    load(data)
    assert with_suggestions(written, suggest(read_traffic(traffic), config=data)) == written, "once is enough"


@pytest.mark.parametrize("target", [None, 0.8, 0.9, 0.99])
def test_each_rule_has_a_comment_of_one_line_with_a_sample(traffic: Path, target: float | None) -> None:
    found = suggest(read_traffic(traffic), target=target)
    rules = [rule for one in found for rule in one.rules]
    assert rules
    text = with_suggestions(EMPTY, found)
    assert read(text).value
    assert len([line for line in text.splitlines() if " a call, in " in line and "; e.g. " in line]) == len(rules)


def test_rules_never_get_weaker(traffic: Path) -> None:
    config = {"tool_overrides": {"hub/list": {"include_only": ["number"], "max_items": 5}}}
    text = json.dumps(config, indent=2)
    data: Any = read(with_suggestions(text, suggest(read_traffic(traffic), config=config, target=0.99))).value
    assert data["tool_overrides"]["hub/list"]["include_only"] == ["number"]
    assert data["tool_overrides"]["hub/list"]["max_items"] == 5


def test_the_command_writes_a_config_that_loads_and_says_what_it_saves(traffic: Path, tmp_path: Path) -> None:
    output = tmp_path / "response_config.json"
    done = CliRunner().invoke(build(), ["suggest", str(traffic), "-o", str(output), "--target", "80%"])
    assert done.exit_code == 0, done.output
    assert "tokens saved" in done.stderr
    assert "Tokens of o200k_base: as sent, counted exactly" in done.stderr
    assert f"wrote {output}" in done.stderr
    written = output.read_text()
    assert "tokens less a call, in 100% of the calls" in written
    assert load(output).plan("hub/list", surface="mcp").fields is not None
    assert (tmp_path / "response_config.traffic.json").exists()
    assert (tmp_path / "response_config.schema.json").exists()
    again = CliRunner().invoke(build(), ["suggest", str(traffic), "-o", str(output), "--target", "80%"])
    assert again.exit_code == 0
    assert output.read_text() == written


def test_the_command_says_which_fields_carry_the_tokens_and_what_they_are(tmp_path: Path) -> None:
    recorder, plan = Recorder(tmp_path), Shaper({}).plan("hub/rows", surface="mcp")
    chance = random.Random(3)  # noqa: S311 (the same data in every run)
    for call in range(4):
        rows = []
        for id_ in range(call * 50 + 1_000, call * 50 + 1_020):
            link = f"https://api.example.com/rows/{id_}/notes"
            made = {"url": link, "kind": "order", "closed": None, **issue(id_, chance), "id": id_, "tags": ["a", "b"]}
            rows.append(made)
        result = {"content": [{"type": "text", "text": json.dumps(rows)}]}
        recorder.record(plan, result, arguments={"at": call}, server="hub", session="s")
        recorder.record(plan, result, arguments={"number": rows[0]["number"]}, server="hub", session="s")
    recorder.close()
    done = CliRunner().invoke(build(), ["suggest", str(tmp_path)])
    assert done.exit_code == 0, done.output
    heading, *account = done.stderr[done.stderr.index("hub/rows:") :].split("\n\n")[0].splitlines()
    assert "share of the tokens" in heading
    assert len(account) == 9
    assert account[0].split()[1:] == ["[].body"]
    assert account[7].endswith("[].number         used later")
    assert sum(int(line.split()[0].removesuffix("%")) for line in account) in range(95, 106)
    told = {line.split()[1]: line for line in account}
    assert told["[].url"].endswith("a link made of id")
    assert told["[].node_id"].endswith("opaque")
    assert told["[].display_title"].endswith("the same as another field of its record")
    assert told["[].performed_via"].endswith("constant: web-client-5.2.1")
    [tool] = json.loads(CliRunner().invoke(build(), ["suggest", str(tmp_path), "--json"]).stdout)["data"]["tools"]
    assert [one["path"] for one in tool["fields"]] == list(told)[:8]
    assert tool["more_fields"] == int(account[-1].split()[1])


def test_the_command_asks_about_each_rule_where_it_is_to(traffic: Path) -> None:
    done = CliRunner().invoke(build(), ["suggest", str(traffic), "--interactive"], input="n\n" * 50)
    assert done.exit_code == 0
    assert done.stdout.endswith(EMPTY)


@pytest.mark.parametrize("target", ["60", "0%", "much", "120%"])
def test_a_target_that_is_no_percentage_is_refused(traffic: Path, target: str) -> None:
    done = CliRunner().invoke(build(), ["suggest", str(traffic), "--target", target])
    assert done.exit_code == (0 if target == "60" else 2)


def test_a_folder_without_recordings_says_how_to_make_some(tmp_path: Path) -> None:
    done = CliRunner().invoke(build(), ["suggest", str(tmp_path)])
    assert done.exit_code == 1
    assert "shaping proxy --record" in done.stderr


def _calls(folder: Path) -> list[ToolCall]:
    return [one for path in traffic_files(folder) for one in read_file(path) if isinstance(one, ToolCall)]


def test_where_no_rule_is_found_the_command_says_so(tmp_path: Path) -> None:
    recorder, plan = Recorder(tmp_path), Shaper({}).plan("hub/one", surface="mcp")
    recorder.record(plan, {"content": [{"type": "text", "text": '{"id": 1}'}]}, arguments={}, server="hub", session="s")
    recorder.close()
    done = CliRunner().invoke(build(), ["suggest", str(tmp_path)])
    assert "this traffic suggests no rules of its own\n" in done.stderr


def test_a_target_that_is_no_percentage_is_refused_before_any_traffic_is_read(tmp_path: Path) -> None:
    done = CliRunner().invoke(build(), ["suggest", str(tmp_path), "--target", "most"])
    assert (done.exit_code, "--target is 'most'; expected a percentage such as 60%" in done.stderr) == (2, True)
