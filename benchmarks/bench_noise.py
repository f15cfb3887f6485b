"""How long the rules and the encoding take on payloads nobody configured, in multiples of `orjson.dumps`.

    python -m benchmarks.bench_noise

Without redaction, counting and storing; the best of many runs of each, because other work shares the machine.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import orjson

from benchmarks import corpus
from benchmarks.results import markdown_table, write_section
from shaping.encoders import encode
from shaping.noise import reduce
from shaping.parsers import parse

if TYPE_CHECKING:
    from collections.abc import Callable

RULES = ("links", "opaque", "bulk", "boilerplate")
BAR = 15
LEAST = 50_000  # bytes of compact JSON


def flat_records() -> Any:
    """Return a hundred kilobytes of records without nests, links or noise."""
    return [
        {
            "id": n,
            "name": f"customer {n}",
            "email": f"u{n}@example.com",
            "status": "open" if n % 3 else "closed",
            "created_at": f"2026-10-{n % 28 + 1:02d}T10:00:00Z",
            "amount": n * 1.37,
            "note": "paid in full, delivered on time and nothing else to say about this one",
        }
        for n in range(500)
    ]


def issue_records() -> Any:
    """Return a hundred kilobytes of issues with links, people and long bodies."""
    body = "The service fails when a user uploads a file larger than the limit and then retries. " * 18
    return [
        {
            "url": f"https://api.tracker.dev/repos/a/b/issues/{n}",
            "comments_url": f"https://api.tracker.dev/repos/a/b/issues/{n}/comments",
            "html_url": f"https://tracker.dev/a/b/issues/{n}",
            "id": 1000 + n,
            "number": n,
            "title": f"Upload {n} fails",
            "state": "open",
            "user": {"login": f"u{n % 7}", "id": n % 7, "avatar_url": f"https://img.dev/{n % 7}", "type": "User"},
            "labels": [{"name": "bug", "color": "d73a4a"}],
            "body": f"{n}: {body}",
        }
        for n in range(50)
    ]


def payloads() -> dict[str, Any]:
    """Return what is measured: made-up records, and those of the corpus that are large enough."""
    found: dict[str, Any] = {"flat records": flat_records(), "issues": issue_records()}
    for payload in corpus.payloads():
        texts = [block["text"] for block in payload.result["content"] if block.get("type") == "text"]
        values = [parsed.value for parsed in map(parse, texts) if parsed is not None]
        whole = values[0] if len(values) == 1 else values
        if values and len(orjson.dumps(whole)) >= LEAST:
            found[payload.name] = whole
    return found


def best(work: Callable[[], Any], seconds: float = 0.4) -> float:
    """Return the shortest time of many runs, in microseconds."""
    shortest, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        started = time.perf_counter()
        work()
        shortest = min(shortest, time.perf_counter() - started)
    return shortest * 1e6


def measure(name: str, value: Any) -> tuple[str, ...]:
    """Time one payload."""
    reduced, _ = reduce(value, RULES)
    base = best(lambda: orjson.dumps(value))
    rules = best(lambda: reduce(value, RULES))
    encoding = best(lambda: encode(reduced))
    size = f"{len(orjson.dumps(value)) / 1000:.0f} KB"
    multiples = (f"{rules / base:.0f}x", f"{encoding / base:.0f}x", f"{(rules + encoding) / base:.0f}x")
    return name, size, f"{base:.0f} us", *multiples, f"{(rules + encoding) / 1000:.2f} ms"


def main() -> None:
    head = ("payload", "compact JSON", "orjson.dumps", "rules", "encoding", "together", "together")
    rows = [measure(name, value) for name, value in payloads().items()]
    table = markdown_table(head, rows)
    print(table)
    write_section("Noise and encoding", table, recipe={"bar": f"{BAR}x for a payload of 100 KB"})


if __name__ == "__main__":
    main()
