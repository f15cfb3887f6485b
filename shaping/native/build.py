"""Compile each `*.c` beside this file into the extension module of its name: hatchling's hook, and `make native`."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import shutil
import sys
import sysconfig
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).resolve().parent
SCRATCH = ".shaping-native"
# What a caller gets who asks for speed; no instruction that another machine of the same kind may lack.
FAST = ("/O2", "/W3") if os.name == "nt" else ("-O3", "-g0", "-Wall", "-Wextra")
# What finds a byte read past its end: gcc or clang only.
SANITIZED = (
    *("-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fno-omit-frame-pointer"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
)


class NativeBuildHook(BuildHookInterface[Any]):
    """Put the compiled modules into a wheel, or beside their sources for an editable install; or do without."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile what can be compiled here; whatever stands in the way is told, and the wheel is a pure one."""
        reason = why_not()
        if reason is None:
            try:
                self._compile(version, build_data)
            except (Exception, SystemExit) as error:  # noqa: BLE001  no install fails for want of speed
                reason = textwrap.shorten(str(error) or type(error).__name__, 160, placeholder=" …")
        if reason is not None:
            if version == "editable":
                remove_built()
            self.app.display_warning(f"shaping is built without its native core: {reason}")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002  its interface
        """Throw away what the wheel has a copy of."""
        shutil.rmtree(Path(self.directory, SCRATCH), ignore_errors=True)

    def _compile(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            in_place(FAST)
            return
        built = compile_all(Path(self.directory, SCRATCH), FAST)
        build_data["force_include"].update({str(path): f"shaping/native/{path.name}" for path in built})
        build_data.update(pure_python=False, infer_tag=True)


def why_not() -> str | None:
    """Say what speaks against a native core before any compiler is asked, if anything does."""
    if os.environ.get("SHAPING_NATIVE", "").lower() in {"off", "0", "false", "no"}:
        return "SHAPING_NATIVE is off"
    if sys.implementation.name != "cpython":
        return f"it is written for CPython, and this is {sys.implementation.name}"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "it is written for a Python with a global lock, and this is a free-threaded one"
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        return "the headers of this Python are not installed (python3-dev or python3-devel has them)"
    return None


def sources() -> list[Path]:
    """List what is compiled, each file into one module."""
    return sorted(HERE.glob("*.c"))


def headers() -> list[Path]:
    """List what the sources may include."""
    return sorted(HERE.rglob("*.h"))


def digest(source: Path) -> str:
    """Name the state of a source and of all headers, as it stands inside the module built from them."""
    state = hashlib.sha256()
    for path in (source, *headers()):
        # A checkout with other line ends is no other source.
        text = path.read_bytes().replace(b"\r\n", b"\n")
        state.update(b"%b\0%d\0%b" % (path.relative_to(HERE).as_posix().encode(), len(text), text))
    return f"shaping-native-sources:{state.hexdigest()}"


def in_place(flags: tuple[str, ...]) -> list[Path]:
    """Compile for an editable install: beside the sources, over what was there."""
    with tempfile.TemporaryDirectory(dir=HERE, prefix=".build-") as scratch:
        # A process that has the old module loaded keeps it: the file is replaced, not written over.
        return [path.replace(HERE / path.name) for path in compile_all(Path(scratch), flags)]


def remove_built() -> None:
    """Remove what was compiled in place before: of which sources, nobody knows."""
    for source in sources():
        # On Windows, one that a program has loaded stays.
        with contextlib.suppress(OSError):
            source.with_name(f"_{source.stem}{sysconfig.get_config_var('EXT_SUFFIX')}").unlink()


def compile_all(into: Path, flags: tuple[str, ...]) -> list[Path]:
    """Compile every source into a directory of its own; all of them, or an error."""
    from setuptools import Distribution  # noqa: PLC0415 (a build without a core must not need it)
    from setuptools.command.build_ext import build_ext  # noqa: PLC0415 (the same)

    with tempfile.TemporaryDirectory(prefix="shaping-objects-") as objects:
        extensions = [_extension(source, Path(objects), flags) for source in sources()]
        command = build_ext(Distribution({"name": "shaping", "ext_modules": extensions}))
        command.build_lib = str(into / "lib")
        command.build_temp = objects
        command.force = True
        command.parallel = os.cpu_count()
        command.ensure_finalized()
        command.run()
    return [Path(name) for name in command.get_outputs()]


def _extension(source: Path, objects: Path, flags: tuple[str, ...]) -> Any:
    """Describe one module: its source, and a line that says which state of it this is."""
    from setuptools import Extension  # noqa: PLC0415 (the same)

    stamp = objects / f"{source.stem}_sources.c"
    stamp.write_text(f'extern const char shaping_sources[];\nconst char shaping_sources[] = "{digest(source)}";\n')
    return Extension(
        f"shaping.native._{source.stem}",
        [str(source), str(stamp)],
        depends=[str(path) for path in headers()],
        include_dirs=[str(HERE)],
        export_symbols=["shaping_sources"],
        extra_compile_args=list(flags),
        extra_link_args=[flag for flag in flags if flag.startswith("-fsanitize")],
    )


def main() -> None:
    """Compile in place, and fail where that fails."""
    parser = argparse.ArgumentParser(prog="python -m shaping.native.build", description=main.__doc__)
    parser.add_argument("--sanitize", action="store_true", help="With checks for reads and writes out of bounds.")
    for path in in_place(SANITIZED if parser.parse_args().sanitize else FAST):
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
