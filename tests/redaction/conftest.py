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

    rule: str
    secret: str
    text: str

    def shows_in(self, text: str) -> bool:
        """Tell whether the text still holds a tell-tale part of the secret."""
        lines = [line for line in self.secret.splitlines() if not line.startswith("-----")]
        return any(line[4:-4] in text for line in lines)


def plant(seed: int) -> list[Planted]:
    """Make one secret of every kind, different for every seed."""
    dice = random.Random(seed)  # noqa: S311  made-up secrets, the same in every run
    kinds = json.loads(KINDS.read_text())["kinds"]
    return [_planted(kind, dice) for kind in kinds]


def _planted(kind: dict[str, str], dice: random.Random) -> Planted:
    secret = re.sub(r"<([A-Z]+?)(\d*)>", lambda match: _part(match[1], int(match[2] or 0), dice), kind["secret"])
    return Planted(kind["rule"], secret, kind.get("before", "") + secret + kind.get("after", ""))


def _part(kind: str, length: int, dice: random.Random) -> str:
    if kind in ALPHABETS:
        # One of each sort, so that chance never draws a word-like secret.
        return _mixed("".join(dice.choices(ALPHABETS[kind], k=length)), kind)
    if kind == "PEM":
        lines = ["".join(dice.choices(ALPHABETS["B"], k=64)) for _ in range(12)]
        return "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----"])
    if kind == "SNOWFLAKE":
        return _b64(str(dice.randrange(10**17, 10**18)).encode())
    if kind == "BASIC":
        return _b64(f"admin:{_part('A', 12, dice)}".encode())
    header = _b64(b'{"alg":"HS256"}')
    return f"{header}.{_b64(json.dumps({'sub': _part('A', 8, dice)}).encode())}.{_part('W', 43, dice)}"


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
