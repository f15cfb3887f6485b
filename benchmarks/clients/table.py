"""Write what each client was seen to show its model: `python -m benchmarks.clients.table`, after the runs."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

from benchmarks.clients.clients import CLIENTS, LAB
from benchmarks.clients.model import APIS
from benchmarks.clients.run import SMALL
from benchmarks.results import markdown_table, write_section

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 1875  # records of big_data
SERVED = SMALL.split(" ")  # the tools of our server: a client's own search for tools lists one more of ours
CODE = 40  # characters of an error's code, with how a client writes them
MARK = re.compile(r"[A-Z]+MARK-\w+")
REF = re.compile(r"\bref[\\\"'=: ]+(r_\w+)")


def results(folder: Path) -> dict[str, str]:
    """Map each tool of a run to the text that the model was shown of it, as the fullest request has it."""
    best: list[Any] = []
    for path in sorted(folder.glob("[0-9]*-*.json")):
        note = path.stem.partition("-")[2]
        api = next((APIS[key] for key in APIS if note.endswith(key.strip("/:").replace("/", "-"))), None)
        if api is not None:
            found = api.results(json.loads(path.read_text()))
            best = found if len(found) >= len(best) else best
    steps = (folder / "steps.txt").read_text().split("\n") if (folder / "steps.txt").exists() else []
    return {step: _written(value) for step, (_, value) in zip(steps, best, strict=False)}


def _written(value: Any) -> str:
    """Write a result as a model reads it: blocks by their texts, whatever an API wraps around them."""
    if isinstance(value, list):
        return "\n".join(
            block["text"] if isinstance(block, dict) and "text" in block else _written(block) for block in value
        )
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def introduced(folder: Path) -> str:
    """Return the name and version by which a client introduced itself over MCP."""
    log = folder / "mcp.jsonl"
    for line in log.read_text().splitlines() if log.exists() else ():
        message = json.loads(line)["message"]
        params = (message.get("params") or {}) if isinstance(message, dict) else {}
        meta = params.get("_meta") or {}
        info = params.get("clientInfo") or meta.get("io.modelcontextprotocol/clientInfo")
        if info:
            return f"{info.get('name')} {info.get('version')}"
    return "unknown"


def row(name: str) -> tuple[str, ...] | None:
    """Compare one client's runs, direct and by the proxy."""
    seen = {
        (mode, script): results(LAB / "runs" / name / mode / script)
        for mode in ("direct", "proxy")
        for script in ("small", "text", "data")
    }
    direct, proxy = seen["direct", "small"], seen["proxy", "small"]
    if not direct or not proxy:
        return None
    dearer = [
        tool for tool in SERVED if tool in direct and tool in proxy and _is_dearer(tool, direct[tool], proxy[tool])
    ]
    data = seen["proxy", "data"]
    asked = data.get("shaping_expand", "")
    return (
        name,
        introduced(LAB / "runs" / name / "proxy" / "small"),
        f"{len(direct.get('rows', '')):,} / {len(proxy.get('rows', '')):,}",
        _form(proxy.get("rows", "")),
        f"{len(seen['direct', 'data'].get('big_data', '')):,} / {len(data.get('big_data', '')):,}",
        "yes" if f"{COUNT:,}" in data.get("big_data", "") or str(COUNT) in data.get("big_data", "") else "NO",
        "".join(
            "yes " if REF.search(text) else "NO "
            for text in (proxy.get("rows", ""), seen["proxy", "text"].get("big_text", ""), data.get("big_data", ""))
        ).strip(),
        "yes" if "api.example.com/records/5" in proxy.get("shaping_expand", "") else "NO",
        "yes" if str(COUNT) in asked else "NO",
        ", ".join(dearer) or "none",
    )


def _is_dearer(tool: str, direct: str, proxy: str) -> bool:
    """Return whether a model reads more by the proxy, an error's code and what it was not shown directly aside."""
    news = set(MARK.findall(proxy)) - set(MARK.findall(direct))
    return not news and len(proxy) > len(direct) + CODE * tool.startswith("error")


def _form(text: str) -> str:
    forms = ["table"] if "id,name,state" in text else []
    return "+".join(forms + (["JSON"] if re.search(r"name\W+record-", text) else [])) or "nothing"


def main() -> None:
    rows = [found for name in CLIENTS if (found := row(name)) is not None]
    if not rows:
        sys.exit(f"there are no runs under {LAB}; start with python -m benchmarks.clients.run")
    head = (
        "client",
        "clientInfo",
        "6 records, characters direct / proxy",
        "form",
        "1,875 records, characters direct / proxy",
        "count told",
        "ref seen: 6 records, text, data",
        "expand works",
        "query works",
        "dearer than direct",
    )
    table = markdown_table(head, rows)
    print(table)
    write_section(
        "Agent clients", table, recipe={"what": "real clients against a scripted model, `benchmarks/clients`"}
    )


if __name__ == "__main__":
    main()
