"""Run `shaping demo` and write what it prints as the README's picture: `python -m benchmarks.make_picture`."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

PICTURE: Final = Path(__file__).parents[1] / "docs" / "demo.svg"
WIDTH: Final = 116  # columns
_FONT: Final = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_REF: Final = re.compile(r"\br_\w+")  # another one in every run
_UNIQUE: Final = re.compile(r"terminal-\d+")


def main() -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "shaping", "demo"], capture_output=True, text=True, check=True
    ).stdout
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text("$ shaping demo", style="bold green"))
    for line in _REF.sub("r_…", printed).splitlines():
        console.print(_styled(line), soft_wrap=True)
    drawn = console.export_svg(title="shaping demo")
    # The picture loads nothing from elsewhere, and is the same for the same text.
    PICTURE.write_text(_UNIQUE.sub("terminal", _FONT.sub("", drawn)), encoding="utf-8")
    print(f"{PICTURE} written")


def _styled(line: str) -> Text:
    text = Text(line)
    if not line.startswith(" ") and line.endswith(":"):
        text.stylize("bold")
    text.highlight_regex(r"[\d,]+ tokens", "cyan")
    text.highlight_regex(r"\d+% less", "bold green")
    return text


if __name__ == "__main__":
    main()
