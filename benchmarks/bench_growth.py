"""How the time of redaction, private paths, parsers, terminals, tables, SQL and MCP messages grows by size and number.

    python benchmarks/bench_growth.py [--bytes 400000] [--only "by number"]

A step that is linear takes twice as long for twice the text. The exponent is that of the last two doublings together,
by the processor's time, the best of three; what is above 1.3 is measured again at four times the size, where the costs
of small inputs count for less, and if it is above again the script fails. It is no test of the suite: a timing is none.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from base64 import b64encode
from typing import TYPE_CHECKING, Any

from shaping import Shaper, shape
from shaping.encoders import encode
from shaping.mcp.mcp_shaper import MCPShaper
from shaping.parsers import parse
from shaping.parsers.terminal import clean_lines
from shaping.paths import compile_fields
from shaping.paths.spelling import names_in, plain_name
from shaping.present.notices import summarize_columns
from shaping.redaction import redact, redact_json, redact_stream
from shaping.store.sql import Database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BAR = 1.3
PLANTED = "ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n"


def tokens(count: int) -> list[str]:
    """Make tokens that differ."""
    dice = random.Random(1)  # noqa: S311  the same in every run
    return [f"ghp_{dice.getrandbits(180):036x}"[:44] for _ in range(count)]


def repeated(piece: str) -> Callable[[int], str]:
    """Make a text of a piece again and again."""
    return lambda size: piece * (size // len(piece))


MAKE: dict[str, Callable[[int], Any]] = {
    "keys that are tokens": lambda size: dict.fromkeys(tokens(size // 50), 1),
    "keys that are one token": lambda size: {f"{PLANTED} {number}": 1 for number in range(size // 50)},
    "XML of different names": lambda size: f"<a>{''.join(f'<b{n}/>' for n in range(size // 9))}</a>",
    "tokens in a list": lambda size: tokens(size // 50),
    "tokens in a text": lambda size: " ".join(tokens(size // 50)),
    "lists in lists": lambda size: _nested(size // 400, tokens(size // 100)),
    "private keys without an end": repeated(KEY),
    "beginnings of private keys": repeated("-----BEGIN PRIVATE KEY-----"),
    "a private key without lines": lambda size: KEY + "a" * size,
    "ends of private keys": repeated("-----END PRIVATE KEY-----"),
    "marks": repeated("[redacted:github-token] token=aB3dE5fG7hI9jK1l "),
    "headers in objects in objects": lambda size: _below_headers(150, [["a", 1, 2]] * (size // 20)),
    "a wide header and its rows": lambda size: {
        "columns": ["email", *["x"] * 500],
        "rows": [["a"] * 501] * (size // 2500),
    },
    "rows below headers of many widths": lambda size: {
        "headers": [{"columns": ["email"] * (width % 90 + 2)} for width in range(size // 400)],
        "rows": [["a"] * (width % 90 + 2) for width in range(size // 400)],
    },
    "names and values": lambda size: [{"name": "email", "value": number} for number in range(size // 40)],
    "lines of names": lambda size: ["who email", *["a b"] * (size // 8)],
    "a text of names": lambda size: "Email: x\n  more\nState: on\n" * (size // 26),
    "a log with a name": lambda size: "2026-01-01 10:00:00 INFO email of a\n" * (size // 36),
    "deep YAML": lambda size: "\n".join(f"{' ' * (at % 200)}a{at}:" for at in range(size // 110)),
    "base64 of a text": lambda size: b64encode(b"email: x and words\n" * (size // 26)).decode(),
    "base64 of bytes": lambda size: b64encode(bytes(range(256)) * (size // 350)).decode(),
    "XML of many names": lambda size: f"<a>{''.join(f'<e{at}>1</e{at}>' for at in range(size // 16))}</a>",
    "a table": lambda size: "user,password\n" + "ada,hunter2\n" * (size // 12),
    "a row of many cells": lambda size: "user,password," + "a," * (size // 2),
    **{
        f"{piece!r} repeated": repeated(piece)
        for piece in (
            *("a", "A1", "=", "\\", "\\\\n", "\\u0041", "%", "%25", "%41", "&", "&amp;", "&#65;", "'", '"', "{", "\n"),
            *(
                "\t",
                "\x1b[K",
                "\r",
                "\x08",
                "a.",
                "a-",
                "a_",
                "a:",
                "a=",
                "a@",
                "://",
                "://a:b",
                "user=a ",
                "key=",
                "token: ",
            ),
            *(
                "password=",
                "curl -u ",
                "mysql ",
                "machine a login b ",
                "Bearer ",
                "Basic YWRtaW4",
                "eyJhbGciOi",
                "AKIA",
            ),
            *(
                "ZXlKaGJHY2lPaUpJVXpJMU5pSjku",
                "secret_key=",
                "kind: Secret\ndata:\n a: b\n",
                "Private-Lines: 8\n",
                "| a | b |\n",
                "\x1b[2A\x1b[Kx\n",
                "\x1b[31m",
                "\x1b]",
                "50%\r",
                "\u200b",
                "a\ufe0f",
                "\x00",
                "\\u{61}",
                "\\ud83d\\ude00",
                "%E2%80%8B",
                "a+b%20",
                "&shy;",
                "%26%2365%3B",
                "<password>a</b>",
                "the password ",
                '<a name="password" ',
                "--password ",
                "\x1b]8;;a\x1b\\",
                'account: {"pin": 1}\n',
                "<a>",
                "<a b='c'>",
                "a: b\n",
                "a,b\n",
                "src/a.py:1:x\n",
                "-[ RECORD 1 ]\n",
                '[{"a":1}]\n',
                "{'a': 1}\n",
                "email ",
                "email.",
                "```\n",
            ),
        )
    },
}


def _private(value: Any) -> object:
    """Apply private paths anew: what is remembered of some thousand names would make larger objects seem slower."""
    for remembering in (names_in, plain_name):
        remembering.cache_clear()
    return compile_fields(None, ["**.email", "account.pin"], withhold=True).apply(value)


SHAPER = Shaper({}, watch=False)
RUN: dict[str, Callable[[Any], object]] = {
    "redact": redact,
    "redact by name": lambda value: redact(value, names=True),
    # Below twice what a stream holds back, it looks once; so it is given more.
    "redact_stream": lambda value: list(redact_stream([value] * 6)) if isinstance(value, str) else None,
    "redact_json": lambda value: redact_json(_json(value)),
    "terminal": lambda value: clean_lines(value) if isinstance(value, str) else None,
    "parse": lambda value: parse(value) if isinstance(value, str) else None,
    "private": _private,
    "table": lambda value: encode(_records(value), "table"),
    "summary lines": lambda value: summarize_columns(_records(value)),
    "SQL tables": lambda value: Database(_records(value)).close(),
    "shape": lambda value: SHAPER.shape(value, tool="t").text,
    "shape_result": lambda value: [SHAPER.shape_result(result, tool="t") for result in _results(value)],
}


def _listed(count: int, rules: dict[str, Any]) -> Callable[[], object]:
    """List so many tools to a client."""
    mcp_shaper = MCPShaper(Shaper(rules, watch=False))
    tools = [
        {
            "name": f"tool_{at}",
            "description": "what it does " * 5,
            "inputSchema": {"type": "object", "properties": {f"a{at}": {"type": "string"}, "b": {"type": "string"}}},
            "outputSchema": {"type": "object", "properties": {f"o{at}": {"type": "integer"}}},
        }
        for at in range(count)
    ]
    client = {"name": "c", "version": "1"}
    return lambda: mcp_shaper.list_result(mcp_shaper.begin(client, None), {"tools": tools}, lambda _: "server")


def _shaped(rules: dict[str, Any]) -> Callable[[], object]:
    """Shape a small answer by so many rules, which are loaded too."""
    value = [{"id": at, "name": f"x {at}", "a": {"b": {"c": 1}}, "note": "some words of a text"} for at in range(100)]
    return lambda: Shaper(rules, watch=False).shape(value, tool="t").text


def _blocks(blocks: list[dict[str, Any]]) -> Callable[[], object]:
    shaper = Shaper(PRIVATE, watch=False)
    return lambda: shaper.shape_result({"content": blocks}, tool="t")


def _logged(count: int) -> Callable[[], object]:
    protection = MCPShaper(Shaper(PRIVATE, watch=False)).protection
    messages = [{"level": "info", "data": f"line {at} of an email"} for at in range(count)]
    return lambda: [
        (protection.params("notifications/message", one), protection.log_line("s", f"  {one['data']}"))
        for one in messages
    ]


def _yielded(count: int) -> Callable[[], object]:
    @shape(tool="t", shaper=Shaper(PRIVATE, watch=False))
    def rows() -> Iterator[list[Any]]:
        yield ["name", "email"]
        for at in range(count):
            yield ["Bob", at]

    return lambda: list(rows())


PRIVATE: dict[str, Any] = {"global": {"private": ["**.email", "account.pin"]}}
# What there can be many of, beside characters: each makes a call for so many of them.
MANY: dict[str, Callable[[int], Callable[[], object]]] = {
    "tools": lambda count: _listed(count, {}),
    "tools and private fields": lambda count: _listed(count, PRIVATE),
    "rules and 100 tools": lambda count: _listed(
        100, {"tool_overrides": {f"tool_{at}_*": {"private": ["**.x"]} for at in range(count)}}
    ),
    "private paths": lambda count: _shaped({"global": {"private": [f"**.field_{at}" for at in range(count)]}}),
    "private paths from the root": lambda count: _shaped(
        {"global": {"private": [f"a.b.f{at}" for at in range(count)]}}
    ),
    "private patterns": lambda count: _shaped({"global": {"private": [f"**.*_{at}" for at in range(count)]}}),
    "redacted paths": lambda count: _shaped({"global": {"redact": {"paths": [f"**.f{at}" for at in range(count)]}}}),
    "texts": lambda count: _blocks([{"type": "text", "text": f"text {at} of words"} for at in range(count)]),
    "texts of JSON": lambda count: _blocks(
        [{"type": "text", "text": f'{{"email":{at},"b":1}}'} for at in range(count)]
    ),
    "embedded resources": lambda count: _blocks(
        [{"type": "resource", "resource": {"uri": f"x://{at}", "text": f"text {at}"}} for at in range(count)]
    ),
    "log messages": _logged,
    "answers of different tools": lambda count: (
        lambda: [
            SHAPER.shape_result({"content": [{"type": "text", "text": f"{at}"}]}, tool=f"{count}-{at}")
            for at in range(count)
        ]
    ),
    "yielded rows": _yielded,
}
COUNT = 4000


def _below_headers(depth: int, rows: Any) -> Any:
    for _ in range(depth):
        rows = {"header": ["email", "b"], "inside": rows}
    return rows


def _nested(depth: int, inner: Any) -> Any:
    for _ in range(min(depth, 60)):
        inner = [inner, "text"]
    return inner


def _records(value: Any) -> list[Any]:
    """Return records with the keys, elements or words of a value in their cells."""
    words = value.split() if isinstance(value, str) else list(value)
    return [{"id": at, "word": word, "half": str(word)[: len(str(word)) // 2]} for at, word in enumerate(words)]


def _results(value: Any) -> list[dict[str, Any]]:
    """Return MCP results with many blocks and as many elements or members of structured content."""
    words = [record["word"] for record in _records(value)][::16]  # a block takes far longer than a word
    blocks = [{"type": "text", "text": _json({"word": word}).decode()} for word in words]
    listed, named = [{"word": word} for word in words], {f"name {at}": word for at, word in enumerate(words)}
    return [{"content": blocks, "structuredContent": data} for data in ({"result": listed}, named)]


def _json(value: Any) -> bytes:
    import orjson  # noqa: PLC0415  only this way through needs it

    return orjson.dumps(value)


def seconds(run: Callable[[Any], object], value: Any) -> float:
    """Time one call, the best of three, in the processor's time."""
    best = math.inf
    for _ in range(3):
        start = time.process_time()
        run(value)
        best = min(best, time.process_time() - start)
    return best


