"""Every example envelope of the two contract documents, kept as data in `cases/envelopes`."""

from pathlib import Path
from typing import Any

import jsonschema_rs
import orjson
import pytest

from shaping.envelope import Envelope, recognise
from shaping.settings.files import bundled

CASES = Path(__file__).parents[2] / "cases" / "envelopes"
EXAMPLES = [
    pytest.param(case, id=f"{file.stem}: {case['name']}")
    for file in sorted(CASES.glob("*.json"))
    for case in orjson.loads(file.read_bytes())
]


@pytest.mark.parametrize("case", EXAMPLES)
def test_a_documented_example_is_read_and_written_back_the_same(case: dict[str, Any]) -> None:
    envelope = Envelope.parse(case["wire"])
    assert envelope.render(case["dialect"], debug=case["debug"]) == case["wire"]
    assert recognise(case["wire"]) == case["dialect"]
    assert envelope.ok is case["ok"]
    assert (envelope.error and envelope.error.code) == case.get("code")


@pytest.mark.parametrize("case", EXAMPLES)
def test_a_documented_example_keeps_the_order_of_its_members(case: dict[str, Any]) -> None:
    rendered = Envelope.parse(case["wire"]).render(case["dialect"], debug=case["debug"])
    assert orjson.dumps(rendered) == orjson.dumps(case["wire"])


@pytest.mark.parametrize("case", EXAMPLES)
def test_a_documented_example_fits_our_schema(case: dict[str, Any]) -> None:
    schema = orjson.loads(bundled("config", f"envelope.{case['dialect']}.schema.json"))
    jsonschema_rs.validator_for(schema).validate(case["wire"])
