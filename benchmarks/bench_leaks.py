"""Which kinds of secrets get through in which places, with detect-secrets in the same run; and which private fields.

    python -m benchmarks.bench_leaks [--seed 1] [--no-peer] [--placements 5000] [--proxied 5000] [--texts 50000]
                                     [--json FILE] [--write]

The kinds are those of tests/cases/redaction/kinds.json, made up anew for each seed; each is put into every place below
and goes the way that place goes in the product. A secret that can still be read in what comes out got through, its
escapes and encodings undone. detect-secrets (its default plugins and filters) is given the same text as a file; it
counts as caught what it reports as a secret that holds a part of ours, or is held by it.

Private fields are placed by benchmarks/placements.py: a value, up to three forms inside each other, and one of the ways
out, a different draw each; benchmarks/placements_proxy.py sends such draws through a real proxy. Fuzzed texts with a
secret in them go through all ways of redaction, which have to agree. The script fails where less than 215 kinds are
caught in plain JSON, one field leaves, or one way passes what another catches.
"""

from __future__ import annotations

import argparse
import base64
import html
import json
import re
import runpy
import sys
from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus, unquote, unquote_plus

import orjson

from benchmarks.placements import leaks
from benchmarks.placements_proxy import place_through_proxy
from benchmarks.placements_ways import Ways
from benchmarks.results import markdown_table, write_section
from shaping import Shaper
from shaping.errors import make_error
from shaping.paths.spelling import visible_text
from shaping.redaction import redact, redact_json, redact_stream, without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
BAR = 215
WHOSE = "Kinds and rules are both ours: this shows that none was lost, not how many there are in the world."
FILLER = "an ordinary line of a log that a program wrote\n"
SHAPER = Shaper({"global": {"profile": "standard", "max_tokens": 100_000}})


def shaped(value: Any) -> str:
    """Shape a value and return all that leaves: text, data and warnings."""
    done = SHAPER.shape(value, tool="t")
    return "\n".join([done.text, json.dumps(done.value, ensure_ascii=False), *map(str, done.envelope.warnings)])


def result(value: dict[str, Any]) -> str:
    """Shape the result of an MCP tool."""
    return json.dumps(SHAPER.shape_result(value, tool="t", client="claude-code"), ensure_ascii=False)


def block(text: str) -> dict[str, Any]:
    """Make a content block."""
    return {"type": "text", "text": text}


def escaped(text: str) -> str:
    """Write JSON as .NET does."""
    return re.sub(r"[+/=&<>'-]", lambda one: f"\\u{ord(one[0]):04X}", json.dumps({"a": text}))


