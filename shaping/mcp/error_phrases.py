"""What kind of failure a server's prose tells of, by the phrases of SDKs, operating systems and HTTP."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from shaping.errors.outcomes import code_for_status, phrase

if TYPE_CHECKING:
    from collections.abc import Mapping

# A longer text is the output of something, where any of these words may stand.
_LOOK: Final = 600
# What the SDKs put before an exception's own words; the name of a tool is no sign of what went wrong in it.
_WRAPPED: Final = re.compile(r"^Error (?:calling|executing) tool '?[\w./:-]+'?(?:: ?|$)")
# A number is a status where it is called one, follows the address that was asked, or has its own words after it.
_STATUS: Final = re.compile(
    r"(?:\b(HTTP(?:/[\d.]+)?|status(?:[ _]?code)?)[\s:=(]{1,3}|(https?://\S+)\s|[\s:('\"])([45]\d\d)\b(?=(.{0,40}))",
    re.IGNORECASE,
)
_WAIT: Final = re.compile(
    r"\bretry[ -]?after:? +(\d{1,5}) ?(?:s|secs?|seconds?)?(?:[.,;)]|$)", re.IGNORECASE | re.MULTILINE
)
# The first that is found tells: what is more particular stands first.
_PHRASES: Mapping[str, tuple[str, ...]] = {
    "FILE_NOT_FOUND": (r"\bENOENT\b", r"no such file or directory"),
    "PERMISSION_DENIED": (
        r"\bEACCES\b|\bEPERM\b|(permission|access) denied|operation not permitted",
        r"\bforbidden\b(?! (characters?|words?|names?|keys?|values?)\b)",
        r"\bnot (allowed|permitted|authori[sz]ed) to\b|insufficient (permission|scope|privilege)",
        r"\bdo(es)? not have permission",
        r"\b(command|operation|path|file|method|host|domain|url) (is )?not (allowed|permitted)\b",
        r"\boutside (of )?(the |any )?(allowed|permitted)\b|\bnot in the allow(ed)?.?list\b",
    ),
    "AUTH_REQUIRED": (
        r"\bunauthori[sz]ed\b|authentication (required|failed)|bad credentials|not (logged in|authenticated)",
        # A parser's tokens are quoted, or stand somewhere.
        r"\binvalid (api[ _-]?key|(access |auth )?token(?!:? ?['\"`{}()\[\]]| (at|in|near|on)\b)|credentials)\b",
    ),
    # Before what passes: an argument that is called after a limit or a timeout is as wrong the next time.
    "BAD_ARGUMENT": (
        r"\b(timeout|rate.?limit)\b.{0,20} (is|are) (invalid|not (valid|an?|supported))\b",
        r"\b(missing|invalid|unknown|unexpected|unsupported) (required )?(argument|param|input|option|field)",
        r"\b(invalid|unknown|unsupported|malformed) (time ?zone|date|ur[il]|regex|pattern|query|format|syntax)\b",
        r"\bmust be (an?|one of|at (least|most)|between|positive|negative|non-?\w+|greater|less|in the|of type)\b",
    ),
    "RATE_LIMITED": (r"rate.?limit(?!ers?\b)|too many requests",),
    "TIMEOUT": (r"\btimed? ?out\b|\bETIMEDOUT\b|deadline exceeded|took too long",),
    "UNAVAILABLE": (
        r"\bECONN(REFUSED|RESET)\b|\bENOTFOUND\b|connection (refused|reset|aborted)|name or service not known",
        r"(could not|failed to|cannot) connect|(service|temporarily) unavailable|bad gateway",
    ),
    "CONFLICT": (r"\balready exists\b",),
    "NOT_IMPLEMENTED": (r"\bnot (yet )?implemented\b",),
    "NOT_FOUND": (
        r"\bnot found\b|\b(does not|doesn't) exist\b|\bno such \w+\b|(could not|cannot|unable to) find\b",
        r"\bdid not resolve\b|\bno (files?|results?|matches|entries) (matching|found|match)\b",
    ),
}
_COMPILED = tuple((re.compile("|".join(each), re.IGNORECASE), code) for code, each in _PHRASES.items())


def own_words(text: str) -> str:
    """Return an error's text without what the SDK of its server put before it."""
    return _WRAPPED.sub("", text.strip(), count=1)


def code_of(text: str) -> str | None:
    """Return the code for what a text tells of, or None where it does not say."""
    said = own_words(text)[:_LOOK]
    status = _status(said)
    if status is not None:
        return code_for_status(status)
    return next((code for pattern, code in _COMPILED if pattern.search(said)), None)


def wait_of(text: str) -> int | None:
    """Return the seconds that a text asks to wait, where it says that they are seconds, or says no unit."""
    found = _WAIT.search(text[:_LOOK])
    return int(found[1]) if found else None


def _status(text: str) -> int | None:
    for called, asked, number, after in _STATUS.findall(f" {text}"):
        words = phrase(int(number)).casefold()
        if called or asked or (words and after.lstrip(" :-").casefold().startswith(words)):
            return int(number)
    return None
