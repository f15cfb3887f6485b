"""The envelope: one typed answer, whatever the source and whatever the wire form."""

from collections.abc import Callable, Collection
from typing import Any, Generic, Literal, Self, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, model_validator

from shaping.envelope.meta import Meta
from shaping.errors import ErrorDetail, nearest, registry
from shaping.errors.similar import did_you_mean
from shaping.response import Warned

T = TypeVar("T")
Dialect: TypeAlias = Literal["lean", "flat", "sourced", "invariant", "none"]


class EnvelopeError(ValueError):
    """A wire form that cannot be read, or an envelope that contradicts itself."""


class Envelope(BaseModel, Generic[T]):
    """Data, error, warnings and meta; `ok` follows from the outcome and cannot be set."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    data: T
    error: ErrorDetail | None = None
    warnings: tuple[Warned, ...] = ()
    meta: Meta

    @property
    def ok(self) -> bool:
        """Whether the call did what it was asked."""
        return self.error is None and not self.meta.failed

    @classmethod
    def parse(cls, wire: Any, dialect: Dialect | None = None) -> "Envelope[Any]":
        """Read an envelope from its wire form; without a dialect, the one it is written in is recognised."""
        from shaping.envelope.dialects import parse  # noqa: PLC0415  the dialects are written in terms of this class

        return parse(wire, dialect)

    def render(self, dialect: Dialect = "lean", *, include: Collection[str] = (), debug: bool = False) -> Any:
        """Write the envelope in a dialect, with the optional members asked for, or with all of them."""
        renderer = RENDER.get(dialect)
        if renderer is None:
            raise unknown_dialect(dialect)
        return renderer(self, include, debug)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        contradiction = contradicts(self.error, self.meta)
        if contradiction:
            raise ValueError(contradiction)
        return self


# Filled by `dialects`, which is written in terms of this class; looked up there, a render would pay for an import.
RENDER: dict[str, Callable[[Envelope[Any], Collection[str], bool], Any]] = {}


def unknown_dialect(name: object) -> EnvelopeError:
    """Say which dialects there are, to a caller that asked for another."""
    guess = did_you_mean(nearest(str(name), sorted(RENDER)))
    return EnvelopeError(f"dialect is {name!r}; expected one of {', '.join(sorted(RENDER))}.{guess}")


def contradicts(error: ErrorDetail | None, meta: Meta) -> str | None:
    """Say how an outcome contradicts itself, if it does."""
    if error is None:
        return "a failed outcome needs an error" if meta.failed else None
    # An HTTP API may answer 200 with an error inside, and a local call has no outcome of its own; these two decide it.
    if meta.source in {"mcp", "command"} and not meta.failed:
        return "an error needs a failed outcome: is_error, or an exit code other than 0"
    if error.redirect is not None and not may_redirect(error.code):
        return f"redirect is for REDIRECTED or a command's own code, not for {error.code}"
    return None


def may_redirect(code: str) -> bool:
    """Whether a code stands for exit code 13; of a command's own code only the command knows."""
    known = registry.find(code)
    return known is None or known.exit_code == 13
