import pytest

from shaping.errors import nearest


@pytest.mark.parametrize(
    ("word", "candidates", "found"),
    [
        ("minimla", ["debug", "minimal", "standard"], ("minimal",)),
        ("MINIMAL", ["debug", "minimal"], ("minimal",)),
        ("inst", ["insert", "install"], ("install", "insert")),
        ("xyz", ["minimal"], ()),
        ("", ["a"], ()),
        ("a", [""], ()),
        ("name", [], ()),
        ("names", ["name", "named", "nam", "names2", "name"], ("names2", "name", "named")),
    ],
)
def test_the_nearest_come_first(word: str, candidates: list[str], found: tuple[str, ...]) -> None:
    assert nearest(word, candidates) == found


def test_no_more_than_asked_for() -> None:
    assert nearest("a1", ["a1", "a11", "a12"], n=1) == ("a1",)
