from __future__ import annotations

import json
from typing import Any

import pytest

from shaping.clients.wrap import Failure, WrapOptions, same_servers, unwrap, wrap

CLAUDE_DESKTOP = {
    "globalShortcut": "",
    "mcpServers": {
        "files": {"command": "npx", "args": ["-y", "server-filesystem", "/data"], "env": {"TOKEN": "t"}},
        "bare": {"command": "server"},
    },
}
CLAUDE_CODE = {"mcpServers": {"web": {"type": "http", "url": "https://x.example/mcp", "headers": {"A": "Bearer b"}}}}
CLAUDE_CODE_USER = {"projects": {"/home/me/p": {"mcpServers": {"files": {"type": "stdio", "command": "npx"}}}}}
VS_CODE = {
    "inputs": [{"type": "promptString", "id": "key", "description": "Key", "password": True}],
    "servers": {
        "github": {"type": "http", "url": "https://x.example", "headers": {"Authorization": "Bearer ${input:key}"}},
        "local": {"type": "stdio", "command": "${workspaceFolder}/run", "envFile": ".env", "cwd": "/x"},
        "old": {"type": "sse", "url": "http://127.0.0.1:9/sse"},
    },
}
VS_CODE_SETTINGS = {"editor.tabSize": 2, "mcp": {"servers": {"a": {"command": "b", "args": ["c"]}}}}
CURSOR = {"mcpServers": {"remote": {"url": "https://x.example/mcp", "env": {"A": "b"}, "note": 1}}}
ZED = {"theme": "x", "context_servers": {"time": {"source": "custom", "command": "uvx", "args": ["t"], "env": {}}}}
OPENCODE = {
    "model": "lab/lab",
    "mcp": {
        "files": {"type": "local", "command": ["npx", "-y", "s"], "environment": {"T": "{env:T}"}, "enabled": True},
        "bare": {"type": "local", "command": ["server"]},
        "web": {"type": "remote", "url": "https://x.example/mcp", "headers": {"X-Key": "{env:K}"}, "enabled": False},
    },
}
FORMS = [OPENCODE, CLAUDE_DESKTOP, CLAUDE_CODE, CLAUDE_CODE_USER, VS_CODE, VS_CODE_SETTINGS, CURSOR, ZED]


@pytest.mark.parametrize("form", FORMS)
def test_unwrapping_what_was_wrapped_gives_the_same_servers(form: dict[str, Any]) -> None:
    text = json.dumps(form, indent=2)
    wrapped = wrap(text, WrapOptions(options=["--profile", "debug"]))
    assert wrapped.changed
    assert not same_servers(wrapped.text, text)
    assert same_servers(unwrap(wrapped.text).text, text)


@pytest.mark.parametrize("form", FORMS)
def test_wrapping_twice_is_wrapping_once(form: dict[str, Any]) -> None:
    once = wrap(json.dumps(form, indent=2))
    twice = wrap(once.text)
    assert (twice.text, twice.changed) == (once.text, ())
    assert {reason for _, reason in twice.left} == {"already wrapped"}


def test_a_command_goes_behind_the_proxy_with_its_environment_and_order() -> None:
    assert json.loads(wrap(json.dumps(CLAUDE_DESKTOP)).text) == {
        "globalShortcut": "",
        "mcpServers": {
            "files": {
                "command": "shaping",
                "args": ["proxy", "--name", "files", "--", "npx", "-y", "server-filesystem", "/data"],
                "env": {"TOKEN": "t"},
            },
            "bare": {"command": "shaping", "args": ["proxy", "--name", "bare", "--", "server"]},
        },
    }


def test_a_url_becomes_a_command_and_its_headers_go_by_the_environment() -> None:
    assert json.loads(wrap(json.dumps(VS_CODE), WrapOptions(program=["/bin/shaping"])).text)["servers"]["github"] == {
        "type": "stdio",
        "command": "/bin/shaping",
        "args": ["proxy", "--name", "github", "--url", "https://x.example", "--transport", "http"],
        "env": {"SHAPING_PROXY_HEADER_1": "Authorization: Bearer ${input:key}"},
    }


def test_an_entry_of_opencode_keeps_its_form() -> None:
    servers = json.loads(wrap(json.dumps(OPENCODE)).text)["mcp"]
    assert servers["files"] == {
        "type": "local",
        "command": ["shaping", "proxy", "--name", "files", "--", "npx", "-y", "s"],
        "environment": {"T": "{env:T}"},
        "enabled": True,
    }
    assert servers["web"] == {
        "type": "local",
        "command": ["shaping", "proxy", "--name", "web", "--url", "https://x.example/mcp"],
        "environment": {"SHAPING_PROXY_HEADER_1": "X-Key: {env:K}"},
        "enabled": False,
    }


def test_options_stand_before_the_command() -> None:
    text = json.dumps({"mcpServers": {"a": {"command": "x", "args": ["proxy", "--url"]}}})
    wrapped = wrap(text, WrapOptions(options=["--profile", "debug"]))
    assert json.loads(wrapped.text)["mcpServers"]["a"]["args"] == [
        "proxy",
        "--name",
        "a",
        "--profile",
        "debug",
        "--",
        "x",
        "proxy",
        "--url",
    ]
    assert same_servers(unwrap(wrapped.text).text, text)


