"""The rules for credentials: those known by their form, and those known by where they stand.

`credentials.json` has one well-known format a line, each before those that would also match it. Examples of each, true
and false, are in `tests/cases/redaction/kinds.json`. No library was fit to carry the rules: detect-secrets 1.5 needs
some 200 ms per 100 KB and takes a line of text, not a value; the rule files of gitleaks and trufflehog are for Go
engines and have no maintained package for Python.
"""

from __future__ import annotations

import operator
import re
import string
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final

import orjson

from shaping.redaction import engine
from shaping.redaction.engine import Rule, Ruleset, generated, mixed, password, random
from shaping.redaction.names import NAME_ENDS, VALUE_OF_NAME, named_secrets

# In the query of an address. A link is for opening, so only what is a credential by any reading is taken, by the
# parameter's whole name: `page_token`, `cursor` and the like page, and `pwd` opens a meeting that one was invited to.
_START: Final = r"[?&;#]"  # what stands before a parameter
_VALUE: Final = r"(?P<secret>[A-Za-z0-9._~+/%=-]{8,})"
_NAMES: Final = (
    "api-key api-token api-secret x-api-key access-token access-key auth-token auth-key auth bearer-token"
    " oauth-token id-token refresh-token session-token private-token client-secret app-secret secret-key secret"
    " subscription-key sig signature oauth-token-secret"
)
# A preview, a home page and the address of just some page are places of their own, which a token opens.
_PAGING: Final = re.compile(
    r"next|prev(?!iew)|(?:first|last)[_-]?page|paging|cursor|delta|continu"
    r"|(?<!home)(?<!home_)(?<!web)(?<!web_)(?<!landing_)(?<!landing)page(?!s?[_-]?(?:url|uri|link|href))",
    re.IGNORECASE,
)


def _written(names: str) -> str:
    """Write names for an engine that is fast where it need not fold cases: api_key, apiKey, Api-Key, API_KEY."""
    ways = (way for name in names.split() for way in (_joined(name, _either), _joined(name, str.upper)))
    return f"(?:{'|'.join(ways)})="


def _joined(name: str, word: Callable[[str], str]) -> str:
    return "[_-]?".join(map(word, name.split("-")))


def _either(word: str) -> str:
    return f"[{word[0]}{word[0].upper()}]{word[1:]}"


# How all the names end: a few words are looked for faster than many names.
_HINT: Final = _written("key token secret auth sig signature code password passwd passphrase")
# Of tokens with no other name, some page: those of a delta query do, and those in a field that is named for paging.
BARE: Final = Rule(
    "url-token",
    # Longer than the tokens of badges, which are there for all to see.
    rf"(?<!delta){_START}{_written('token')}(?P<secret>[A-Za-z0-9._~+/%=-]{{16,}})",
    check=random,
    hint=_HINT,
    seed=rf"{_START}{_written('token')}[A-Za-z0-9._~+/%=-]{{16}}",
)
QUERIES: Final = (
    Rule("url-token", f"{_START}{_written(_NAMES)}{_VALUE}", check=random, hint=_HINT),
    BARE,
    # A key or a code with no other name may also sort, select or page; a long generated one is a credential.
    Rule(
        "url-token",
        f"{_START}{_written('key code')}(?P<secret>[A-Za-z0-9._~+/%=-]{{20,}})",
        check=generated,
        hint=_HINT,
    ),
    Rule(
        "signed-url",
        r"[?&;](?i:x-(?:amz|goog|oss)-(?:signature|security-token|credential))=(?P<secret>[A-Za-z0-9/+=%._-]{16,})",
        check=random,
    ),
    Rule(
        "url-password",
        rf"{_START}{_written('password passwd passphrase')}(?P<secret>[^ \t\r\n&#\"'<>;,\\)\]}}`]{{6,256}})",
        check=password,
        hint=_HINT,
    ),
)


def pages(name: str) -> bool:
    """Return whether a field is named for what comes next, so that a token in its link is a place and no credential."""
    return bool(_PAGING.search(name))


