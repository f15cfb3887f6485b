from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from shaping import native

CODE = """
from shaping import Shaper, native
print(native.table, native.rules, native.density, Shaper({}).shape({'a': 1}).value)
"""


@pytest.mark.parametrize("word", ["off", "0"])
def test_a_user_can_switch_the_core_off(word: str) -> None:
    environ = dict(os.environ, SHAPING_NATIVE=word)
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True, env=environ)
    assert done.stdout == "None None None {'data': {'a': 1}}\n"


def test_a_damaged_module_is_as_good_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    (tmp_path / f"_table{suffix}").write_bytes(b"\x7fELF and then nothing")
    (tmp_path / f"_rules{suffix}").write_bytes(b"")
    monkeypatch.setattr(native, "__path__", [str(tmp_path)])
    for name in ("table", "rules", "missing"):
        monkeypatch.delitem(sys.modules, f"shaping.native._{name}", raising=False)
        assert native._load(name) is None


def test_a_module_for_another_python_is_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "_table.cpython-39-x86_64-linux-gnu.so").write_bytes(b"not even opened")
    monkeypatch.setattr(native, "__path__", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "shaping.native._table", raising=False)
    assert native._load("table") is None
