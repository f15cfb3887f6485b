"""Replacing secrets in a value, in one written as JSON, and in a text; what holds none stays the same object."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from operator import is_not
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import orjson

from shaping.paths.grammar import Trail, write_trail
from shaping.paths.labels import LabelledValues
from shaping.paths.private import private_names
from shaping.paths.rules import below, read_rule, through_lists
from shaping.paths.selection import Rest, after_index
from shaping.redaction.credentials import BY_NAME, CREDENTIALS, PRIVATE_KEY, key_in_part, may_hold_key, parts_of_keys
from shaping.redaction.engine import NO_RULES, SHORT, Rule, Ruleset, encodable, has_one, lower_parts, mark
from shaping.redaction.names import NAME_ENDS, sensitive, sensitive_columns
from shaping.redaction.text import assigned, candidates, is_mark, normal_name, prefilter, replace, secrets

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from shaping.response import Json

Value = TypeVar("Value")
Step: TypeAlias = str | int
State: TypeAlias = "frozenset[Rest]"  # what is left to match of each configured path; one that is empty ends here

_NAMING: Final = ("name", "key", "header", "Name", "Key")
_NAMED: Final = ("value", "Value")
_HEADERS: Final = ("columns", "headers", "header", "fields", "cols", "schema")
_COMMANDS: Final = ("command-password", "curl-user")
_KUBERNETES: Final = ("data", "stringData")
# A name and its value may stand apart: as members of an object, or as a name and a list. All is in lower case, which is
# much faster to look through, and a quote that was escaped has another before it.
_BLANK: Final = r"[ \t\n\r]*"
_NAME: Final = (
    rf"(?:{NAME_ENDS}|auth|authorization|ssws|(?:aws[_ -]?secret|azure|ado|devops|vsts|azdo|beamer|jenkins|mailgun)"
    rf"""[a-z_ -]{{0,20}})["'\\ \t\n\r:=>,\[]{{0,16}}"{_BLANK}"""
).replace("(?i:", "(?:")
_TEXT: Final = rf"""{_BLANK}"(?:[^"]|'")*{_NAME}"""
_LIST: Final = rf"{_NAME}:{_BLANK}\[|(?:mysql_pwd|pgpassword)\"{_BLANK}:"
_HAS_NAME: Final = has_one([rf"{_NAME}[,}}]", _LIST])
_NAME_APART: Final = has_one([rf'(?:\[|"(?:name|key|header)":){_TEXT}[,}}]', _LIST])
_NAME_IN_LIST: Final = has_one([rf"\[{_TEXT},", _LIST])  # where no object has a member for the value
_VALUE_APART: Final = has_one(['alue"', r"\\u00[67]"])  # or one whose letters may be escaped
_PART, _OVERLAP = 1 << 19, 1 << 13  # bytes of JSON that are looked at together, and more than any pattern needs
_SAY_NOTHING: Final = frozenset({NoneType, bool, int, float})
_SHORTEST_KEY: Final = 12  # characters of a member's name that can be a credential
_OPENS: Final = ("{", "[")
_PLACES: Final = 8  # of one rule that are reported apart; an object keyed by ids could have thousands


@dataclass(frozen=True, slots=True)
class Hit:
    """Where a rule replaced something, and how often: alike elements of a list are one hit, at `items[].token`."""

    rule: str
    path: str
    count: int = 1


def redact(
    value: Any,
    *,
    values: bool = True,
    names: bool = False,
    paths: Sequence[str] = (),
    compact_json: bytes | None = None,
) -> tuple[Any, list[Hit]]:
    """Return the value with every secret replaced by a mark, and the hits; the same object where there was none.

    `compact_json` is the value's, where it is known.
    """
    rules = rules_for(value, compact_json) if values else NO_RULES
    if not (names or paths or rules.rules):
        return value, []
    walk = _RedactionWalk(paths, rules=rules, names=names)
    return walk.run(value), _grouped(walk.hits)


def redact_json(written: bytes, *, values: bool = True, names: bool = False, paths: Sequence[str] = ()) -> bytes:
    """Return JSON with every secret replaced by a mark; what holds none is neither read nor written anew."""
    rules = _rules_for_json(written) if values else NO_RULES
    if not (names or paths or rules.rules):
        return written
    walk = _RedactionWalk(paths, rules=rules, names=names)
    return orjson.dumps(walk.run(orjson.loads(written)))


