"""Shape what a function returns: `python examples/decorated.py`."""

from typing import Any

from shaping import Shaper, shape

shaper = Shaper({"tool_overrides": {"list_users": {"exclude_fields": ["**.*_url"], "private": ["**.salary"]}}})


@shape(shaper=shaper)
def list_users(team: str) -> list[dict[str, Any]]:
    """List the people of a team, as the staff API gives them."""
    return [
        {"id": 1, "name": "ada", "team": team, "avatar_url": "https://img.example.com/1", "salary": 90_000},
        {"id": 2, "name": "bob", "team": team, "avatar_url": "https://img.example.com/2", "salary": 80_000},
    ]


if __name__ == "__main__":
    print(list_users("core"))
    shaped = shaper.shape(list_users.__wrapped__("core"), tool="list_users")
    for omission in shaped.omissions:
        print(f"{omission.count} x {omission.path}: {omission.reason}")
