"""Generated envelopes through every dialect: `python benchmarks/fuzz_envelopes.py [how many] [seed]`."""

from __future__ import annotations

import sys
from math import ceil
from random import Random
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import jsonschema_rs
import orjson

from shaping.envelope import (
    DIALECTS,
    Envelope,
    command_envelope,
    http_envelope,
    local_envelope,
    mcp_envelope,
    recognise,
)
from shaping.envelope.dialects import flat, invariant, members, sourced
from shaping.envelope.dialects.members import from_lean, lean_code
from shaping.errors import ErrorDetail, Redirect, codes, make_error
from shaping.response import Omission, Warned
from shaping.settings.files import bundled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

Checker = dict[str, Any]
EVERYTHING = frozenset({*members.ORDER, "error", "warnings", "extensions"})
WAYS: tuple[tuple[frozenset[str], bool], ...] = ((frozenset(), False), (EVERYTHING, False), (frozenset(), True))
KEYS = [
    "a",
    "ok",
    "_meta",
    "result",
    "data",
    "error",
    "meta",
    "value",
    "warnings",
    "code",
    "",
    "ключ",
    "a.b",
    "источник",
]
TEXTS = ["", "x", "two words", "null", "日本語", "a\nb", '{"a":1}', "😀", "0"]
OWN_CODES = ["INVALID_ENVIRONMENT", "production.NOTARIZATION_FAILED", "MixedCase", "lower_case", "E42"]
EXTENSIONS = ["x_trace", "durationMs", "bare", "elapsed_ms", "source", "status", "vendor.flag", "warnings"]
BLOCKS: list[Any] = [
    {"type": "text", "text": "hello", "annotations": {"audience": ["user"], "priority": 0.5}},
    {"type": "image", "data": "AAAA", "mimeType": "image/png"},
    {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
    {"type": "resource", "resource": {"uri": "file:///a", "text": "x"}},
    {"type": "resource_link", "uri": "file:///a", "name": "a"},
    {"type": "hologram", "frames": 3},
]


class Carries(NamedTuple):
    """What a dialect carries when every member is included; what was left open may come back filled."""

    source: str | None = "local"  # what meta comes back as; None where the wire tells
    error: frozenset[str] = frozenset()
    meta: frozenset[str] = frozenset()
    warnings: bool = True
    data_on_error: bool = True
    changes: Mapping[str, Callable[[Any], Any]] = MappingProxyType({})  # members that come back otherwise


ERROR = frozenset(ErrorDetail.model_fields)
META = frozenset({*members.ORDER, "extensions"})
SOURCED = frozenset().union(*sourced.RESERVED.values())
CARRIES = {
    "lean": Carries(error=ERROR - {"http"}, meta=META, changes={"error.code": lambda code: from_lean(lean_code(code))}),
    "flat": Carries(
        error=ERROR,
        meta=META,
        changes={
            "error.hint": lambda hint: hint or None,  # always said there, so an empty one says nothing
            "meta.extensions": lambda extensions: members.rest(extensions, flat.RESERVED),
        },
    ),
    "sourced": Carries(
        source=None,
        error=ERROR,
        meta=META.union(*sourced.OWN.values()),
        changes={
            "meta.headers": sourced.joined,
            "meta.extensions": lambda extensions: members.rest(extensions, SOURCED),
        },
    ),
    "invariant": Carries(
        source="command",
        error=ERROR - {"http"},
        meta=META,
        data_on_error=False,
        changes={
            "error.retry_after": ceil,
            "meta.duration_ms": round,
            "meta.extensions": lambda extensions: members.rest(extensions, invariant.RESERVED),
            "warnings": lambda warnings: [warned.message for warned in warnings],
        },
    ),
    "none": Carries(warnings=False),
}


def lost(before: Envelope[Any], after: Envelope[Any], carries: Carries) -> list[str]:
    """Name what a dialect should have carried and did not."""
    was, now = carried(before, carries), carried(after, carries)
    names = [name for name, told in was.items() if told not in (None, ()) and now.get(name) != told]
    return names if carries.source in (None, after.meta.source) else [*names, "source"]


def carried(made: Envelope[Any], carries: Carries) -> dict[str, Any]:
    """Give the part of an envelope that comes back when its wire form is parsed."""
    found: dict[str, Any] = {}
    if made.error is None or carries.data_on_error:
        found["data"] = made.data
    if carries.warnings:
        found["warnings"] = made.warnings
    if made.error is not None:
        found |= {f"error.{name}": told for name, told in made.error.__dict__.items() if name in carries.error}
    found |= {f"meta.{name}": told for name, told in made.meta.__dict__.items() if name in carries.meta}
    return {name: changed(name, told, carries) for name, told in found.items()}


def changed(name: str, told: Any, carries: Carries) -> Any:
    """Give a member as it comes back."""
    change = carries.changes.get(name)
    return told if change is None or told is None else change(told)


def value(rng: Random, depth: int = 3) -> Any:
    """Any JSON value, with keys that dialects have a use for themselves."""
    kind = rng.randrange(8 if depth else 6)
    if kind < 6:
        return [
            None,
            rng.choice([True, False]),
            rng.randint(-(2**63), 2**64 - 1),
            rng.random() * 1e6,
            rng.choice(TEXTS),
            0,
        ][kind]
    if kind == 6:
        return [value(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {rng.choice(KEYS): value(rng, depth - 1) for _ in range(rng.randrange(4))}


def error(rng: Random) -> ErrorDetail:
    """Any error, registered or a command's own."""
    code = rng.choice([*codes(), *OWN_CODES])
    moved = Redirect(command="tool new", permanent=rng.random() < 0.5, reason=rng.choice([None, "renamed"]))
    return make_error(
        code,
        rng.choice(TEXTS),
        hint=maybe(rng, lambda: rng.choice(TEXTS)),
        details=maybe(rng, lambda: {"why": value(rng, 2)}),
        similar=[rng.choice(TEXTS)] * rng.randrange(3),
        next_actions=["retry"] * rng.randrange(2),
        retryable=rng.choice([None, None, True, False]),
        retry_after=rng.choice([None, 0, 3, 1.5]),
        phase=rng.choice([None, "validation", "execution", "cleanup"]),
        detail=maybe(rng, lambda: rng.choice(TEXTS)),
        redirect=moved if code == "REDIRECTED" or code in OWN_CODES else None,
        docs_url=maybe(rng, lambda: "https://example.org/docs"),
        foreign=True,
    )


def common(rng: Random) -> dict[str, Any]:
    """Any choice of the members that every source shares, and some that none has."""
    omitted = Omission("items[]", 3, "items", rng.choice([None, 90]), rng.choice([None, "r_x"]))
    choices: dict[str, Callable[[], Any]] = {
        "duration_ms": lambda: rng.choice([0, 7, 12.75]),
        "estimated_tokens": lambda: rng.randrange(9000),
        "capabilities": lambda: ["envelope-v1"] * rng.randrange(2),
        "upgrade_hints": lambda: [{"feature": "f", "tier": "pro", "reason": "r"}] * rng.randrange(3),
        "omissions": lambda: rng.choice(["3 items left out", [omitted], []]),
        "not_modified": lambda: rng.random() < 0.5,
        "truncated": lambda: rng.random() < 0.5,
        **{name: lambda: rng.choice(TEXTS) for name in ("request_id", "session_id", "schema_version", "cursor", "ref")},
        **{name: lambda: rng.choice(TEXTS) for name in ("etag", "tool_id", "tool_version", "tier", "config_hash")},
    }
    chosen = {name: make() for name, make in choices.items() if rng.random() < 0.4}
    chosen["extensions"] = {name: value(rng, 1) for name in EXTENSIONS if rng.random() < 0.15}
    return chosen


def envelope(rng: Random) -> Envelope[Any]:
    """Any envelope, from any source."""
    problem = error(rng) if rng.random() < 0.4 else None
    either: list[Warned | str] = ["slow", Warned("OLD", "is deprecated", rng.choice([None, "a.b"]))]
    said = [rng.choice(either)]
    rest: dict[str, Any] = {"error": problem, "warnings": said * rng.randrange(3), **common(rng)}
    data, source = value(rng), rng.randrange(4)
    if source == 0:
        return local_envelope(data, rng.choice(["op", "ns.op", ""]), **rest)
    if source == 1:
        headers = [
            ("Content-Type", "text/plain"),
            ("Vary", "a"),
            ("vary", "b"),
            ("Set-Cookie", "a=1"),
            ("Set-Cookie", "b=2"),
        ]
        status = rng.choice([200, 204, 304] if problem is None else [200, 404, 503])
        return http_envelope(data, status=status, headers=headers[: rng.randrange(6)], **rest)
    if source == 2:
        blocks, extra = rng.sample(BLOCKS, rng.randrange(4)), maybe(rng, lambda: {"k": 1})
        return mcp_envelope(
            data, content=blocks, structured_content=maybe(rng, lambda: {"a": 1}), protocol_meta=extra, **rest
        )
    code = None if problem is None else rng.choice([None, 1, 79, 137])
    return command_envelope(data, exit_code=code, argv=["git", "log"], signal=rng.choice([None, 9, "SIGKILL"]), **rest)


def maybe(rng: Random, make: Callable[[], Any]) -> Any:
    """Now and then a value, else None."""
    return make() if rng.random() < 0.3 else None


def checkers() -> Checker:
    """Compile each dialect's schema."""
    schemas = {name: orjson.loads(bundled("config", f"envelope.{name}.schema.json")) for name in DIALECTS}
    return {name: jsonschema_rs.validator_for(schema) for name, schema in schemas.items()}


def problems(made: Envelope[Any], check: Checker) -> Iterator[str]:
    """Say what goes wrong with an envelope, in any dialect and any profile."""
    before = orjson.dumps(made.data)
    for dialect in DIALECTS:
        for include, debug in WAYS:
            where = f"{dialect} debug={debug} include={len(include)}"
            text = orjson.dumps(made.render(dialect, include=include, debug=debug))
            wire = orjson.loads(text)
            yield from (f"{where}: {fault.message}" for fault in check[dialect].iter_errors(wire))
            if dialect != "none" and recognise(wire) != dialect:
                yield f"{where}: taken for {recognise(wire)}"
            back = Envelope.parse(wire, dialect)
            again = orjson.dumps(back.render(dialect, include=include, debug=debug))
            if again != text:
                yield f"{where}: rendered again it reads\n  {again.decode()}\n  {text.decode()}"
            if dialect != "none" and back.ok != made.ok:
                yield f"{where}: ok changed"
            if include or debug:
                yield from (f"{where}: lost {name}" for name in lost(made, back, CARRIES[dialect]))
    if orjson.dumps(made.data) != before:
        yield "the data was changed"


def main(count: int = 10_000, seed: int = 0) -> int:
    rng, check, started, bad = Random(seed), checkers(), perf_counter(), 0  # noqa: S311  a fuzz must be repeatable
    for number in range(count):
        for problem in problems(envelope(rng), check):
            bad += 1
            print(f"envelope {number}: {problem}")
            if bad > 20:
                return 1
    print(f"{count} envelopes, {len(DIALECTS)} dialects, {len(WAYS)} profiles, seed {seed}: {bad} problems")
    print(f"{perf_counter() - started:.1f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*(int(argument) for argument in sys.argv[1:])))
