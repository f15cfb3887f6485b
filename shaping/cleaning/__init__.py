"""The first phase: raw value -> open -> select -> drop empties -> quieten -> redact -> Cleaned; pure, without I/O.

A list of fields is selected first where it can be, so that what it leaves out is never opened. Private fields go before
the others are selected; fields that the config renames are masked before that, under the names that the tool gave them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import orjson

from shaping import envelope as envelopes
from shaping.parsers import EXACT, Parsed, parse, parse_if_cheaper
from shaping.parsers.pairs import read_record
from shaping.paths import FieldPlan, deep_path
from shaping.paths.labels import or_unchanged
from shaping.paths.rules import read_rule
from shaping.paths.selection import after_key, misses
from shaping.paths.strings import PRIVATE_MARK
from shaping.redaction import SplitKeyRedactor, log_fault, redact, without_secrets
from shaping.redaction.engine import has_one
from shaping.response import NOTHING, CallContext, Json, Omission, StepNotes, Warned, counted
from shaping.values import json_if_plain, open_carefully, to_plain
from shaping.values.opening import OneShotError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from shaping.paths.grammar import Trail
    from shaping.paths.private import Rest
    from shaping.paths.strings import Unreadable
    from shaping.settings.plan import Empties, Plan

EmptyMember: TypeAlias = "tuple[Trail, Any]"  # the place of a null or empty member, and what it was
_MARKS: Final = frozenset({"ok", "data", "error"})
_GONE = object()
_NESTED = frozenset({dict, list})
_MAY_GO = _NESTED | {type(None)}
_MANY = 32  # members or elements from which it is faster to look at all of their types first
_HAS_EMPTIES: Final = has_one(["null", r"\[\]", r"\{\}"])
# Below this many bytes of JSON there is no noise worth a look.
QUIET = 320
# Bytes of a notice with its ref, generously: what does not save more than the notice costs is not left out.
NOTICE_BYTES = 160
WITHHELD = "[withheld: redaction failed]"
_PIECES = frozenset({str, int, float, dict, list, tuple})
_MOST_NAMED = 10
_TAGS: Final = re.compile(r"<!\[CDATA\[|\]\]>|<[^<>]*>")
_SNAPSHOT_CELL: Final = re.compile(r"^ *- '?(?:row|cell|gridcell|(?:column|row)header|term|definition)\b", re.MULTILINE)
_HEADING_WORDS = 6  # an element that says more is a text of its own


class CleaningError(Exception):
    """A step failed after the value was opened; what was read of it by then is `original`."""

    def __init__(self, original: Any, cause: Exception) -> None:
        super().__init__("a step of cleaning failed")
        self.original, self.cause = original, cause


class Cleaned(NamedTuple):
    """The data that is left, and what the steps reported on the way."""

    value: Any
    raw: Any
    with_empties: Any  # the selected data before null, empty and default members were dropped
    without_empties: Any  # the selected data after they were dropped, before noise rules and redaction
    empties: Sequence[EmptyMember]  # the null and empty members that were dropped
    fields: FieldPlan | None  # the compiled paths that selected
    original: Any  # the raw value as plain data, where all of it was opened
    warnings: tuple[Warned, ...] = ()
    omissions: tuple[Omission, ...] = ()  # without those of fields and empties, which are listed when asked for
    saved: int = 0  # bytes that noise rules took
    compact_json: bytes | None = None  # the value's compact JSON, where it is known
    length_before: int | None = None  # characters of the raw value's compact JSON, where they are known
    cut_short: bool = False  # what the tool gave broke off before its end

    @property
    def size(self) -> int | None:
        """How many bytes of compact JSON the value has, where that is known."""
        return None if self.compact_json is None else len(self.compact_json)

    def plain_raw(self, plan: Plan) -> Any:
        """Return the raw value as plain data."""
        return self.original if self.original is not None else to_plain(self.raw, closed=plan.closed)


def clean(raw: Any, plan: Plan, call: CallContext) -> Cleaned:
    """Run the steps in their order; a step that changes nothing returns the same object."""
    fields = plan.fields if call.error is None else plan.error_fields
    private_notes = early_notes = select_notes = NOTHING
    if fields is not None and _opens_what_it_selects(fields, plan, call):
        selected, opening = select_then_open(raw, fields, plan)
    else:
        opened, opening = _opened(raw, plan, call)
        if fields is not None and plan.private is not None:
            # A text that may hold what is private is withheld, whatever else is selected.
            opened, private_notes = select_fields(opened, plan.private)
        if fields is not None and fields.rename and plan.redact.by_place:
            # A field is masked by the name and the place that the tool gave it, not by the ones it gets here.
            opened, early_notes = redact_value(opened, plan)
        compact_json = opening.compact_json if opened is opening.original else None
        selected, select_notes = select_fields(opened, fields, compact_json)
    try:
        # The JSON that opening wrote holds only while no step has changed what it opened.
        compact_json = opening.compact_json if opening.original is None or selected is opening.original else None
        kept = selected
        empties: list[EmptyMember] = []
        if _may_have_empties(compact_json, plan.empties):
            kept, empties = drop_empties(selected, plan.empties)
        quiet, quieting = quieten(kept, plan, call.arguments, compact_json if kept is selected else None)
        value, masking = redact_value(quiet, plan, quieting.compact_json)
    except Exception as fault:
        raise CleaningError(raw if opening.original is None else opening.original, fault) from fault
    found = opening.warnings + private_notes.warnings + early_notes.warnings + select_notes.warnings + masking.warnings
    sent = opening.compact_json
    return Cleaned(
        value=value,
        raw=raw,
        with_empties=selected,
        without_empties=kept,
        empties=empties,
        fields=fields,
        original=opening.original,
        warnings=_warnings(call, found, plan) if found or call.warnings else (),
        omissions=opening.omissions + quieting.omissions,
        saved=quieting.saved,
        compact_json=quieting.compact_json if value is quiet else None,
        length_before=len(sent) if sent is not None and sent.isascii() else None,
        cut_short=opening.cut_short,
    )


def _warnings(call: CallContext, found: tuple[Warned, ...], plan: Plan) -> tuple[Warned, ...]:
    said = (*call.warnings, *(() if call.source is None else call.source.warnings))
    if any(warned.code == "NO_SUCH_FIELD" for warned in said):
        # Whoever asked for the fields has been told of each of them.
        found = tuple(warned for warned in found if warned.code != "NO_SUCH_FIELD")
    warnings = call.warnings + found
    # Paths are made of keys, and a tool's own warnings of anything.
    return warnings if plan.redact.off else tuple(map(redact_warning, warnings))


def _opens_what_it_selects(fields: FieldPlan, plan: Plan, call: CallContext) -> bool:
    """Whether a list of fields is applied first, so that what it never selects is never opened."""
    if call.compact_json is not None or not fields.selective or plan.empties.defaults or plan.private is not None:
        return False
    return not (fields.rename and plan.redact.by_place)


def may_be_envelope(value: Any) -> bool:
    """Whether a value has one of the members that stand in every wire form; the model is imported only for those."""
    return type(value) is dict and not _MARKS.isdisjoint(value)


def envelope_in(value: dict[str, Any], plan: Plan) -> tuple[Any, Plan]:
    """Read an answer that is one of our wire forms already, so that it is not wrapped again; and the plan for it."""
    form = envelopes.recognise(value)
    paths = () if plan.fields is None else plan.fields.paths
    # A success in `lean` has no member that only it has: unless paths are to apply inside it, it goes out as it came.
    bare_lean = form == "lean" and plan.dialect == "none" and value.get("error") is None and not paths
    if form == "none" or bare_lean:
        return value, plan
    if plan.private is not None:
        # A path may name the members that an envelope has; an error is cleaned with what is said of the call.
        looked = {name: member for name, member in value.items() if name != "error"}
        kept = plan.private.apply(looked)
        value = {name: kept.get(name, value[name]) for name in value if name in kept or name not in looked}
    found = envelopes.read_wire(value, paths=paths)
    if found is None:
        return value, plan
    return found, plan.replace(dialect=form) if plan.dialect == "none" else plan


def data_in(text: str, plan: Plan) -> Parsed | None:
    """Read the data that a text holds: fields, private paths and noise rules hold inside it too."""
    if plan.private is not None and plan.private.withhold and _is_said_in_page(text, plan.private):
        return None
    if plan.fields is not None:  # whoever names fields has asked for data
        return parse(text, plan.parse) or record_in(text, plan)
    if plan.encoding == "json":
        return parse(text, EXACT) if "json" in plan.parse else None
    return parse_if_cheaper(text, plan.parse, quieten=lambda value: quieten(value, plan, frozenset())[0])


def _is_said_in_page(text: str, private: FieldPlan) -> bool:
    """Return whether an element of markup or of a page snapshot says a private name: the value may be anywhere."""
    is_markup = text.lstrip("\ufeff \t\r\n").startswith("<")
    if not (is_markup or _SNAPSHOT_CELL.search(text)) or not private.is_named_in(text):
        return False
    said = (words for words in _TAGS.split(text) if words and not words.isspace())
    return not is_markup or any(len(words.split()) <= _HEADING_WORDS and private.is_named_in(words) for words in said)


def record_in(text: str, plan: Plan) -> Parsed | None:
    """Read lines of `name: value` as a record where configured paths decide about its members."""
    fields = plan.fields
    if fields is None or "pairs" not in plan.parse or (record := read_record(text)) is None:
        return None
    kept = fields.apply(record)
    if kept == record or (fields.selective and not kept):
        return None
    # What is private may go on in the next line, so that a text that names it stays one.
    is_guarded = plan.private is not None and plan.private.apply(text) != text
    return None if is_guarded else Parsed(record, "pairs", text=text)


def _opened(raw: Any, plan: Plan, call: CallContext) -> tuple[Any, StepNotes]:
    if call.compact_json is not None:
        return raw, StepNotes(original=raw, compact_json=call.compact_json)
    return open_plain(raw, plan)


def open_plain(value: Any, plan: Plan) -> tuple[Any, StepNotes]:
    """Open a value, with a warning for what plain data cannot hold; what is plain already is handed on."""
    if not plan.empties.defaults and (compact_json := json_if_plain(value)) is not None:
        return value, StepNotes(original=value, compact_json=compact_json)
    found = open_carefully(value, drop_defaults=plan.empties.defaults, closed=plan.closed)
    return found.value, StepNotes(tuple(found.warnings), tuple(found.omissions), found.whole, found.cut_short)


def select_fields(value: Any, fields: FieldPlan | None, compact_json: bytes | None = None) -> tuple[Any, StepNotes]:
    """Apply compiled paths to plain data; what they left out is listed when somebody asks.

    `compact_json` is the value's, where it is known.
    """
    if fields is None:
        return value, NOTHING
    unreadable: list[Unreadable] = []
    meant = fields.as_meant(value)
    kept = meant.apply_as_written(value, unreadable, compact_json)
    warnings = [_warning(unreadable)] if unreadable else []
    warnings += [_deeper(path) for path, deep in zip(fields.exclude, meant.exclude, strict=True) if path != deep]
    if fields.include and type(value) is str and kept is value:
        warnings.append(Warned("UNREADABLE_TEXT", "this text is not data; include_only leaves it whole"))
    elif fields.include and value and _is_bare(kept):
        named = ", ".join(map(str, fields.include[:3]))
        warnings.append(Warned("NO_SUCH_FIELD", f"include_only names nothing that this answer has ({named})"))
    return kept, StepNotes(tuple(warnings)) if warnings else NOTHING


def _deeper(path: str) -> Warned:
    taken = f"private {path!r} matches nothing but deeper in this answer, where it was taken out"
    return Warned("PRIVATE_PATH", f"{taken}; write {deep_path(path)!r}")


def _is_bare(kept: Any) -> bool:
    """Return whether nothing is left of a value but empty containers."""
    return kept == {} or (type(kept) is list and all(element == {} for element in kept))


def select_then_open(raw: Any, fields: FieldPlan, plan: Plan) -> tuple[Any, StepNotes]:
    """Apply compiled paths to any value and open only what they select."""
    try:
        selected, said = select_fields(raw, fields)
        value, notes = open_plain(selected, plan)
    except (OneShotError, RecursionError):
        # Everything is opened first: a generator among the visited values can be read only once, and what is nested
        # deeper than can be followed, or contains itself, ends when it is opened.
        whole, notes = open_plain(raw, plan)
        value, said = select_fields(whole, fields)
        return value, notes._replace(original=whole, warnings=(*notes.warnings, *said.warnings))
    return value, notes._replace(original=None, warnings=(*notes.warnings, *said.warnings))


def _warning(texts: list[Unreadable]) -> Warned:
    """Warn once of all texts that a rule could not be applied to: a line for each could be dearer than the answer."""
    first = texts[0]
    done = "withheld" if first.withheld else "kept"
    message = f"{counted(len(texts), 'text')} {done} that may hold {first.name!r} and cannot be read as data"
    return Warned("UNREADABLE_TEXT", message, first.path if len(texts) == 1 else None)


def unmatched(value: Any, paths: Collection[str], private: FieldPlan | None = None) -> list[Warned]:
    """Warn of each path that matches nothing, with what may be meant by it, but for what is private."""
    visible = private.apply(value) if private is not None and paths else value
    # What there is instead are keys of raw data, which may be secrets too.
    return [Warned("NO_SUCH_FIELD", without_secrets(str(miss))) for miss in misses(visible, paths)]


def misspelt(value: Any, plan: Plan) -> list[str]:
    """Describe the fields to keep that this answer lacks, where it has one named alike that is not kept."""
    kept = plan.fields.include if plan.fields is not None and plan.fields.include else ()
    visible = plan.private.apply(value) if plan.private is not None and kept else value
    return [without_secrets(str(miss)) for miss in misses(visible, kept) if miss.near and miss.near[0] not in kept]


def _may_have_empties(compact_json: bytes | None, flags: Empties) -> bool:
    """Whether a value may have members to drop; its compact JSON tells that most have none, where it is known."""
    if flags.defaults or not (flags.nulls or flags.empty_arrays or flags.empty_objects):
        return flags.defaults
    return compact_json is None or _HAS_EMPTIES(compact_json) is not None


def drop_empties(value: Any, flags: Empties) -> tuple[Any, list[EmptyMember]]:
    """Drop members that are null, empty or default, and list the null and empty ones; share what did not change."""
    empties: list[EmptyMember] = []
    kept = _without_listed(value, flags.default_values) if flags.defaults and flags.default_values else value
    if type(kept) is dict:
        kept = _object(kept, flags, None, empties)
    elif type(kept) is list:
        kept = _array(kept, flags, None, empties)
    # Where nothing would be left, the top level stays as it was: "no matches" must not look like "field removed".
    if value and not kept and type(kept) in {dict, list}:
        return value, []
    return kept, empties


def restore_empties(cleaned: Cleaned, plan: Plan) -> Cleaned:
    """Return the data with the null, empty and default members that were dropped."""
    value, _ = redact_value(cleaned.with_empties, plan)
    return cleaned._replace(value=value, without_empties=cleaned.with_empties, empties=(), compact_json=None)


def _object(value: dict[str, Any], flags: Empties, trail: Trail, empties: list[EmptyMember]) -> dict[str, Any]:
    if len(value) > _MANY and _MAY_GO.isdisjoint(map(type, value.values())):
        return value
    out: dict[str, Any] | None = None
    for key, item in value.items():
        kind = type(item)
        if kind is str:
            continue
        if item is None:
            new = _GONE if flags.nulls else item
        elif kind is dict:
            new = _object(item, flags, (trail, key), empties)
            if not new and flags.empty_objects:
                new = _GONE
        elif kind is list:
            new = _array(item, flags, (trail, key), empties)
            if not new and flags.empty_arrays:
                new = _GONE
        else:
            continue
        if new is not item:
            if out is None:
                out = dict(value)
            if new is _GONE:
                del out[key]
                if not item:  # all members of one that is not empty are listed
                    empties.append(((trail, key), item))
            else:
                out[key] = new
    return value if out is None else out


def _array(value: list[Any], flags: Empties, trail: Trail, empties: list[EmptyMember]) -> list[Any]:
    # Elements stay even where they are null or empty: their position and their number are information.
    if len(value) > _MANY and _NESTED.isdisjoint(map(type, value)):
        return value
    out: list[Any] | None = None
    inside = (trail, 0)  # all elements are one place
    for index, item in enumerate(value):
        kind = type(item)
        if kind is dict:
            new: Any = _object(item, flags, inside, empties)
        elif kind is list:
            new = _array(item, flags, inside, empties)
        else:
            continue
        if new is not item:
            if out is None:
                out = list(value)
            out[index] = new
    return value if out is None else out


def _without_listed(value: Any, listed: tuple[tuple[str, Json], ...]) -> Any:
    """Drop members at listed paths whose value equals the listed default; share what did not change."""
    for path, default in listed:
        value = _drop(value, frozenset((_rule(path),)), default)
    return value


_rule = lru_cache(maxsize=256)(read_rule)


def _drop(value: Any, rests: frozenset[Rest], default: Json) -> Any:
    if type(value) is list:
        return or_unchanged(value, [_drop(item, rests, default) for item in value])
    if type(value) is not dict:
        return value
    members: dict[str, Any] = {}
    for key, item in value.items():
        left = frozenset(after_key(rests, key))
        if () not in left or type(item) is not type(default) or item != default:
            members[key] = _drop(item, left - {()}, default) if left else item
    return or_unchanged(value, members)


def quieten(
    value: Any, plan: Plan, arguments: frozenset[str], compact_json: bytes | None = None
) -> tuple[Any, StepNotes]:
    """Apply the plan's noise rules; `arguments` are member names that other tools take, and so stay.

    `compact_json` is the value's, where it is known.
    """
    if not plan.noise or type(value) not in {dict, list, str}:
        return value, StepNotes(compact_json=compact_json)
    compact_json = compact_json or orjson.dumps(value)
    if len(compact_json) < QUIET and not (type(value) is str and "\x1b" in value):  # where colours go, nothing is gone
        return value, StepNotes(compact_json=compact_json)
    from shaping.noise import reduce  # noqa: PLC0415 (loaded with the first large value: costs 20 ms)

    quiet, omissions = reduce(value, plan.noise, arguments=arguments, parses=bool(plan.parse))
    left = compact_json if quiet is value else orjson.dumps(quiet)
    if len(compact_json) - len(left) <= (NOTICE_BYTES if omissions else 0):
        return value, StepNotes(compact_json=compact_json)
    saved = len(compact_json) - len(left) if omissions else 0  # where nothing is gone, nothing is said
    return quiet, StepNotes(omissions=tuple(omissions), saved=saved, compact_json=left)


def redact_value(value: Any, plan: Plan, compact_json: bytes | None = None) -> tuple[Any, StepNotes]:
    """Replace what the redaction rules match, and warn of each place so that nobody writes a mark back unawares.

    `compact_json` is the value's, where it is known.
    """
    rules = plan.redact
    if rules.off:
        return value, NOTHING
    clean, hits = redact(value, values=rules.values, names=rules.names, paths=rules.paths, compact_json=compact_json)
    return clean, StepNotes(tuple(replaced(hit.rule, hit.path) for hit in hits)) if hits else NOTHING


def replaced(rule: str, path: str) -> Warned:
    """Warn that a mark stands where a value stood."""
    return Warned("REDACTED", f"a value matched the rule {rule} and was replaced", path)


def redact_warning(warned: Warned) -> Warned:
    """Return the warning with secrets taken out of its message and path."""
    return Warned(
        warned.code, without_secrets(warned.message), None if warned.path is None else without_secrets(warned.path)
    )


def protect_or_withhold(value: Any, plan: Plan) -> Any:
    """Return the value as plain data without private paths and secrets; where that fails too, only a mark."""
    try:
        return protect(to_plain(value, closed=plan.closed), plan)
    except Exception as fault:  # noqa: BLE001 (whatever it is, what cannot be redacted must not leave)
        log_fault("the answer of %r is withheld, because redaction failed with %s\n%s", plan.tool, fault)
        return WITHHELD


def protect(data: Any, plan: Plan) -> Any:
    """Take private paths and secrets out of plain data that the steps of cleaning never saw."""
    rules = plan.redact
    kept = data if plan.private is None else plan.private.apply(data)
    return kept if rules.off else redact(kept, values=rules.values, names=rules.names, paths=rules.paths)[0]


class Pieces:
    """Cleans values that come one after another and may belong together: lines of a stream, what a generator yields."""

    def __init__(self) -> None:
        self._keys = SplitKeyRedactor()
        # The last that name a private field, whose value may come later, and what came before this one.
        self._named: list[Any] = []
        self._before: list[Any] = []
        self._indent: int | None = None  # of the last line that names one: deeper lines below it belong to it

    def clean(self, value: Any, plan: Plan) -> Any:
        """Take out of the next value what belongs to an earlier one: the rest of a private key, private values."""
        value = self._keys.clean(value) if plan.redact.values else value
        if plan.private is None or type(value) not in _PIECES:
            return value
        if type(value) is str:
            if not value.strip():
                return value
            indent = len(value) - len(value.lstrip(" \t-"))
            if self._indent is not None and indent > self._indent and plan.private.withhold:
                self._before = [value]
                return PRIVATE_MARK
            self._indent = indent if plan.private.is_named_in(value) else None
        notes: list[Unreadable] = []
        kept = plan.private.apply(value, notes)
        together = plan.private.apply([*self._named, *self._before, value])[-1] if self._named else kept
        if notes or plan.private.is_named_in(str(kept)):
            self._named, self._before = [*self._named[1 - _MOST_NAMED :], value], []
        elif self._named:
            self._before = [value]
        return together