def exponent(run: Callable[[Any], object], make: Callable[[int], Any], size: int) -> tuple[float, float]:
    """Return the power of its size by which the time of a call grows, and the time of the largest."""
    times = [seconds(run, make(one)) for one in (size // 4, size)]
    if _power(*times) > BAR:
        times = [times[1], seconds(run, make(4 * size))]
    return _power(*times), times[-1]


def _power(small: float, large: float) -> float:
    return math.log(max(large, 1e-6) / max(small, 1e-3)) / math.log(4)


def main() -> int:
    """Measure, print, and fail where something grows faster than it may."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bytes", type=int, default=400_000)
    parser.add_argument("--only", default="", help="the ways whose names contain this")
    options = parser.parse_args()
    size: int = options.bytes
    failed = []
    for way, run in RUN.items():
        if options.only not in way:
            continue
        rows = sorted(((*exponent(run, make, size), name) for name, make in MAKE.items()), reverse=True)
        failed += _told(f"{way}: {len(rows)} texts of {size:,} characters", rows, way)
    if options.only in "by number":
        rows = sorted(((*exponent(_called, make, COUNT), name) for name, make in MANY.items()), reverse=True)
        failed += _told(f"by number: {len(rows)} kinds of things, {COUNT:,} of each", rows, "by number")
    for line in failed:
        print(line, file=sys.stderr)
    return 1 if failed else 0


def _called(call: Callable[[], object]) -> object:
    return call()


def _told(title: str, rows: list[tuple[float, float, str]], way: str) -> list[str]:
    """Print what grows fastest, and return what grows faster than it may."""
    print(f"{title}; the fastest growing:")
    for power, last, name in rows[:3]:
        print(f"    n^{power:.2f}  {last * 1e3:8.1f} ms  {name}")
    slowest = max(rows, key=lambda row: row[1])
    print(f"    the slowest: {slowest[1] * 1e3:.1f} ms, {slowest[2]}", flush=True)
    return [f"{way}, {name}: n^{power:.2f}" for power, _, name in rows if power > BAR]


if __name__ == "__main__":
    sys.exit(main())
