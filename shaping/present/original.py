"""The raw side of one response: what was left out of it, at what price, and the ref it is kept behind."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from shaping.budget.cut_text import missing_lines
from shaping.encoders import holds_records
from shaping.parsers.sections import DiffLines, LogLines, sections_of
from shaping.paths import FieldPlan, compile_fields, select
from shaping.paths.grammar import Trail, write_trail
from shaping.paths.rules import differs, original
from shaping.present.notices import summarize_columns
from shaping.redaction import names_without_secrets, paths_without_secrets
from shaping.response import CallContext, Omission, Reason, cached_property, grouped, required
from shaping.settings.plan import Empties, Plan
from shaping.store.expand import price, price_of
from shaping.store.result_files import ResultFile, result_file, results_folder
from shaping.tokens import cheap, count, counter
from shaping.values import MARK, mark_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from shaping.cleaning import Cleaned
    from shaping.store.keeper import Originals


_SAMPLES: Final = 16  # values of one place by which all of them are priced
# Told, because every absence is; neither priced nor to be asked for.
_NEVER_SENT = frozenset({"private", "tier"})
_NULL_OR_EMPTY = frozenset({"null", "empty"})
_ABSENT = ("null", "empty", "null or empty")
# Names of null or empty members that are written: an object keyed by ids may have any number.
_NAMES = 80
# The line is written where it is cheaper by this factor, which is more than the guess of its tokens is wrong by.
_SURE = 1.25
_LOOKED_INTO = 5_000_000  # bytes of data; to find the tables of more takes longer than a reader gains
_LITTLE = 200  # characters of members that are null or empty
_ENTRY = '{"path":"**","count":2,"reason":"null"},'  # of an envelope that lists what was left out, for its price
_LINE_BREAK = 2  # tokens, where a closing bracket no longer ends the text


_AS_THEY_ARE = ("profile", "noise", "encoding", "lossless", "max_string")


def about_pages(plan: Plan, fields: FieldPlan | None, call: CallContext) -> dict[str, str]:
    """Write down by which choices a response was shaped."""
    paths = None if fields is None else (fields.include, fields.exclude, dict(fields.rename))
    said = {name: getattr(plan, name) for name in _AS_THEY_ARE} | {"as_text": not plan.parse}
    said |= {"fields": paths, "empties": plan.empties, "arguments": sorted(call.arguments)}
    return {"plan": orjson.dumps(said).decode()}


def first_page_plan(now: Plan, meta: Mapping[str, str]) -> tuple[Plan, frozenset[str]]:
    """Return the plan by which a first page was shaped, with the private paths of today, and its arguments' names."""
    if "plan" not in meta:
        return now, frozenset()
    said: dict[str, Any] = orjson.loads(meta["plan"])
    empties = {**said["empties"], "default_values": tuple(map(tuple, said["empties"]["default_values"]))}
    fields = None if said["fields"] is None else compile_fields(*said["fields"])
    choices = {name: said[name] for name in _AS_THEY_ARE} | {"noise": tuple(said["noise"])}
    parse = () if said.get("as_text") else now.parse
    plan = replace(now, fields=fields, error_fields=fields, empties=Empties(**empties), parse=parse, **choices)
    return plan, frozenset(said["arguments"])


