"""MCP content blocks as our own types, so that the core never imports the SDK."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, TypeAlias

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel


class _Part(BaseModel):
    """A piece of a block: camelCase on the wire, and what a newer protocol adds is kept."""

    model_config = ConfigDict(
        frozen=True, extra="allow", alias_generator=to_camel, populate_by_name=True, defer_build=True
    )


class Annotations(_Part):
    """For whom a block is, and how much it matters."""

    audience: tuple[str, ...] | None = None
    priority: float | None = None
    last_modified: str | None = None


class _Block(_Part):
    annotations: Annotations | None = None


class TextBlock(_Block):
    """Words."""

    type: Literal["text"] = "text"
    text: str


class ImageBlock(_Block):
    """A picture, in base64."""

    type: Literal["image"] = "image"
    data: str
    mime_type: str


class AudioBlock(_Block):
    """A sound, in base64."""

    type: Literal["audio"] = "audio"
    data: str
    mime_type: str


class ResourceContents(_Part):
    """What a resource holds: text, or bytes in base64."""

    uri: str
    mime_type: str | None = None
    text: str | None = None
    blob: str | None = None


class ResourceBlock(_Block):
    """A resource, with its contents."""

    type: Literal["resource"] = "resource"
    resource: ResourceContents


class ResourceLinkBlock(_Block):
    """A resource, by its address only."""

    type: Literal["resource_link"] = "resource_link"
    uri: str
    name: str
    description: str | None = None
    mime_type: str | None = None


ContentBlock: TypeAlias = Annotated[
    TextBlock | ImageBlock | AudioBlock | ResourceBlock | ResourceLinkBlock,
    Field(discriminator="type"),
]
_READER: TypeAdapter[ContentBlock] = TypeAdapter(ContentBlock, config=ConfigDict(defer_build=True))


def read_block(block: Any) -> ContentBlock:
    """Take a block of ours, a wire block, or an SDK's block; one that is not understood becomes its JSON as text."""
    if isinstance(block, _Block):
        return block  # type: ignore[return-value]  # every subclass of _Block is a member of the union
    plain = _plain(block)
    try:
        return _READER.validate_python(plain)
    except ValidationError:
        return TextBlock(text=plain if isinstance(plain, str) else _as_json(plain))


def read_blocks(blocks: Iterable[Any]) -> tuple[ContentBlock, ...]:
    """Take many blocks, in order."""
    return tuple(read_block(block) for block in blocks)


def write_block(block: ContentBlock) -> dict[str, Any]:
    """Return a block as it goes over the wire, its type first."""
    return {"type": block.type, **block.model_dump(mode="json", by_alias=True, exclude_none=True)}


def _plain(block: Any) -> Any:
    dump = getattr(block, "model_dump", None)
    if callable(dump):
        return dump(mode="json", by_alias=True, exclude_none=True)
    return dict(block) if isinstance(block, Mapping) else block


def _as_json(value: Any) -> str:
    return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
