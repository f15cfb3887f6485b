"""What a handler is told about the call it serves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from shaping.operations.access import Identity
    from shaping.operations.env import Env


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
