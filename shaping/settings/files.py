"""Files that others may be reading, replaced whole."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path


def replace_file(file: Path, content: bytes, *, like: Path | None = None) -> None:
    """Write beside a file and move that over it; it is for its user alone, or for as many as another one is."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
        if like is not None and like.exists():
            shutil.copymode(like, beside)
        beside.replace(file)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