def without_secrets(value: Value, *, names: bool = False) -> Value:
    """Return text or plain data without secrets: names, descriptions, instructions, prompts, requests, log lines."""
    cleaned: Value = redact(value, names=names)[0]
    return cleaned


@lru_cache(maxsize=256)
def names_without_secrets(line: str) -> str:
    """Return a line of members' names without secrets; the answers of one tool mostly have the same names."""
    return without_secrets(line)


def paths_without_secrets(paths: list[str]) -> list[str]:
    """Return paths without secrets: they are made of keys, which may be some; most lists have none, by one look."""
    return paths if without_secrets(paths) == paths else list(map(without_secrets, paths))


def rules_for(value: Any, compact_json: bytes | None = None) -> Ruleset:
    """Return the rules that may find something, by one look at the whole value; none for most values."""
    if isinstance(value, str):
        return candidates(value)[0]
    try:
        return _rules_for_json(compact_json or orjson.dumps(value))
    except Exception:  # noqa: BLE001  what cannot be written cannot be called clean: the walk looks at each part
        return CREDENTIALS


def _rules_for_json(written: bytes) -> Ruleset:
    """Look at the texts of written JSON with and without their escapes, in parts that overlap where it is large."""
    if len(written) < SHORT:  # of most there is nothing more to see
        short = written.decode("utf-8", "replace")
        if not (prefilter(CREDENTIALS)(short) or _HAS_NAME(short.lower())):
            return NO_RULES
    found: set[Rule] = set()
    is_apart = False
    apart = _NAME_APART if _VALUE_APART(written) else _NAME_IN_LIST
    for start in range(0, len(written), _PART):
        text = written[start : start + _PART + _OVERLAP].decode("utf-8", "replace")
        rules, read = candidates(text)
        found.update(rules.rules)
        is_apart = is_apart or any(
            _HAS_NAME(part) and apart(part) for one in read for part in lower_parts(encodable(one))
        )
    if is_apart:
        return CREDENTIALS if found else BY_NAME
    return CREDENTIALS.only(found)


