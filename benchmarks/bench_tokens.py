"""What each profile saves on real results of tools, counted exactly; writes its section of RESULTS.md.

python benchmarks/bench_tokens.py
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.corpus import PAYLOADS as SHARED
from benchmarks.results import markdown_table, write_section
from shaping import Shaper
from shaping.cli.bench import Comparison, Setup, compare, total
from shaping.cli.payloads import Payload, read_payloads

OURS = Path(__file__).parent / "payloads"
PROFILES = ("minimal", "standard")
TOKENIZER = "o200k_base"
CLIENTS = {None: "unknown: gets both channels, in step", "claude-code": "claude-code: gets the channel its model reads"}


def payloads() -> list[Payload]:
    """Return our payloads and, where the shared corpus is there, those that may not be copied."""
    places = {path.name.removesuffix(".gz"): path for path in [*SHARED.glob("p*.json"), *OURS.glob("p*.json*")]}
    return list(read_payloads(str(places[name]) for name in sorted(places)))


def cells(comparison: Comparison) -> tuple[str, ...]:
    shaped = [f"{cost.tokens:,} ({cost.saved_percent:.1f}%)" for cost in comparison.profiles]
    times = [f"{cost.milliseconds:.1f}" for cost in comparison.profiles]
    name = Path(comparison.name).name.split(".")[0]
    return (name, f"{comparison.raw:,}", f"{comparison.compact:,}", *shaped, *times)


def main() -> None:
    found = payloads()
    head = ("payload", "as sent", "compact", *PROFILES, *(f"{profile}, ms" for profile in PROFILES))
    parts = []
    for client, about in CLIENTS.items():
        setup = Setup(Shaper({}), PROFILES, TOKENIZER, client=client)
        compared = [compare(payload, setup) for payload in found]
        rows = [cells(comparison) for comparison in (*compared, total(compared))]
        parts += [f"Client {about}.", markdown_table(head, rows)]
    parts.append(
        "As sent and shaped are both channels of the result as text, without pictures; compact is one, as JSON."
    )
    shared = f"{len(found)} results of tools, benchmarks/payloads/PROVENANCE.md"
    missing = "" if SHARED.exists() else "; seven more need ../shared/corpus, which is not here"
    recipe = {"payloads": shared + missing, "profiles": ", ".join(PROFILES) + ", no config", "tokenizer": TOKENIZER}
    write_section("Tokens", "\n\n".join(parts), recipe=recipe)
    print("\n\n".join(parts))


if __name__ == "__main__":
    main()
