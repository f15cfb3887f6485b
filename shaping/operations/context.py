"""Who calls and with which rights, and what a handler knows of its call: identity, access, context."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from shaping.errors import ToolError, nearest

if TYPE_CHECKING:
    from shaping.envelope import Envelope


@dataclass(frozen=True, slots=True)
class Identity:
    """Who calls: an id, the scopes it has, and what it may do with which resources.

    `resources` maps `type:id`, or `type:*` for every resource of a type, to actions; the action `*` is every action.
    """

    id: str
    scopes: Collection[str] = frozenset()
    # Actions by `type:id`, or by `type:*` for every resource of a type; the action `*` is every action.
    resources: Mapping[str, Collection[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # A list is common, and one scope alone is text, in which every part of it would be found.
        given = (self.scopes,) if isinstance(self.scopes, str) else self.scopes
        object.__setattr__(self, "scopes", frozenset(given))

    def may(self, action: str, resource_type: str, resource_id: str | None) -> bool:
        """Whether an action is granted on a resource; without an id, only a grant on the whole type counts."""
        places = [f"{resource_type}:*", *([f"{resource_type}:{resource_id}"] if resource_id is not None else [])]
        return any({action, "*"} & set(self.resources.get(place, ())) for place in places)


Identified: TypeAlias = "Identity | Awaitable[Identity | None] | None"


async def identified(identify: Callable[..., Identified] | None, *about: Any) -> Identity | None:
    """Ask an application who calls; nobody, where it does not tell callers apart."""
    found = None if identify is None else identify(*about)
    return await found if isinstance(found, Awaitable) else found


@dataclass(frozen=True, slots=True)
class Access:
    """What a caller needs: all of `scopes`, one of `any_scopes`, and `action` on a resource of `resource_type`.

    The resource is `resource_id`, or the one that the input member `id_member` names.
    """

    scopes: Collection[str] = ()
    any_scopes: Collection[str] = ()
    resource_type: str | None = None
    action: str | None = None
    resource_id: str | None = None  # one resource, by its id
    id_member: str | None = None  # the input member that names the resource

    def __post_init__(self) -> None:
        for name in ("scopes", "any_scopes"):
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given))

    @property
    def is_open(self) -> bool:
        """Whether anybody may call."""
        return not (self.scopes or self.any_scopes or self.resource_type)

    def check(self, operation: str, identity: Identity | None, given: Any = None) -> None:
        """Raise unless the identity may make this call."""
        if self.is_open:
            return
        if identity is None:
            raise ToolError("AUTH_REQUIRED", f"{operation} needs an identity", phase="validation")
        lacking = self._lacking(identity, given)
        if lacking:
            raise ToolError(
                "PERMISSION_DENIED",
                f"{operation} needs {lacking}",
                phase="validation",
                details={"operation": operation, "needs": lacking},
            )

    def _lacking(self, identity: Identity, given: Any) -> str | None:
        missing = [scope for scope in self.scopes if scope not in identity.scopes]
        if missing:
            return f"the scope {missing[0]}" if len(missing) == 1 else f"the scopes {', '.join(missing)}"
        if self.any_scopes and frozenset(identity.scopes).isdisjoint(self.any_scopes):
            return f"one of the scopes {', '.join(self.any_scopes)}"
        if self.resource_type is not None:
            action, wanted = self.action or "read", self._wanted(given)
            if not identity.may(action, self.resource_type, wanted):
                return f"{action} on {self.resource_type}:{'*' if wanted is None else wanted}"
        return None

    def _wanted(self, given: Any) -> str | None:
        if self.resource_id is not None or self.id_member is None:
            return self.resource_id
        value = given.get(self.id_member) if isinstance(given, Mapping) else getattr(given, self.id_member, None)
        return str(value) if isinstance(value, (str, int)) else None


class Trust:
    """The right to call without being asked who one is.

    Holding the object is the right. A registry makes its own and shows it only to whoever set the registry up, so
    neither input, nor an identity, nor a handler can claim it.
    """

    __slots__ = ()

    def __reduce__(self) -> Any:
        raise TypeError("trust does not leave its process")


Call: TypeAlias = "Callable[..., Awaitable[Envelope[Any]]]"


class Names(dict[str, Any]):
    """Names to things, by item or by attribute; an unknown one is answered with the nearest."""

    def __init__(self, kind: str, entries: Mapping[str, Any]) -> None:
        super().__init__(entries)
        self._kind = kind

    def __missing__(self, name: str) -> Any:
        similar = nearest(name, self)
        raise ToolError("OPERATION_NOT_FOUND", f"there is no {self._kind} {name!r}", similar=similar)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]


class Env(Names):
    """Namespaces of operations: `await env.github.get_issue(number=1)` gives its envelope."""

    def __init__(self, calls: Mapping[str, Mapping[str, Call]]) -> None:
        super().__init__("namespace", {name: Names("operation", entries) for name, entries in calls.items()})


@dataclass(frozen=True, slots=True)
class Context:
    """What a handler knows of its call: the operation, the identity, the request id.

    `context.env()` gives the other operations as callables, checked against the same identity:
    `await context.env().github.get_issue(number=1)`.
    """

    operation_id: str
    identity: Identity | None = None
    request_id: str | None = None
    make_env: Callable[[Collection[str] | None], Env] | None = field(default=None, repr=False, compare=False)

    def env(self, namespaces: Collection[str] | None = None) -> Env:
        """Return the other operations as callables; they are checked against the same identity."""
        if self.make_env is None:
            raise RuntimeError("this call was made without a registry, so there is nothing else to call")
        return self.make_env(namespaces)
