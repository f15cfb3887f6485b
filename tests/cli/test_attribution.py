from __future__ import annotations

import json
from random import Random

import orjson
import pytest

from benchmarks import texts
from shaping.cli.bench import tokens_by_field
from shaping.tokens import exact
from shaping.tokens.encoding import NAMES

RNG = Random(12)  # noqa: S311 - nobody's secret
DOCUMENTS = [
    [texts.issue(RNG) for _ in range(30)],
    {"items": [texts.pod(RNG) for _ in range(20)], "empty": {}, "none": [], "odd.key": {"a b": "größe 東京 😀"}},
    "just a text",
    None,
    [],
    [[1, [2.5, [True]]], {"a": [{}]}],
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("document", DOCUMENTS, ids=["issues", "pods", "text", "null", "empty", "nested"])
def test_the_parts_add_up_to_the_whole(document: object, name: str) -> None:
    parts = tokens_by_field(document, name)  # type: ignore[arg-type]  # every one is JSON
    assert sum(parts.values()) == exact(orjson.dumps(document).decode(), name)


def test_fields_are_named_by_their_paths_and_keys_belong_to_their_values() -> None:
    document = {"items": [{"name": "x" * 40, "n": 1}, {"name": "y" * 40, "n": 2}], "odd.key": None}
    found = tokens_by_field(json.loads(json.dumps(document)), NAMES[0])
    assert max(found, key=found.__getitem__) == "items[].name"
    assert found.keys() == {"(root)", "items", "items[]", "items[].name", "items[].n", '"odd.key"'}


def test_a_document_deeper_than_orjson_writes_is_attributed() -> None:
    deep = orjson.loads(b"[" * 400 + b"]" * 400)
    assert sum(tokens_by_field(deep, NAMES[0]).values()) == exact("[" * 400 + "]" * 400)
