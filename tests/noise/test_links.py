"""Links: what a record's identifiers already say goes; what a person would open stays."""

from __future__ import annotations

from typing import Any

import pytest

from shaping.noise import reduce
from shaping.response import Omission


def without_links(value: Any) -> Any:
    return reduce(value, ("links",))[0]


ISSUES: list[Any] = [
    {
        "url": f"https://api.tracker.dev/repos/a/b/issues/{n}",
        "comments_url": f"https://api.tracker.dev/repos/a/b/issues/{n}/comments",
        "labels_url": f"https://api.tracker.dev/repos/a/b/issues/{n}/labels{{/name}}",
        "html_url": f"https://tracker.dev/a/b/issues/{n}",
        "number": n,
        "title": f"Issue {n}",
        "user": {
            "login": f"u{n}",
            "avatar_url": f"https://img.dev/{n}",
            "html_url": f"https://tracker.dev/u{n}",
            "url": f"https://api.tracker.dev/users/u{n}",
            "kind": "User",
        },
    }
    for n in range(4)
]


def test_of_a_records_links_the_page_stays() -> None:
    value, omissions = reduce(ISSUES, ("links",))
    assert value == [
        {
            "html_url": f"https://tracker.dev/a/b/issues/{n}",
            "number": n,
            "title": f"Issue {n}",
            "user": {"login": f"u{n}", "kind": "User"},
        }
        for n in range(4)
    ]
    assert {omission.path for omission in omissions} == {
        "[].url",
        "[].comments_url",
        "[].labels_url",
        "[].user.avatar_url",
        "[].user.html_url",
        "[].user.url",
    }
    assert {(omission.count, omission.reason) for omission in omissions} == {(4, "links")}


def test_links_that_are_the_point_stay() -> None:
    search: Any = {"results": [{"title": "x", "url": f"https://site{n}.org/a", "content": "text"} for n in range(3)]}
    listing: Any = {"count": 3, "results": [{"name": f"n{n}", "url": f"https://x.dev/api/v2/n/{n}/"} for n in range(3)]}
    urls: Any = {"name": "sitemap", "urls": [f"https://x.dev/api/{n}" for n in range(5)]}
    packages: Any = [
        {
            "name": f"p{n}",
            "version": "1",
            "licence": "MIT",
            "homepage": f"https://h{n}.dev/x",
            "bugs": f"https://b{n}.io",
        }
        for n in range(4)
    ]
    for value in (search, listing, urls, packages):
        assert without_links(value) is value


def test_a_link_that_is_the_only_identifier_stays() -> None:
    value: Any = [{"href": f"https://x.dev/api/{n}", "total": 1.5, "open": True} for n in range(3)]
    assert without_links(value) is value


def test_a_url_that_was_logged_is_no_hypermedia() -> None:
    value: Any = [
        {
            "id": n,
            "level": "INFO",
            "message": "m",
            "url": {"full": f"https://shop.dev/api/v1/o/{n}", "path": f"/api/v1/o/{n}"},
        }
        for n in range(4)
    ]
    assert without_links(value) is value


def test_collections_of_links_go_as_a_whole() -> None:
    value: Any = [
        {
            "_links": {"self": {"href": f"/orders/{n}"}, "find": {"href": "/orders{?id}", "templated": True}},
            "links": [{"rel": "self", "href": f"/orders/{n}"}],
            "avatarUrls": {"48x48": "https://img.dev/a", "24x24": "https://img.dev/b"},
            "id": n,
            "status": "shipped",
        }
        for n in range(3)
    ]
    assert without_links(value) == [{"id": n, "status": "shipped"} for n in range(3)]


def test_a_record_of_links_alone_is_not_emptied() -> None:
    value: Any = {"links": {"docs": "https://docs.dev/a", "home": "https://x.dev"}}
    assert without_links(value) is value


def test_a_self_link_goes_and_what_looks_like_one_stays() -> None:
    value: Any = [{"self": f"https://j.dev/rest/2/issue/{n}", "key": f"A-{n}", "summary": "s"} for n in range(3)]
    assert without_links(value) == [{"key": f"A-{n}", "summary": "s"} for n in range(3)]
    odd: Any = [{"self": "https://x.dev/1", "key": "A", "n": 1}, {"self": "me", "key": "B", "n": 2}]
    assert without_links(odd) is odd


