"""Which lines of a program's output must not be lost: those that tell of an error."""

from __future__ import annotations

import re

_SAYS = re.compile(
    r"(?<![\w-])(?:errors?|err!|fatal|fail(?:ed|ure|ures|ing)?|panic(?:ked)?|exceptions?|traceback|critical|cannot"
    r"|can't|couldn't|could\ not|unable\ to|undefined|unresolved|not\ found|no\ such|denied|refused|aborted|abort"
    r"|segmentation\ fault|core\ dumped|killed|conflict|timed\ out|invalid|unexpected|unrecogni[sz]ed"
    r"|(?:unknown|illegal|missing)\ (?:\w+\ )?(?:option|command|subcommand|flag|switch|argument|operand))(?![\w-])"
    r"|(?-i:[A-Z]\w*(?:Error|Exception))\b|^E\s|^\s*(?:not\ ok|[✗✖✘])\s|:\d+:\d+:\s",
    re.IGNORECASE | re.VERBOSE,
)
_DENIES = re.compile(r"\b(?:0|no)\s+(?:errors?|failures?|failed|problems?|conflicts?)\b", re.IGNORECASE)


def says_error(line: str) -> bool:
    """Whether a line tells of an error; one that says there is none does not."""
    return bool(_SAYS.search(line)) and bool(_SAYS.search(_DENIES.sub("", line)))
