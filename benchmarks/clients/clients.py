"""The clients: how each is told of the stub model and of the MCP server, and how it is run with one prompt."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

LAB = Path(os.environ.get("LAB", "/tmp/shaping-lab"))  # where install.sh puts the clients
NPM, VENV = LAB / "npm", LAB / "venv"
PROMPT = "Call the lab tools."
Started = tuple[list[str], dict[str, str]]


@dataclass
class Client:
    """How one client is started, and how its model calls a tool."""

    prepare: Callable[..., tuple[list[str], dict[str, str]]]
    indirect: dict[str, Any] = field(
        default_factory=dict
    )  # a tool by which this client's model calls any other, and how
    first: list[Any] = field(default_factory=list)  # calls to make before the script, as a search for tools
    extra: dict[str, Any] = field(default_factory=dict)  # what this client wants among the arguments of every call
    code: list[Any] = field(default_factory=list)  # what a model that writes programs would run: count the big list
    skip: tuple[str, ...] = ()  # tools whose results this client ends at, with or without us
    seconds: int = 150


def bin_of(name: str, program: str | None = None) -> str:
    """Return the path of an npm client's program."""
    return str(NPM / name / "node_modules/.bin" / (program or name))


def write(path: Path, value: Any) -> None:
    """Write a client's config file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=2))


def codex(home: Path, work: Path, url: str, server: list[str], model: str = "gpt-5.5") -> Started:
    lines = [
        f'model = "{model}"',
        'model_provider = "lab"',
        "[model_providers.lab]",
        'name = "lab"',
        f'base_url = "{url}/v1"',
        'env_key = "LAB_KEY"',
        'wire_api = "responses"',
        "[mcp_servers.lab]",
        f"command = {json.dumps(server[0])}",
        f"args = {json.dumps(server[1:])}",
        "startup_timeout_sec = 60",
        "required = true",  # else the first turn does not wait for the server
    ]
    write(home / ".codex/config.toml", "\n".join(lines))
    argv = [bin_of("codex"), "exec", "--dangerously-bypass-approvals-and-sandbox", "--json", PROMPT]
    return argv, {"LAB_KEY": "test"}


def servers(server: list[str]) -> dict[str, Any]:
    """The mcpServers that most clients share."""
    return {"mcpServers": {"lab": {"command": server[0], "args": server[1:]}}}


def claude(home: Path, work: Path, url: str, server: list[str]) -> Started:
    write(home / "mcp.json", servers(server))
    argv = [bin_of("claude"), "-p", PROMPT, "--mcp-config", str(home / "mcp.json"), "--strict-mcp-config"]
    argv += ["--allowedTools", "mcp__lab", "--model", "claude-sonnet-4-5"]
    env = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "test", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    return argv, env


def gemini(home: Path, work: Path, url: str, server: list[str]) -> Started:
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False}}
    settings |= {"general": {"disableAutoUpdate": True, "enableAutoUpdate": False}, "telemetry": {"enabled": False}}
    settings["mcpServers"] = {"lab": {**servers(server)["mcpServers"]["lab"], "trust": True}}
    write(home / ".gemini/settings.json", settings)
    argv = [bin_of("gemini"), "-p", PROMPT, "--yolo", "-m", "gemini-2.5-pro", "--skip-trust"]
    return argv, {"GEMINI_API_KEY": "test", "GOOGLE_GEMINI_BASE_URL": url}


def qwen(home: Path, work: Path, url: str, server: list[str]) -> Started:
    settings = {"security": {"auth": {"selectedType": "openai"}}, "privacy": {"usageStatisticsEnabled": False}}
    settings |= {"general": {"disableAutoUpdate": True, "enableAutoUpdate": False}}
    settings["mcpServers"] = {"lab": {**servers(server)["mcpServers"]["lab"], "trust": True}}
    write(home / ".qwen/settings.json", settings)
    argv = [bin_of("qwen"), "-p", PROMPT, "--yolo"]
    return argv, {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "qwen3-coder-plus"}


def opencode(
    home: Path, work: Path, url: str, server: list[str], *, name: str = "opencode", program: str | None = None
) -> Started:
    model = {"name": "lab", "limit": {"context": 200000, "output": 8000}}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "lab", "models": {"lab": model}}
    provider["options"] = {"baseURL": f"{url}/v1", "apiKey": "test"}
    settings = {"provider": {"lab": provider}, "model": "lab/lab", "small_model": "lab/lab", "autoupdate": False}
    settings |= {"mcp": {"lab": {"type": "local", "command": server, "enabled": True}}, "permission": {"*": "allow"}}
    write(home / f".config/{name}/{name}.json", settings)
    off = ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"]
    env = {f"{name.upper()}_DISABLE_{what}": "1" for what in off}
    return [program or bin_of(name), "run", PROMPT], env


def cline(home: Path, work: Path, url: str, server: list[str]) -> Started:
    write(home / ".cline/data/settings/cline_mcp_settings.json", servers(server))
    auth = [bin_of("cline"), "auth", "-p", "openai-compatible", "-k", "test", "-m", "lab", "-b", f"{url}/v1"]
    script = " ".join(shlex.quote(word) for word in auth) + f" && exec {bin_of('cline')} --json '{PROMPT}'"
    return ["sh", "-c", script], {"CLINE_TELEMETRY_DISABLED": "1", "CLINE_NO_AUTO_UPDATE": "1"}


def continuedev(home: Path, work: Path, url: str, server: list[str]) -> Started:
    model: dict[str, Any] = {
        "name": "lab",
        "provider": "openai",
        "model": "gpt-4.1",
        "apiBase": f"{url}/v1",
        "apiKey": "test",
    }
    model |= {"roles": ["chat"], "useResponsesApi": False}
    config = {"name": "lab", "version": "1.0.0", "schema": "v1", "models": [model]}
    config["mcpServers"] = [{"name": "lab", "command": server[0], "args": server[1:]}]
    write(home / "config.yaml", config)  # JSON is YAML
    argv = [bin_of("continue", "cn"), "-p", PROMPT, "--config", str(home / "config.yaml"), "--auto"]
    return argv, {"CONTINUE_TELEMETRY_ENABLED": "0", "CONTINUE_CLI_AUTO_UPDATED": "1"}


def copilot(home: Path, work: Path, url: str, server: list[str]) -> Started:
    entry = {"type": "local", **servers(server)["mcpServers"]["lab"], "tools": ["*"]}
    write(home / ".copilot/mcp-config.json", {"mcpServers": {"lab": entry}})
    argv = [bin_of("copilot"), "-p", PROMPT, "--allow-all-tools", "--disable-builtin-mcps", "--no-auto-update"]
    env = {"COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_PROVIDER_API_KEY": "test", "COPILOT_MODEL": "gpt-4.1"}
    return argv, {**env, "COPILOT_OFFLINE": "true"}


def kimi(home: Path, work: Path, url: str, server: list[str]) -> Started:
    lines = [
        'default_model = "lab"',
        "telemetry = false",
        "[providers.lab]",
        'type = "openai"',
        f'base_url = "{url}/v1"',
        'api_key = "test"',
        "[models.lab]",
        'provider = "lab"',
        'model = "lab"',
        "max_context_size = 200000",
    ]
    write(home / ".kimi-code/config.toml", "\n".join(lines))
    write(home / ".kimi-code/mcp.json", servers(server))
    return [bin_of("kimi"), "-p", PROMPT], {}


def goose(home: Path, work: Path, url: str, server: list[str]) -> Started:
    extension = {"type": "stdio", "name": "lab", "cmd": server[0], "args": server[1:], "enabled": True, "timeout": 60}
    write(home / ".config/goose/config.yaml", {"extensions": {"lab": extension}})
    env = {"GOOSE_PROVIDER": "openai", "GOOSE_MODEL": "gpt-4o", "OPENAI_API_KEY": "test", "OPENAI_HOST": url}
    env |= {"GOOSE_MODE": "auto", "GOOSE_DISABLE_KEYRING": "1", "GOOSE_TELEMETRY_ENABLED": "false"}
    return [
        str(NPM / "goose/node_modules/@aaif/goose-binary-linux-x64/bin/goose"),
        "run",
        "--no-session",
        "-t",
        PROMPT,
    ], env


def vibe(home: Path, work: Path, url: str, server: list[str]) -> Started:
    lines = [
        'active_model = "lab"',
        "enable_telemetry = false",
        "enable_update_checks = false",
        "[[providers]]",
        'name = "lab"',
        f'api_base = "{url}/v1"',
        'api_key_env_var = "LAB_KEY"',
        'backend = "generic"',
        "[[models]]",
        'name = "lab"',
        'alias = "lab"',
        'provider = "lab"',
        "[[mcp_servers]]",
        'name = "lab"',
        'transport = "stdio"',
        f"command = {json.dumps(server[0])}",
        f"args = {json.dumps(server[1:])}",
        "startup_timeout_sec = 60",
    ]
    write(home / ".vibe/config.toml", "\n".join(lines))
    argv = [str(VENV / "mistral-vibe/bin/vibe"), "-p", PROMPT, "--auto-approve", "--trust"]
    return argv, {"LAB_KEY": "test", "MISTRAL_API_KEY": "test"}


def hermes(home: Path, work: Path, url: str, server: list[str]) -> Started:
    config: dict[str, Any] = {
        "model": {"provider": "custom", "base_url": f"{url}/v1", "api_key": "test", "default": "lab"}
    }
    config["mcp_servers"] = {"lab": {"command": server[0], "args": server[1:], "timeout": 60, "connect_timeout": 60}}
    write(home / ".hermes/config.yaml", config)
    return [str(VENV / "hermes-agent/bin/hermes"), "-z", PROMPT, "--yolo"], {"OPENAI_API_KEY": "test"}


def openhands(home: Path, work: Path, url: str, server: list[str]) -> Started:
    write(home / ".openhands/mcp.json", servers(server))
    argv = [str(VENV / "openhands/bin/openhands"), "--headless", "--json", "--override-with-envs", "-t", PROMPT]
    return argv, {"LLM_API_KEY": "test", "LLM_BASE_URL": f"{url}/v1", "LLM_MODEL": "openai/gpt-4o"}


def framework(home: Path, work: Path, url: str, server: list[str], name: str) -> Started:
    script = str(Path(__file__).with_name("frameworks.py"))
    env = {
        "GOOGLE_API_KEY": "test",
        "GOOGLE_GEMINI_BASE_URL": url,
        "OPENAI_API_KEY": "test",
        "OTEL_SDK_DISABLED": "true",
    }
    env |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false"}
    return [str(VENV / name.removesuffix("-each") / "bin/python"), script, name, f"{url}/v1", *server], env


LISTED = 'text(JSON.stringify(ALL_TOOLS.filter(t => t.name.includes("lab") || t.name.includes("shaping"))))'
EXEC = {"exec": {"input": "text(JSON.stringify(await tools.mcp__lab__$tool($arguments)))"}}
COUNTED = [
    ["exec", {"input": f"const r = await tools.mcp__lab__{tool}({{}}); text(r.structuredContent.result.length)"}]
    for tool in ("rows", "big_data")
]
TOOL_CALL = {"tool_call": {"name": "mcp__lab__$tool", "arguments": "$arguments"}}
TYPESCRIPT = {"run_typescript": {"code": "async function main() { return await tools.mcp_lab.$tool($arguments) }"}}
VIBE_NAMES = ["rows", "split_schema", "json_string", "text_only"]
VIBE_SEARCH = [
    ["search_tool_functions", {"mode": "best_match", "query": "lab records"}],
    ["search_tool_functions", {"mode": "details", "functions": [f"mcp_lab.{name}" for name in VIBE_NAMES]}],
]
VIBE_COUNTED = [
    ["run_typescript", {"code": f"async function main() {{ return (await tools.mcp_lab.{tool}({{}})).result.length }}"}]
    for tool in ("rows", "big_data")
]

CLIENTS = {
    "codex": Client(codex, first=[["tool_search", {"query": "lab", "limit": 30}]]),
    "codex-code": Client(partial(codex, model="gpt-6.1-sol"), EXEC, [["exec", {"input": LISTED}]], code=COUNTED),
    "claude": Client(claude, first=[["ToolSearch", {"query": "+lab lab", "max_results": 30}]]),
    "gemini": Client(gemini),
    "qwen": Client(qwen, TOOL_CALL, first=[["tool_search", {"query": "+lab lab", "max_results": 20}]]),
    "opencode": Client(opencode),
    "kilo": Client(
        partial(opencode, name="kilo", program=str(NPM / "kilo/node_modules/@kilocode/cli-linux-x64/bin/kilo"))
    ),
    "cline": Client(cline),
    "continue": Client(continuedev),
    "copilot": Client(copilot),
    "kimi": Client(kimi),
    "goose": Client(goose),
    "vibe": Client(vibe, TYPESCRIPT, VIBE_SEARCH, code=VIBE_COUNTED),  # tools are called from TypeScript
    "hermes": Client(hermes),
    "openhands": Client(openhands, extra={"security_risk": "LOW", "summary": "a call"}),
}
FRAMEWORKS = [
    "openai-agents",
    "pydantic-ai",
    "langchain",
    "langchain-each",
    "strands",
    "agent-framework",
    "agno",
    "google-adk",
    "crewai",
]
ENDS_AT = {"langchain": ("link",)}  # its adapter for chat completions takes no link to a file
CLIENTS |= {name: Client(partial(framework, name=name), skip=ENDS_AT.get(name, ())) for name in FRAMEWORKS}
