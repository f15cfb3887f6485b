"""The ref behind a command's answer: made once, and only where the answer is not all that was printed."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from shaping.commands.capture import decoded
from shaping.commands.keep import Shelf, stored
from shaping.commands.ran import open_text
from shaping.keeping import NOT_KEPT
from shaping.response import Warned
from shaping.store import StoreError
from shaping.store.expand import cursor_at
from shaping.store.pages import Position

if TYPE_CHECKING:
    from shaping.commands.ran import Output, Ran
    from shaping.envelope import Envelope
    from shaping.settings import Plan
    from shaping.shaper import Shaper


class Kept:
    """What of one command's outputs lies in the store."""

    def __init__(self, shaper: Shaper, plan: Plan, ran: Ran) -> None:
        self._shaper, self._plan, self._ran = shaper, plan, ran
        self.warnings: list[Warned] = []

    @cached_property
    def text_ref(self) -> str | None:
        """The ref of the two outputs as text."""
        out, err = self._ran.stdout.capture, self._ran.stderr.capture
        value = {name: open_text(one.text(), self._plan) for name, one in (("stdout", out), ("stderr", err))}
        try:
            ref = self._shelf.keep(self._ran.tool, out.digest + err.digest, value, self._plan)
        except StoreError:
            self.warnings.append(NOT_KEPT)
            return None
        self.streams(ref)
        return ref

    def streams(self, ref: str | None) -> None:
        """Keep the exact outputs behind a ref."""
        if ref is None or self._plan.private is not None:
            # Bytes have no paths: what is private could not be held back from them.
            return
        outputs = {"stdout": self._ran.stdout, "stderr": self._ran.stderr}
        kept = {name: self._stored(name, one) for name, one in outputs.items()}
        try:
            self._shelf.keep_streams(ref, kept)
        except StoreError:
            self.warnings.append(NOT_KEPT)

    def cursor(self, ref: str | None, shown: str) -> str | None:
        """Write the cursor for where the shown beginning of a text ends."""
        if ref is None or self._plan.private is not None:
            return None
        whole, same = decoded(self._ran.stdout.capture.held), 0
        # What is shown of the beginning is no longer than what is shown.
        beginning = whole[: len(shown) + 1].splitlines(keepends=True)
        for one, other in zip(beginning, shown.splitlines(keepends=True), strict=False):
            if one != other:
                break
            same += len(one)
        at = cursor_at(self._shelf.store.secret, ref, "stdout" if whole else "stderr", Position(offset=same))
        return f"{ref}:{at}"

    def members(self, envelope: Envelope[Any], ref: str | None) -> dict[str, Any]:
        """Give the members of meta by which the rest is asked for; a cursor of a command carries its ref."""
        cursor = envelope.meta.cursor
        return {"ref": ref, "cursor": f"{ref}:{cursor}" if ref and cursor else cursor}

    @cached_property
    def _shelf(self) -> Shelf:
        return Shelf(self._shaper)

    def _stored(self, name: str, output: Output) -> Any:
        stream = stored(output.capture, output.writer or self._shelf.writer(self._plan.redact))
        if stream.kept < stream.size:
            lost = f"{stream.kept:,} of the {stream.size:,} bytes of {name} can be expanded; the rest is gone"
            self.warnings.append(Warned("NOT_KEPT", lost))
        return stream