# Private keys, however a tool shows them: in a diff, with line numbers, quoted, cut, or as the lines of a list.
KEY_HINT: Final = r"(?:PRIVATE|SECRET)[ \t]KEY|PRIVATE-KEY|Private-Lines"
_BEGIN: Final = re.compile(
    r"-{4,5} ?BEGIN[A-Z0-9 \t]{0,40}(?:PRIVATE|SECRET)[ \t-]KEY(?:[ \t]BLOCK)? ?-{4,5}"
    r"|Private-Lines:[ \t]{0,2}[0-9]{1,4}"
)
_END: Final = re.compile(r"-{4,5} ?END[A-Z0-9 \t]{0,40}KEY(?:[ \t]BLOCK)? ?-{4,5}|Private-MAC:[ \t]{0,2}[0-9a-f]{20,}")
_BODY: Final = string.ascii_letters + string.digits + "+/="
_AFTER: Final = " \t\r\"'`\\,;+)|<>"  # what quotes, continues or frames a line
_RUN: Final = re.compile(r"[A-Za-z0-9+/=]{16,}")
_STARTS: Final = re.compile(r"[^A-Za-z0-9+/=]{0,12}([A-Za-z0-9+/=]{16,})")
_HEADER: Final = re.compile(r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): ")
_LONGEST: Final = 65_536  # characters of a key with all that stands between its lines
_BETWEEN_PARTS: Final = 40  # characters
_PRIVATE: Final = re.compile("PRIVATE|SECRET")
_LONG_LINE: Final = 40  # characters of base64 that no name has
_LINE: Final = 16  # characters of base64 that make a line one of a key; the last one is shorter


def private_keys(text: str) -> Iterator[tuple[int, int]]:
    """Yield where private keys stand: from BEGIN to END, or as far as the key goes where it was cut."""
    begins = [*_BEGIN.finditer(text)]
    ends = [*_END.finditer(text)]
    number = 0
    following = [one.start() for one in begins[1:]]
    for begin, limit in zip(begins, [*following, len(text)], strict=False):
        while number < len(ends) and ends[number].start() < begin.end():
            number += 1
        limit = min(limit, begin.end() + _LONGEST)  # noqa: PLW2901  the nearer of the two
        if number < len(ends) and ends[number].end() <= limit:
            if any(_is_material(run[0]) for run in _RUN.finditer(text, begin.end(), ends[number].start())):
                yield begin.start(), ends[number].end()
        elif (body := _body(text, begin.end(), limit)) > begin.end():
            yield begin.start(), body
    for end, floor in zip(ends, [0, *(one.end() for one in ends)], strict=False):
        # Where the beginning was cut off, the lines before the end are what is left of the key.
        is_cut = _PRIVATE.search(end[0]) and _BEGIN.search(text, floor, end.start()) is None
        if is_cut and (start := _head(text, floor, end.start())) < end.start():
            yield start, end.end()


def open_from(text: str) -> int | None:
    """Return where a private key begins that has not ended, so that what follows the text may be the rest of it."""
    if "PRIVATE" not in text and "SECRET" not in text and "Private-Lines" not in text:
        return None
    begins = [*_BEGIN.finditer(text)]
    if not begins or len(text) - begins[-1].end() >= _LONGEST or _END.search(text, begins[-1].end()):
        return None
    return begins[-1].start()


