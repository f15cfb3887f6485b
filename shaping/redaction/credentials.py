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

from shaping.redaction import engine
from shaping.redaction.contexts import KEY_HINT, QUERIES, kubernetes_secret, private_keys
from shaping.redaction.engine import Rule, Ruleset
from shaping.redaction.names import NAME_ENDS, VALUE_OF_NAME, named_secrets

# Parts of patterns that `credentials.json` names.
_PARTS: Final = {
    b"<uuid>": b"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
    b"<databases>": b"(?i:postgres|postgresql|mysql|mariadb|mongodb|redis|rediss|amqps?|mssql|sqlserver|oracle"
    b"|clickhouse|cockroachdb|snowflake|jdbc:[a-z]{2,12}|nats|ldaps?|cassandra|neo4j|bolt)",
}


def _rule(check: str | None = None, note: str = "", **members: Any) -> Rule:  # noqa: ARG001 (a note is for who reads the file)
    return Rule(**members, check=None if check is None else getattr(engine, check))


def _formats() -> tuple[Rule, ...]:
    written = Path(__file__).with_name("credentials.json").read_bytes()
    for name, pattern in _PARTS.items():
        written = written.replace(name, pattern)
    return tuple(_rule(**members) for members in chain(*orjson.loads(written).values()))


KEYS: Final = (
    Rule("private-key", KEY_HINT, find=private_keys, seed=KEY_HINT),
    Rule("kubernetes-secret", "", find=kubernetes_secret, seed=r"kind[\"']?:[ \t]*[\"']?Secret"),
)

GENERIC: Final = "secret-assignment"
ASSIGNED: Final = Rule(GENERIC, "", near=NAME_ENDS, find=named_secrets, hint=VALUE_OF_NAME, seed=VALUE_OF_NAME)

CREDENTIALS: Final = Ruleset((*KEYS, *_formats(), *QUERIES, ASSIGNED))
# Those that need a name beside the value, which may stand in another member.
BY_NAME: Final = Ruleset(tuple(rule for rule in CREDENTIALS.rules if rule.near or rule.name == "command-password"))
