from __future__ import annotations

import subprocess
import sys

import shaping.tokens

IMPORTED = "import sys, shaping.tokens; print([name for name in ('regex', 'lzma', 'tiktoken') if name in sys.modules])"


def test_public_is_what_is_listed() -> None:
    assert shaping.tokens.__all__ == [
        "CountingError",
        "Method",
        "Multiplier",
        "TokenCount",
        "TokenCounter",
        "Tokens",
        "UnknownTokenizerError",
        "cheap",
        "count",
        "counter",
        "exact",
        "multipliers",
        "tokenizers",
        "upper_bound",
        "warm",
    ]
    assert [name for name in shaping.tokens.__all__ if not hasattr(shaping.tokens, name)] == []


def test_importing_it_loads_no_tokenizer() -> None:
    run = subprocess.run([sys.executable, "-c", IMPORTED], check=True, capture_output=True, text=True)
    assert run.stdout == "[]\n"
