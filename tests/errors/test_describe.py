from __future__ import annotations

import pytest

from shaping.errors import UnknownCodeError, registry

describe = registry.describe


def test_codes_are_appended_in_one_line() -> None:
    assert describe("Reads a file.\n", ["NOT_FOUND", "TIMEOUT"]) == "Reads a file.\nErrors: NOT_FOUND, TIMEOUT"


def test_describing_twice_is_describing_once() -> None:
    once = describe("Reads a file.\n\nSlowly.", ["NOT_FOUND"])
    assert describe(once, ["NOT_FOUND"]) == once == "Reads a file.\n\nSlowly.\nErrors: NOT_FOUND"


def test_a_new_list_of_codes_replaces_the_old_one() -> None:
    assert describe(describe("Reads.", ["NOT_FOUND"]), ["TIMEOUT"]) == "Reads.\nErrors: TIMEOUT"


def test_no_codes_leave_the_description_alone() -> None:
    assert describe("Reads.", []) == "Reads."


def test_an_empty_description_gets_the_line_alone() -> None:
    assert describe("", ["TIMEOUT"]) == "Errors: TIMEOUT"


def test_two_spellings_of_one_code_are_said_once_by_its_own_name() -> None:
    assert describe("Reads.", ["VALIDATION_ERROR", "BAD_ARGUMENT"]) == "Reads.\nErrors: BAD_ARGUMENT"


def test_an_unknown_code_is_refused_with_the_nearest_spelling() -> None:
    with pytest.raises(UnknownCodeError, match="Did you mean 'NOT_FOUND'"):
        describe("Reads.", ["NOT_FUOND"])
