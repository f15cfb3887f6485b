"""What keeps a server from being used: told once, and each time one more reason to leave it alone for longer."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from shaping.proxy.former.outage import told

if TYPE_CHECKING:
    from shaping.errors import ErrorDetail

logger = logging.getLogger("shaping")
_LONGEST_WAIT = 30.0


class Setbacks:
    """The connections to one server that failed, until one succeeds."""

    def __init__(self) -> None:
        self.last: ErrorDetail | None = None
        self._logged: str | None = None
        self._count = 0
        self._not_before = 0.0

    def note(self, detail: ErrorDetail) -> None:
        """Remember and log what went wrong."""
        self.last = detail
        self.log_once(told(detail).replace("\n  ", " | ").replace("\n", ". "))

    def log_once(self, line: str) -> None:
        """Log what keeps the server from being used, unless it is what was logged last."""
        if self._logged != line:
            self._logged = line
            logger.warning("%s", line)

    def count(self, lived: float) -> None:
        """Count a connection that was lost after so many seconds; the next is made later and later while that fails."""
        self._count = 0 if lived > _LONGEST_WAIT else self._count + 1
        # No further than the longest wait: in a night's failures, doubling goes beyond what a float holds.
        pause = 0.0 if self._count <= 1 else min(0.25 * 2 ** min(self._count, 8), _LONGEST_WAIT)
        self._not_before = time.monotonic() + pause

    def over(self) -> None:
        """Forget what went wrong: the server has been reached."""
        self.last = self._logged = None

    def wait(self) -> float:
        """Say how many seconds to leave the server alone."""
        return max(0.0, self._not_before - time.monotonic())
