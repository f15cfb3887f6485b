"""Places are named in the path language, and their values know the records they stand in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shaping.noise.places import picked, spread, written

if TYPE_CHECKING:
    from shaping.response import Json


def test_the_way_to_a_place_is_written_in_the_path_language() -> None:
    assert written(None) == ""
    assert written((None, "items")) == "items"
    assert written(((((None, None), "odd.key"), None), "name")) == '[]."odd.key"[].name'


def test_every_element_has_the_owner_of_its_list_and_some_values_those_of_their_own() -> None:
    first: dict[str, Json] = {"id": 1}
    second: dict[str, Json] = {"id": 2}
    elements = spread(lambda: [first, second], [["a", "b"], ["c"]])
    some = picked(elements, [0, 2])
    assert elements is not None
    assert some is not None
    assert elements() == [first, first, second]
    assert some() == [first, second]


def test_values_that_stand_in_no_record_have_no_owners() -> None:
    assert spread(None, [[1]]) is None
    assert picked(None, [0]) is None
