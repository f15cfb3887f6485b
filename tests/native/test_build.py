"""The hook that compiles the core: into a wheel, in place, and not at all."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from shaping.native import build

ROOT = Path(__file__).parent.parent.parent
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
COMPILER = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cl").split()[0]
MODULES = {f"_{source.stem}{SUFFIX}" for source in build.sources()}
needs_compiler = pytest.mark.skipif(
    build.why_not() is not None or shutil.which(COMPILER) is None,
    reason=f"no native core can be built here: {build.why_not() or f'{COMPILER} is not installed'}",
)
TRIVIAL = """
#include <Python.h>
static struct PyModuleDef module = {.m_base = PyModuleDef_HEAD_INIT, .m_name = "_trivial"};
PyMODINIT_FUNC PyInit__trivial(void) { return PyModuleDef_Init(&module); }
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel_of_this_checkout(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the build one small source of its own, and a place to compile it in."""
    monkeypatch.setattr(build, "HERE", tmp_path)
    (tmp_path / "trivial.c").write_text(TRIVIAL)
    return tmp_path


def wheel_of_this_checkout(into: Path) -> Path:
    return Path(next(WheelBuilder(str(ROOT)).build(directory=str(into), versions=["standard"])))


def editable_install() -> None:
    hook = build.NativeBuildHook(str(ROOT), {}, None, None, "", "wheel")  # type: ignore[arg-type]  # it asks for neither
    hook.initialize("editable", {})


def native_files(wheel: Path) -> set[str]:
    names = (Path(name) for name in zipfile.ZipFile(wheel).namelist())
    return {name.name for name in names if name.parent == Path("shaping/native")}


@needs_compiler
def test_a_wheel_carries_the_compiled_modules_and_not_what_they_were_made_from(wheel: Path) -> None:
    assert native_files(wheel) == {"__init__.py"} | MODULES
    assert [path.name for path in wheel.parent.iterdir()] == [wheel.name]


@needs_compiler
def test_a_wheel_with_the_core_is_for_this_python_and_platform_only(wheel: Path) -> None:
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert wheel.name.startswith(f"shaping-0.1.0-{tag}-{tag}-")
    assert not wheel.name.endswith("-any.whl")


@needs_compiler
def test_an_installed_wheel_has_the_core_in_use(wheel: Path, tmp_path: Path) -> None:
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(tmp_path)]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True)
    code = "from shaping import native as n; [print(one.__file__) for one in (n.table, n.rules, n.density) if one]"
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}"],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    assert {Path(line) for line in done.stdout.splitlines()} == {tmp_path / "shaping/native" / name for name in MODULES}


@pytest.mark.parametrize("choice", ["CC=/bin/false", "CC=no-such-compiler", "SHAPING_NATIVE=off"])
def test_where_it_cannot_be_compiled_the_wheel_is_pure_and_says_why(
    choice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    variable, value = choice.split("=")
    monkeypatch.setenv(variable, value)
    wheel = wheel_of_this_checkout(tmp_path)
    assert (wheel.name, native_files(wheel)) == ("shaping-0.1.0-py3-none-any.whl", {"__init__.py"})
    said = [line for line in capfd.readouterr().err.splitlines() if "without its native core" in line]
    assert len(said) == 1
    assert (build.why_not() or value) in said[0]


def test_an_interpreter_that_the_core_is_not_written_for_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHAPING_NATIVE", raising=False)
    monkeypatch.setattr(sysconfig, "get_path", lambda _: "/nowhere")
    assert "headers" in str(build.why_not())
    monkeypatch.setattr(sysconfig, "get_config_var", lambda _: 1)
    assert "free-threaded" in str(build.why_not())
    monkeypatch.setattr("sys.implementation.name", "pypy")
    assert "pypy" in str(build.why_not())


def test_the_source_distribution_carries_the_sources_and_nothing_compiled(tmp_path: Path) -> None:
    with tarfile.open(next(SdistBuilder(str(ROOT)).build(directory=str(tmp_path)))) as archive:
        names = {Path(name) for name in archive.getnames()}
    native = ROOT / "shaping" / "native"
    sources = {path.relative_to(ROOT) for suffix in ("py", "c", "h") for path in native.rglob(f"*.{suffix}")}
    assert {Path(*name.parts[1:]) for name in names} >= sources
    assert not {name for name in names if name.suffix in {".so", ".pyd"}}


@needs_compiler
def test_an_editable_install_compiles_beside_the_sources(elsewhere: Path) -> None:
    editable_install()
    assert {path.name for path in elsewhere.iterdir()} == {"trivial.c", f"_trivial{SUFFIX}"}


def test_an_editable_install_without_a_core_leaves_no_older_one(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (elsewhere / f"_trivial{SUFFIX}").write_bytes(b"of sources that are gone")
    monkeypatch.setenv("SHAPING_NATIVE", "off")
    editable_install()
    assert [path.name for path in elsewhere.iterdir()] == ["trivial.c"]


@needs_compiler
def test_a_build_says_which_state_of_the_sources_it_is_of(elsewhere: Path) -> None:
    source = elsewhere / "trivial.c"
    (built,) = build.in_place(build.FAST)
    before = build.digest(source)
    assert before.encode() in built.read_bytes()
    (elsewhere / "other.h").write_text("/* a header counts as well */\n")
    after = build.digest(source)
    assert after.encode() not in built.read_bytes()
    (built,) = build.in_place(build.FAST)
    assert after.encode() in built.read_bytes()


@needs_compiler
def test_building_by_hand_tells_what_was_built(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["build"])
    build.main()
    assert capfd.readouterr().out.splitlines()[-1] == str(elsewhere / f"_trivial{SUFFIX}")


@needs_compiler
@pytest.mark.parametrize("source", build.sources(), ids=lambda source: source.name)
def test_what_is_built_in_this_checkout_is_of_its_present_sources(source: Path) -> None:
    built = source.with_name(f"_{source.stem}{SUFFIX}")
    assert built.exists(), f"{built.name} is not built: run `make native`"
    is_of_these_sources = build.digest(source).encode() in built.read_bytes()
    assert is_of_these_sources, f"{built.name} is older than its sources: run `make native`"
