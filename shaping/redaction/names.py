"""Names of secrets: whether a field, an assignment in a text or the column of a table is named for one.

A name is read by its words: `apiKey` is one, `monkey` and `nextPageToken` are not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final, TypeAlias

from shaping.paths.spelling import plain_text
from shaping.redaction.engine import looks_generated

_WORDS: Final = re.compile(r"[A-Z]{2,}(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")

# The last words of a secret's name, together: `apiKey`, `api key` and `apikey` are one.
_ENDINGS: Final = frozenset(
    """
        password passwords passwd pwd passphrase passphrases passcode secret secrets token apikey apikeys credential
        credentials authorization bearer cookie cookies jwt otp pin cvv cvc ssn mnemonic api-key api-keys access-key
        access-keys secret-key secret-keys private-key private-keys signing-key
        encryption-key master-key account-key auth-key session-key service-key license-key ssh-key deploy-key
        shared-key webhook-key connection-string session-id seed-phrase
        accesstoken authtoken clientsecret secretkey privatekey accesskey appsecret app-key application-key
        integration-key developer-key write-key admin-key subscription-key storage-key consumer-key client-key
        key-data routing-key ingest-key
    """.replace("-", "").split()
)

# A token that pages, counts or names no secret; a question about a secret.
_HARMLESS: Final = frozenset(
    """
        next page paging prev previous continuation continue sync cursor delta start end resume max min count num
        total per budget limit eos bos pad unk special has is needs requires require use uses allow enable enabled
        public csrf idempotency progress
    """.split()  # noqa: SIM905  a list of words is read as words
)

_ASSIGNS: Final = r"""["'\\]{0,8}[ \t]{0,3}(?:=>|:=|[:=])[ \t]{0,3}["'\\]{0,8}"""
# What the fast engine looks for: the end of such a name with a long value.
NAME_ENDS: Final = r"(?i:key|token|secret|secrets|passwd|password|passphrase|pwd|credential|credentials|key[_-]?data)"
VALUE_OF_NAME: Final = (
    NAME_ENDS + r"""["'\\ \t]{0,11}[:=]["'\\ \t:=>]{0,16}"""  # the name may end with a sign of its own
    r"[A-Za-z_+/.=~!$%^*-]{0,32}[0-9][A-Za-z0-9_+/.=~!$%^*-]{8}"
)
_LONG_VALUE: Final = re.compile(
    # A parameter of a query has rules of its own.
    rf"(?<![A-Za-z0-9_.?&#-])(?P<name>[A-Za-z][A-Za-z0-9_.-]{{1,80}}+){_ASSIGNS}"
    # What a parenthesis, a bracket or an operator follows is code.
    r"(?=(?P<value>[A-Za-z0-9_+/.=~!$%^*-]{16,512}+)(?![(\[{]))"
)
_CODE: Final = re.compile(r"[A-Za-z_]+(?:\.[A-Za-z_][A-Za-z0-9_]*)+$")
_ENVIRONMENT_KEY: Final = re.compile(r"[A-Z][A-Z0-9_]*_KEY")


@lru_cache(maxsize=4096)
def sensitive(name: str) -> bool:
    """Return whether a field of that name holds a secret."""
    words = [word.lower() for word in _WORDS.findall(plain_text(name))]
    while words and words[-1].isdigit():  # `password[0]`
        words.pop()
    # `ClientToken` is how some APIs call the idempotency key that a caller makes up.
    if words[-2:] == ["client", "token"]:
        return False
    return any("".join(words[-number:]) in _ENDINGS for number in (1, 2)) and _HARMLESS.isdisjoint(words)


def named_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Yield values that are generated and assigned to a name of a secret: nobody needs telling that they are one."""
    for match in _LONG_VALUE.finditer(text):
        name, value = match["name"], match["value"]
        if (sensitive(name) or _ENVIRONMENT_KEY.fullmatch(name)) and looks_generated(value) and not _CODE.match(value):
            yield match.start("value"), match.end("value")


_ASSIGNMENT: Final = re.compile(
    r"""(?<![\w.-])(?:(?P<first>[^\W\d_]{2,20})[ ])?(?P<name>[^\W\d_][\w.-]{1,80}+)"""
    r"""(?:\[[0-9]{0,9}\])?["'\\]{0,3}[ \t]{0,3}(?:=>|:=|[:=])[ \t]{0,3}"""
)
_ASSIGNED: Final = re.compile(
    r"""(?:[bru]{0,2}(?P<quote>["'`])(?P<quoted>[^"'`\r\n]{1,4096}+)(?P=quote)"""
    r"""|["'\\]{0,3}(?:(?i:bearer|basic|token)[ \t])?(?P<value>(?!//)[^\s"'\\,;&{}\[\]|]{2,}+))"""
)
_NAME: Final = r"(?P<name>[^\W\d_][\w.:-]{1,80}+)"
_VALUES: Final = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        # Elements and attributes of XML and HTML, and options of commands.
        rf"<{_NAME}(?:\s[^<>]{{0,400}}+)?>\s*+(?:<!\[CDATA\[)?(?P<value>[^<>\]]+)(?:\]\]>)?\s*</",
        rf"""(?:name|key|id)=["']{_NAME}["'][^<>]{{0,200}}?\bvalue=["'](?P<value>[^"'<>]+)""",
        rf"""(?:name|key|id)=["']{_NAME}["'][^<>]{{0,200}}>\s*+(?P<value>[^<>]+)</""",
        rf"(?<!\S)--?{_NAME}[ ](?P<value>[^\s-]\S*)",
        # A value of YAML in the lines below its name.
        (
            r"""^(?P<indent>[ \t]*)(?:- )?["']?(?P<name>[^\W\d_][\w.-]{1,80}+)["']?:[ \t]*"""
            r"""(?:[|>][+-]?[0-9]?[ \t]*)?\n"""
            r"""(?=(?P<value>(?:(?P=indent)[ \t]+\S[^\n]*(?:\n|\Z)){1,50}+))"""
        ),
        # All of a line behind a name; with a parenthesis in it, it is code.
        (
            r"^[ \t>*+-]{0,8}(?P<name>[^\W\d_][\w. -]{1,60}?)[ \t]{0,2}[:=][ \t]+"
            r"(?P<value>[^\s,;=:\"'{(\[|>][^,;=:\"'(\r\n]*)$"
        ),
    )
)
_BLOCK_SIGN: Final = re.compile(r"[|>][+-]?[0-9]?")
_NOTHING: Final = frozenset({"null", "none", "true", "false", "yes", "no", "undefined", "nil", "required", "optional"})
_DELIMITERS: Final = (",", ";", "\t", "|")
# What stands from a delimiter to the next; quotes around it may hold others.
_CELLS: Final = {
    one: re.compile(rf'(?:\A|(?<={re.escape(one)}))(?:"(?:[^"]|"")*")?+[^{re.escape(one)}]*+') for one in _DELIMITERS
}
_ALIGNED: Final = re.compile(r"\S+(?: \S+)*")
_RULER: Final = frozenset("|-:+= \t")


