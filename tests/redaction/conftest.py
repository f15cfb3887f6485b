from __future__ import annotations

import base64
import json
import random
import re
import string
from dataclasses import dataclass
from pathlib import Path

import pytest

KINDS = Path(__file__).parent.parent / "cases" / "redaction" / "kinds.json"
ALPHABETS = {
    "L": string.ascii_lowercase + "234567",
    "V": "0123456789ABCDEF",
    "A": string.ascii_letters + string.digits,
    "H": "0123456789abcdef",
    "D": string.digits,
    "U": string.ascii_uppercase + string.digits,
    "W": string.ascii_letters + string.digits + "-_",
    "B": string.ascii_letters + string.digits + "+/",
}


@dataclass(frozen=True)
class Planted:
    """A made-up secret in its surroundings."""

    kind: str
    rule: str
    secret: str
    text: str

    def shows_in(self, text: str) -> bool:
        """Tell whether the text still holds a tell-tale part of the secret."""
        lines = [
            line for line in self.secret.splitlines() if len(line) > 8 and "-----" not in line and ": " not in line
        ]
        return any(line[max(4, len(line) - 40) : -4] in text for line in lines)


def plant(seed: int) -> list[Planted]:
    """Make one secret of every kind, different for every seed."""
    dice = random.Random(seed)  # noqa: S311  made-up secrets, the same in every run
    return [_planted(kind, dice) for kind in json.loads(KINDS.read_text())["kinds"]]


def list_lookalikes() -> list[tuple[str, str]]:
    """List texts that only look like a secret, with the rule that they must not be taken by."""
    return [(rule, text) for rule, texts in json.loads(KINDS.read_text())["not"].items() for text in texts]


def _planted(kind: dict[str, str], dice: random.Random) -> Planted:
    before, secret, after = (_filled(kind.get(part, ""), dice) for part in ("before", "secret", "after"))
    return Planted(kind["kind"], kind["rule"], secret, before + secret + after)


def _filled(template: str, dice: random.Random) -> str:
    return re.sub(r"<([A-Z]+?)(64)?(\d*)>", lambda match: _made(match, dice), template)


def _made(match: re.Match[str], dice: random.Random) -> str:
    name, size = match[1], (match[2] or "") + match[3]
    if name in {"PEM", "BASIC"} and size == "64":
        return base64.b64encode(_special(name, dice).encode()).decode() if name == "PEM" else _user(dice)
    return _special(name, dice) if name not in ALPHABETS else _part(name, int(size), dice)


def _part(kind: str, length: int, dice: random.Random) -> str:
    # One of each sort, so that chance never draws a word-like secret.
    return _mixed("".join(dice.choices(ALPHABETS[kind], k=length)), kind)


def _special(kind: str, dice: random.Random) -> str:
    if kind.startswith("PEM"):
        return _pem(kind.removeprefix("PEM"), dice)
    if kind == "UUID":
        return "-".join(_part("H", size, dice) for size in (8, 4, 4, 4, 12))
    if kind == "PUTTY":
        lines = ["".join(dice.choices(ALPHABETS["B"], k=64)) for _ in range(8)]
        return "\n".join(["Private-Lines: 8", *lines, "Private-MAC: " + _part("H", 64, dice)])
    if kind == "SNOWFLAKE":
        return _b64(str(dice.randrange(10**17, 10**18)).encode())
    if kind == "BASIC":
        return _user(dice)
    header = _b64(b'{"alg":"HS256"}')
    return f"{header}.{_b64(json.dumps({'sub': _part('A', 8, dice)}).encode())}.{_part('W', 43, dice)}"


def _user(dice: random.Random) -> str:
    return base64.b64encode(f"admin:{_part('A', 12, dice)}".encode()).decode()


def _pem(way: str, dice: random.Random) -> str:
    lines = ["".join(dice.choices(ALPHABETS["B"], k=64)) for _ in range(12)]
    name = {"OPENSSH": "OPENSSH PRIVATE KEY", "PGP": "PGP PRIVATE KEY BLOCK"}.get(way, "RSA PRIVATE KEY")
    begin, end = f"-----BEGIN {name}-----", f"-----END {name}-----"
    headers = ["Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0123456789ABCDEF", ""] if way == "ENCRYPTED" else []
    whole = [begin, *headers, *lines, *([] if way == "CUT" else [end])]
    if way == "NUMBERED":
        whole = [f"{number:>6}\t{line}" for number, line in enumerate(whole, 1)]
    if way == "DIFF":
        whole = [f"+{line}" for line in whole]
    return "\n".join(whole)


def _mixed(text: str, kind: str) -> str:
    return "aZ7" + text[3:] if kind in "AWB" and len(text) > 8 else text


def _b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


@pytest.fixture(scope="session")
def planted() -> list[Planted]:
    """One secret of every kind."""
    return plant(1)


@pytest.fixture(scope="session")
def many_planted() -> list[Planted]:
    """Ten secrets of every kind."""
    return [one for seed in range(10) for one in plant(seed)]


@pytest.fixture(scope="session")
def lookalikes() -> list[tuple[str, str]]:
    """Texts that only look like a secret, each with the rule that it looks like a secret of."""
    return list_lookalikes()
