from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import zipfile
from importlib import import_module
from importlib.metadata import distribution
from inspect import isclass, isfunction
from pathlib import Path

import pytest

from benchmarks.make_reference import MODULES

ROOT = Path(__file__).parent.parent
HEAVY = (
    "regex",
    "mcp",
    "fastmcp",
    "httpx",
    "redis",
    "watchfiles",
    "typer",
    "rich",
    "starlette",
    "jsonschema_rs",
)


# Adding a name there is a decision: it stays for at least one minor version.
PUBLIC = json.loads((ROOT / "tests" / "cases" / "public.json").read_text())


@pytest.mark.parametrize("module", PUBLIC)
def test_the_public_names_are_exactly_these_and_documented(module: str) -> None:
    public = import_module(module)
    assert sorted(public.__all__) == PUBLIC[module]
    values = {name: getattr(public, name) for name in public.__all__}
    defined = {name: value for name, value in values.items() if isclass(value) or isfunction(value)}
    assert [name for name, value in defined.items() if not value.__doc__] == []


def test_what_is_public_is_what_the_reference_lists() -> None:
    assert PUBLIC.keys() == set(MODULES)


def test_every_public_module_can_be_imported_first() -> None:
    program = (
        "import sys\nfrom importlib import import_module\n"
        "for name in sys.argv[1:]:\n"
        "    import_module(name)\n"
        "    for loaded in [one for one in sys.modules if one.partition('.')[0] == 'shaping']:\n"
        "        del sys.modules[loaded]"
    )
    subprocess.run([sys.executable, "-c", program, *MODULES], check=True)


def test_importing_shaping_imports_nothing_heavy() -> None:
    code = f"import shaping, sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_importing_shaping_opens_no_file_and_starts_no_thread() -> None:
    code = (
        "import sys, threading\n"
        "opened = []\n"
        "sys.addaudithook(lambda event, args: opened.append(args[0]) if event == 'open' else None)\n"
        "import shaping\n"
        "data = [str(p) for p in opened if str(p).endswith(('.json', '.table', '.toml'))]\n"
        "print(data, threading.active_count())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] 1"


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return out


def test_the_wheels_only_top_level_name_is_shaping(distributions: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"shaping"}
    assert "shaping/_bundled/profiles/minimal.json" in names
    assert "shaping/_bundled/config/response_config.json" in names
    assert "shaping/py.typed" in names


def test_the_sdist_holds_what_a_wheel_is_built_from(distributions: Path) -> None:
    (sdist,) = distributions.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert {"profiles/minimal.json", "config/response_config.json", "pyproject.toml", "LICENSE", "README.md"} <= names


def test_an_installed_wheel_finds_its_profiles_and_config(distributions: Path, tmp_path: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    target = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)  # noqa: S202 (a wheel we have just built)
    code = "import shaping; print(shaping.__file__); print(shaping.Shaper({}).shape({'a': None, 'b': 1}).value)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {str(target)!r}); {code}"],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    where, answer = done.stdout.strip().splitlines()
    assert where.startswith(str(target))
    assert answer == "{'data': {'b': 1}}"


def test_an_editable_install_finds_its_profiles_and_config(tmp_path: Path) -> None:
    installed = json.loads(distribution("shaping").read_text("direct_url.json") or "{}")
    assert installed["dir_info"]["editable"], "make test installs shaping in editable mode"
    code = "import shaping; print(shaping.__file__); print(shaping.Shaper({}).shape({'a': None, 'b': 1}).value)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    where, answer = done.stdout.strip().splitlines()
    assert where == str(ROOT / "shaping" / "__init__.py")
    assert answer == "{'data': {'b': 1}}"


def test_the_former_place_of_shape_typer_still_works_and_says_where_it_is_now() -> None:
    code = "import warnings; warnings.simplefilter('error'); import shaping.surfaces.apps"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "shaping.surfaces.apps is shaping.apps now" in done.stderr
    code = "from shaping import apps; import shaping.surfaces.apps as was; print(was.shape_typer is apps.shape_typer)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "True\n"
