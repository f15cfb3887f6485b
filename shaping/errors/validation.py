"""What a validator refused: one issue per field, without the values that were given."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_args

import orjson
from pydantic_core.core_schema import ErrorType

from shaping.response import counted, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_SHOWN = 5  # in the message; all of them are in the details
_OWN_WORDS = frozenset({"value_error", "assertion_error", "union_tag_invalid", "uuid_parsing"})
_FIXED_WORDS = frozenset(get_args(ErrorType)) - _OWN_WORDS


def issues(problem: ValidationError) -> list[dict[str, str]]:
    """List every problem as path, kind and sentence."""
    return [_issue(found) for found in problem.errors(include_url=False, include_context=False)]


def summary(found: Sequence[dict[str, str]]) -> str:
    """Summarise in one sentence what is wrong."""
    sentences = "; ".join(
        f"{issue['path']}: {issue['message']}" if issue["path"] else issue["message"] for issue in found[:_SHOWN]
    )
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"{counted(len(found), 'invalid argument')}: {sentences}{more}"


def likely_meant(problem: ValidationError) -> tuple[str, ...]:
    """Return what was probably meant: a choice like the one given, or a missing name like one too many."""
    found = problem.errors(include_url=False)
    missing = [str(one["loc"][-1]) for one in found if one["type"].startswith("missing") and one["loc"]]
    near = [word for one in found for word in _meant(one, missing)]
    return tuple(dict.fromkeys(near))


def _meant(one: ErrorDetails, missing: list[str]) -> tuple[str, ...]:
    if one["type"] in {"extra_forbidden", "unexpected_keyword_argument"}:
        return nearest(str(one["loc"][-1]), missing)
    expected = one.get("ctx", {}).get("expected") or one.get("ctx", {}).get("expected_tags") or ""
    given = one.get("ctx", {}).get("tag", one["input"])
    return nearest(given, re.findall(r"'([^']*)'", str(expected))) if isinstance(given, str) else ()


def _issue(found: ErrorDetails) -> dict[str, str]:
    return {"path": place(found["loc"]), "type": found["type"], "message": _message(found)}


def place(loc: Iterable[int | str]) -> str:
    """Write where a value stands, from its keys and indexes."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in loc).removeprefix(".")


def _message(found: ErrorDetails) -> str:
    """Return the sentence; where a validator wrote it, what it quotes of the input is left out."""
    message = found["msg"]
    if found["type"] in _FIXED_WORDS:
        return message
    for value in sorted(set(_scalars(found["input"])), key=len, reverse=True):
        message = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", "…", message)
    return message


def _scalars(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _scalars(item)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            yield from _scalars(item)
    elif value is not None and str(value):
        yield str(value)


_LONGEST = 200


def schema_issue(exc: BaseException) -> dict[str, str] | None:
    """Return where and which rule, for the exceptions of jsonschema and jsonschema_rs; None for any other."""
    if hasattr(exc, "json_path") and hasattr(exc, "validator"):
        rule = str(exc.validator)
        expected = _as_json(getattr(exc, "validator_value", None))
        return _schema_issue(
            str(exc.json_path).removeprefix("$").removeprefix("."), rule, f"expected {rule} {expected}"
        )
    if hasattr(exc, "instance_path") and hasattr(exc, "schema_path"):
        rule = str([*exc.schema_path][-1]) if exc.schema_path else "schema"
        return _schema_issue(place(exc.instance_path), rule, f"does not satisfy {rule}")
    return None


def _schema_issue(path: str, rule: str, message: str) -> dict[str, str]:
    return {"path": path, "type": rule, "message": message}


def _as_json(expected: Any) -> str:
    return orjson.dumps(expected, default=str).decode()[:_LONGEST]
