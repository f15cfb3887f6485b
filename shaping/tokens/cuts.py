"""Where a text may be cut so that the parts' tokens add up to the whole's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Letters by fixed ranges rather than by property: a code point that one Unicode version calls a letter and another
# does not would make a cut that is safe for us and not for the tokenizer.
_LETTERS = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0391-\u03a1\u03a3-\u03c9\u0410-\u044f\u05d0-\u05ea\u0621-\u063a"
    "\u0641-\u064a\u0904-\u0939\u0e01-\u0e30\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3"
)
# ASCII and CJK punctuation and white space; not the apostrophe, which may join a contraction to its word.
_BREAKS = r" \t\r\n!-&(-/:-@\[-`{-~\u3000-\u3003\u3008-\u3011\uff01-\uff0f\uff1a-\uff20"

# In o200k and cl100k no pre-token has a letter or digit followed by punctuation or space inside it, so parts that begin
# and end at such places may also be joined in any order; nor a digit followed by a letter, nor a letter by a digit.
BREAK = re.compile(f"[{_LETTERS}0-9](?=[{_BREAKS}])")
CUT = re.compile(f"{BREAK.pattern}|[0-9](?=[{_LETTERS}])|[{_LETTERS}](?=[0-9])")

# White space without line ends, long enough to make the tokenizers' regex engine run out of stack (it gives up
# near a million). Only such a run is tried by the one branch of their pattern that backtracks.
_SPACES = "\t\v\f \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_GAP_LENGTH = 100_000
_GAP = re.compile(f"(?<![{_SPACES}])[{_SPACES}]{{{_GAP_LENGTH},}}+(?![\r\n])")

CHUNK = 64_000


def chunks(text: str) -> Iterator[str]:
    """Cut a long text where it is safe, near every 64,000 characters, so that its tokens never all exist at once."""
    start = 0
    while cut := CUT.search(text, start + CHUNK):
        yield text[start : cut.end()]
        start = cut.end()
    yield text[start:]


def gaps(text: str) -> Iterator[tuple[str, bool]]:
    """Cut out white space too long for the tokenizers' regex; each part says whether it is one such gap."""
    start = 0
    if any(char.isspace() for char in text[_GAP_LENGTH - 1 :: _GAP_LENGTH]):  # a gap cannot lie between these
        for gap in _GAP.finditer(text):
            # The last space of a gap goes with the word that follows it.
            end = gap.end() if gap.end() == len(text) else gap.end() - 1
            yield text[start : gap.start()], False
            yield text[gap.start() : end], True
            start = end
    yield text[start:], False
