import time
from typing import Any

import pytest
from pydantic import ValidationError

from shaping.envelope import (
    CommandMeta,
    Envelope,
    EnvelopeError,
    HttpMeta,
    LocalMeta,
    McpMeta,
    UpgradeHint,
    command_envelope,
    exit_code_for,
    http_envelope,
    local_envelope,
    mcp_envelope,
)
from shaping.errors import Redirect, make_error, register_plugin, unregister_plugin
from shaping.response import Omission, Warned

OOPS = make_error("NOT_FOUND", "no such thing")


def test_a_local_envelope_says_which_operation_and_when() -> None:
    before = time.time_ns() // 1_000_000
    envelope = local_envelope({"a": 1}, "ns.op")
    after = time.time_ns() // 1_000_000
    assert isinstance(envelope.meta, LocalMeta)
    assert before <= envelope.meta.timestamp <= after
    assert envelope == Envelope(
        data={"a": 1},
        meta=LocalMeta(operation_id="ns.op", timestamp=envelope.meta.timestamp),
    )


def test_lists_become_tuples_and_unknown_members_become_extensions() -> None:
    envelope = local_envelope(
        None,
        "op",
        warnings=["slow", Warned("OLD", "deprecated")],
        timestamp=5,
        capabilities=["envelope-v1"],
        omissions=[Omission("items[]", 3, "items")],
        upgrade_hints=[{"feature": "f", "tier": "pro", "reason": "r"}, UpgradeHint("g", "pro", "r")],
        extensions={"one": 1},
        two=2,
    )
    assert envelope == Envelope(
        data=None,
        warnings=(Warned("", "slow"), Warned("OLD", "deprecated")),
        meta=LocalMeta(
            operation_id="op",
            timestamp=5,
            capabilities=("envelope-v1",),
            omissions=(Omission("items[]", 3, "items"),),
            upgrade_hints=(UpgradeHint("f", "pro", "r"), UpgradeHint("g", "pro", "r")),
            extensions={"one": 1, "two": 2},
        ),
    )


def test_nobody_sets_ok() -> None:
    with pytest.raises(EnvelopeError, match="ok is derived"):
        local_envelope(1, "op", ok=False)


def test_extensions_are_not_shared_between_envelopes() -> None:
    assert local_envelope(1, "op").meta.extensions is not local_envelope(1, "op").meta.extensions


def test_repeated_headers_are_kept_and_the_content_type_is_found() -> None:
    pairs = [("Content-Type", "text/plain"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")]
    assert http_envelope("x", status=200, headers=pairs) == Envelope(
        data="x",
        meta=HttpMeta(status=200, headers=tuple(pairs), content_type="text/plain"),
    )
    assert http_envelope("x", status=200, headers={"a": "b"}, content_type="x/y").meta == HttpMeta(
        status=200,
        headers=(("a", "b"),),
        content_type="x/y",
    )


def test_only_a_local_answer_has_a_timestamp_of_its_own() -> None:
    assert http_envelope("x", status=200, timestamp=5).meta.extensions == {"timestamp": 5}


def test_a_status_of_304_means_not_modified() -> None:
    assert http_envelope(None, status=304).meta.not_modified is True
    assert http_envelope(None, status=304, not_modified=False).meta.not_modified is False


def test_an_mcp_envelope_keeps_blocks_structure_and_protocol_meta() -> None:
    envelope = mcp_envelope(
        {"a": 1},
        content=[{"type": "text", "text": "x"}],
        structured_content={"a": 1},
        protocol_meta={"k": 1},
    )
    assert envelope == Envelope(
        data={"a": 1},
        meta=McpMeta(content=({"type": "text", "text": "x"},), structured_content={"a": 1}, meta={"k": 1}),
    )


def test_is_error_follows_from_the_error() -> None:
    failed = mcp_envelope(None, error=OOPS)
    assert isinstance(failed.meta, McpMeta)
    assert failed.meta.is_error is True


def test_the_exit_code_follows_from_the_error() -> None:
    envelope = command_envelope("out", argv=["git", "log"], error=OOPS)
    assert envelope.meta == CommandMeta(exit_code=5, argv=("git", "log"))
    assert command_envelope("out").meta == CommandMeta()


def test_a_code_of_a_commands_own_exits_with_1_or_13() -> None:
    moved = make_error("COMMAND_RENAMED", "moved", redirect=Redirect(command="new", permanent=False), foreign=True)
    mine = make_error("MINE", "x", foreign=True)
    assert (exit_code_for(mine), exit_code_for(moved), exit_code_for(None)) == (1, 13, 0)


def test_a_plugins_code_exits_as_it_says() -> None:
    register_plugin("zeta", {"FULL": {"http": 503, "retryable": False, "hint": "Wait.", "exit_code": 80}})
    try:
        assert exit_code_for(make_error("zeta.FULL", "x")) == 80
    finally:
        unregister_plugin("zeta")


@pytest.mark.parametrize(
    "make",
    [
        lambda: http_envelope(None, status=500),
        lambda: mcp_envelope(None, is_error=True),
        lambda: command_envelope(None, exit_code=137, signal=9),
    ],
)
def test_a_failed_outcome_without_an_error_is_refused(make: Any) -> None:
    with pytest.raises(EnvelopeError, match="a failed outcome needs an error"):
        make()


def test_an_error_that_contradicts_the_outcome_is_refused() -> None:
    with pytest.raises(EnvelopeError, match="an error needs a failed outcome"):
        command_envelope(None, exit_code=0, error=OOPS)
    with pytest.raises(EnvelopeError, match="an error needs a failed outcome"):
        mcp_envelope(None, is_error=False, error=OOPS)


def test_a_member_of_the_wrong_type_is_refused() -> None:
    with pytest.raises(ValidationError, match="tier"):
        local_envelope(None, "op", tier=5)
