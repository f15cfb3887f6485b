"""Write config/prices.json from a checkout of BerriAI/litellm, whose table of model prices is kept up by many.

python -m benchmarks.make_prices CHECKOUT
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

TABLE: Final = "model_prices_and_context_window.json"
PROVIDERS: Final = ("anthropic", "openai", "gemini")
TARGET: Final = Path(__file__).parents[1] / "config" / "prices.json"
MEMBERS: Final = {
    "input": "input_cost_per_token",
    "cache_write": "cache_creation_input_token_cost",
    "cache_read": "cache_read_input_token_cost",
}


def _git(checkout: str, *words: str) -> str:
    return subprocess.run(["git", "-C", checkout, *words], capture_output=True, text=True, check=True).stdout.strip()


def _price(entry: dict[str, Any]) -> dict[str, float]:
    return {name: round(entry[key] * 1_000_000, 6) for name, key in MEMBERS.items() if entry.get(key)}


def main(checkout: str) -> None:
    commit, date = _git(checkout, "log", "-1", "--format=%h %cs", "--", TABLE).split()
    listed: dict[str, dict[str, Any]] = json.loads(_git(checkout, "show", f"HEAD:{TABLE}"))
    models = {
        name.rpartition("/")[2]: _price(entry)
        for name, entry in listed.items()
        if entry.get("litellm_provider") in PROVIDERS
        and entry.get("mode") in {"chat", "responses"}
        and entry.get("input_cost_per_token")
        and "/" not in name.removeprefix("gemini/")
        and not name.startswith("ft:")
    }
    rows = ",\n".join(f"    {json.dumps(name)}: {json.dumps(price)}" for name, price in sorted(models.items()))
    head = json.dumps({"date": date, "currency": "USD", "per_tokens": 1_000_000}, indent=2).removesuffix("\n}")
    source = f"BerriAI/litellm {TABLE} ({commit}), by benchmarks/make_prices.py: short contexts, no discounts"
    TARGET.write_text(f'{head},\n  "source": {json.dumps(source)},\n  "models": {{\n{rows}\n  }}\n}}\n')
    print(f"{len(models)} models of {date}")


if __name__ == "__main__":
    main(sys.argv[1])
