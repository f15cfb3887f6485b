"""YAML of nested mappings and lists, one document or several."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from shaping.parsers.rows import number

if TYPE_CHECKING:
    import yaml

_LINE = re.compile(
    r"\s*(?:- )*(?:- .*|-|(?:\"[^\"]*\"|'[^']*'|[A-Za-z_$/](?:[\w./$@{} -]|:(?=\w))*):(?: .*)?)"
    r"|---.*|\.\.\.|\s*[}\]],?"
)
_NESTED = re.compile(r"\n( *)(?:- )?[\w\"'./-]+:\n(?:\1 +\S|\1- )")
_COMMENT = re.compile(r"^[ \t]*#|[ \t]#\s", re.MULTILINE)
_ALIAS = re.compile(r"(?:^|[\s\[,])[&*]\w|<<:", re.MULTILINE)
_BLOCK = re.compile(r":\s*[|>][+-]?\d?\s*$", re.MULTILINE)
_LARGEST = 2_000_000  # characters
_HEAD = 4_000  # characters by which most other texts are told
_LEAST, _SURE = 6, 0.95  # lines, and the part of them that must look like YAML


def parse_yaml(text: str) -> Any:
    """Return the documents of a text of YAML; comments and aliases say more than the data does, so they stay text."""
    start = text.lstrip()[:200]
    if ":" not in start or "[ref=" in start or text[:1] in "{[<" or len(text) > _LARGEST:
        return None
    first = text[:_HEAD].split("\n")[:-1]
    if len(first) > _LEAST and sum(1 for line in first if _LINE.fullmatch(line)) < len(first) // 4:
        return None
    if not looks_like_yaml(text) or _COMMENT.search(text) or _ALIAS.search(text):
        return None
    from yaml import YAMLError, load_all  # noqa: PLC0415 (few texts are YAML: costs 20 ms)

    try:
        documents = list(load_all(text, Loader=_loader()))
    except (YAMLError, ValueError, RecursionError):
        return None
    documents = [document for document in documents if document is not None]
    if not documents or not all(type(document) in {dict, list} for document in documents):
        return None
    return documents[0] if len(documents) == 1 else documents


def looks_like_yaml(text: str) -> bool:
    """Whether nearly all lines of a text are those of nested mappings and lists."""
    if not _NESTED.search(f"\n{text}"):
        return False
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < _LEAST:
        return False
    # The lines of a block of text are whatever they are.
    fitting = sum(1 for line in lines if _LINE.fullmatch(line))
    return fitting >= _SURE * len(lines) or (_BLOCK.search(text) is not None and fitting >= len(lines) // 2)


@cache
def _loader() -> type[yaml.SafeLoader]:
    """Return a loader of what JSON has: no dates, no `yes` for true, no numbers that would be written otherwise."""
    import yaml as library  # noqa: PLC0415 (few texts are YAML: costs 20 ms)

    base: Any = getattr(library, "CSafeLoader", library.SafeLoader)

    class JsonLoader(base):  # type: ignore[misc]
        yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 (the library's own form)

    def mapping(loader: Any, node: Any) -> dict[str, Any]:
        build = loader.construct_object
        pairs = [(build(key, deep=True), build(value, deep=True)) for key, value in node.value]
        members = {str(key): value for key, value in pairs}
        if len(members) < len(pairs):
            raise ValueError("a key comes twice")
        return members

    def scalar(loader: Any, node: Any) -> Any:
        text = loader.construct_scalar(node)
        return _WORDS.get(text, number(text)) if not node.style else text

    JsonLoader.add_constructor("tag:yaml.org,2002:map", mapping)
    JsonLoader.add_constructor("tag:yaml.org,2002:str", scalar)
    return JsonLoader


_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "~": None, "": None}