def test_a_single_record_keeps_its_page_and_loses_its_plumbing() -> None:
    site = "tracker.example.com/organisation/repository"
    value: Any = {
        "html_url": f"https://{site}/issues/5",
        "url": f"https://api.{site}/issues/5",
        "events_url": f"https://api.{site}/issues/5/events",
        "labels_url": f"https://api.{site}/issues/5/labels{{/name}}",
        "diff_url": f"https://{site}/issues/5.diff",
        "number": 5,
        "title": "x",
        "body": "b",
    }
    assert without_links(value) == {"html_url": f"https://{site}/issues/5", "number": 5, "title": "x", "body": "b"}


def test_of_the_few_links_of_a_single_record_only_plumbing_goes() -> None:
    value: Any = {
        "self": "https://t.dev/api/5",
        "about_url": "https://t.dev/5",
        "logs_url": "https://t.dev/api/5/logs",
        "id": 5,
        "state": "done",
        "n": 1,
    }
    assert without_links(value) == {name: member for name, member in value.items() if name != "self"}


def test_one_link_of_a_single_record_stays() -> None:
    value: Any = {"url": "https://api.t.dev/5", "id": 5, "state": "done", "n": 1}
    assert without_links(value) is value


def test_links_below_lists_are_known_by_their_owners_identifier() -> None:
    value: Any = [
        {"id": 100 + n, "name": "x", "votes": {"url": f"https://api.t.dev/i/{100 + n}/votes", "up": 1, "down": 2}}
        for n in range(3)
    ]
    assert without_links(value) == [{"id": 100 + n, "name": "x", "votes": {"up": 1, "down": 2}} for n in range(3)]


@pytest.mark.parametrize("missing", [None, ""])
def test_absent_links_do_not_keep_the_others(missing: Any) -> None:
    value: Any = [*ISSUES[:3], {**ISSUES[3], "comments_url": missing}]
    assert all("comments_url" not in issue for issue in without_links(value))


def test_an_omission_says_where_how_many_and_why() -> None:
    value: Any = [{"key": f"A-{n}", "summary": "s", "self": "https://j.dev/rest/" + "x" * 20} for n in range(10)]
    assert reduce(value, ("links",))[1] == [Omission("[].self", 10, "links")]


def test_a_collection_with_lists_of_links_goes_too() -> None:
    value: Any = [
        {
            "id": n,
            "name": "x",
            "_links": {"items": [{"href": f"/i/{n}"}], "next": None, "curies": [{"name": "a", "href": "/x"}]},
        }
        for n in range(3)
    ]
    assert without_links(value) == [{"id": n, "name": "x"} for n in range(3)]
    mixed: Any = [{"id": n, "name": "x", "links": {"count": 3, "items": [1]}} for n in range(3)]
    assert without_links(mixed) is mixed


def test_links_that_alone_tell_records_apart_stay() -> None:
    value: Any = [
        {"_links": {"self": {"href": f"/orders/{n}"}}, "currency": "USD", "status": "shipped"} for n in range(4)
    ]
    assert without_links(value) is value


def test_the_way_to_the_next_page_stays() -> None:
    links = {"self": {"href": "/orders?page=1"}, "next": {"href": "/orders?page=2"}}
    value: Any = {"_links": links, "id": 1, "name": "orders", "total": 40}
    assert without_links(value) is value
    assert without_links({**value, "_links": {"self": {"href": "/orders?page=1"}}}) == {
        "id": 1,
        "name": "orders",
        "total": 40,
    }


def test_the_link_to_the_next_page_stays() -> None:
    orders: Any = [{"id": n, "state": "shipped", "_links": {"self": {"href": f"/orders/{n}"}}} for n in range(3)]
    paging = {"self": {"href": "/orders?page=1"}, "next": {"href": "/orders?page=2"}}
    value: Any = {"_links": paging, "total": 9, "name": "orders", "orders": orders}
    assert without_links(value) == value | {"orders": [{"id": n, "state": "shipped"} for n in range(3)]}


def test_switches_about_links_stay() -> None:
    value: Any = [{"id": n, "name": f"n{n}", "linkSharing": {"enabled": n == 1, "eligible": False}} for n in range(4)]
    assert reduce(value, ("links",)) == (value, [])


