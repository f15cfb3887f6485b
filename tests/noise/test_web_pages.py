"""Pages: of a record's links, those that a person would open stay, and those that would say nothing new go."""

from __future__ import annotations

from typing import Any

import pytest

from shaping.noise import reduce
from shaping.response import Omission


def without_links(value: Any) -> Any:
    return reduce(value, ("links",))[0]


@pytest.mark.parametrize(
    ("api", "site"),
    [
        ("https://3.basecampapi.com/7/todos/{}.json", "https://3.basecamp.com/7/todos/{}"),
        ("https://shop-api.dev/o/{}", "https://shop.dev/o/{}"),
    ],
)
def test_the_page_is_on_the_site_and_not_on_its_api(api: str, site: str) -> None:
    value: Any = [{"id": n, "title": "t", "url": api.format(n), "app_url": site.format(n)} for n in (11, 12, 13)]
    assert [row["app_url"] for row in without_links(value)] == [site.format(n) for n in (11, 12, 13)]


def test_a_site_with_api_in_its_name_is_still_a_page() -> None:
    value: Any = [
        {"title": f"t{n}", "url": f"https://fastapi.x.dev/{n}", "favicon": "https://i.dev/f.png"} for n in range(3)
    ]
    assert without_links(value) == [{"title": f"t{n}", "url": f"https://fastapi.x.dev/{n}"} for n in range(3)]


def test_a_template_of_links_is_no_page() -> None:
    value: Any = [
        {
            "id": n,
            "slug": f"hello-{n}",
            "permalink_template": "https://blog.dev/%postname%/",
            "link": f"https://blog.dev/hello-{n}/",
            "permalink": "https://blog.dev/?name=%post_name%",
        }
        for n in range(3)
    ]
    assert without_links(value) == [
        {"id": n, "slug": f"hello-{n}", "link": f"https://blog.dev/hello-{n}/"} for n in range(3)
    ]


def test_an_encoded_letter_in_a_link_is_no_template() -> None:
    value: Any = [{"id": n, "n": n, "link": f"https://x.dev/%c3%aatre%20{n}"} for n in range(3)]
    assert without_links(value) is value


PAID: Any = {
    "self": {"href": "https://api.pay.dev/v2/orders/1", "type": "application/hal+json"},
    "checkout": {"href": "https://www.pay.dev/checkout/pbjz8x", "type": "text/html"},
    "dashboard": {"href": "https://www.pay.dev/dashboard/orders/1", "type": "text/html"},
    "documentation": {"href": "https://docs.pay.dev/reference/orders", "type": "text/html"},
}


def test_links_that_say_they_are_pages_stay_among_those_that_say_they_are_not() -> None:
    kept = {name: PAID[name] for name in ("checkout", "dashboard")}
    orders: Any = [{"id": n, "status": "open", "redirectUrl": "https://shop.dev/r", "_links": PAID} for n in range(3)]
    reduced, omissions = reduce(orders, ("links",))
    assert reduced == [order | {"_links": kept} for order in orders]
    assert omissions == [Omission(f"[]._links.{name}", 3, "links") for name in PAID if name not in kept]
    nested: Any = [
        {"id": n, "name": f"n{n}", "web_url": f"https://pay.dev/n{n}", "order": {"id": n, "total": 5, "_links": PAID}}
        for n in range(3)
    ]
    assert [row["order"]["_links"] for row in without_links(nested)] == [kept] * 3


def test_links_that_all_say_they_are_pages_are_judged_by_their_names() -> None:
    links = {name: {"href": f"https://x.dev/{name}/1", "type": "text/html"} for name in ("edit", "html", "history")}
    value: Any = [{"id": n, "title": f"t{n}", "_links": links} for n in range(3)]
    assert without_links(value) == [row | {"_links": {"html": links["html"]}} for row in value]


def test_collections_of_links_of_several_kinds_lose_what_is_no_page() -> None:
    page = {"html": {"href": "https://x.dev/1"}}
    value: Any = [
        {"id": 1, "title": "a", "_links": page},
        {"id": 2, "title": "b", "_links": [{"rel": "self", "href": "https://x.dev/api/2"}]},
        {"id": 3, "title": "c", "_links": {}},
    ]
    assert without_links(value) == [value[0], {"id": 2, "title": "b"}, {"id": 3, "title": "c"}]


def test_the_few_links_in_a_collection_of_a_single_record_stay() -> None:
    urls = {"status": "https://status.x.dev", "about": "https://x.dev/about", "stream": "wss://stream.x.dev"}
    value: Any = {"title": "x", "version": "4.1", "urls": urls}
    assert without_links(value) is value
    assert without_links([value]) == [value]
    many = {name: f"https://x.dev/{name * 20}" for name in ("status", "about", "stream")}
    assert without_links({**value, "urls": many}) == {"title": "x", "version": "4.1"}
    pictures = {"name": "x", "version": "4.1", "avatar_urls": {"16": "https://i.dev/16", "32": "https://i.dev/32"}}
    assert without_links(pictures) == {"name": "x", "version": "4.1"}


def test_the_few_links_of_the_only_record_in_a_list_stay() -> None:
    value: Any = {"results": [{"ticker": "A", "fiscal_year": 2024, "self": "https://api.x.dev/v1/f/1", "cik": "3"}]}
    assert without_links(value) is value


def place(n: int) -> Any:
    """Write a place as linked data does: words, and the number of what they name."""
    return {
        "ID": f"SW{n}",
        "PAGE_URI": f"https://data.dev/id/unit/SW{n}",
        "BOROUGH": "Westminster",
        "BOROUGH_URI": f"https://data.dev/id/7000{n}",
        "REGION": "London",
        "REGION_URI": "https://data.dev/id/41428",
    }


def test_a_numbered_link_stays_where_it_is_alone_or_asked_for_or_among_others() -> None:
    alone: Any = [{key: item for key, item in place(n).items() if "REGION" not in key} for n in range(4)]
    assert without_links(alone) is alone
    few: Any = [place(n) for n in range(2)]
    assert without_links(few) is few
    asked, _ = reduce([place(n) for n in range(4)], ("links",), arguments=frozenset({"BOROUGH_URI"}))
    assert [row["BOROUGH_URI"] for row in asked] == [f"https://data.dev/id/7000{n}" for n in range(4)]  # type: ignore[index,call-overload,union-attr]
    named: Any = [place(n) | {"REGION_URI": f"https://data.dev/london-{n}"} for n in range(4)]
    assert [row["REGION_URI"] for row in without_links(named)] == [f"https://data.dev/london-{n}" for n in range(4)]