class _RedactionWalk:
    """The state of one call: which rules are on, and what they have hit so far."""

    def __init__(self, paths: Iterable[str] = (), *, rules: Ruleset, names: bool) -> None:
        self.hits: list[tuple[str, Trail]] = []
        self._start: State = frozenset(rest for path in paths for rest in through_lists(read_rule(path, indexes=True)))
        self._rules = rules
        self._commands = rules.only({rule for rule in rules.rules if rule.name in _COMMANDS})
        self._names = names
        labels = private_names(self._start)
        self.labels = None if labels.all or not self._start else labels.is_label  # by the last name of each path
        self._clean: set[tuple[str, str]] = set()  # texts without a secret, with their contexts: many stand twice
        self.parts_of_keys: set[str] = set()  # texts that are the middle of a private key

    def run(self, value: Any) -> Any:
        """Return a whole value with secrets replaced."""
        if PRIVATE_KEY in self._rules.rules:
            self.find_keys(value)
        return self.value(self.without_labelled(value))

    def find_keys(self, value: Any, are_open: Collection[Step | None] = ()) -> set[Step | None]:
        """Look for private keys over several texts; return where one is open at their end: in all, or under a name."""
        texts: defaultdict[Step | None, list[str]] = defaultdict(list)
        with suppress(RecursionError):  # what is deeper is masked, because it cannot be looked at either
            _collect_texts(value, texts)
        if not are_open and not any(map(may_hold_key, texts[None])):
            return set()
        open_now = {*are_open} - texts.keys()
        for step, some in texts.items():
            parts, is_open = parts_of_keys(some, is_open=step in are_open)
            self.parts_of_keys |= parts
            open_now |= {step} if is_open else set()
        return open_now

    def without_labelled(self, value: Any) -> Any:
        """Mask the values whose name of a configured path stands beside them: in a header, or as a `name`."""
        if self.labels is None or not isinstance(value, dict | list):
            return value

        def masked(cell: Any, place: tuple[str | int, ...]) -> Any:
            trail: Trail = None
            for step in place:
                trail = (trail, step)
            return self._mask(cell, "path", trail)

        return LabelledValues(self.labels, self.labels, masked).run(value)

    def value(self, value: Any, trail: Trail = None, context: str = "", state: State | None = None) -> Any:
        """Return the value with secrets replaced; whatever cannot be looked at is masked, never passed."""
        state = self._start if state is None else state
        if type(value) in _SAY_NOTHING and not (state or self._names):
            return value
        try:
            return self._value(value, trail, context, state)
        except Exception:  # noqa: BLE001  redaction fails closed: a fault in it must not let a secret through
            self._hit("unreadable", trail)
            return mark("unreadable")

    def _value(self, value: Any, trail: Trail, context: str, state: State) -> Any:
        context = normal_name(context)
        if () in state:
            return self._mask(value, "path", trail)
        if self._names and context and sensitive(context):
            return self._mask(value, "field-name", trail)
        if isinstance(value, str):
            return self._text(self._data_in_text(value, trail, state), trail, context)
        if isinstance(value, dict):
            return self._object(value, trail, state)
        if isinstance(value, (list, tuple)):
            return self._array(value, trail, context, state)
        if value is None or isinstance(value, (bool, int, float)):
            return value
        raise TypeError(type(value))

    def _object(self, value: dict[str, Any], trail: Trail, state: State) -> dict[str, Any]:
        named, columns = _named(value), self._names and _column_names(value)
        masked = _KUBERNETES if self._rules.rules and value.get("kind") == "Secret" else ()
        changed = False
        new: dict[str, Any] = {}
        taken: dict[str, int] = {}
        for key, member in value.items():
            written = self._key(key, trail, taken)
            context = named if named and key in _NAMED else key
            here = (trail, written)
            if key in masked and isinstance(member, dict):
                inner = self._mask(member, "kubernetes-secret", here)
            elif columns and _is_table(member, len(columns)):
                inner = self._rows(member, sensitive_columns(columns), here)
            else:
                inner = self.value(member, here, context, below(state, key) if state else state)
            changed = changed or inner is not member or written is not key
            new[written] = inner
        return new if changed else value

    def _array(self, given: list[Any] | tuple[Any, ...], trail: Trail, context: str, state: State) -> Any:
        value: Sequence[Any] = given
        if (
            self._names
            and len(value) > 1
            and _is_table(value, len(value[0]))
            and all(isinstance(n, str) for n in value[0])
        ):
            secret = sensitive_columns(value[0])
            value = [value[0], *self._rows(value[1:], secret, trail, 1)] if secret else value
        if self._commands.rules and len(value) > 1 and all(isinstance(word, str) for word in value):
            value = self._words(value, trail)
        pair = value[0] if len(value) == 2 and isinstance(value[0], str) else ""
        new = [
            self.value(item, (trail, index), (pair if index else "") or context, _element(state, index, len(value)))
            for index, item in enumerate(value)
        ]
        return new if any(map(is_not, new, given)) else given

    def _words(self, words: Sequence[str], trail: Trail) -> list[str]:
        """Look at the words of a command, which tell only together where its password stands."""
        new, starts = list(words), [0, *accumulate(len(word) + 1 for word in words)]
        for span in reversed(secrets(" ".join(words), self._commands)):
            at = bisect_right(starts, span.start) - 1
            begin, end = span.start - starts[at], min(span.end - starts[at], len(words[at]))
            new[at] = new[at][:begin] + mark(span.rule) + new[at][end:]
            self._hit(span.rule, (trail, at))
        return new

    def _rows(self, rows: Sequence[Any], secret: list[int], trail: Trail, first: int = 0) -> list[Any]:
        """Mask the cells below the header of a secret, and look at the others."""
        done = []
        for number, row in enumerate(rows, first):
            here = (trail, number)
            done.append(
                [
                    self._mask(cell, "field-name", (here, at)) if at in secret else self.value(cell, (here, at))
                    for at, cell in enumerate(row)
                ]
            )
        return done

    def _key(self, key: str, trail: Trail, taken: dict[str, int]) -> str:
        """Return a member's name without secrets; two that become alike stay two."""
        named = self._names or self.labels is not None
        written = self._text(key, trail, "") if len(key) >= _SHORTEST_KEY or (named and not key.isalnum()) else key
        if written is key:
            return key
        number = taken[written] = taken.get(written, 0) + 1
        return written if number == 1 else f"{written} #{number}"

    def _data_in_text(self, text: str, trail: Trail, state: State) -> str:
        """Mask by path and by name in JSON that stands in a string: data in a string is data."""
        if not (state or self._names or self.labels) or text.lstrip()[:1] not in _OPENS:
            return text
        try:
            data = orjson.loads(text)
        except orjson.JSONDecodeError:
            return text
        inner = _RedactionWalk(rules=NO_RULES, names=self._names)
        inner.labels = self.labels
        masked = inner.value(inner.without_labelled(data), trail, state=state)
        self.hits += inner.hits
        return text if masked is data else orjson.dumps(masked).decode()

    def _text(self, text: str, trail: Trail, context: str) -> str:
        if (text, context) in self._clean:
            return text
        rest = key_in_part(text) if text in self.parts_of_keys else 0
        spans = secrets(text, self._rules, context, rest) if rest or self._rules.rules else []
        new = replace(text, spans) if spans else text
        if self._names and (found := assigned(new)):
            new = replace(new, found)
            spans += found
        if self.labels is not None and (found := assigned(new, self.labels, "path")):
            new = replace(new, found)
            spans += found
        if not spans:
            self._clean.add((text, context))
            return text
        for rule in dict.fromkeys(span.rule for span in spans):
            self._hit(rule, trail)
        return new

    def _mask(self, value: Any, rule: str, trail: Trail) -> Any:
        masked = masked_like(value, mark(rule))
        if masked == value and type(masked) is type(value):
            return value
        self._hit(rule, trail)
        return masked

    def _hit(self, rule: str, trail: Trail) -> None:
        self.hits.append((rule, trail))


