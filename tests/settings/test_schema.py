from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from benchmarks.config_schema import config_schema, config_schema_text
from shaping.settings.files import bundled, bundled_path

EXAMPLE: dict[str, Any] = {
    "$schema": "./response_config.schema.json",
    "global": {"profile": "minimal", "exclude_null_values": True, "redact": {"names": True}, "max_tokens": None},
    "profiles": {"audit": {"extends": "standard", "envelope": {"include": ["request_id", "duration_ms"]}}},
    "tool_overrides": {
        "analyze_code": {"include_only": ["functions", "classes", "complexity"], "prune": {"links": False}},
        "github.*": {"exclude_fields": ["**.node_id", "**.*_url"], "redact": "off", "prune": ["links"]},
    },
}


def problems(data: Any, schema: dict[str, Any]) -> list[str]:
    return [error.message for error in Draft202012Validator(schema).iter_errors(data)]


def test_the_file_that_ships_is_what_the_model_gives() -> None:
    assert bundled("config", "response_config.schema.json") == config_schema_text()


def test_the_schema_is_valid_and_accepts_the_designs_example_and_the_bundled_config() -> None:
    schema = config_schema()
    Draft202012Validator.check_schema(schema)
    assert problems(EXAMPLE, schema) == []
    assert problems(json.loads(bundled("config", "response_config.json")), schema) == []


@pytest.mark.parametrize("name", [path.name for path in sorted(bundled_path("profiles", "").glob("*.json"))])
def test_bundled_profiles_fit_the_schema_they_name(name: str) -> None:
    profile = json.loads(bundled("profiles", name))
    schema = config_schema()
    assert profile["$schema"] == "../config/response_config.schema.json#/$defs/Profile"
    assert problems(profile, {"$ref": "#/$defs/Profile", "$defs": schema["$defs"]}) == []


@pytest.mark.parametrize(
    "data",
    [
        {"globl": {}},
        {"global": {"profile": None}},
        {"global": {"include_only": ["a"]}},
        {"global": {"max_tokens": 0}},
        {"tool_overrides": {"x": {"prune": ["lnks"]}}},
        {"store": {"kind": "disk"}},
    ],
)
def test_the_schema_refuses_what_the_check_refuses(data: Any) -> None:
    assert len(problems(data, config_schema())) == 1


def test_every_key_has_a_description_for_editors() -> None:
    def undescribed(schema: dict[str, Any], at: str) -> list[str]:
        keys = schema.get("properties", {})
        # A reference carries the description of what it refers to.
        return [f"{at}.{name}" for name, key in keys.items() if "description" not in key and "$ref" not in key]

    schema = config_schema()
    found = undescribed(schema, "$")
    for name, definition in schema["$defs"].items():
        found += [name] if not definition.get("description") else []
        found += undescribed(definition, name)
    assert found == []
