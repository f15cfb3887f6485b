"""What an application can do, for a program to read: commands, flags, exit codes, and schemas of what they print."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, get_type_hints

import orjson

from shaping.errors import EXIT_CODES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


def manifest_of(
    command: Any,
    *,
    name: str,
    version: str | None = None,
    renamed: Mapping[str, str] | None = None,
    outputs: Mapping[str, Any] | None = None,
    exit_codes: Mapping[int, str] | None = None,
) -> dict[str, Any]:
    """Describe a Click or Typer application; `outputs` has the schemas that no annotation tells."""
    schemas = outputs or {}
    found: dict[str, Any] = {
        "name": name,
        "version": version,
        "commands": [_command(path, leaf, schemas.get(" ".join(path))) for path, leaf in leaves(command)],
        "exit_codes": _exit_codes() if exit_codes is None else {str(code): said for code, said in exit_codes.items()},
        "renamed": [{"command": old, "replacement": new} for old, new in (renamed or {}).items()],
    }
    return {**found, "etag": blake2b(orjson.dumps(found), digest_size=8).hexdigest()}


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Go through the commands that do something, each with the words that call it."""
    if not hasattr(command, "commands"):
        yield path, command
        return
    for word, inner in command.commands.items():
        yield from leaves(inner, (*path, word))


def _command(path: tuple[str, ...], leaf: Any, schema: Any) -> dict[str, Any]:
    params = [param for param in leaf.params if not getattr(param, "hidden", False)]
    return {
        "name": " ".join(path),
        "help": _sentence(leaf.help),
        "arguments": [_param(param) for param in params if param.param_type_name == "argument"],
        "flags": [_param(param) for param in params if param.param_type_name == "option"],
        "output": _returned(leaf.callback) if schema is None else schema,
    }


def _sentence(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split())


def _param(param: Any) -> dict[str, Any]:
    said = {
        "name": param.opts[0] if param.param_type_name == "option" else param.name,
        "aliases": [*param.opts[1:], *param.secondary_opts] if param.param_type_name == "option" else [],
        "type": _type(param),
        "choices": _choices(param),
        "required": param.required,
        "multiple": bool(getattr(param, "multiple", False)) or param.nargs == -1,
        "default": _default(param),
        "help": getattr(param, "help", None),
    }
    return {key: value for key, value in said.items() if value is not None and value != []}


def _type(param: Any) -> str:
    if getattr(param, "is_flag", False):
        return "boolean"
    if hasattr(param, "type"):
        return str(param.type.name)
    annotation = param.type_descriptor.annotation
    return str(getattr(annotation, "__name__", annotation))


def _choices(param: Any) -> list[str] | None:
    kind = param.type if hasattr(param, "type") else param.type_descriptor
    choices = getattr(kind, "choices", None)
    return None if choices is None else [str(getattr(choice, "value", choice)) for choice in choices]


def _default(param: Any) -> Any:
    default = param.default
    return default if isinstance(default, (str, int, float)) and default is not False else None


def _returned(callback: Callable[..., Any] | None) -> Any:
    """Give the schema of what a function says it returns; nothing where it does not say."""
    from pydantic import PydanticSchemaGenerationError, TypeAdapter  # noqa: PLC0415 (only a manifest needs it)
    from pydantic.errors import PydanticUserError  # noqa: PLC0415 (the same)

    try:
        hint = get_type_hints(callback).get("return", Any) if callback is not None else Any
        return TypeAdapter(hint).json_schema()
    except (PydanticSchemaGenerationError, PydanticUserError, NameError, TypeError):
        return {}


def _exit_codes() -> dict[str, Any]:
    return {str(number): entry.name for number, entry in EXIT_CODES.items()}