class SplitKeyRedactor:
    """Takes values that come one after another, and replaces what goes on with a private key of an earlier one."""

    def __init__(self) -> None:
        self._are_open: set[Step | None] = set()

    def clean(self, value: Value) -> Value:
        """Return a value without what belongs to a key that began before it; itself for most values."""
        walk = _RedactionWalk(rules=NO_RULES, names=False)
        self._are_open = walk.find_keys(value, self._are_open)
        cleaned: Value = walk.value(value) if walk.parts_of_keys else value
        return cleaned


def masked_like(value: Any, text: str) -> Json:
    """Return a value of the same shape that says nothing: the text, 0, false, and the same within containers."""
    if isinstance(value, dict):
        # A key without a letter is no name, and may be a value.
        return {key if any(map(str.isalpha, key)) else text: masked_like(member, text) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [masked_like(item, text) for item in value]
    if value is None or value == "" or (isinstance(value, str) and is_mark(value)):
        return None if value is None else str(value)
    if isinstance(value, (bool, int, float)):
        return type(value)(0)
    return text


def _collect_texts(value: Any, into: dict[Step | None, list[str]], step: Step | None = None) -> None:
    """Collect the texts of a value in their order, all of them and those under each name or index."""
    if isinstance(value, str | bytes):
        text = value if isinstance(value, str) else value.decode(errors="replace")
        for place in {None, step}:
            into[place].append(text)
    elif isinstance(value, list | tuple):
        for index, one in enumerate(value):
            _collect_texts(one, into, index)
    elif isinstance(value, dict) or hasattr(value, "__dict__"):
        for key, one in (value if isinstance(value, dict) else vars(value)).items():
            _collect_texts(key, into)
            _collect_texts(one, into, key)


def _named(value: dict[str, Any]) -> str:
    """Find the name in objects that keep name and value apart: `{"name": "AWS_SECRET_ACCESS_KEY", "value": …}`."""
    if value.keys().isdisjoint(_NAMED):
        return ""
    return next((value[key] for key in _NAMING if isinstance(value.get(key), str)), "")


def _column_names(value: dict[str, Any]) -> list[Any]:
    """Find the header of a table that keeps its columns and its rows apart."""
    for key in _HEADERS:
        listed = value.get(key)
        if isinstance(listed, list) and listed:
            names = [one.get("name") if isinstance(one, dict) else one for one in listed]
            if all(isinstance(name, str) for name in names) and sensitive_columns(names):
                return names
    return []


def _is_table(value: Any, width: int) -> bool:
    return bool(
        width
        and isinstance(value, list)
        and value
        and all(isinstance(row, list) and len(row) == width for row in value)
    )


def _element(state: State, index: int, size: int) -> State:
    return frozenset(after_index(state, index, size)) if state else state


def _grouped(hits: Iterable[tuple[str, Trail]]) -> list[Hit]:
    """Report hits of one rule in alike elements together, and the places beyond the first few as `**`."""
    together: dict[tuple[str, str], Hit] = {}
    places: dict[str, int] = {}
    for rule, trail in hits:
        place = write_trail(trail, general=True)
        if (rule, place) not in together:
            places[rule] = places.get(rule, 0) + 1
            place = "**" if places[rule] > _PLACES else place
        before = together.get((rule, place))
        if before is not None:
            together[rule, place] = Hit(rule, place, before.count + 1)
        else:
            together[rule, place] = Hit(rule, "**" if place == "**" else write_trail(trail))
    return list(together.values())
