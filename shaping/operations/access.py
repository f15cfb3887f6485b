"""Who calls an operation, what the caller may do, and what a handler is told about its call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from shaping.errors import ToolError, nearest

Names: TypeAlias = frozenset[str] | set[str] | Sequence[str]


def _names(given: Collection[str]) -> tuple[str, ...]:
    """Return names in a tuple; one alone is text, in which every part of it would be found."""
    return (given,) if isinstance(given, str) else tuple(given)


@dataclass(frozen=True, slots=True)
class Identity:
    """Who calls: an id, the scopes it has, and what it may do with which resources.

    `resources` maps `type:id`, or `type:*` for every resource of a type, to actions; the action `*` is every action.
    """

    id: str
    scopes: Names = frozenset()
    resources: Mapping[str, Names] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scopes", frozenset(_names(self.scopes)))

    def may(self, action: str, resource_type: str, resource_id: str | None) -> bool:
        """Whether an action is granted on a resource; without an id, only a grant on the whole type counts."""
        places = [f"{resource_type}:*", *([f"{resource_type}:{resource_id}"] if resource_id is not None else [])]
        return any({action, "*"} & set(self.resources.get(place, ())) for place in places)


IdentityResult: TypeAlias = "Identity | Awaitable[Identity | None] | None"


async def resolve_identity(identify: Callable[..., IdentityResult] | None, *about: Any) -> Identity | None:
    """Return the caller's identity by the application's `identify`; None where there is no such function."""
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
    resource_id: str | None = None
    id_member: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "scopes", _names(self.scopes))
        object.__setattr__(self, "any_scopes", _names(self.any_scopes))

    def check(self, operation: str, identity: Identity | None, given: Any = None) -> None:
        """Raise unless the identity may make this call."""
        if not (self.scopes or self.any_scopes or self.resource_type):
            return
        if identity is None:
            raise ToolError("AUTH_REQUIRED", f"{operation} needs an identity", phase="validation")
        if needs := self._missing_right(identity, given):
            details = {"operation": operation, "needs": needs}
            raise ToolError("PERMISSION_DENIED", f"{operation} needs {needs}", phase="validation", details=details)

    def _missing_right(self, identity: Identity, given: Any) -> str | None:
        missing = [scope for scope in self.scopes if scope not in identity.scopes]
        if missing:
            return f"the scope {missing[0]}" if len(missing) == 1 else f"the scopes {', '.join(missing)}"
        if self.any_scopes and not set(identity.scopes) & set(self.any_scopes):
            return f"one of the scopes {', '.join(self.any_scopes)}"
        if self.resource_type is not None:
            action, resource_id = self.action or "read", self._resource_id(given)
            if not identity.may(action, self.resource_type, resource_id):
                return f"{action} on {self.resource_type}:{'*' if resource_id is None else resource_id}"
        return None

    def _resource_id(self, given: Any) -> str | None:
        if self.resource_id is not None or self.id_member is None:
            return self.resource_id
        value = given.get(self.id_member) if isinstance(given, Mapping) else getattr(given, self.id_member, None)
        return str(value) if isinstance(value, (str, int)) else None


class Trust:
    """The right to call without an identity.

    Holding the object is the right. A registry makes its own and gives it only to whoever set the registry up, so
    neither input, nor an identity, nor a handler can claim it.
    """


class Env(dict[str, Any]):
    """Operations by namespace and name, as items or attributes: `await env.github.get_issue(number=1)`."""

    def __missing__(self, name: str) -> Any:
        raise ToolError("OPERATION_NOT_FOUND", f"there is no {name!r} here", similar=nearest(name, self))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]


@dataclass(frozen=True, slots=True)
class Context:
    """What a handler knows of its call: the operation, the identity, the request id.

    `context.env()` gives the other operations as callables, checked against the same identity:
    `await context.env().github.get_issue(number=1)`.
    """

    operation_id: str
    identity: Identity | None = None
    request_id: str | None = None
    make_env: Callable[..., Env] | None = field(default=None, repr=False, compare=False)

    def env(self, namespaces: Collection[str] | None = None) -> Env:
        """Return the other operations as callables; they are checked against the same identity."""
        if self.make_env is None:
            raise RuntimeError("this call was made without a registry, so there is nothing else to call")
        return self.make_env(namespaces=namespaces)
