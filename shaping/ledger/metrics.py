"""The sums of a ledger in the text format of Prometheus.

Written by hand: the format of counters is a line each, and a client library would keep the same sums a second time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from shaping.ledger.totals import Totals

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class MetricLabels(NamedTuple):
    """What a sum is of."""

    server: str
    tool: str
    client: str
    kind: str


_METRICS: Final[tuple[tuple[str, str, Callable[[Totals], float]], ...]] = (
    ("shaping_calls_total", "Tool results that were shaped.", lambda total: total.calls),
    ("shaping_expansions_total", "Expansions and queries of what was left out.", lambda total: total.expansions),
    ("shaping_tokens_before_total", "Tokens that models would have read unshaped.", lambda total: total.before),
    ("shaping_tokens_after_total", "Tokens that models read.", lambda total: total.after),
    ("shaping_tokens_added_total", "Tokens of these that no tool sent.", lambda total: total.added),
    ("shaping_seconds_total", "Time that shaping took.", lambda total: total.milliseconds / 1000),
)


def prometheus_text(sums: Mapping[MetricLabels, Totals], dropped: int) -> str:
    """Write sums by their labels, and how many calls could not be counted."""
    return "\n".join(_lines(sums, dropped)) + "\n"


def _lines(sums: Mapping[MetricLabels, Totals], dropped: int) -> Iterator[str]:
    for name, words, value in _METRICS:
        yield f"# HELP {name} {words}"
        yield f"# TYPE {name} counter"
        for labels, total in sums.items():
            written = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels._asdict().items())
            yield f"{name}{{{written}}} {round(value(total), 6)}"
    yield "# HELP shaping_calls_dropped_total Calls that came too fast to be counted."
    yield "# TYPE shaping_calls_dropped_total counter"
    yield f"shaping_calls_dropped_total {dropped}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