class KeyRests:
    """Follows private keys over texts that come one after another: blocks, lines, elements of a list."""

    def __init__(self) -> None:
        self.is_open = False  # a key began in an earlier text and has not ended

    def take(self, text: str) -> int:
        """Take the next text, and return how much of it is the rest of a key that began before it."""
        rest = 0
        if self.is_open:
            rest, goes_on = _continuation(text)
            # Between two parts of a key stand short texts at most, such as the type of a content block.
            self.is_open = goes_on and (rest > 0 or len(text) < _BETWEEN_PARTS)
        self.is_open = self.is_open or open_from(text) is not None
        return rest

    def clean(self, value: Any) -> Any:
        """Return the next text, or data with texts, without such rests: the same object where it has none."""
        if isinstance(value, str):
            rest = self.take(value)
            return f"{engine.mark('private-key')}{value[rest:]}" if rest else value
        if isinstance(value, dict):
            members = {key: self.clean(member) for key, member in value.items()}
            return members if any(members[key] is not value[key] for key in value) else value
        if isinstance(value, list | tuple):
            items = [self.clean(item) for item in value]
            return items if any(map(operator.is_not, items, value)) else value
        return value


def _continuation(text: str) -> tuple[int, bool]:
    """Return how much of a text belongs to a key that began before it, and whether the key goes on after it."""
    end = _END.search(text[:_LONGEST])
    if end is not None and _BEGIN.search(text[: end.start()]) is None:
        return (end.end() if _RUN.search(text, 0, end.start()) else 0), False
    return _body(text, 0, len(text)), True


def _body(text: str, start: int, limit: int) -> int:
    """Return where the lines of a key end that begin at `start`; `start` where there are none."""
    found = at = start
    blank = 0
    while at < limit and blank <= 2:
        stop = text.find("\n", at, limit)
        stop = limit if stop < 0 else stop
        line = text[at:stop].rstrip(_AFTER)
        size = len(line) - len(line.rstrip(_BODY))
        if size >= _LINE and (found > start or _is_material(line[-size:])):
            found, blank = at + len(line), 0
        elif found > start and _is_rest(line):
            return at + len(line)
        elif (run := _STARTS.match(line)) and (found > start or _is_material(run[1])):
            return at + run.end()  # something else follows on the last line
        elif _HEADER.search(line):
            blank = 0
        elif line.strip(" \t0123456789:|+->#*") and at > start:
            break
        else:
            blank += 1
        at = stop + 1
    return found


def _head(text: str, floor: int, end: int) -> int:
    """Return where the lines of a key begin that ends at `end`; `end` where there are none."""
    found, stop = end, text.rfind("\n", floor, end)
    while stop > floor:
        start = max(text.rfind("\n", floor, stop) + 1, floor)
        line = text[start:stop].rstrip(_AFTER)
        size = len(line) - len(line.rstrip(_BODY))
        # The last line may be short.
        if not (size >= _LINE and _is_material(line[-size:])) and not (found == end and _is_rest(line)):
            break
        found, stop = start + len(line) - size, start - 1
    return found


def _is_material(run: str) -> bool:
    """Return whether a run of base64 characters is of a key, and not a long name in code."""
    return len(run) >= _LONG_LINE or mixed(run)


def _is_rest(line: str) -> bool:
    """Return whether a line is the short one at the end of a key: what base64 leaves over, and nothing else."""
    rest = line.strip(" \t+->|")
    return 4 <= len(rest) < _LINE and len(rest) % 4 == 0 and not rest.strip(_BODY) and not rest.rstrip("=").isalpha()


_SECRET_KIND: Final = re.compile(r"^[ \t]*(?:- )?[\"']?kind[\"']?:[ \t]*[\"']?Secret\b", re.MULTILINE)
_DATA: Final = re.compile(r"^([ \t]*)(?:data|stringData):[ \t]*$", re.MULTILINE)
_MEMBER: Final = re.compile(r"^([ \t]*)[A-Za-z0-9._-]+:[ \t]+(?P<secret>[^\s#|>][^\n]*)$", re.MULTILINE)


def kubernetes_secret(text: str) -> Iterator[tuple[int, int]]:
    """Yield the values under `data` and `stringData` of a Kubernetes Secret in YAML."""
    if not _SECRET_KIND.search(text):
        return
    for data in _DATA.finditer(text):
        at = data.end() + 1
        while (member := _MEMBER.match(text, at)) is not None and len(member[1]) > len(data[1]):
            yield member.start("secret"), member.end("secret")
            at = member.end() + 1


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
