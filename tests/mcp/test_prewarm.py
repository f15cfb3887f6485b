from __future__ import annotations

import subprocess
import sys

import pytest

from shaping.mcp.mcp_shaper import prewarm

LOADED = """
import sys
from shaping.mcp.mcp_shaper import prewarm
prewarm("o200k_base", schemas=True).join(120)
needed = ("shaping.noise", "shaping.encoders.formats", "shaping.redaction", "shaping.tokens.counters")
print(all(name in sys.modules for name in needed))
"""


def test_what_the_first_answer_needs_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, timeout=300)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_a_tokenizer_that_there_is_not_is_told_of_elsewhere(capfd: pytest.CaptureFixture[str]) -> None:
    thread = prewarm("nope", schemas=True)
    thread.join(120)
    assert (thread.daemon, thread.is_alive(), *capfd.readouterr()) == (True, False, "", "")
