"""One picture is enough of each."""

from __future__ import annotations

from typing import Any

import pytest

from shaping.noise import reduce
from shaping.response import Omission


def sized(*widths: int, ratio: float = 1.5, site: str = "https://img.dev") -> list[dict[str, Any]]:
    return [{"url": f"{site}/{width}.jpg", "width": width, "height": int(width / ratio)} for width in widths]


def test_of_the_sizes_of_a_picture_the_largest_stays() -> None:
    small, large, cropped = *sized(90, 480), *sized(120, ratio=1)
    thumbnails = {"default": small, "high": large, "medium": cropped}
    value: Any = {"id": 1, "images": sized(64, 300, 640), "thumbnails": thumbnails}
    assert reduce(value, ("links",)) == (
        {"id": 1, "images": sized(640), "thumbnails": {"high": large}},
        [Omission(path, 1, "links") for path in ("images[:2]", "thumbnails.default", "thumbnails.medium")],
    )


def test_of_links_whose_names_are_sizes_the_largest_that_most_records_have_stays() -> None:
    rows: Any = [
        {"id": n, "name": f"n{n}", **{f"image_{size}": f"https://img.dev/{n}_{size}.png" for size in (24, 72, 512)}}
        for n in range(4)
    ]
    rows[1]["image_1024"] = "https://img.dev/1_1024.png"
    kept = [{name: row[name] for name in ("id", "name", "image_512")} for row in rows]
    assert reduce(rows, ("links",))[0] == kept
    photos: Any = [{"id": n, **{f"photo_{at}": f"https://img.dev/{n * at}.png" for at in (1, 2, 3)}} for n in range(4)]
    assert reduce(photos, ("links",))[0] == photos


@pytest.mark.parametrize(
    "links",
    [
        {"photo_2021": "2021-beach", "photo_2022": "2022-alps", "photo_2023": "2023-rome"},
        {"photo_2021": "2021", "photo_2022": "2022", "photo_2023": "2023"},
        {"image_16": "a", "image_48": "b", "image_64": "c"},
    ],
)
def test_links_to_different_pictures_stay_where_their_names_have_numbers(links: dict[str, str]) -> None:
    rows: Any = [
        {"id": n, "name": f"n{n}", **{key: f"https://img.dev/{name}-{n * 337 % 89}.jpg" for key, name in links.items()}}
        for n in range(4)
    ]
    assert reduce(rows, ("links",))[0] == rows


@pytest.mark.parametrize(
    "images",
    [
        sized(64),
        [*sized(64), *sized(300, ratio=0.5)],
        [*sized(64), *sized(64, site="https://other.dev")],
        [{"url": "https://img.dev/a.jpg"}, {"url": "https://img.dev/b.jpg"}],
        [{"width": 1, "height": 1}, {"width": 2, "height": 2}],
    ],
)
def test_different_pictures_stay(images: list[dict[str, Any]]) -> None:
    value: Any = {"id": 1, "images": images}
    assert reduce(value, ("links",)) == (value, [])


def test_pictures_beside_the_page_of_a_record_go() -> None:
    rows: Any = [
        {
            "id": n,
            "name": f"Thing {n}",
            "page_url": f"https://x.dev/{n * 7}-thing",
            "image_url": f"https://cdn.dev/{n * 3}x.jpg",
        }
        for n in range(5)
    ]
    reduced, _ = reduce(rows, ("links",))
    assert reduced == [{key: row[key] for key in ("id", "name", "page_url")} for row in rows]
    alone: Any = [{key: row[key] for key in ("id", "name", "image_url")} for row in rows]
    assert reduce(alone, ("links",)) == (alone, [])