@dataclass(eq=False)
class Original:
    """What one response was made from; each property is worked out once, however often a budget is tried."""

    cleaned: Cleaned
    plan: Plan
    call: CallContext
    owner: str | None
    store: Originals
    _columns: dict[str, tuple[str, ...]] = field(init=False, default_factory=dict)
    _prices: dict[Omission, int | None] = field(init=False, default_factory=dict)

    def text_before(self) -> str:
        """Return what the client would have shown its model: the server's own text, or the raw value's JSON."""
        if self.call.text_before is not None:
            return self.call.text_before()
        raw = self.cleaned.plain_raw(self.plan)
        return raw if isinstance(raw, str) else orjson.dumps(raw).decode()

    @cached_property
    def length_before(self) -> int:
        """The characters of that text, which every try to fit a budget asks for."""
        known = self.cleaned.length_before
        return known if known is not None and self.call.text_before is None else len(self.text_before())

    @cached_property
    def ref(self) -> str | None:
        """The ref of the raw value, which is kept when this is first asked for."""
        # Written at once, stored later: whoever owns the raw value may change it as soon as the call is over.
        content = self.call.compact_json or orjson.dumps(self.cleaned.plain_raw(self.plan))
        about = about_pages(self.plan, self.cleaned.fields, self.call)
        if any(warned.code == "BIG_INTEGER" for warned in self.cleaned.warnings) and MARK not in content.decode():
            content, about = orjson.dumps(mark_numbers(self.cleaned.plain_raw(self.plan))), {**about, "numbers": MARK}
        return self.store.keep(content, self.plan, self.owner, about)

    @cached_property
    def file(self) -> ResultFile | None:
        """The file that all of the cleaned data goes into, not yet written; None where there is to be none."""
        if self.plan.overflow != "file" or self.call.page is not None:
            return None
        return result_file(self.cleaned.value, self.plan.tool.rpartition("/")[2], results_folder())

    def cursor(self, position: tuple[str, int]) -> str | None:
        """Write the cursor for the list or text that was cut first, where the rest of it can be expanded."""
        return None if self.ref is None else self.store.cursor(self.plan, self.ref, *position)

    def columns(self, path: str) -> tuple[str, ...]:
        """Describe the columns of a list that was cut, all of its records counted, for a reader who may ask."""
        if path not in self._columns:
            records = select(self.cleaned.value, path) if path else self.cleaned.value
            self._columns[path] = summarize_columns(records) if isinstance(records, list) else ()
        return self._columns[path]

    def missing_sections(self, cut: str, head: int, count: int) -> str:
        """List the files of a diff, or the sections of a log, of which a cut of so many characters takes something."""
        text = self.cleaned.value
        if self._sections is None or not isinstance(text, str):
            return ""
        if lines := missing_lines(text, cut):
            told = self._sections.list_missing(chain.from_iterable(lines))
            return told if len(told) < count else ""
        end = head + count
        last = text.count("\n", 0, end) + (text[end - 1 : end] != "\n")
        told = self._sections.list_missing(range(text.count("\n", 0, head), last))
        return told if len(told) < count else ""

    @cached_property
    def _sections(self) -> DiffLines | LogLines | None:
        return sections_of(self.cleaned.value.split("\n")) if isinstance(self.cleaned.value, str) else None

    @cached_property
    def tables(self) -> Callable[[tuple[str, ...], int], str]:
        """What names so many SQL tables of lists that were cut, where there are more than `items`."""
        from shaping.store.tables import describe_tables, find_tables  # noqa: PLC0415 (only of what a budget cut: costs 10 ms)

        found = find_tables(self.cleaned.value) if (self.cleaned.size or 0) <= _LOOKED_INTO else []
        return partial(describe_tables, found)

    def raw_path(self, path: str) -> str:
        """Write a path of the shaped data in the names of the raw value, which is what is kept."""
        fields = self.cleaned.fields
        if fields is None or not differs(path, fields):
            return path
        return original(path, self.cleaned.plain_raw(self.plan), fields)

    @cached_property
    def omissions(self) -> tuple[Omission, ...]:
        """Everything that cleaning left out, exactly."""
        return (*(found.omission for found in self._by_config), *self.cleaned.omissions)

    @cached_property
    def _empties(self) -> list[OmittedMembers]:
        if not self.cleaned.empties and not self.plan.empties.defaults:
            return []
        if self.plan.empties.defaults:
            return members_missing(self.cleaned.with_empties, self.cleaned.without_empties)
        gone: dict[tuple[Trail, Reason], list[Any]] = {}
        for trail, item in self.cleaned.empties:
            gone.setdefault((trail, "null" if item is None else "empty"), []).append(item)
        return [_omitted(trail, why, values) for (trail, why), values in gone.items()]

    @cached_property
    def _by_config(self) -> list[OmittedMembers]:
        return [*omitted_by_fields(self.cleaned, self.plan), *self._empties]

    @cached_property
    def absent(self) -> dict[str, tuple[str, ...]]:
        """The names of members that were dropped because they are null or empty, by that reason."""
        names: dict[str, dict[str, None]] = {}
        for found in self._absent:
            names.setdefault(found.omission.reason, {})[_member_name(found.omission)] = None
        return {reason: tuple(found) for reason, found in names.items()}

    @cached_property
    def _absent(self) -> list[OmittedMembers]:
        """The null and empty members that were dropped, but for the members of what noise rules took whole.

        The records of an object, which stand in the text as rows, are one place, as those of a list are.
        """
        gone = [found for found in self._empties if found.omission.reason in _NULL_OR_EMPTY]
        cleaned = self.cleaned
        data, before, after = (_Values([one]) for one in (cleaned.with_empties, cleaned.without_empties, cleaned.value))
        places: dict[Trail, tuple[Trail, bool] | None] = {}  # of what members are, if it did not go whole
        together: dict[tuple[Trail, Reason], OmittedMembers] = {}
        for found in gone:
            of, name = required(found.trail)
            if of not in places:
                went = cleaned.omissions and _went(of, before, after)
                above = _among_records(of, data)
                places[of] = None if went else (above, data.at(above).hold_records)
            if (place := places[of]) is None:
                continue
            trail, why = (place[0], 0 if place[1] else name), found.omission.reason
            alike = together.get((trail, why))
            if alike or trail != found.trail:
                count = found.omission.count + (alike.omission.count if alike else 0)
                found = OmittedMembers(_omission(trail, count, why), (alike or found).samples, trail)  # noqa: PLW2901
            together[trail, why] = found
        return list(together.values())

    @property
    def has_absent(self) -> bool:
        """Whether members were dropped because they are null or empty."""
        return bool(self._absent)

    @cached_property
    def absent_line(self) -> str:
        """The line below the data that names the null and empty members: of all records, or of those that lack them."""
        groups: dict[str, dict[str, None]] = {}
        data = _Values([self.cleaned.without_empties])
        for found in self._absent:
            when = " if missing" if "[]" in found.omission.path and _is_shown(found.trail, data) else ""
            groups.setdefault(f"{found.omission.reason}{when}", {})[_member_name(found.omission)] = None
        for when in ("", " if missing"):
            nulls, empties = groups.get(f"null{when}", {}), groups.get(f"empty{when}", {})
            # Null in some records and empty in others: neither can be said of all of them.
            both = groups[f"null or empty{when}"] = {key: None for key in nulls if key in empties}
            for key in both:
                del nulls[key], empties[key]
        said = [f"{reason}{when}" for reason in _ABSENT for when in ("", " if missing")]
        line = "; ".join(f"{reason}: {_some(tuple(groups[reason]))}" for reason in said if groups.get(reason))
        return line and "\n" + (line if self.plan.redact.off else names_without_secrets(line))

    @property
    def _lists_omissions(self) -> bool:
        return self.plan.dialect != "none" and self.plan.omissions == "list"

    @cached_property
    def absent_pays(self) -> bool:
        """Whether naming the null and empty members costs less than dropping them saved."""
        counts = {found.omission.path: found.omission.count for found in self._absent}
        if sum(counts.values()) == 1:
            return False  # of one member no line is cheaper than the member
        members = [f',"{path.rpartition(".")[2]}":null' for path in counts]
        once, often = sum(map(len, members)), sum(map(int.__mul__, map(len, members), counts.values()))
        line = self.absent_line.strip() + (len(self.absent) * _ENTRY if self._lists_omissions else "")
        dropped = "".join(members)
        cost, gain = _guessed_tokens(line), _guessed_tokens(dropped) * often / once
        # Guessed where that is sure, and where little is at stake: exact counts would cost every answer more time than
        # this line is worth.
        if often < _LITTLE or gain > _SURE * (cost + _LINE_BREAK) or _SURE * gain < cost + _LINE_BREAK:
            return _SURE * cost + _LINE_BREAK < gain
        return count(line) + _LINE_BREAK < count(dropped) * often / once

    @cached_property
    def _samples(self) -> dict[Omission, tuple[Any, ...]]:
        return {found.omission: found.samples for found in self._by_config}

    def priced(self, omissions: Iterable[Omission], *, with_ref: bool) -> tuple[Omission, ...]:
        """Group omissions as a reader is told them, each with its estimated price and the ref that brings it back."""
        listed = grouped(omissions)
        ref = self.ref if with_ref and listed else None
        paths = [each.path for each in listed]
        shown = paths if self.plan.redact.off else paths_without_secrets(paths)
        return tuple(
            Omission(path, each.count, each.reason)
            if each.reason in _NEVER_SENT
            else Omission(path, each.count, each.reason, self._price(each), ref)
            for path, each in zip(shown, listed, strict=True)
        )

    def _price(self, omission: Omission) -> int | None:
        """Estimate what an omission would cost, once: while a budget is tried out, most of them stay the same."""
        if omission in self._prices:
            return self._prices[omission]
        counting, samples = counter(self.plan.tokenizer), self._samples.get(omission)
        if samples:
            found: int | None = price_of(samples, omission.count, counting)
        else:
            found = price(self.raw_path(omission.path), self.cleaned.plain_raw(self.plan), counting)
        self._prices[omission] = found
        return found


