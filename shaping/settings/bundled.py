from __future__ import annotations

from pathlib import Path
from typing import Literal

Kind = Literal["profiles", "config"]

_PACKAGE = Path(__file__).resolve().parent.parent


def bundled(kind: Kind, name: str) -> bytes:
    """Read a file that ships with shaping."""
    return bundled_path(kind, name).read_bytes()


def bundled_path(kind: Kind, name: str) -> Path:
    """Say where a file that ships with shaping lies: in the wheel first, in the checkout second."""
    return _directory(kind) / name


def _directory(kind: Kind) -> Path:
    wheel = _PACKAGE / "_bundled" / kind
    return wheel if wheel.is_dir() else _PACKAGE.parent / kind
