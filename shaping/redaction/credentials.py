"""The rules for credentials: those known by their form, and those known by where they stand.

`credentials.json` has one well-known format a line, each before those that would also match it. Examples of each, true
and false, are in `tests/cases/redaction/kinds.json`. No library was fit to carry the rules: detect-secrets 1.5 needs
some 200 ms per 100 KB and takes a line of text, not a value; the rule files of gitleaks and trufflehog are for Go
engines and have no maintained package for Python.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

import orjson

from shaping.redaction import engine
from shaping.redaction.engine import (
    Rule,
    Ruleset,
    looks_generated,
    looks_like_base64,
    looks_like_password,
    looks_random,
)
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
    check=looks_random,
    hint=_HINT,
    seed=rf"{_START}{_written('token')}[A-Za-z0-9._~+/%=-]{{16}}",
)
QUERIES: Final = (
    Rule("url-token", f"{_START}{_written(_NAMES)}{_VALUE}", check=looks_random, hint=_HINT),
    BARE,
    # A key or a code with no other name may also sort, select or page; a long generated one is a credential.
    Rule(
        "url-token",
        f"{_START}{_written('key code')}(?P<secret>[A-Za-z0-9._~+/%=-]{{20,}})",
        check=looks_generated,
        hint=_HINT,
    ),
    Rule(
        "signed-url",
        r"[?&;](?i:x-(?:amz|goog|oss)-(?:signature|security-token|credential))=(?P<secret>[A-Za-z0-9/+=%._-]{16,})",
        check=looks_random,
    ),
    Rule(
        "url-password",
        rf"{_START}{_written('password passwd passphrase')}(?P<secret>[^ \t\r\n&#\"'<>;,\\)\]}}`]{{6,256}})",
        check=looks_like_password,
        hint=_HINT,
    ),
)


def names_next_page(name: str) -> bool:
    """Return whether a field is named for what comes next, so that a token in its link is a place and no credential."""
    return bool(_PAGING.search(name))


# Private keys, however a tool shows them: in a diff, with line numbers, quoted, cut, or as the lines of a list.
KEY_HINT: Final = r"(?:PRIVATE|SECRET)[ \t]KEY|PRIVATE-KEY|Private-(?:Lines|MAC)"
_NAMED: Final = r"[A-Z0-9 \t]{0,40}(?:PRIVATE|SECRET)[ \t-]KEY(?:[ \t]BLOCK)? ?-{4,5}"
_BORDER: Final = re.compile(
    rf"(?P<begin>-{{4,5}} ?BEGIN{_NAMED}|Private-Lines:[ \t]{{0,2}}[0-9]{{1,4}})"
    rf"|-{{4,5}} ?END{_NAMED}|Private-MAC:[ \t]{{0,2}}[0-9a-f]{{20,}}"
)
_BODY: Final = string.ascii_letters + string.digits + "+/="
_RUN: Final = re.compile(r"[A-Za-z0-9+/=]{16,}")
# In an armoured key, which may say any length of them before its first line.
_HEADER: Final = re.compile(r"(?:Proc-Type|DEK-Info|Version|Comment|Subject|MessageID|Hash|Charset): [^\n]*\n?")
# The last line behind the others, blank lines between: what base64 leaves over may be short.
_LAST: Final = re.compile(r"[ \t\r\"'`\\,;+)|<>]*\n(?:[ \t\r+>|-]*\n){0,2}(?P<line>[^\n]*)")
_OTHER: Final = re.compile("-----(?:BEGIN|END) ")  # of a certificate
_LONGEST: Final = 65_536  # characters of a key with all that stands between its lines
_LONG_LINE: Final = 40  # characters of base64 that no name has; the last line of a key may be shorter
_GAP: Final = 200  # characters between two lines of a key: names of files, numbers of lines
_BREAKS: Final = 3  # of lines between two of a key, where a log writes more than that before each line


def private_keys(text: str) -> Iterator[tuple[int, int]]:
    """Yield where private keys stand: from BEGIN to END, or as far as the key goes where either was cut."""
    opened: re.Match[str] | None = None
    last = 0
    for border in (*_BORDER.finditer(text), None):
        end = border if border is not None and border["begin"] is None else None
        limit = len(text) if border is None else border.start()
        if opened is not None and opened["begin"] and end is not None and end.end() - last <= _LONGEST:
            if any(_is_material(run[0]) for run in _RUN.finditer(text, last, limit)):
                yield opened.start(), end.end()
            opened = None
        else:
            if opened is not None and (body := _body(text, last, min(limit, last + _LONGEST))) > last:
                yield opened.start(), body
            # Of a log that begins with what is newest, the end of a key comes first.
            opened = border
            if end is not None and (body := _body_before(text, max(last, limit - _LONGEST), limit)) < limit:
                yield body, end.end()
                opened = None
        last = limit if border is None else border.end()


def unfinished_key_start(text: str) -> int | None:
    """Return where a private key begins that has not ended, so that what follows the text may be the rest of it."""
    if not may_hold_key(text):
        return None
    borders = [*_BORDER.finditer(text)]
    is_open = borders and borders[-1]["begin"] is not None and len(text) - borders[-1].end() < _LONGEST
    return borders[-1].start() if is_open else None


def may_hold_key(text: str) -> bool:
    """Return whether a text may have the first or the last line of a private key."""
    return ("KEY" in text and (" KEY" in text or "-KEY" in text or "\tKEY" in text)) or "Private-" in text


def parts_of_keys(texts: Sequence[str], *, is_open: bool = False) -> tuple[set[str], bool]:
    """Return those of the texts, which are in order, that are the middle of a key which begins or ends in another.

    Also return whether a key is open at their end; `is_open` says whether one is before them.
    """
    if not is_open and not any(map(may_hold_key, texts)):
        return set(), False
    looked = [(text, [border["begin"] is not None for border in _BORDER.finditer(text)]) for text in texts]
    behind, is_open = _parts_from(looked, begin=True, is_open=is_open)
    before, _ = _parts_from([(text, begins[::-1]) for text, begins in reversed(looked)], begin=False)
    return behind | before, is_open


def _parts_from(
    texts: Iterable[tuple[str, list[bool]]], *, begin: bool, is_open: bool = False
) -> tuple[set[str], bool]:
    """Go through texts, each with whether its borders begin a key, from where keys begin or from where they end."""
    found: set[str] = set()
    is_next_to_end = False
    for text, borders in texts:
        if borders:
            if is_open and begin and not borders[0] and _RUN.search(text):
                found.add(text)
            # Of a log that begins with what is newest, the end of a key comes first.
            is_open = borders[-1] == begin or (len(borders) == 1 and not is_open)
            is_next_to_end = not borders[-1]
        # Between two parts of a key stand short texts at most, such as the type of a content block.
        elif _OTHER.search(text) or (is_open and not _body(text, 0, len(text)) and len(text) >= _LONG_LINE):
            is_open = False
        elif is_open and (_body(text, 0, len(text)) or (is_next_to_end and _is_rest(text))):
            found.add(text)
            is_next_to_end = False
    return found, is_open


def key_in_part(text: str) -> int:
    """Return how much of a text that is a part of a key belongs to it."""
    border = _BORDER.search(text)
    return _body(text, 0, len(text)) or len(text) if border is None else border.end()


def _body_before(text: str, start: int, end: int) -> int:
    """Return where the lines of a key begin that end at `end`; `end` where there are none."""
    begin = end
    for run in reversed([*_RUN.finditer(text, start, end)]):
        if _is_material(run[0]):
            if not _is_near(text[run.end() : begin], run[0]):
                break
            begin = run.start()
    # What was cut in the middle of a line begins with the rest of it.
    return begin if begin == end or text[start:begin].rstrip().strip(_BODY) else start


def _body(text: str, start: int, limit: int) -> int:
    """Return where the lines of a key end that begin at `start`; `start` where there are none."""
    end = start
    for run in _RUN.finditer(text, start, limit):
        if _is_material(run[0]):
            if not _is_near(text[end : run.start()], run[0]):
                break
            end = run.end()
    last = _LAST.match(text, end, min(end + _GAP, limit)) if end > start else None
    return last.end() if last is not None and _is_rest(last["line"]) else end


def _is_near(between: str, run: str) -> bool:
    """Return whether a text may stand between a line of a key and another one or its border."""
    if "-----" in between:
        return False
    between = _HEADER.sub("", between)
    # Far away on the same line stands something else, and what only is long is a digest.
    return len(between) < _GAP or (0 < between.count("\n") <= _BREAKS and looks_like_base64(run))


def _is_material(run: str) -> bool:
    """Return whether a run of base64 characters is of a key, and not a long name in code."""
    return len(run) >= _LONG_LINE or looks_like_base64(run)


def _is_rest(line: str) -> bool:
    """Return whether a line is the short one at the end of a key: what base64 leaves over, and nothing else."""
    rest = line.strip(" \t+->|")
    is_base64 = 4 <= len(rest) < _LONG_LINE and len(rest) % 4 == 0 and not rest.strip(_BODY)
    return is_base64 and not rest.rstrip("=").isalpha() and not rest.isdigit()


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


PRIVATE_KEY: Final = Rule("private-key", KEY_HINT, find=private_keys, seed=KEY_HINT)
KEYS: Final = (
    PRIVATE_KEY,
    Rule("kubernetes-secret", "", find=kubernetes_secret, seed=r"kind[\"']?:[ \t]*[\"']?Secret"),
)

GENERIC: Final = "secret-assignment"
ASSIGNED: Final = Rule(GENERIC, "", near=NAME_ENDS, find=named_secrets, hint=VALUE_OF_NAME, seed=VALUE_OF_NAME)

CREDENTIALS: Final = Ruleset((*KEYS, *_formats(), *QUERIES, ASSIGNED))
# Those that need a name beside the value, which may stand in another member.
BY_NAME: Final = Ruleset(tuple(rule for rule in CREDENTIALS.rules if rule.near or rule.name == "command-password"))
