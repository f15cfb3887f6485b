from __future__ import annotations

import random
from typing import Any

import pytest

from shaping.redaction import redact, redact_stream, without_secrets

FILLER = "an ordinary line of a log that a program wrote\n"


@pytest.mark.parametrize("size", [1000, 65_536, 100_001, 1_048_576])
def test_a_secret_across_the_border_of_two_parts_is_hidden(size: int, planted: list[Any]) -> None:
    for one in planted[:: len(planted) // 20]:
        for back in (1, len(one.text) // 2, len(one.text) - 1):
            before = (FILLER * (size // len(FILLER) + 1))[: size - back - 1] + "\n"
            text = before + one.text + "\n" + FILLER * 20
            parts = [text[at : at + size] for at in range(0, len(text), size)]
            shown = "".join(redact_stream(parts))
            assert not one.shows_in(shown), one.kind
            assert shown.startswith(FILLER)


def test_a_stream_says_what_the_whole_text_says(planted: list[Any]) -> None:
    text = "".join(f"{FILLER * 40}{one.text}\n" for one in planted if one.kind != "Private key that was cut")
    dice = random.Random(1)  # noqa: S311  the same in every run
    cuts = sorted(dice.sample(range(len(text)), 200))
    parts = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert "".join(redact_stream(parts)) == redact(text)[0]


def test_a_long_text_without_a_secret_comes_out_as_it_is_and_before_its_end() -> None:
    parts = [FILLER * 3000] * 4
    shown = list(redact_stream(iter(parts)))
    assert "".join(shown) == "".join(parts)
    assert len(shown) > 2


def pem(lines: int = 10) -> list[str]:
    dice = random.Random(7)  # noqa: S311  the same in every run
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return ["".join(dice.choices(alphabet, k=64)) for _ in range(lines)]


BODY = pem()
KEY = ["-----BEGIN PRIVATE KEY-----", *BODY, "-----END PRIVATE KEY-----"]


@pytest.mark.parametrize(
    "shown",
    [
        "\n".join(f"+{line}" for line in KEY),
        "\n".join(f"-{line}" for line in KEY),
        "@@ -1,9 +1,12 @@\n a\n" + "\n".join(f"+{line}" for line in KEY) + "\n b",
        "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(KEY, 1)),
        "\n".join(f"{number}: {line}" for number, line in enumerate(KEY, 1)),
        "\n".join(f"{number:4} | {line}" for number, line in enumerate(KEY, 1)),
        "\n".join(f"deploy/key.pem:{number}:{line}" for number, line in enumerate(KEY, 1)),
        "\n".join(f"deploy/key.pem-{number}-{line}" for number, line in enumerate(KEY[:-1], 1)),
        "\n".join(f"> {line}" for line in KEY),
        "\n".join(f"# {line}" for line in KEY),
        "\n".join(f'  "{line}\\n" +' for line in KEY),
        "key: |\n" + "\n".join(f"    {line}" for line in KEY),
        "\\n".join(KEY),
        "\r\n".join(KEY),
        " ".join(KEY),
        "\n".join(KEY[:-3]),
        "\n".join(KEY[:-3])[:-30] + " [cut]",
        "\n".join(KEY[1:]),
        "[cut] " + "\n".join(KEY[3:])[20:] + "\nand more",
        "\n".join(f"deploy/production/secrets/key.pem:{number}:{line}" for number, line in enumerate(KEY[2:], 3)),
        "".join(f"<tr><td>{number}</td><td>{line}</td></tr>" for number, line in enumerate(KEY[2:], 3)),
        "\n".join(f'{{"line": "{line}"}}' for line in KEY[1:]),
        "\n".join(f"{line:<70}x" for line in KEY[:-1]),
        "\n".join(f"2026-11-18T02:00:{number:02}Z pod-1 {line}" for number, line in enumerate(KEY[::-1])),
        "[cut]\n" + "\n".join(f"{number}: {line}" for number, line in enumerate(KEY[3:])),
        str([[number, line] for number, line in enumerate(KEY)]),
    ],
)
def test_a_private_key_is_hidden_however_a_tool_shows_it(shown: str) -> None:
    clean = redact(shown)[0]
    assert [line for line in BODY if line[:24] in clean or line[-24:] in clean] == []


def test_a_private_key_over_two_blocks_is_hidden() -> None:
    half = len(KEY) // 2
    blocks = [
        {"type": "text", "text": "the key:\n" + "\n".join(KEY[:half])},
        {"type": "text", "text": "\n".join(KEY[half:]) + "\nand no more"},
    ]
    clean, hits = redact({"content": blocks})
    assert [line for line in BODY if line[:24] in str(clean)] == []
    assert clean["content"][1]["text"].endswith("\nand no more")
    assert {hit.rule for hit in hits} == {"private-key"}


def test_a_private_key_in_pairs_of_a_list_is_hidden() -> None:
    clean, _ = redact({"lines": [[number, line] for number, line in enumerate(KEY)]})
    assert [line for line in BODY if line[:24] in str(clean)] == []


@pytest.mark.parametrize(
    "lines", [KEY, KEY[:-1], KEY[1:], KEY[3:-2] + KEY[-1:]], ids=["all", "no end", "no begin", "end"]
)
def test_a_private_key_over_several_texts_is_hidden(lines: list[str]) -> None:
    some = [line for line in BODY if line in lines]
    short = [*lines[:-1], "aB3=", lines[-1]]
    for value in (
        [[number, line] for number, line in enumerate(lines)],
        [{"number": str(number), "line": line} for number, line in enumerate(lines)],
        {str(number): line for number, line in enumerate(lines)},
        [[number, "a text that stands beside each line of the key", line] for number, line in enumerate(lines)],
        [{"logger": f"com.example.deployment.secrets.KeyRotation-{line[:4]}", "line": line} for line in lines],
        dict.fromkeys(lines, 1),
        lines[::-1] if KEY[-1] in lines else lines,
        {"text": "\n".join(lines[:4]), "rest": ["\n".join(lines[4:7]), {"more": "\n".join(lines[7:])}]},
    ):
        clean = str(redact({"before": "a text before it, which has nothing to do with it", "key": value})[0])
        assert [line for line in some if line[:24] in clean] == []
        assert "nothing to do with it" in clean
    if lines[-1] == KEY[-1]:
        assert "aB3=" not in str(redact(short)[0])


def test_a_certificate_beside_a_private_key_stays() -> None:
    certificate = ["-----BEGIN CERTIFICATE-----", *(line[::-1] for line in BODY), "-----END CERTIFICATE-----"]
    for lines in ([*KEY, *certificate], [*KEY[:-1], *certificate], [*certificate, *KEY[1:]], [*certificate, *KEY]):
        for clean in (redact(lines)[0], redact("\n".join(lines))[0]):
            assert [line for line in certificate if line not in clean] == []
            assert [line for line in BODY if line in clean] == []


TABLES = {
    "CSV": "user,password,age\nada,correct horse,7\nbob,hunter2,8\n",
    "CSV with quotes": 'user,"api key",age\nada,"correct horse",7\nbob,"hunter2",8\n',
    "TSV": "user\tpassword\nada\tcorrect horse\nbob\thunter2\n",
    "Markdown": "| user | password |\n|------|:--------:|\n| ada | correct horse |\n| bob | hunter2 |\n",
    "columns": "USER   PASSWORD        AGE\nada    correct horse   7\nbob    hunter2         8\n",
    "pairs": "password=hunter2\npassword: correct horse\n",
    "headers": "X-Api-Key: hunter2\r\nPassword: correct horse\r\n",
    "JSON": '{"password": "hunter2", "db": {"secret": "correct horse"}}',
    "JSON in JSON": '{"a": "{\\"password\\": \\"hunter2\\", \\"secret\\": \\"correct horse\\"}"}',
    "an error": "login failed for ada (password=hunter2; secret='correct horse')",
}


@pytest.mark.parametrize("table", TABLES)
def test_names_hold_in_a_text_whatever_its_form(table: str) -> None:
    clean = redact(TABLES[table], names=True)[0]
    assert [word for word in ("hunter2", "correct horse") if word in clean] == []
    assert "ada" in clean or "ada" not in TABLES[table]
    assert redact(TABLES[table])[0] == TABLES[table]


def test_names_hold_below_a_header_row() -> None:
    rows = [["user", "api_key"], ["ada", "hunter2"], ["bob", "x"]]
    hidden = "[redacted:field-name]"
    assert redact(rows, names=True)[0] == [["user", "api_key"], ["ada", hidden], ["bob", hidden]]
    apart: Any = {"columns": ["user", "secret"], "rows": [["ada", "hunter2"]], "n": 1}
    assert redact(apart, names=True)[0] == {"columns": ["user", "secret"], "rows": [["ada", hidden]], "n": 1}


def test_what_is_not_a_result_is_redacted_too(planted: list[Any]) -> None:
    token = next(one for one in planted if one.rule == "github-token").text
    tool = {"name": "x", "description": f"use {token}", "inputSchema": {"properties": {token: {"default": token}}}}
    assert token not in str(without_secrets(tool))
    assert without_secrets(f"call with {token}") == "call with [redacted:github-token]"
    assert without_secrets({"name": "x"}) == {"name": "x"}