def test_the_only_page_of_a_record_stays_wherever_it_stands() -> None:
    value: Any = [
        {
            "id": f"i{n}",
            "name": f"n{n}",
            "href": f"https://api.x.dev/v1/artists/i{n}",
            "preview_url": f"https://p.x.dev/{n * 7919}",
            "external_urls": {"open": f"https://open.x.dev/artist/i{n}"},
            "album": {"name": "a", "id": f"a{n}", "external_urls": {"open": f"https://open.x.dev/album/a{n}"}},
        }
        for n in range(4)
    ]
    reduced, _ = reduce(value, ("links",))
    assert reduced == [
        {
            "id": f"i{n}",
            "name": f"n{n}",
            "preview_url": f"https://p.x.dev/{n * 7919}",
            "external_urls": {"open": f"https://open.x.dev/artist/i{n}"},
            "album": {"name": "a", "id": f"a{n}"},
        }
        for n in range(4)
    ]


def test_of_many_links_the_page_of_a_record_stays_and_the_others_are_named() -> None:
    value: Any = [
        {
            "id": n,
            "title": f"t{n}",
            "_links": {
                "self": {"href": f"https://x.dev/api/pages/{n}"},
                "html": {"href": f"https://x.dev/pages/{n}"},
                "edit": {"href": f"https://x.dev/pages/{n}/edit"},
            },
        }
        for n in range(4)
    ]
    reduced, omissions = reduce(value, ("links",))
    assert reduced == [
        {"id": n, "title": f"t{n}", "_links": {"html": {"href": f"https://x.dev/pages/{n}"}}} for n in range(4)
    ]
    assert omissions == [Omission("[]._links.self", 4, "links"), Omission("[]._links.edit", 4, "links")]


def test_a_link_made_of_the_same_member_in_a_few_ways_goes() -> None:
    value: Any = [
        {
            "type": kind,
            "path": f"p{n}",
            "sha": f"{n:040x}",
            "url": f"https://api.x.dev/repos/a/b/git/{kind}s/{n:040x}",
        }
        for n, kind in enumerate(["blob", "tree"] * 10)
    ]
    reduced, _ = reduce(value, ("links",))
    assert reduced == [{name: row[name] for name in ("type", "path", "sha")} for row in value]


def test_the_way_to_the_next_page_of_a_list_is_no_page_of_what_it_holds() -> None:
    items: Any = [{"id": n, "name": f"n{n}", "web_url": f"https://x.dev/n/{n}"} for n in range(4)]
    value: Any = {"total": 40, "next": f"https://x.dev/list?{'q' * 300}&page=2", "items": items, "page": 1}
    assert without_links(value) == value


def test_a_link_to_logs_stays_because_somebody_goes_on_there() -> None:
    value: Any = [
        {
            "id": n,
            "name": f"run {n}",
            "url": f"https://api.x.dev/runs/{n}",
            "jobs_url": f"https://api.x.dev/runs/{n}/jobs",
            "logs_url": f"https://api.x.dev/runs/{n}/logs",
            "html_url": f"https://x.dev/runs/{n}",
        }
        for n in range(9)
    ]
    reduced: Any = reduce(value, ("links",))[0]
    assert set(reduced[0]) == {"id", "name", "logs_url", "html_url"}


def test_the_links_that_somebody_gave_a_package_stay() -> None:
    pages = {
        "Documentation": f"https://docs.kites.dev/{'long/' * 30}",
        "Source": "https://code.dev/kites/kites",
        "Tracker": "https://code.dev/kites/kites/issues",
    }
    info: Any = {"name": "kites", "version": "2.1", "summary": "Fly them", "project_urls": pages}
    assert without_links({"info": info, "last_serial": 7}) == {"info": info, "last_serial": 7}


def test_a_link_that_an_api_made_of_an_identifier_goes() -> None:
    album: Any = {"id": "6Ab1VS", "name": "Kites", "kind": "album", "html_url": "https://tunes.dev/kites"}
    linked: Any = {**album, "urls": {"player": "https://open.tunes.dev/album/6Ab1VS"}}
    assert without_links({"album": linked, "total": 1}) == {"album": album, "total": 1}


def test_links_to_files_stay_whatever_they_are_called() -> None:
    start = "https://data.dev/scene/L8_15_33"
    bands: Any = {
        f"B{n}": {"title": f"Band {n}", "type": "image/tiff", "href": f"{start}_B{n}.TIF"} for n in range(1, 9)
    }
    assert without_links({"id": "L8", "assets": bands})["assets"] == bands
    tickets: Any = [{"id": n, "subject": f"Door {n}", "self": f"https://x.dev/tickets/{n}.json"} for n in range(40)]
    assert without_links(tickets) == [{"id": each["id"], "subject": each["subject"]} for each in tickets]