# Texts: how a tool may write what holds a secret.
TEXTS: dict[str, Callable[[str], str]] = {
    "alone": str,
    "prose": lambda text: f"I found it: {text} and wrote it down.",
    "a log line": lambda text: f"2024-05-01T10:00:00Z INFO worker[12]: got {text}",
    "a log of many lines": lambda text: FILLER * 20 + text + "\n" + FILLER * 20,
    "CRLF": lambda text: FILLER.replace("\n", "\r\n") + text.replace("\n", "\r\n") + "\r\n",
    "tabs": lambda text: "\t".join(["a", text.replace(" ", "\t"), "b"]),
    "JSON": lambda text: json.dumps({"a": [{"b": text}]}),
    "JSON indented": lambda text: json.dumps({"a": [{"b": text}]}, indent=2),
    "JSON in JSON": lambda text: json.dumps({"a": json.dumps({"b": text})}),
    "JSON in JSON in JSON": lambda text: json.dumps({"a": json.dumps({"b": json.dumps({"c": text})})}),
    "JSON lines": lambda text: "\n".join(json.dumps({"n": n, "b": text}) for n in range(3)),
    "JSON as PHP writes it": lambda text: json.dumps({"a": text}).replace("/", "\\/"),
    "JSON as .NET writes it": escaped,
    "JSON that was cut": lambda text: json.dumps({"b": text, "rest": "x" * 50})[:-20],
    "JSON after prose": lambda text: "Here it is:\n```json\n" + json.dumps({"a": text}) + "\n```",
    "a Python repr": lambda text: repr({"a": [text]}),
    "HTML": lambda text: f"<p>{html.escape(text)}</p>",
    "HTML entities": lambda text: html.escape(text).replace("+", "&#43;").replace("/", "&#x2F;").replace("=", "&#61;"),
    "XML": lambda text: f'<?xml version="1.0"?><a b="1"><c>{html.escape(text)}</c></a>',
    "YAML": lambda text: "a:\n  b: |\n" + "\n".join(f"    {line}" for line in text.splitlines()),
    "TOML": lambda text: f"[a]\nb = {json.dumps(text)}\n",
    "an env file": lambda text: f"DEBUG=1\nVALUE={json.dumps(text)}\n",
    "CSV": lambda text: 'id,note\n1,"' + text.replace('"', '""') + '"\n2,b\n',
    "Markdown": lambda text: f"| id | note |\n|---|---|\n| 1 | {text} |\n",
    "a diff": lambda text: "@@ -1 +1,9 @@\n" + "\n".join(f"+{line}" for line in text.splitlines()),
    "line numbers": lambda text: "\n".join(f"{n:>6}\t{line}" for n, line in enumerate(text.splitlines(), 1)),
    "grep": lambda text: "\n".join(f"src/a.py:{n}:{line}" for n, line in enumerate(text.splitlines(), 1)),
    "a quoted mail": lambda text: "\n".join(f"> {line}" for line in text.splitlines()),
    "a traceback": lambda text: f'Traceback (most recent call last):\n  File "a.py", line 1\nValueError: {text}',
    "a URL parameter": lambda text: f"https://example.com/go?to={quote(text, safe='')}&n=1",
    "percent twice": lambda text: quote(quote(text, safe=""), safe=""),
    "base64": lambda text: base64.b64encode(f"value: {text}\n".encode()).decode(),
    "base64 in lines": lambda text: base64.encodebytes(f"{FILLER}{FILLER}value: {text}\n".encode()).decode(),
    "colours of a terminal": lambda text: re.sub(r"(\w{3})(\w{3})", "\x1b[01;31m\x1b[K\\1\x1b[m\x1b[K\\2", text),
    "characters of no width": lambda text: re.sub(r"(\w{5})", "\\1\u200b", text),
    "other invisible characters": lambda text: re.sub(r"(\w{5})", "\\1\ufe0f\u2066", text),
    "entities that show nothing": lambda text: re.sub(r"(\w{5})", "\\1&shy;&#8203;", html.escape(text)),
    "a form": lambda text: f"id=1&note={quote_plus(text)}%0A",
    "SQL": lambda text: f"VALUES (1, {text!r}), (2, 'b');",
    "a shell": lambda text: f"$ export VALUE='{text}' && ./run",
}
# Ways: where such a text leaves the product. Each gets the plain text.
WAYS: dict[str, Callable[[str], str]] = {
    "a value": lambda text: shaped({"a": {"b": [text]}}),
    "a key": lambda text: shaped({"a": {text: 1}}),
    "a list of records": lambda text: shaped([{"id": n, "note": text} for n in range(4)]),
    "a name and its value": lambda text: shaped({"env": [{"name": "NOTE", "type": "text", "value": text}]}),
    "an MCP text block": lambda text: result({"content": [block(text)]}),
    "MCP structured content": lambda text: result({"content": [block("x")], "structuredContent": {"a": text}}),
    "MCP text and structure": lambda text: result(
        {"content": [block(json.dumps({"a": text}))], "structuredContent": {"a": text}}
    ),
    "an MCP error": lambda text: result({"content": [block(f"failed: {text}")], "isError": True}),
    "an embedded resource": lambda text: result(
        {"content": [{"type": "resource", "resource": {"uri": "file:///a", "text": text}}]}
    ),
    "an error's message": lambda text: make_error("UNAVAILABLE", f"cannot: {text}").model_dump_json(),
    "an error's details": lambda text: make_error("UNAVAILABLE", "x", details={"a": text}).model_dump_json(),
    "what a store keeps": lambda text: redact_json(json.dumps({"a": text}).encode()).decode(),
    "a stream": lambda text: "".join(redact_stream([FILLER * 4000 + text[:9], text[9:] + "\n" + FILLER * 4000])),
    "a tool's description": lambda text: json.dumps(without_secrets({"name": "t", "description": f"use {text}"})),
    "a prompt": lambda text: json.dumps(without_secrets([{"role": "user", "content": block(text)}])),
}


