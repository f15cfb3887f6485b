"""A command's answer as it goes out: the envelope in its wire form, or the two outputs alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from shaping.envelope import Envelope
    from shaping.settings import Plan


def wire_of(envelope: Envelope[Any], plan: Plan) -> Any:
    """Write an envelope as the plan says."""
    # Where there is an etag, somebody asked for it.
    return envelope.render(plan.dialect, include=plan.envelope | {"etag"}, debug=plan.debug)


def outputs_of(envelope: Envelope[Any]) -> tuple[str, str]:
    """Give what the dialect `none` prints: standard output, and what is said beside it."""
    error = envelope.error
    stdout: Any = envelope.data if error is None else (error.details or {}).get("stdout")
    stderr = None if error is None else error.detail or error.message + "\n"
    if isinstance(stdout, dict) and stdout.keys() <= {"stdout", "stderr"}:
        stdout, stderr = stdout.get("stdout"), stdout.get("stderr") or stderr
    if stdout is None or isinstance(stdout, str):
        return stdout or "", stderr or ""
    return orjson.dumps(stdout).decode() + "\n", stderr or ""


def text_of(envelope: Envelope[Any], plan: Plan) -> str:
    """Give all that is read of an answer, which is what its budget is for."""
    if plan.dialect == "none":
        return "".join(outputs_of(envelope))
    return orjson.dumps(wire_of(envelope, plan)).decode()
