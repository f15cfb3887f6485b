"""The format does not change silently: whatever changes a text changes the version, here and in its document."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from shaping.encoders import lines
from shaping.encoders.table import VERSION, decode, encode

DOCUMENT = Path(__file__).parents[2] / "docs" / "table-format.md"
# One of everything the grammar knows. Where a text changes: raise VERSION, say how, write the new digest here.
SAMPLES: dict[str, Any] = {
    "outline": {"a": 1, "b": {"c": "x: y", "d": [{"id": n, "v": None} for n in range(2)]}, "t": "1\n2\n3\n4\n5\n6"},
    "constants": [{"id": n, "kind": "x", "in": {"a": 1, "b": n}} for n in range(3)],
    "keyed": {f"k{n}": {"id": f"k{n}", "price": n / 4} for n in range(4)},
    "nested": [{"id": n, "rows": [{"a": m, "words": "some words here"} for m in range(n * 3)]} for n in range(4)],
    "texts": [{"id": n, "body": "many words\n" * 12 if n % 2 else None} for n in range(4)],
    "wide": [{"id": n, "u": {f"m{m}": n * m for m in range(26)}, "o": {} if n else {"x": 1}} for n in range(3)],
    "derived": [
        {"id": n, "url": f"https://x.dev/{n}/", "at": f"2026-11-17T10:00:{n}Z", "sha": "0123456789abcdef" * 3}
        | {"user": {"login": f"u{n % 2}", "page": f"https://x.dev/u{n % 2}", "bio": f"bio {n % 2} " * 30, "x": n % 2}}
        | {"tags": ["first-shared-tag", "second", str(n)], "pairs": [{"key": "a", "value": n}], "copy": f"https://x.dev/{n}/"}
        for n in range(10, 40)
    ],
    "decided": [
        {"n": n, "rule": f"r{n % 2}", "text": f"a sentence of some length, number {n % 2}", "f": 0.10000000149011612}
        for n in range(40)
    ],
    "series": {"a": [1] * 20, "b": list(range(9, 99)), "c": [[n, 1.5] for n in range(20)], "d": [["x", 1], ["y"]]},
    "parallel": {"x": {"time": [f"2026-11-1{n}" for n in range(5)], "v": [1, 2, 3, 4, 5], "w": list("abcde")}},
    "regular": [{"at": f"2026-11-{n}", "v": 1} for n in range(10, 20)],
    "usual": [{"id": n, "line": n * 7, "end": n * 7 + (n == 9), "tty": "?" if n else "tty1"} for n in range(90)],
    "sections": [{"line": n, "file": f"src/{n // 9}.py", "at": f"2026-11-1{n // 9}T10:{n}:00Z"} for n in range(10, 50)],
    "rows": {"columns": ["id", "on"], "rows": [[n, n != 9, "words", f"2026-11-1{n // 9}"] for n in range(40)]},
    "kinds": [{"type": f"t{n // 5}", **{f"{n // 5}m{m}": n * m for m in range(9)}} for n in range(20)],
    "scalars": {f"1.{n}.0": f"2026-11-{n}T10:00:00.000000+00:00" for n in range(10, 30)},
    "versions": {"all": [f"1.{n // 9}.{n % 9}" for n in range(40)]},
    "paths": {"paths": [f"src/{n // 9}/f{n}.py" for n in range(40)]},
    "keys": {"keys": [f"order:{7919 * n % 10007}" for n in range(40)]},
    "mails": [{"id": n, "name": f"u{n}x", "mail": f"u{n}x@example.com"} for n in range(9)],
    "rare": [{"id": n, **({f"odd{m}": "x" for m in range(7)} if n == 2 else {})} for n in range(9)],
    "ragged": [{"id": n, "p": {f"{'ab'[n % 2]}{m}": "words" for m in range(9)}} for n in range(4)],
    "sentences": [{"id": n, "said": f"user u{n} logged in from 10.0.0.{n} ({n} times)"} for n in range(48)],
    "entries": {"rows": [[{"field": name, "value": n * 7} for name in ("id", "on", "at")] for n in range(9)]},
    "JSON texts": {"doc": json.dumps({"n": 1, "rows": [{"id": n, "words": "some"} for n in range(4)]})},
    "a large number": {"doc": f'{{"a":{2**90},"b":"{"b" * 40}"}}', "rows": [{"id": n} for n in range(3)]},
    "as it stands": {"body": '{"a":"' + "b" * 150 + '"}', "rows": [{"id": n} for n in range(3)]},
    "quoted": [{"v": text} for text in ("None", "7070", "a,b", "", "-", "#1", "#12 words", "#004966", "below", "x")],
}  # fmt: skip
TEXTS = {
    "kinds": "".join(f"Get:{n} http://x.dev/ lib{n} {n} [{n % 7} kB] by {n}\n" for n in range(9)),
    "found": "".join(f"src/lib/{'ab'[n // 9]}.py:{n}:    return total({n})\n" for n in range(18)),
}
DIGESTS = {11: "a49d768d00c5e527e57e757c4de91e585d23664cb1264376801ad3d6c62899ad"}


def test_a_text_changes_only_with_the_version() -> None:
    texts = {name: encode(value) for name, value in SAMPLES.items()}
    assert {name: decode(text) for name, text in texts.items()} == SAMPLES
    short = {name: lines.encode(text) for name, text in TEXTS.items()}
    assert {name: lines.decode(text) for name, text in short.items()} == TEXTS
    digest = hashlib.sha256("\n\n".join([*texts.values(), *short.values()]).encode()).hexdigest()
    assert DIGESTS.get(VERSION) == digest, f"the format changed: raise VERSION, then put {digest} here"


def test_the_document_is_of_this_version() -> None:
    assert DOCUMENT.read_text(encoding="utf-8").startswith(f"# The table, format {VERSION}\n")


def test_the_example_of_the_document_reads_as_it_says() -> None:
    text = DOCUMENT.read_text(encoding="utf-8").split("## An example\n\n")[1].split("\n\nstands for")[0]
    value: Any = decode("\n".join(line.removeprefix("    ") for line in text.split("\n")))
    assert value["jobs"][0]["steps"][1] == {
        "name": "Install",
        "conclusion": "success",
        "started_at": "2026-02-18T14:59:16Z",
    }
    assert value["jobs"][1] == {
        "id": 72,
        "name": "test",
        "conclusion": "failure",
        "log": "E assert 1 == 2\n1 failed",
        "run_attempt": 1,
        "html_url": "https://x.dev/runs/72",
    }


def test_the_texts_of_the_document_read_as_they_say() -> None:
    blocks = DOCUMENT.read_text(encoding="utf-8").split("## Texts\n")[1].split("## Grammar")[0].split("\n\n    ")[1:]
    packages, found = (
        "\n".join(line.removeprefix("    ") for line in each.split("\n\n")[0].split("\n")) for each in blocks
    )
    assert lines.decode(packages).split("\n")[-3:] == [
        "git/stable,now 2.39.5-0 amd64 [installed]",
        "nginx/stable 1.22.1-9 all",
        "sed/stable,now 4.9-1 amd64 [installed]",
    ]
    assert lines.decode(found).split("\n")[1:4] == [
        'lib/shop/cart.py-13-    """Add the lines up."""',
        "--",
        "lib/shop/cart.py:40:    return total(open_lines)",
    ]