def _member_name(omission: Omission) -> str:
    """Return the name of a member, without the path to the list whose records it is a member of."""
    return omission.path.split("[].", 1)[-1].replace("[]", "")


class _Values:
    """The values at a place, those of all elements of a list together, and at the places below that were looked at."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values
        self.below: dict[str | int, _Values] = {}

    @cached_property
    def hold_records(self) -> bool:
        """Whether they are objects whose members a table shows as its rows."""
        return all(type(value) is dict and holds_records(value) for value in self.values)

    def at(self, trail: Trail) -> _Values:
        """Return the values at a place below."""
        if trail is None:
            return self
        parent, step = trail
        above = self.at(parent)
        found = above.below.get(step)
        if found is None:
            if isinstance(step, str):
                below = [value[step] for value in above.values if type(value) is dict and step in value]
            elif above.hold_records:
                below = [record for value in above.values for record in value.values()]
            else:
                below = [item for value in above.values if type(value) is list for item in value]
            found = above.below[step] = _Values(below)
        return found


def _among_records(trail: Trail, data: _Values) -> Trail:
    """Return a place with the members of an object as the elements of a list, where they are records of one shape."""
    if trail is None:
        return None
    parent, step = trail
    above = _among_records(parent, data)
    return (above, 0 if data.at(above).hold_records else step)


def _is_shown(trail: Trail, data: _Values) -> bool:
    """Whether a record at a place has the member that others lack."""
    if trail is None:
        return False
    parent, name = trail
    return any(type(record) is dict and name in record for record in data.at(parent).values)


def _went(trail: Trail, before: _Values, after: _Values) -> bool:
    """Whether a place, or something that it is in, was there before and is not after."""
    while trail is not None and not after.at(trail).values:
        if before.at(trail).values:
            return True
        trail, _ = trail
    return False


def _some(names: tuple[str, ...]) -> str:
    """Write names, those of one parent together: `change.after{policy, tags}`."""
    parents: dict[str, list[str]] = {}
    for name in names[:_NAMES]:
        parent, _, last = name.rpartition(".")
        parents.setdefault(parent, []).append(last)
    written = parents.pop("", []) + [
        f"{parent}.{members[0]}" if len(members) == 1 else f"{parent}{{{', '.join(members)}}}"
        for parent, members in parents.items()
    ]
    more = [f"and {len(names) - _NAMES} more"] if len(names) > _NAMES else []
    return ", ".join([*written, *more])


class OmittedMembers(NamedTuple):
    """An omission, and some of the values that it left out."""

    omission: Omission
    samples: tuple[Any, ...] = ()
    trail: Trail = None


def members_missing(before: Any, after: Any, reason: Reason | None = None) -> list[OmittedMembers]:
    """List the members that a value lacks, the elements of a list together; each by what it was, or by one reason."""
    gone: dict[tuple[_Place, Reason], list[Any]] = {}
    _compare(before, after, _Place(None), gone, reason)
    return [_omitted(place.trail, why, values) for (place, why), values in gone.items()]


def _omitted(trail: Trail, reason: Reason, values: list[Any]) -> OmittedMembers:
    return OmittedMembers(_omission(trail, len(values), reason), tuple(values[:_SAMPLES]), trail)


def _omission(trail: Trail, count: int, reason: Reason) -> Omission:
    return Omission(_general_path(trail), count, reason)


# The answers of one tool mostly have the same members.
_general_path = lru_cache(maxsize=1024)(partial(write_trail, general=True))
_guessed_tokens = lru_cache(maxsize=256)(cheap)


def omitted_by_fields(cleaned: Cleaned, plan: Plan) -> list[OmittedMembers]:
    """List what the config's paths left out: worked out when somebody asks, because few do."""
    fields, raw = cleaned.fields, cleaned.raw if cleaned.original is None else cleaned.original
    if fields is None:
        return []
    if cleaned.original is not None and not fields.rename and not fields.selective and plan.private is None:
        # Only members are gone, and none has another name: what is left tells it, without applying a rule again.
        try:
            return members_missing(raw, cleaned.with_empties, "fields")
        except _UnlikeError:
            pass
    return [OmittedMembers(omission) for omission in _with_reasons(fields.left_out(raw), raw, plan)]


