"""The registry: which codes there are, what each means, and who added it."""

from __future__ import annotations

import logging
import re
from importlib.metadata import entry_points
from threading import RLock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from shaping.errors.codes import COMMANDS, CONTRACT, LEAN, OPERATIONS, OWN, READ_ONLY, CodeDefinition
from shaping.response import did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.metadata import EntryPoint

ENTRY_POINTS = "shaping.error_codes"
_APPLICATION = ""  # the namespace of codes that have none
_NAMESPACE = re.compile(r"[a-z][a-z0-9]*")
_KEY = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")

_CORE: Mapping[str, CodeDefinition] = MappingProxyType({**CONTRACT, **OWN})
_ALIASES: Mapping[str, str] = MappingProxyType(
    {
        **READ_ONLY,
        **{spelling: code for table in (LEAN, OPERATIONS, COMMANDS) for code, spelling in table.items()},
    },
)


class CodeError(ValueError):
    """Codes that cannot be registered, and why."""


class UnknownCodeError(LookupError):
    """A code that nobody registered; `similar` holds the nearest that are."""

    def __init__(self, code: str, similar: tuple[str, ...]) -> None:
        super().__init__(f"{code!r} is not a registered error code.{did_you_mean(similar)}")
        self.code = code
        self.similar = similar


class CodeRegistry:
    """Our codes, closed; and the codes of plugins, which come and go by namespace."""

    def __init__(self, *, discover: bool = True) -> None:
        self._lock = RLock()
        # Each namespace keeps its registrations as a stack: what is registered twice is unregistered twice.
        self._plugins: dict[str, list[Mapping[str, CodeDefinition]]] = {}
        self._undiscovered = discover

    def canonical(self, code: str) -> str:
        """Return the one name of a meaning; an unknown code is its own name."""
        return _ALIASES.get(code, code)

    def find(self, code: str) -> CodeDefinition | None:
        """Return what a code means, or None where nobody registered it."""
        known = _CORE.get(code) or _CORE.get(_ALIASES.get(code, ""))
        if known is not None:
            return known
        namespace, dot, key = code.rpartition(".")
        if dot:
            self._discover()
        with self._lock:
            return _merged(self._plugins.get(namespace, ())).get(key)

    def definition(self, code: str) -> CodeDefinition:
        """Return what a code means, or say which registered code is nearest."""
        known = self.find(code)
        if known is None:
            raise UnknownCodeError(code, nearest(code, [*self.codes(), *_ALIASES]))
        return known

    def codes(self) -> tuple[str, ...]:
        """List every registered code by its canonical name, ours first."""
        self._discover()
        with self._lock:
            added = [_named(ns, key) for ns, stack in sorted(self._plugins.items()) for key in _merged(stack)]
        return (*_CORE, *added)

    def register_plugin(self, namespace: str, codes: Mapping[str, CodeDefinition | Mapping[str, Any]]) -> None:
        """Add a plugin's codes as `namespace.CODE`, all of them or none."""
        if not _NAMESPACE.fullmatch(namespace):
            raise CodeError(f"namespace is {namespace!r}; expected lower-case letters and digits, a letter first")
        self._register(namespace, codes)

    def register(self, codes: Mapping[str, CodeDefinition | Mapping[str, Any]]) -> None:
        """Add an application's own codes, without a namespace, all of them or none; ours cannot be redefined."""
        taken = [code for code in codes if code in _CORE or code in _ALIASES]
        if taken:
            raise CodeError(f"{', '.join(taken)}: registered by shaping; choose another name")
        self._register(_APPLICATION, codes)

    def unregister(self) -> bool:
        """Take back the application's latest registration; False where there is none."""
        return self.unregister_plugin(_APPLICATION)

    def _register(self, namespace: str, codes: Mapping[str, CodeDefinition | Mapping[str, Any]]) -> None:
        ready = {key: _defined(namespace, key, given) for key, given in codes.items()}
        with self._lock:
            stack = self._plugins.get(namespace, [])
            _refuse_changes(namespace, _merged(stack), ready)
            self._plugins[namespace] = [*stack, MappingProxyType(ready)]

    def unregister_plugin(self, namespace: str) -> bool:
        """Take back the latest registration of a namespace; False where there is none."""
        with self._lock:
            stack = self._plugins.get(namespace)
            if not stack:
                return False
            self._plugins[namespace] = stack[:-1]
            if len(stack) == 1:
                del self._plugins[namespace]
            return True

    def _discover(self) -> None:
        """Load the codes that installed packages declare, once; each entry point is named by its namespace."""
        with self._lock:
            if not self._undiscovered:
                return
            self._undiscovered = False
            for found in entry_points(group=ENTRY_POINTS):
                self._load(found)

    def _load(self, found: EntryPoint) -> None:
        try:
            self.register_plugin(found.name, found.load())
        except Exception:  # an error is being described; a broken package must not stand in its way
            logging.getLogger("shaping").exception("the error codes of %r cannot be loaded", found.value)


def _named(namespace: str, key: str) -> str:
    return f"{namespace}.{key}" if namespace else key


def _merged(stack: Any) -> dict[str, CodeDefinition]:
    return {key: definition for codes in stack for key, definition in codes.items()}


def _defined(namespace: str, key: str, given: CodeDefinition | Mapping[str, Any]) -> CodeDefinition:
    if not _KEY.fullmatch(key):
        raise CodeError(f"{_named(namespace, key)}: the key is {key!r}; expected SCREAMING_SNAKE_CASE")
    if isinstance(given, CodeDefinition):
        return given
    try:
        return CodeDefinition(**given)
    except (TypeError, ValueError) as problem:
        raise CodeError(f"{_named(namespace, key)}: {problem}") from None


def _refuse_changes(namespace: str, old: Mapping[str, CodeDefinition], new: Mapping[str, CodeDefinition]) -> None:
    changed = [key for key in new if key in old and old[key] != new[key]]
    if changed:
        changes = "\n".join(f"  {_named(namespace, key)} is {old[key]}\n    and would be {new[key]}" for key in changed)
        raise CodeError(f"{namespace or 'the application'} is registered with another meaning:\n{changes}")


registry = CodeRegistry()
