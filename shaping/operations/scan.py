"""Finding operations in the modules of a directory."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any, Protocol

from shaping.operations.decorate import Operation
from shaping.operations.spec import Spec, check_spec, make_spec


@dataclass(frozen=True, slots=True)
class DirectoryEntry:
    """An entry of a directory."""

    name: str
    is_directory: bool = False


class Files(Protocol):
    """As much of a file system as a scan needs."""

    def entries(self, path: str) -> Iterable[DirectoryEntry]:
        """List a directory."""
        ...

    def read(self, path: str) -> bytes:
        """Read a file."""
        ...


class LocalFiles:
    """The machine's own file system; links that lead out of the directory are not followed."""

    def entries(self, path: str) -> Iterable[DirectoryEntry]:
        """List a directory in a stable order."""
        return [DirectoryEntry(p.name, p.is_dir()) for p in sorted(Path(path).iterdir()) if not p.is_symlink()]

    def read(self, path: str) -> bytes:
        """Read a file."""
        return Path(path).read_bytes()


@dataclass(frozen=True, slots=True)
class ScanProblem:
    """A module that cannot be used, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Scan:
    """What a directory holds: operations with their handlers, specs that wait for one, and what went wrong."""

    operations: list[tuple[Spec, Callable[..., Any]]] = field(default_factory=list)
    specs: list[Spec] = field(default_factory=list)
    problems: list[ScanProblem] = field(default_factory=list)
    without: list[str] = field(default_factory=list)  # modules that export no operation


def scan(directory: str, files: Files | None = None) -> Scan:
    """Import every module under a directory by itself, and collect what each exports."""
    files, found = files or LocalFiles(), Scan()
    for path in _modules(directory, files):
        try:
            exports = list(_exports(_load(path, files.read(path))))
        except KeyboardInterrupt:
            raise
        except BaseException as fault:  # noqa: BLE001  a module may do anything when it is imported, even exit
            found.problems.append(ScanProblem(path, _reason(fault)))
            continue
        if not exports:
            found.without.append(path)
        for spec, handler in exports:
            if handler is None:
                found.specs.append(spec)
            else:
                found.operations.append((spec, handler))
    return found


def _modules(directory: str, files: Files) -> Iterator[str]:
    """Give the paths of modules, depth first; names with a leading underscore or dot are nobody's operations."""
    for entry in files.entries(directory):
        path = str(PurePosixPath(directory) / entry.name)
        if entry.name.startswith(("_", ".")):
            continue
        if entry.is_directory:
            yield from _modules(path, files)
        elif entry.name.endswith(".py"):
            yield path


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
    """Give what a module exports: `spec` with or without `handler`, and every function that is an operation."""
    members = dict(vars(module))
    spec, handler = members.get("spec"), members.get("handler")
    if spec is not None:
        if handler is not None and not callable(handler):
            raise TypeError(f"handler is {type(handler).__name__}; expected a callable")
        yield _spec(spec), handler
    for member in members.values():
        # What it imported from elsewhere is exported there.
        if isinstance(member, Operation) and member.function.__module__ == module.__name__:
            yield member.pair


def _spec(declared: Any) -> Spec:
    if isinstance(declared, Spec):
        return check_spec(declared)
    if isinstance(declared, Mapping):
        return make_spec(**declared)
    raise TypeError(f"spec is {type(declared).__name__}; expected a Spec or a mapping")


def _reason(fault: BaseException) -> str:
    said = str(fault).strip().splitlines()
    return f"{type(fault).__name__}: {said[0]}" if said else type(fault).__name__
