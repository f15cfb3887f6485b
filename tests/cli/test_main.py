"""The options that `shaping proxy` and `shaping run` read before Typer is imported are those that they declare."""

from __future__ import annotations

from typing import Any

import pytest

from shaping.__main__ import PROXY_FLAGS, PROXY_VALUES, RUN_VALUES
from shaping.cli.app import LazyCommands


def _declared(command: str) -> dict[str, Any]:
    """Return the declared options of a command by each of their names."""
    return {name: param for param in LazyCommands()[command].params for name in (*param.opts, *param.secondary_opts)}


@pytest.mark.parametrize(("command", "names"), [("proxy", PROXY_VALUES), ("run", RUN_VALUES)])
def test_each_option_with_a_value_is_declared_and_takes_one_value(command: str, names: tuple[str, ...]) -> None:
    declared = _declared(command)
    taken = {name: (option.is_flag, option.multiple, option.nargs) for name in names if (option := declared.get(name))}
    assert taken == dict.fromkeys(names, (False, False, 1))


def test_the_flags_of_the_proxy_are_both_names_of_one_declared_flag() -> None:
    declared = _declared("proxy")
    assert {name: (declared[name].name, name in declared[name].opts) for name in PROXY_FLAGS} == {
        name: ("expand", value) for name, value in PROXY_FLAGS.items()
    }