Named: TypeAlias = Callable[[str], bool]  # whether a name is one whose value must not be shown


def assignments(text: str, named: Named = sensitive) -> Iterator[tuple[int, int]]:
    """Yield the values that a text gives to some names: pairs, headers, and columns of tables."""
    end = 0
    for name in _ASSIGNMENT.finditer(text):
        # A value may be an assignment in turn: `settings.py:12:password=…`, as grep prints it.
        if (
            name.start("name") < end
            or not _names_secret(name, named)
            or not (match := _ASSIGNED.match(text, name.end()))
        ):
            continue
        end = match.end()
        group = "value" if match["quoted"] is None else "quoted"
        if match[group].lower() not in _NOTHING and not _BLOCK_SIGN.fullmatch(match[group]):
            yield match.span(group)
    for match in (found for pattern in _VALUES for found in pattern.finditer(text)):
        value = match["value"]
        if named(match["name"]) and value.strip().lower() not in _NOTHING:
            yield match.end("value") - len(value.lstrip()), match.start("value") + len(value.rstrip())
    yield from _columns(text, named)


def _names_secret(match: re.Match[str], named: Named) -> bool:
    return named(match["name"]) or (match["first"] is not None and named(f"{match['first']} {match['name']}"))


def sensitive_columns(names: Iterable[object], named: Named = sensitive) -> list[int]:
    """Return the numbers of the columns whose name is a secret's."""
    return [number for number, name in enumerate(names) if isinstance(name, str) and named(name)]


def _columns(text: str, named: Named) -> Iterator[tuple[int, int]]:
    """Yield the cells below a header of a secret, in CSV, Markdown and aligned columns."""
    header: list[tuple[int, int]] = []
    delimiter = ""
    wanted: list[int] = []
    at = 0
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        cells = _cells(bare, delimiter) if delimiter else []
        if wanted and delimiter == "" and bare.strip():
            yield from ((at + start, at + end) for start, end in _aligned(bare, header, wanted))
        elif wanted and len(cells) == len(header):
            if not set(bare) <= _RULER:
                yield from ((at + start, at + end) for start, end in (cells[one] for one in wanted) if end > start)
        else:
            header, delimiter, wanted = _header(bare, named)
        at += len(line)


def _header(line: str, named: Named) -> tuple[list[tuple[int, int]], str, list[int]]:
    """Read a line as the header of a table: its cells, what stands between them, and which name a secret."""
    if len(line) > 2000:
        return [], "", []
    for delimiter in (one for one in _DELIMITERS if one in line):
        cells = _cells(line, delimiter)
        names = [line[start:end].strip("\"' ") for start, end in cells]
        if len(cells) > 1 and all(len(name) <= 40 and "=" not in name and ":" not in name for name in names):
            wanted = sensitive_columns(names, named)
            if wanted:
                return cells, delimiter, wanted
    cells = [match.span() for match in _ALIGNED.finditer(line.replace("  ", "\n\n").replace("\n ", "\n\n"))]
    names = [line[start:end] for start, end in cells]
    wanted = sensitive_columns(names, named) if len(cells) > 1 and "  " in line else []
    return (cells, "", wanted) if wanted else ([], "", [])


def _cells(line: str, delimiter: str) -> list[tuple[int, int]]:
    """Return where the cells of a line stand, without the blanks and quotes around them."""
    found: list[tuple[int, int]] = []
    for match in _CELLS[delimiter].finditer(line):
        start = match.end() - len(match[0].lstrip(" \"'"))
        found.append((start, max(start, match.start() + len(match[0].rstrip(" \"'")))))
    return found


def _aligned(line: str, header: list[tuple[int, int]], wanted: list[int]) -> Iterator[tuple[int, int]]:
    for number in wanted:
        start = header[number][0]
        stop = header[number + 1][0] if number + 1 < len(header) else len(line)
        cell = line[start:stop]
        if start and start < len(line) and not line[start - 1].isspace():
            continue  # the line does not keep to the columns
        if cell.strip():
            lead = len(cell) - len(cell.lstrip())
            yield start + lead, start + len(cell.rstrip())
