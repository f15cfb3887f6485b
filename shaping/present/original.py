"""The raw side of one response: what was left out of it, at what price, and the ref it is kept behind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

from shaping.cleaning.omitted import omitted_by_config
from shaping.errors import scrub
from shaping.paths.renames import differs, original
from shaping.response import grouped
from shaping.store.parts import price, price_of
from shaping.tokens import counter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shaping.cleaning import Cleaned
    from shaping.cleaning.omitted import OmittedMembers
    from shaping.response import CallContext, Omission
    from shaping.settings import Plan
    from shaping.store.originals import Originals

# Told, because every absence is; neither priced nor to be asked for.
_HELD = frozenset({"private", "tier"})


@dataclass(frozen=True)
class Original:
    """What one response was made from; each property is worked out once, however often a budget is tried."""

    cleaned: Cleaned
    plan: Plan
    call: CallContext
    owner: str | None
    store: Originals

    @cached_property
    def ref(self) -> str | None:
        """The ref of the raw value, which is kept with the first look."""
        # Written at once, stored later: whoever owns the raw value may change it as soon as the call is over.
        content = self.call.written or orjson.dumps(self.cleaned.plain_raw(self.plan))
        return self.store.keep(content, self.plan, self.owner)

    def cursor(self, position: tuple[str, int]) -> str | None:
        """Write the cursor for the list that was cut first, where the rest of it can be expanded."""
        path, offset = position
        return None if self.ref is None else self.store.cursor(self.plan, self.ref, self.raw_path(path), offset)

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
    def _by_config(self) -> list[OmittedMembers]:
        return omitted_by_config(self.cleaned, self.plan)

    @cached_property
    def _samples(self) -> dict[Omission, tuple[Any, ...]]:
        return {found.omission: found.samples for found in self._by_config}

    def priced(self, omissions: Iterable[Omission], *, with_ref: bool) -> tuple[Omission, ...]:
        """Group omissions as a reader is told them, each with its estimated price and the ref that brings it back."""
        listed = grouped(omissions)
        ref = self.ref if with_ref and listed else None
        told = (each if each.reason in _HELD else replace(each, tokens=self._price(each), ref=ref) for each in listed)
        # A path is made of keys, which may be secrets too.
        return tuple(told if self.plan.redact.off else (replace(each, path=scrub(each.path)) for each in told))

    @cached_property
    def _prices(self) -> dict[Omission, int | None]:
        return {}

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
