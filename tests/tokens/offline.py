"""Counts 2,000 texts of 58 kinds with every socket refused and an empty cache; run by test_offline.py."""

from __future__ import annotations

import json
import socket
import sys
from typing import Any, NoReturn


def refuse(*_arguments: Any, **_named: Any) -> NoReturn:
    raise OSError("the network is unreachable")


for name in ("socket", "create_connection", "getaddrinfo"):
    setattr(socket, name, refuse)

from benchmarks import texts  # noqa: E402 - the network is gone before anything of ours is imported
from shaping import tokens  # noqa: E402 - the same

made = [(kind, seed) for seed in range(35) for kind in texts.KINDS][:2_000]
counts = [
    {name: tokens.exact(text, name) for name in ("o200k_base", "cl100k_base")} | {"method": tokens.count(text).method}
    for text in (texts.make(kind, seed, 250) for kind, seed in made)
]
json.dump({"made": made, "counts": counts, "network": "requests" in sys.modules}, sys.stdout)