def test_comments_outside_the_entries_stay() -> None:
    text = '{\n  // my servers\n  "mcpServers": {\n    // files\n    "a": {"command": "x"}, // one\n  },\n}\n'
    assert wrap(text).text == (
        '{\n  // my servers\n  "mcpServers": {\n    // files\n'
        '    "a": {"command": "shaping", "args": ["proxy", "--name", "a", "--", "x"]}, // one\n  },\n}\n'
    )


def test_what_cannot_be_wrapped_is_left_with_the_reason() -> None:
    text = json.dumps({"mcpServers": {"a": {"disabled": True}, "b": {"command": "x"}, "c": 1}})
    result = wrap(text, WrapOptions(skip=["b"]))
    assert (result.text, result.changed) == (text, ())
    assert result.left == (("a", "it has neither a command nor a url"), ("b", "skipped as asked"))


def test_what_is_not_wrapped_is_not_unwrapped() -> None:
    several = {"command": "shaping", "args": ["proxy", "--servers", "all.json"]}
    text = json.dumps({"mcpServers": {"a": {"command": "x"}, "b": several}})
    assert unwrap(text).left == (
        ("a", "it has no proxy"),
        ("b", "it starts a proxy for several servers, which no single entry can replace"),
    )


@pytest.mark.parametrize("program", ["shaping", "/opt/bin/shaping", "C:\\Tools\\shaping.exe", "shaping.cmd"])
def test_the_proxy_is_known_by_any_of_its_programs_names(program: str) -> None:
    text = json.dumps(CLAUDE_DESKTOP)
    assert same_servers(unwrap(wrap(text, WrapOptions(program=[program])).text).text, text)


def test_an_empty_list_of_arguments_counts_as_none() -> None:
    assert same_servers('{"mcpServers": {"a": {"command": "x", "args": []}}}', '{"mcpServers": {"a": {"command":"x"}}}')


def remote(**members: Any) -> str:
    return json.dumps({"mcpServers": {"r": {"type": "http", "url": "https://x.example/mcp", **members}}})


@pytest.mark.parametrize(
    ("members", "asks", "left"),
    [
        ({}, False, False),
        ({}, True, True),
        ({"oauth": {"clientId": "c"}}, False, True),
        ({"auth": {"CLIENT_ID": "c"}}, False, True),
        ({"auth": "oauth"}, False, True),
        ({"headers": {"X-Api-Key": "k"}}, False, False),
        ({"headers": {"Authorization": "Bearer ${TOKEN}"}, "oauth": {}}, False, False),
        ({"url": "https://${HOST}/mcp"}, False, False),
    ],
)
def test_a_server_that_signs_in_by_itself_is_left_with_the_way_to_force_it(
    members: dict[str, Any], asks: bool, left: bool
) -> None:
    text = remote(**members)
    refused = Failure("HTTP status 401", wants_credentials=True) if asks else None
    result = wrap(text, WrapOptions(why_it_fails=lambda _: refused))
    forced = wrap(text, WrapOptions(oauth=True, why_it_fails=lambda _: refused))
    assert bool(result.left) is left
    assert ("shaping wrap --oauth" in str(result.left)) is left
    assert ("--oauth" in json.loads(forced.text)["mcpServers"]["r"]["args"]) is left
    assert forced.signing_in == (("https://x.example/mcp",) if left else ())
    assert same_servers(unwrap(forced.text).text, text)


def test_a_server_that_is_not_wrapped_is_not_signed_in_to() -> None:
    result = wrap(remote(url="wss://x.example/mcp", auth="oauth"), WrapOptions(oauth=True))
    assert (result.left, result.signing_in) == ((("r", "its address is neither http nor https"),), ())


def test_a_refused_server_that_has_credentials_fails_for_another_reason() -> None:
    refused = WrapOptions(why_it_fails=lambda _: Failure("HTTP status 401", wants_credentials=True))
    ((_, reason),) = wrap(remote(headers={"X-Api-Key": "k"}), refused).left
    assert reason == "it does not work behind the proxy: HTTP status 401; --no-test wraps it all the same"


def test_a_command_does_not_sign_in() -> None:
    text = json.dumps({"mcpServers": {"c": {"command": "x", "auth": "y"}}})
    assert wrap(text).changed == ("c",)


@pytest.mark.parametrize("url", ["https://x.example/mcp?key=s3cret", "https://me:s3cret@x.example/mcp"])
def test_an_address_that_may_hold_a_key_goes_by_the_environment(url: str) -> None:
    text = remote(url=url, env={"A": "b"})
    wrapped = wrap(text)
    entry = json.loads(wrapped.text)["mcpServers"]["r"]
    assert entry["args"] == ["proxy", "--name", "r", "--url", "env:SHAPING_PROXY_URL", "--transport", "http"]
    assert entry["env"] == {"A": "b", "SHAPING_PROXY_URL": url}
    assert same_servers(unwrap(wrapped.text).text, text)


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"headersHelper": "./token.sh"}, "its headers come from a command that only the client runs (headersHelper)"),
        ({"url": "ws://x.example/mcp"}, "its address is neither http nor https"),
        ({"command": "node", "args": "server.js"}, "its args are no list"),
        ({"command": "node", "args": None}, "its args are no list"),
    ],
)
def test_what_a_proxy_cannot_pass_on_is_left_with_the_reason(members: dict[str, Any], reason: str) -> None:
    assert wrap(remote(**members)).left == (("r", reason),)
