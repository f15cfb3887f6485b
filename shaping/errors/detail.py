"""What an error says: a stable code, a sentence, and what a caller can do next."""

from typing import Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

Phase: TypeAlias = Literal["validation", "execution", "cleanup"]
RedirectReason: TypeAlias = Literal["renamed", "restructured", "deprecated", "typo_corrected"]


class Redirect(BaseModel):
    """The exact replacement for a call that has moved, and whether to remember it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: str
    permanent: bool
    reason: RedirectReason | None = None


class ErrorDetail(BaseModel):
    """An error that a program can branch on; `None` where the wire did not say."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: str = Field(min_length=1)
    message: str
    hint: str | None = None
    retryable: bool | None = None
    http: int | None = None
    retry_after: int | float | None = Field(default=None, ge=0, allow_inf_nan=False)
    phase: Phase | None = None  # "validation" guarantees that nothing was done
    next_actions: tuple[str, ...] = ()
    similar: tuple[Any, ...] = ()  # the nearest valid spellings, best first
    details: dict[str, Any] | None = None
    detail: str | None = None  # the upstream's own words, or the traceback under debug
    redirect: Redirect | None = None
    docs_url: str | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.retry_after is not None and self.retryable is False:
            raise ValueError("retry_after is only for an error that is retryable")
        return self
