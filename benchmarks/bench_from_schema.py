"""How much of the official JSON-Schema-Test-Suite `from_schema` agrees with.

    python benchmarks/bench_from_schema.py PATH_OF_THE_SUITE

The suite is not part of this repository; a checkout of it is enough. Only tests of keywords that say what a value may
be are counted.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from shaping.operations.schemas import from_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

DRAFTS = {
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
KEYWORDS = [
    "ref",
    "defs",
    "definitions",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if-then-else",
    "enum",
    "const",
    "type",
    "boolean_schema",
    "default",
    "format",
    "pattern",
    "items",
    "prefixItems",
    "additionalItems",
    "contains",
    "minItems",
    "maxItems",
    "uniqueItems",
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "minProperties",
    "maxProperties",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "infinite-loop-detection",
]


def cases(suite: Path, draft: str) -> Iterator[dict[str, Any]]:
    for keyword in KEYWORDS:
        file = suite / "tests" / draft / f"{keyword}.json"
        if file.exists():
            yield from json.loads(file.read_text())


def agreed(case: dict[str, Any], draft: str | None) -> int:
    schema = case["schema"]
    if draft is not None and isinstance(schema, dict):
        schema = {"$schema": draft, **schema}
    adapter = TypeAdapter(from_schema(schema))
    return sum(_takes(adapter, test["data"]) == test["valid"] for test in case["tests"])


def _takes(adapter: TypeAdapter[Any], value: Any) -> bool:
    try:
        adapter.validate_python(value)
    except ValidationError:
        return False
    return True


def main(suite: Path) -> None:
    warnings.simplefilter("ignore")
    for name, draft in DRAFTS.items():
        found = list(cases(suite, name))
        total = sum(len(case["tests"]) for case in found)
        told = sum(agreed(case, draft) for case in found)
        guessed = sum(agreed(case, None) for case in found)
        print(f"{name}: {told} of {total} with the draft named, {guessed} without")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
