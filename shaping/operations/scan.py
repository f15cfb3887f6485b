"""`scan` finds the operations that the modules of a directory export."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from shaping.operations.spec import Operation, Spec, make_spec

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


@dataclass(frozen=True, slots=True)
class ScanProblem:
    """A module that cannot be used, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Scan:
    """The operations of a directory: those with handlers, specs without one, and modules that failed."""

    operations: list[tuple[Spec, Callable[..., Any]]] = field(default_factory=list)
    specs: list[Spec] = field(default_factory=list)
    problems: list[ScanProblem] = field(default_factory=list)


def scan(directory: str | Traversable) -> Scan:
    """Import every module under a directory, each on its own, and collect the operations that it exports.

    A module exports `spec` (with or without `handler`) or functions under `@operation`; a module that cannot be
    imported is one of the result's `problems`. Besides a path, `directory` may be any `Traversable`, as of a zip file.
    """
    found = Scan()
    for file in _modules(Path(directory) if isinstance(directory, str) else directory):
        try:
            exports = list(_exports(_load(str(file), file.read_bytes())))
        except KeyboardInterrupt:
            raise
        except BaseException as fault:  # noqa: BLE001  a module may do anything when it is imported, even exit
            reason = f"{type(fault).__name__}: {fault}".strip(": \n").splitlines()[0]
            found.problems.append(ScanProblem(str(file), reason))
            continue
        found.operations.extend((spec, handler) for spec, handler in exports if handler is not None)
        found.specs.extend(spec for spec, handler in exports if handler is None)
    return found


def _modules(directory: Traversable) -> Iterator[Traversable]:
    """Yield modules, depth first, without links and without names that begin with `_` or `.`."""
    for entry in sorted(directory.iterdir(), key=lambda entry: entry.name):
        if entry.name.startswith(("_", ".")) or (isinstance(entry, Path) and entry.is_symlink()):
            continue
        if entry.is_dir():
            yield from _modules(entry)
        elif entry.name.endswith(".py"):
            yield entry


def _load(path: str, source: bytes) -> ModuleType:
    """Run a module under a name of its own, so that two of one name do not meet."""
    name = f"shaping_scanned_{hashlib.sha256(path.encode()).hexdigest()[:16]}"
    module = ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    try:
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102  importing is what was asked for
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _exports(module: ModuleType) -> Iterator[tuple[Spec, Callable[..., Any] | None]]:
    """Yield the operations of a module: `spec` with or without `handler`, and every function under `@operation`."""
    members = dict(vars(module))
    spec, handler = members.get("spec"), members.get("handler")
    if spec is not None:
        if not isinstance(spec, Spec | Mapping):
            raise TypeError(f"spec is {type(spec).__name__}; expected a Spec or a mapping")
        if handler is not None and not callable(handler):
            raise TypeError(f"handler is {type(handler).__name__}; expected a callable")
        yield spec if isinstance(spec, Spec) else make_spec(**spec), handler
    for member in members.values():
        # What it imported from elsewhere is exported there.
        if isinstance(member, Operation) and member.function.__module__ == module.__name__:
            yield member.pair
