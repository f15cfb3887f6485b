"""Whether a field's name says that its value is a secret, by words: `apiKey` does, `monkey`, `nextPageToken` do not."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_WORDS: Final = re.compile(r"[A-Z]{2,}(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_ASSIGNED: Final = re.compile(
    r"""(?<![A-Za-z0-9_.-])(?P<name>[A-Za-z][A-Za-z0-9_.-]{2,80})["'\\]{0,3}\s{0,2}[:=]\s{0,2}["'\\]{0,3}(?:(?i:bearer|basic|token)\s)?(?P<value>[^\s"'\\,;&{}\[\]]{4,})"""
)

# The last words of a secret's name.
_ENDINGS: Final = frozenset(
    tuple(name.split("-"))
    for name in """
        password passwords passwd pwd passphrase passphrases passcode secret secrets token apikey apikeys credential
        credentials authorization bearer cookie cookies jwt otp pin cvv cvc ssn mnemonic api-key api-keys access-key
        access-keys secret-key secret-keys private-key private-keys signing-key
        encryption-key master-key account-key auth-key session-key service-key license-key ssh-key deploy-key
        shared-key webhook-key connection-string session-id seed-phrase
    """.split()  # noqa: SIM905  a list of sixty words is read as words
)

# A token that pages, counts or names no secret; a question about a secret.
_HARMLESS: Final = frozenset(
    """
        next page paging prev previous continuation continue sync cursor delta start end resume max min count num
        total per budget limit eos bos pad unk special has is needs requires require use uses allow enable enabled
        public csrf
    """.split()  # noqa: SIM905  the same
)


@lru_cache(maxsize=4096)
def sensitive(name: str) -> bool:
    """Tell whether a field of that name holds a secret."""
    words = tuple(word.lower() for word in _WORDS.findall(name))
    return (words[-1:] in _ENDINGS or words[-2:] in _ENDINGS) and _HARMLESS.isdisjoint(words)


def hide_assigned(text: str, mark: str) -> str:
    """Hide the values that a text assigns to such names: `password=…`, `X-Api-Key: …`, `"apiKey": "…"`."""
    return _ASSIGNED.sub(lambda match: _hidden(match, mark), text)


def _hidden(match: re.Match[str], mark: str) -> str:
    if not sensitive(match["name"]):
        return match[0]
    return match[0][: match.start("value") - match.start()] + mark
