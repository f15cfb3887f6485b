import hashlib
from pathlib import Path

import jsonschema
import orjson
import pytest

from shaping.envelope import DIALECTS
from shaping.envelope.dialects import FORMS
from shaping.envelope.dialects.schemas import VERSION

CONFIG = Path(__file__).parents[3] / "config"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_schema_in_config_is_what_the_code_says(dialect: str) -> None:
    file = CONFIG / f"envelope.{dialect}.schema.json"
    fresh = orjson.dumps(FORMS[dialect].schema(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    stored = file.read_bytes() if file.exists() else b""
    if stored != fresh:
        file.write_bytes(fresh)
    assert stored == fresh, f"{file.name} was out of date and has been written anew; look at it and commit it"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_schema_is_one(dialect: str) -> None:
    jsonschema.Draft202012Validator.check_schema(FORMS[dialect].schema())


# Where a wire form changes: raise VERSION, say how in the changelog, write the new digest here.
DIGESTS = {2: "6c7f556eb56fc0d9911e7c3392a97e4f3baf76a9adc598b5d3959dbb708cda0e"}


def test_a_wire_form_changes_only_with_the_version() -> None:
    digest = hashlib.sha256(orjson.dumps([FORMS[dialect].schema() for dialect in sorted(DIALECTS)])).hexdigest()
    assert DIGESTS.get(VERSION) == digest, f"a wire form changed: raise VERSION, then put {digest} here"
