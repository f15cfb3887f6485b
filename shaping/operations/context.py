"""What a handler is told about the call it serves, and the other operations it may call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from shaping.errors import ToolError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from shaping.envelope import Envelope
    from shaping.operations.access import Identity


Call: TypeAlias = "Callable[..., Awaitable[Envelope[Any]]]"


class Names(Mapping[str, Any]):
    """Names to things, by item or by attribute; an unknown one is answered with the nearest."""

    def __init__(self, kind: str, entries: Mapping[str, Any]) -> None:
        self._kind = kind
        self._entries = dict(entries)

    def __getitem__(self, name: str) -> Any:
        try:
            return self._entries[name]
        except KeyError:
            raise ToolError(
                "OPERATION_NOT_FOUND", f"there is no {self._kind} {name!r}", similar=nearest(name, self._entries)
            ) from None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


class Env(Names):
    """Namespaces of operations: `await env.github.get_issue(number=1)` gives its envelope."""

    def __init__(self, calls: Mapping[str, Mapping[str, Call]]) -> None:
        super().__init__("namespace", {name: Names("operation", entries) for name, entries in calls.items()})


@dataclass(frozen=True, slots=True)
class Context:
    """One call: which operation, for whom, under which request id, and the way to call others in the caller's name."""

    operation_id: str
    identity: Identity | None = None
    request_id: str | None = None
    make_env: Callable[[Collection[str] | None], Env] | None = field(default=None, repr=False, compare=False)

    def env(self, namespaces: Collection[str] | None = None) -> Env:
        """Give the other operations as callables; they are checked against the same identity."""
        if self.make_env is None:
            raise RuntimeError("this call was made without a registry, so there is nothing else to call")
        return self.make_env(namespaces)
