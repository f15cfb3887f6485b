import hashlib
from typing import Any

import jsonschema
import orjson
import pytest

from shaping.envelope import DIALECTS, Dialect, Envelope, local_envelope
from shaping.envelope.model import CommonMeta
from shaping.errors import ErrorDetail, make_error
from shaping.response import Listed, Omission, Warned
from shaping.settings.files import bundled


def schema_of(dialect: str) -> dict[str, Any]:
    schema: dict[str, Any] = orjson.loads(bundled("config", f"envelope.{dialect}.schema.json"))
    return schema


def full(error: ErrorDetail | None = None) -> Envelope[Any]:
    """Return an envelope with every optional member set."""
    return local_envelope(
        None if error else {"id": 7},
        "search",
        error=error,
        warnings=[Warned("STALE", "the index is old", "items"), "a sentence"],
        duration_ms=3.5,
        request_id="r",
        session_id="s",
        schema_version="2",
        truncated=True,
        shown=(
            Listed("items", 1, 2),
            Listed("logs", 3, 9, first=1, errors=4),
        ),
        cursor="c",
        ref="f",
        etag="e",
        estimated_tokens=9,
        tool_id="search",
        tool_version="1",
        tier="free",
        capabilities=("a",),
        config_hash="h",
        upgrade_hints=({"feature": "f", "tier": "pro", "reason": "r"},),
        omissions=(Omission("items", 1, "items", 5, "f"),),
    )


FAILED = make_error("RATE_LIMITED", "wait", retry_after=2, details={"a": 1}, similar=["b"], next_actions=["c"])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_schema_is_one(dialect: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema_of(dialect))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("error", [None, FAILED])
def test_whatever_is_rendered_fits_the_schema(dialect: Dialect, error: ErrorDetail | None, debug: bool) -> None:
    everything = {*CommonMeta.model_fields, "error", "warnings"}
    for include in (everything, set[str]()):
        jsonschema.validate(full(error).render(dialect, include=include, debug=debug), schema_of(dialect))


@pytest.mark.parametrize("dialect", ["lean", "flat", "sourced", "invariant"])
def test_every_member_of_the_model_is_described(dialect: Dialect) -> None:
    wire = full().render(dialect, include={*CommonMeta.model_fields, "warnings"})
    described = orjson.dumps(schema_of(dialect)).decode()
    for name in wire.get("_meta") or wire.get("meta") or wire:
        assert f'"{name}":' in described


# Where a wire form changes: raise the version in every $comment, say how in the changelog, write the new digest here.
DIGESTS = {"version 3 of the wire forms": "cb697786758e037683114939a2e655593a987ba18cff6b3faa2c4e1bfd7d54d5"}


def test_a_wire_form_changes_only_with_the_version() -> None:
    schemas = [schema_of(dialect) for dialect in sorted(DIALECTS)]
    digest = hashlib.sha256(orjson.dumps(schemas)).hexdigest()
    (version,) = {schema["$comment"] for schema in schemas}
    assert DIGESTS.get(version) == digest, f"a wire form changed: raise its version, then put {digest} here"
