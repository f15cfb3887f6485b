"""Records that come back are told once, where that is worth a table of its own."""

from __future__ import annotations

from typing import Any

from shaping.encoders.table import decode, encode


def issues(people: list[dict[str, Any]], count: int = 12) -> Any:
    """Return rows that have these people in turn."""
    return [{"n": n, "person": people[n % len(people)]} for n in range(count)]


def test_long_members_of_records_that_come_back_are_told_once_by_name() -> None:
    people = [
        {"login": f"user{n}", "id": n, "about": f"{'first' if n else 'other'} words about this person" * 3}
        for n in range(2)
    ]
    text = encode(issues(people))
    assert text.splitlines()[:8] == [
        "[12]:",
        " person[2] by login: login,about",
        f"  user0,{people[0]['about']}",
        f"  user1,{people[1]['about']}",
        "n,person{login,id}",
        "0,user0,0",
        "1,user1,1",
        "2,user0,0",
    ]
    assert decode(text) == issues(people)


def test_nested_members_are_told_once_too() -> None:
    people = [{"login": f"user{n}", "id": n, "teams": [f"a team of {n}", "another team " * 9]} for n in range(2)]
    text = encode(issues(people))
    assert text.count("a team of 0") == 1
    assert decode(text) == issues(people)


def test_short_members_stay_in_every_row() -> None:
    people = [{"login": f"user{n}", "id": n, "team": "red", "city": "Oslo", "role": f"r{n}"} for n in range(2)]
    value = issues(people, 40)
    text = encode(value)
    assert " by login:" not in text
    assert text.count("user0") == 20
    assert decode(text) == value


def test_records_that_differ_are_not_looked_up() -> None:
    people = [{"login": f"user{n}", "about": "much to say about everybody here " * 3, "x": n} for n in range(12)]
    text = encode(issues(people))
    assert " by login:" not in text
    assert decode(text) == issues(people)


def test_records_of_different_lengths_are_not_looked_up() -> None:
    people = [{"login": "ada", "about": "words " * (9 + n), "x": n} for n in range(12)]
    text = encode(issues(people))
    assert " by login:" not in text
    assert decode(text) == issues(people)


def test_records_with_many_members_are_no_maps() -> None:
    value: Any = [{"n": n, "o": {f"member{i}": n * i for i in range(12)}} for n in range(4)]
    text = encode(value)
    assert "o{member0=0,member1" not in text
    assert text.splitlines()[1].startswith("n,o{member1,")
    assert decode(text) == value
