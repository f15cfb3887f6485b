"""The frameworks' tests: each runs where its framework is installed, all of them by `make test-integrations`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from shaping import Shaper
from shaping.ledger import LedgerDatabase, LedgerEntry
from tests.integrations.answers import issues

FRAMEWORKS = {
    "ag2": "ag2",
    "agent_framework": "agent_framework",
    "agno": "agno",
    "autogen_core": "autogen_core",
    "claude_agent_sdk": "claude_agent_sdk",
    "crewai": "crewai",
    "google_adk": "google.adk",
    "langchain": "langchain",
    "llama_index": "llama_index.core",
    "openai_agents": "agents",
    "pydantic_ai": "pydantic_ai",
    "smolagents": "smolagents",
    "strands": "strands",
}


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


HERE = Path(__file__).parent
collect_ignore = [
    f"test_{name}.py"
    for name, module in FRAMEWORKS.items()
    if (HERE / f"test_{name}.py").exists() and not _installed(module)
]


@pytest.fixture
def shaper() -> Iterator[Shaper]:
    made = Shaper({}, expandable=True)
    yield made
    made.close()


@pytest.fixture
def read_over_mcp(shaper: Shaper) -> str:
    """What a model reads of the same answer through MCP: every framework's model is to read the same."""
    import orjson

    result = {"content": [{"type": "text", "text": orjson.dumps(issues()).decode()}]}
    return str(shaper.shape_result(result, tool="list_issues", channels="text")["content"][0]["text"])


@pytest.fixture
def entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], LedgerEntry]:
    """Return a function that waits for the ledger's entry of `list_issues` and checks that our own tool's is there."""
    file = tmp_path / "ledger.sqlite"
    monkeypatch.setenv("SHAPING_LEDGER", str(file))

    def entry() -> LedgerEntry:
        deadline = time.monotonic() + 60
        while not (found := [one for one in LedgerDatabase(file).entries() if one.tool == "list_issues"]):
            assert time.monotonic() < deadline, "nothing was entered"
            time.sleep(0.05)
        assert "definition" in {one.kind for one in LedgerDatabase(file).entries()}
        assert found[0].saved > 0
        return found[0]

    return entry
