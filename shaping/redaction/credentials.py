"""The well-known credential formats: `credentials.json` has one a line, each before those that would also match it.

Examples of each, true and false, are in `tests/cases/redaction/kinds.json`. No library was fit to carry the rules:
detect-secrets 1.5 needs some 200 ms per 100 KB and takes a line of text, not a value; the rule files of gitleaks and
trufflehog are for Go engines and have no maintained package for Python.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any, Final

import orjson

from shaping.redaction.contexts import IN_CONTEXT, KEY_HINT, kubernetes_secret, private_keys
from shaping.redaction.engine import Rule, Ruleset, mixed, snowflake
from shaping.redaction.names import NAME_ENDS, VALUE_OF_NAME, named_secrets

_UUID: Final = b"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_CHECKS: Final = {"mixed": mixed, "snowflake": snowflake}


def _rule(check: str | None = None, **members: Any) -> Rule:
    return Rule(**members, check=None if check is None else _CHECKS[check])


_WRITTEN: Final = Path(__file__).with_name("credentials.json").read_bytes().replace(b"<uuid>", _UUID)
FORMATS: Final = tuple(_rule(**members) for members in chain(*orjson.loads(_WRITTEN).values()))
KEYS: Final = (
    Rule("private-key", KEY_HINT, find=private_keys, seed=KEY_HINT),
    Rule("kubernetes-secret", "", find=kubernetes_secret, seed=r"kind[\"']?:[ \t]*[\"']?Secret"),
)

GENERIC: Final = "secret-assignment"
ASSIGNED: Final = Rule(GENERIC, "", near=NAME_ENDS, find=named_secrets, hint=VALUE_OF_NAME, seed=VALUE_OF_NAME)

CREDENTIALS: Final = Ruleset((*KEYS, *FORMATS, *IN_CONTEXT, ASSIGNED))
# Those that need a name beside the value, which may stand in another member.
BY_NAME: Final = Ruleset(tuple(rule for rule in CREDENTIALS.rules if rule.near or rule.name == "command-password"))