def readable(one: Any, text: str) -> bool:
    """Return whether a secret can be read in a text, by somebody who undoes its escapes and encodings."""
    forms = {text}
    for undo in (
        visible_text,
        unescaped,
        html.unescape,
        visible_text,
        unquote_plus,
        unquote,
        unquote,
        unescaped,
        decoded,
    ):
        forms |= {undo(form) for form in forms}
    return any(one.shows_in(form) for form in forms)


def unescaped(text: str) -> str:
    """Undo the escapes of JSON, however deep."""
    text = re.sub(r"\\+u([0-9a-fA-F]{4})", lambda one: chr(int(one[1], 16)), text)
    return re.sub(r"\\+([/\"'n])", lambda one: "\n" if one[1] == "n" else one[1], text)


def decoded(text: str) -> str:
    """Decode the runs of base64, lines together."""

    def undo(match: re.Match[str]) -> str:
        run = "".join(match[0].split())
        return base64.b64decode(run[: len(run) // 4 * 4]).decode("utf-8", "replace")

    return re.sub(r"(?:[A-Za-z0-9+/]{60,76}\n)*[A-Za-z0-9+/]{20,}={0,2}", undo, text)


def peer(text: str, secret: str, file: Path) -> bool:
    """Return whether detect-secrets reports the secret in a file with the text."""
    from detect_secrets.core.scan import scan_file  # noqa: PLC0415  a peer, of use here alone

    file.write_text(text, newline="")
    for found in scan_file(str(file)):
        value = found.secret_value or ""
        alike = len(value) > 5 and (value in secret or secret in value or secret[4:-4] in value)
        if alike or found.type == "Private Key":
            return True
    return False


def _redacted(make: Callable[[str], str], text: str) -> str:
    return without_secrets(make(text))


@dataclass(frozen=True)
class Caught:
    """What was caught of the kinds planted: by place, by ours and by the peer, and what got through."""

    places: tuple[str, ...]
    kinds: int
    ours: Counter[str]
    theirs: Counter[str]
    missed: list[tuple[str, str]]

    @property
    def summary(self) -> str:
        """How many were caught of all."""
        caught, cells = sum(self.ours.values()), self.kinds * len(self.places)
        return f"{caught:,} of {cells:,}: {self.kinds} kinds in {len(self.places)} places"


def main() -> int:
    """Measure, print by place and by kind, and fail below the bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--placements", type=int, default=5000)
    parser.add_argument("--proxied", type=int, default=5000)
    parser.add_argument("--texts", type=int, default=50_000)
    parser.add_argument("--write", action="store_true", help="write the section of RESULTS.md")
    options = parser.parse_args()
    caught = catch(options.seed, with_peer=not options.no_peer)
    if options.json is not None:
        options.json.write_text(json.dumps(vars(caught), indent=2))
    left = place_private(options.placements, options.seed)
    proxied = place_through_proxy(options.proxied, options.seed)
    differing = disagreements(options.texts, options.seed)
    if options.write:
        write_results(caught, left, proxied, differing, options)
    return 0 if caught.ours["text: JSON"] >= BAR and not (sum(left.values()) or proxied or differing) else 1


def catch(seed: int, *, with_peer: bool) -> Caught:
    """Put every kind into every place, and print what was caught."""
    planted, ours, missed = plant(seed), Counter[str](), []
    places: dict[str, Callable[[str], str]] = {
        **{f"text: {name}": partial(_redacted, make) for name, make in TEXTS.items()},
        **{f"way: {name}": run for name, run in WAYS.items()},
    }
    for one in planted:
        for place, run in places.items():
            if readable(one, run(one.text)):
                missed.append((one.kind, place))
            else:
                ours[place] += 1
    theirs = compare(planted) if with_peer else Counter[str]()
    caught = Caught(tuple(places), len(planted), ours, theirs, missed)
    print(f"{'place':34} {'shaping':>8} {'detect-secrets':>15}")
    for place in places:
        print(f"{place:34} {ours[place]:8} {theirs.get(place, ''):>15}")
    print(f"\ncaught {caught.summary}, seed {seed}")
    for kind, place in missed[:40]:
        print(f"  got through: {kind}, {place}")
    return caught


def write_results(
    caught: Caught, left: Counter[str], proxied: int, differing: int, options: argparse.Namespace
) -> None:
    """Write the section of RESULTS.md."""
    rows = [(place, str(caught.ours[place]), str(caught.theirs.get(place, "-"))) for place in caught.places]
    tables = [
        f"Caught {caught.summary}. {WHOSE}\n",
        markdown_table(("place", "shaping", "detect-secrets"), rows),
        f"\n{differing} of {options.texts:,} fuzzed texts show a secret by one way of redaction only.",
        f"\n{proxied} of {options.proxied:,} private fields left a real proxy, or stand in its files.",
        f"\n{sum(left.values())} of {options.placements:,} private fields left by a function:\n",
        markdown_table(("way", "left"), [(way.replace("_", " "), str(left[way])) for way in sorted(left)]),
    ]
    write_section("Leaks", "\n".join(tables), recipe={"seed": str(options.seed)})


def plant(seed: int) -> list[Any]:
    """Make up a secret of each kind."""
    planted: list[Any] = runpy.run_path(str(ROOT / "tests" / "redaction" / "conftest.py"))["plant"](seed)
    return planted


def place_private(count: int, seed: int) -> Counter[str]:
    """Let private fields try to leave, and count those that did by their way; a way that fails has let one out."""
    ways, left = Ways(), Counter[str]()
    names = ways.names()
    for number in range(count):
        way = names[number % len(names)]
        placement, out = ways.leave(way, Random(f"{seed}.{number}"))  # noqa: S311  the same in every run
        left[way] += leaks(out)
        if leaks(out):
            print(f"  left: {way}, {' in '.join(placement.forms)}: {str(placement.value)[:200]}")
    print(f"\nprivate fields that left: {sum(left.values())} of {count:,} placements")
    return left


_SIGNS = [
    "\t",
    "\n",
    "\r\n",
    " ",
    "\x00",
    "\b",
    "\x1b[0m",
    "\u200b",
    "\\n",
    "\\/",
    "\\u00e9",
    "%20",
    "&amp;",
    *"\"'=:,|-_/+Zé",
]


def disagreements(count: int, seed: int) -> int:
    """Send fuzzed texts with a secret through each way of redaction, and count those of which one way shows it."""
    dice, planted, names, found = Random(seed), plant(seed), sorted(TEXTS), 0  # noqa: S311  the same in every run
    for number in range(count):
        if number % 300 == 0:
            planted = plant(dice.randrange(10**6))
        one = dice.choice(planted)
        text = one.text
        for name in dice.sample(names, dice.choice((0, 1, 1, 2, 3))):
            text = TEXTS[name](text) if len(text) < 20_000 else text
        for _ in range(dice.choice((0, 0, 1, 3))):
            at = dice.randrange(len(text) + 1)
            text = text[:at] + dice.choice(_SIGNS) + text[at:]
        cut = sorted(dice.randrange(len(text) + 1) for _ in range(3))
        parts = [text[start:end] for start, end in pairwise([0, *cut, len(text)])]
        ways = (
            redact(text)[0],
            redact({"a": {"b": [text]}})[0]["a"]["b"][0],
            orjson.loads(redact_json(orjson.dumps({"a": text})))["a"],
            "".join(redact_stream(parts)),
        )
        if len({one.shows_in(way) for way in ways}) > 1:
            found += 1
            print(f"  the ways disagree: {one.kind} in {text[:200]!r}")
    print(f"texts of which one way of redaction shows what another hides: {found} of {count:,}")
    return found


def compare(planted: list[Any]) -> Counter[str]:
    """Count what detect-secrets catches in the places that are texts."""
    from detect_secrets.settings import default_settings  # noqa: PLC0415  a peer, of use here alone

    caught = Counter[str]()
    with default_settings(), TemporaryDirectory() as directory:
        file = Path(directory) / "output.txt"
        for one in planted:
            for name, make in TEXTS.items():
                caught[f"text: {name}"] += peer(make(one.text), one.secret, file)
    return caught


if __name__ == "__main__":
    sys.exit(main())
