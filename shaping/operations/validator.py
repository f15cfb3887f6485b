"""Whether a value fits a JSON Schema, by the library that implements the whole standard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from shaping.errors.issues import place

if TYPE_CHECKING:
    from collections.abc import Iterator

Draft: TypeAlias = Literal["7", "2020-12"]

# What a message shows in place of the value, which may be a secret.
MASK = "it"


class Validator:
    """A compiled JSON Schema; references to other documents are never fetched."""

    def __init__(self, schema: dict[str, Any], draft: Draft | None = None) -> None:
        rules = _library()
        name = draft or _draft(schema)
        known = {"7": rules.Draft7Validator, "2020-12": rules.Draft202012Validator}
        self._masked = known[name](schema, mask=MASK, offline=True)

    def accepts(self, value: Any) -> bool:
        """Whether a value fits; what is not JSON does not."""
        try:
            return bool(self._masked.is_valid(value))
        except ValueError:
            return False

    def issues(self, value: Any) -> list[dict[str, str]]:
        """List what does not fit as path, kind and sentence, without the values."""
        try:
            return list(self._issues(value))
        except ValueError as problem:
            return [{"path": "", "type": "json", "message": f"not JSON: {type(problem).__name__}"}]

    def _issues(self, value: Any) -> Iterator[dict[str, str]]:
        for found in self._masked.iter_errors(value):
            yield {"path": place(found.instance_path), "type": str(found.schema_path[-1]), "message": found.message}


def _draft(schema: dict[str, Any]) -> Draft:
    """Tell the draft by what the schema says, else by words that the newer one does not have."""
    said = str(schema.get("$schema", ""))
    if said:
        return "7" if any(old in said for old in ("draft-07", "draft-06", "draft-04")) else "2020-12"
    return "7" if any(_is_old(part) for part in _parts(schema)) else "2020-12"


def _is_old(part: dict[str, Any]) -> bool:
    return isinstance(part.get("items"), list) or "additionalItems" in part


def _parts(schema: Any) -> Iterator[dict[str, Any]]:
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


def _library() -> Any:
    try:
        import jsonschema_rs  # noqa: PLC0415  an extra, imported where it is used
    except ImportError:
        raise ImportError('checking a JSON Schema needs an extra: pip install "shaping[http]"') from None
    return jsonschema_rs
