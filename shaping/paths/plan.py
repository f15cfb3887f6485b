"""The compiled plan: which fields of a tool's answer stay, which go, and what they are called.

What the rules mean, where the design leaves it open:

- Exclude subtracts from what include selects. Renaming a field that is dropped does nothing.
- `[]` and a `**` at the end change nothing: `a[].b` is `a.b`, `a[]` and `a.**` are `a`. Lists are passed through.
- The ancestors of a wanted field stay as containers, even where they become empty, and so do the elements of a list: an
  element's index stays true, and pruning is another stage.
- Where only members are wanted and a scalar stands (`user.login` of `"user": null`), the scalar is not what was asked
  for: it is left out, from lists too. At the root it is kept: an answer is never turned into nothing.
- Two fields the rules themselves name cannot get one name (a PathError). Where data makes renames collide, the rename
  gives way to a member that has the name by itself, the later to the earlier: no value is lost.
- Of a JSON Schema two things hold for every value that is valid under it: the filtered value is valid under the
  projected schema, and so is the unfiltered value, which debug sends, and the fallback for a result that does not fit.
  So constraints are only ever dropped, never added, the result is open, and only members that are always there are
  required.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from shaping.paths.filter import Filters, PlaceFilter
from shaping.paths.rules import Private, Restoring, State, after, fits_key, read_rules, rule
from shaping.paths.schema_keywords import WRITERS
from shaping.paths.schema_projection import Projection, SchemaDocument, Unprojectable
from shaping.paths.strings import StringFilter
from shaping.paths.walk import GONE, FilterWalk, OmissionNode, open_plainly

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from shaping.paths.rules import Rest
    from shaping.paths.strings import Unreadable
    from shaping.paths.walk import Opener
    from shaping.response import Omission, Reason


@dataclass(frozen=True, slots=True)
class FieldPlan:
    """Include, exclude and rename rules, compiled to be applied in one walk."""

    include: tuple[str, ...] | None
    exclude: tuple[str, ...]
    rename: tuple[tuple[str, str], ...]
    opener: Opener
    withhold: bool  # whether a text that cannot be read and names an excluded field is replaced
    state: State = field(compare=False, repr=False)
    root: PlaceFilter = field(compare=False, repr=False)

    @property
    def selective(self) -> bool:
        """Only what the rules name is kept."""
        return self.include is not None

    def apply(self, value: Any, notes: list[Unreadable] | None = None) -> Any:
        """Filter a value; what is kept whole is passed on as it is, and what no rule reaches is not looked at.

        `notes` receives the texts that name an excluded field and could not be read as data.
        """
        if self.state.exclude:
            notes = [] if notes is None else notes
            value = StringFilter(self.opener, withhold=self.withhold, notes=notes).run(value, self.state)
        try:
            kept = self.root.run(value)
        except RecursionError:
            kept = FilterWalk(self.opener, StringFilter(self.opener).select).run(value, self.state, OmissionNode())
        return value if kept is GONE else kept

    def at_any_depth(self) -> FieldPlan:
        """Return a plan that excludes the same paths below any place, for texts and objects around the data."""
        return _at_any_depth(self.exclude, self.opener, self.withhold)

    def left_out(self, value: Any, reason: Reason = "fields") -> list[Omission]:
        """List exactly what `apply` leaves out of a value, the elements of a list together."""
        place = OmissionNode()
        strings = StringFilter(self.opener, withhold=self.withhold, root=place)
        opened = strings.run(value, self.state) if self.state.exclude else value
        FilterWalk(self.opener, strings.select).run(opened, self.state, place)
        return place.omissions(reason)

    def schema(self, json_schema: dict[str, Any]) -> dict[str, Any]:
        """Apply the plan to a JSON Schema: the filtered value of a valid value is valid under the result."""
        return project(json_schema, self.state)

    def matches_nothing_in(self, json_schema: dict[str, Any]) -> list[str]:
        """List the paths to keep that no value under a schema can match; what is not there need not be left out."""
        return [path for path in dict.fromkeys(self.include or ()) if not may_match(path, json_schema)]


def compile_fields(
    include: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    rename: Mapping[str, str] | None = None,
    *,
    opener: Opener | None = None,
    withhold: bool = False,
) -> FieldPlan:
    """Compile field rules; `include=None` wants everything, `include=[]` nothing but the container."""
    state = read_rules(include, exclude, rename)
    if withhold:
        state = Private(exclude=state.exclude)
    opener = opener or open_plainly
    return FieldPlan(
        include=None if include is None else tuple(include),
        exclude=tuple(exclude),
        rename=tuple((rename or {}).items()),
        opener=opener,
        withhold=withhold,
        state=state,
        root=Filters(opener).node(state),
    )


def restoring_plan(
    include: Sequence[str] | None,
    exclude: Sequence[str],
    restore: Sequence[str],
    held: Sequence[str],
    *,
    rename: Mapping[str, str],
    opener: Opener,
) -> FieldPlan:
    """Compile the field rules of a failed call; failures are few, so the plan walks and learns nothing."""
    base, back, never = read_rules(include, exclude, rename), frozenset(map(rule, restore)), frozenset(map(rule, held))
    state: State = Restoring(base.include, base.exclude, base.rename, back, never)
    if () in back:  # a path may name the whole answer
        state = State(None, never, base.rename)
    wanted = None if state.include is None else (*(include or ()), *restore)
    renames = tuple(rename.items())
    return FieldPlan(
        wanted,
        (*exclude, *held),
        renames,
        opener,
        withhold=False,
        state=state,
        root=PlaceFilter(Filters(opener), state, ""),
    )


@lru_cache(maxsize=64)
def _at_any_depth(exclude: tuple[str, ...], opener: Opener, withhold: bool) -> FieldPlan:
    paths = [path if path.startswith("**") else f"**{'' if path.startswith('[') else '.'}{path}" for path in exclude]
    return compile_fields(None, paths, opener=opener, withhold=withhold)


# What FastMCP marks a schema with whose data is under `result`; the plan is about that data.
WRAPPED = "x-fastmcp-wrap-result"


def project(schema: dict[str, Any], state: State) -> dict[str, Any]:
    """Apply the rules to a schema, or raise Unprojectable."""
    return _run(Projection(SchemaDocument(schema), WRITERS), schema, state)


def open_schema(schema: dict[str, Any], *, prune: bool, lossy: bool) -> dict[str, Any]:
    """Open a schema for data that may be pruned (nothing is required) or cut and redacted (no fine constraints)."""
    return _run(Projection(SchemaDocument(schema), WRITERS, prune=prune, lossy=lossy), schema, State())


def _run(projection: Projection, schema: dict[str, Any], state: State) -> dict[str, Any]:
    try:
        result = _wrapped(projection, schema, state) if schema.get(WRAPPED) is True else projection.sub(schema, state)
    except RecursionError:
        raise Unprojectable("the schema is nested too deep") from None
    return {**result, "$defs": projection.definitions} if projection.definitions else result


def _wrapped(projection: Projection, schema: dict[str, Any], state: State) -> dict[str, Any]:
    """Apply the rules to the data under `result`, which itself always stays."""
    outer = {word: value for word, value in schema.items() if word not in {"properties", "$defs", "definitions"}}
    inner = schema.get("properties", {}).get("result", {})
    return {**outer, "properties": {"result": projection.sub(inner, state)}}


_CHOICES = ("allOf", "anyOf", "oneOf", "prefixItems")
_BESIDE = ("then", "else", "items", "additionalItems")
_MEMBERS = ("properties", "patternProperties", "additionalProperties", "dependentSchemas")
_TELLING = (*_CHOICES, *_BESIDE, *_MEMBERS, "$ref")
_SCALARS = frozenset(("string", "number", "integer", "boolean", "null"))


def may_match(path: str, schema: dict[str, Any]) -> bool:
    """Return whether some value under a schema may have something at a path.

    An object with declared properties is taken to have no others unless it says what they are: that a schema is silent
    about them is how most schemas are written, and a misspelt path must not hide behind it.
    """
    document = SchemaDocument(schema)
    start = schema.get("properties", {}).get("result", True) if schema.get(WRAPPED) is True else schema
    seen: set[tuple[int, Rest]] = set()
    todo: list[tuple[Any, Rest]] = [(start, rule(path))]
    while todo:
        here, rest = todo.pop()
        if here is False or (id(here), rest) in seen:
            continue
        seen.add((id(here), rest))
        if not rest or not isinstance(here, dict) or _says_nothing(here):
            return True
        todo += _beside(document, here, rest)
        todo += _below(here, rest)
    return False


def _says_nothing(schema: dict[str, Any]) -> bool:
    """Return whether a schema leaves open what is in a value under it."""
    if any(word in schema for word in _TELLING):
        return False
    listed = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if listed is not None:
        return any(isinstance(value, dict | list) for value in listed)
    types = schema.get("type", "object")
    return not _SCALARS.issuperset([types] if isinstance(types, str) else types)


def _beside(document: SchemaDocument, schema: dict[str, Any], rest: Rest) -> Iterator[tuple[Any, Rest]]:
    """Yield the subschemas for the same value and, because paths map through lists, for its elements."""
    for word in _CHOICES:
        yield from ((part, rest) for part in schema.get(word, ()))
    for word in _BESIDE:
        part = schema.get(word, False)
        yield from ((each, rest) for each in (part if isinstance(part, list) else [part]))
    yield from ((part, rest) for part in schema.get("dependentSchemas", {}).values())
    if "$ref" in schema:
        yield document.target(schema["$ref"]), rest


def _below(schema: dict[str, Any], rest: Rest) -> Iterator[tuple[Any, Rest]]:
    """Yield the subschemas of members, declared and not."""
    for key, part in schema.get("properties", {}).items():
        yield from ((part, left) for left in after((rest,), fits_key(key)))
    unknown = [*schema.get("patternProperties", {}).values(), schema.get("additionalProperties", False)]
    for part in unknown:
        yield from ((part, left) for left in after((rest,), lambda _: True))