def _with_reasons(omissions: list[Omission], raw: object, plan: Plan) -> list[Omission]:
    """Distinguish what is held back, and cannot be asked for, from what a list of fields leaves out."""
    held = plan.private
    if held is None:
        return omissions
    private = frozenset(plan.private_paths)
    reasons: dict[str, Reason] = {}
    for rule in held.exclude:
        reason: Reason = "private" if rule in private else "tier"
        for omission in compile_fields(None, [rule], opener=held.opener).left_out(raw):
            reasons.setdefault(omission.path, reason)
    listed = [replace(omission, reason=reasons.get(omission.path, omission.reason)) for omission in omissions]
    # Values whose names stand elsewhere are held back too, and no list of fields knows of them.
    known = {omission.path for omission in omissions}
    return held.named([*listed, *(one for one in held.left_out(raw, "private") if one.path not in known)])


class _UnlikeError(Exception):
    """Two values differ by more than members that are gone."""


class _Place:
    """A place in the data, with all elements of a list as one; equal only to itself, which is fast to look up."""

    __slots__ = ("below", "trail")

    def __init__(self, trail: Trail) -> None:
        self.trail = trail
        self.below: dict[str | int, _Place] = {}

    def at(self, step: str | int) -> _Place:
        found = self.below.get(step)
        if found is None:
            found = self.below[step] = _Place((self.trail, step))
        return found


def _compare(
    before: Any, after: Any, place: _Place, gone: dict[tuple[_Place, Reason], list[Any]], reason: Reason | None
) -> None:
    if type(before) is dict and type(after) is dict:
        for key, item in before.items():
            if key not in after:
                if reason is None and type(item) is dict and item:
                    # Dropped because all of its members are null or empty, which is not the same as empty.
                    _compare(item, {}, place.at(key), gone, reason)
                else:
                    gone.setdefault((place.at(key), reason or _kind(item)), []).append(item)
            elif (kept := after[key]) is not item:
                _compare(item, kept, place.at(key), gone, reason)
    elif type(before) is list and type(after) is list and len(before) == len(after):
        inside = place.at(0)  # all elements are one place
        for old, new in zip(before, after, strict=True):
            if old is not new:
                _compare(old, new, inside, gone, reason)
    elif before is not after:
        raise _UnlikeError


def _kind(value: Any) -> Reason:
    return "null" if value is None else "empty" if type(value) in {dict, list} else "default"
