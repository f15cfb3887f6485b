# ruff: noqa: E501 (records stand in lines as the documentation of their APIs prints them)
"""An HTTP service on loopback that answers as the APIs of well-known services are documented to, with invented data.

The real server packages are put in front of it (benchmarks/learning_services.py). Every answer has all members that the
documentation of its API shows, so that what is measured is not our choice of fields. A run's number seeds the data.
"""

from __future__ import annotations

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from benchmarks.stand_in_work import WorkRecords

if TYPE_CHECKING:
    from collections.abc import Callable

Answer = Any


class Asked(NamedTuple):
    """A request: its path as it matched, and its query with the header Accept."""

    found: re.Match[str]
    query: dict[str, list[str]]


class StandIn(WorkRecords):
    """Makes the answers of all services for one run."""

    def __init__(self, run: int) -> None:
        super().__init__(run)
        self.issues = [self._issue(4200 * run + number) for number in range(30)]
        self.pulls = [self._pull(4800 * run + number) for number in range(20)]
        self.commits = [self._commit() for _ in range(30)]
        self.merge_requests = [self._merge_request(300 * run + number) for number in range(20)]
        self.gitlab_issues = [self._gitlab_issue(700 * run + number) for number in range(20)]
        self.channels = [self._channel(number) for number in range(20)]
        self.messages = {one["id"]: [self._message(at) for at in range(25)] for one in self.channels}
        self.pages = [self._notion_page() for _ in range(25)]
        self.blocks = {page["id"]: [self._block(page["id"]) for _ in range(20)] for page in self.pages}
        self.tickets = [self._jira_issue(1000 * run + number) for number in range(25)]
        self.sentry_issues = [self._sentry_issue(number) for number in range(20)]
        self.pods = [self._pod() for _ in range(25)]
        self.dashboards = [self._dashboard() for _ in range(15)]

    def routes(self) -> list[tuple[str, Answer | Callable[[Asked], Answer]]]:
        """Return the paths that are answered, as patterns, each with its answer or what makes it."""
        one, where = _one, {"prod", "staging"}
        pages = {
            "object": "list",
            "next_cursor": None,
            "has_more": False,
            "type": "page_or_data_source",
            "request_id": self.uuid(),
        }
        hits = [{"id": at, "uid": found["dashboard"]["uid"], "orgId": 1, "title": found["dashboard"]["title"], "uri": f"db/{at}",
                 "url": found["meta"]["url"], "slug": "", "type": "dash-db", "tags": found["dashboard"]["tags"], "isStarred": False,
                 "sortMeta": 0, "isDeleted": False} for at, found in enumerate(self.dashboards)]  # fmt: skip
        org = {
            "id": "1",
            "slug": self.owner,
            "name": self.owner,
            "links": {"regionUrl": "https://us.sentry.io", "organizationUrl": f"https://{self.owner}.sentry.io"},
        }
        project = {"id": "450", "slug": self.repo, "name": self.repo, "platform": "python", "dateCreated": self.when(), "isBookmarked": False,
                   "isMember": True, "features": ["alert-filters", "minidump"], "firstEvent": self.when(), "access": [], "hasAccess": True,
                   "status": "active", "isPublic": False, "isInternal": False, "color": "#3fbf7f", "avatar": {"avatarType": "letter_avatar"},
                   "teams": [], "organization": org}  # fmt: skip
        resource = {
            "name": "pods",
            "singularName": "pod",
            "namespaced": True,
            "kind": "Pod",
            "verbs": ["get", "list"],
            "shortNames": ["po"],
        }
        spaces: dict[str, Any] = {"kind": "NamespaceList", "apiVersion": "v1", "metadata": {}, "items": [
            {"metadata": {"name": name, "uid": self.uuid(), "creationTimestamp": self.when()}, "status": {"phase": "Active"}} for name in sorted(where)]}  # fmt: skip
        spaces_table = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {}, "columnDefinitions": [
            {"name": name, "type": "string", "format": "", "description": "", "priority": 0} for name in ("Name", "Status", "Age")],
            "rows": [{"cells": [space["metadata"]["name"], "Active", "9d"], "object": {"kind": "Namespace", "apiVersion": "v1", **space}} for space in spaces["items"]]}  # fmt: skip

        def pods(namespace: str, query: dict[str, list[str]]) -> Answer:
            found = [pod for pod in self.pods if not namespace or pod["metadata"]["namespace"] == namespace]
            plain = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": found}
            return self._table(found) if "table" in query["accept"][0].lower() else plain

        listed: list[tuple[str, Any]] = [
            (r"/repos/[^/]+/[^/]+/issues", self.issues),
            (r"/repos/[^/]+/[^/]+/issues/(\d+)", lambda ask: one(self.issues, "number", int(ask.found[1]))),
            (r"/repos/[^/]+/[^/]+/pulls", self.pulls),
            (r"/repos/[^/]+/[^/]+/pulls/(\d+)/files", self._files()),
            (r"/repos/[^/]+/[^/]+/pulls/(\d+)", lambda ask: one(self.pulls, "number", int(ask.found[1]))),
            (r"/repos/[^/]+/[^/]+/commits", self.commits),
            (r"/search/issues", {"total_count": 30, "incomplete_results": False, "items": self.issues}),
            (r"/api/v4/projects/[^/]+/merge_requests", self.merge_requests),
            (r"/api/v4/projects/[^/]+/merge_requests/(\d+)", lambda ask: one(self.merge_requests, "iid", int(ask.found[1]))),
            (r"/api/v4/projects/[^/]+/issues", self.gitlab_issues),
            (r"/api/v4/projects/[^/]+/issues/(\d+)", lambda ask: one(self.gitlab_issues, "iid", int(ask.found[1]))),
            (r"/api/conversations.list", {"ok": True, "channels": self.channels, "response_metadata": {"next_cursor": ""}}),
            (r"/api/conversations.info", lambda ask: {"ok": True, "channel": one(self.channels, "id", ask.query["channel"][0])}),
            (r"/api/conversations.history", lambda ask: {"ok": True, "messages": self.messages[ask.query["channel"][0]], "has_more": False, "pin_count": 0}),
            (r"/api/conversations.replies", {"ok": True, "messages": [self._message(at) for at in range(5)], "has_more": False}),
            (r"/api/users.list", {"ok": True, "members": [self._member(at) for at in range(20)], "cache_ts": 1_790_000_000}),
            (r"/api/users.profile.get", {"ok": True, "profile": self._member(3)["profile"]}),
            (r"/v1/search", {**pages, "results": self.pages, "page_or_data_source": {}}),
            (r"/v1/data_sources/[^/]+/query", {**pages, "results": self.pages[:15], "page_or_data_source": {}}),
            (r"/v1/pages/([^/]+)", lambda ask: one(self.pages, "id", ask.found[1])),
            (r"/v1/blocks/([^/]+)/children", lambda ask: {**pages, "type": "block", "block": {}, "results": self.blocks[ask.found[1]]}),
            (r"/rest/api/2/(?:search|search/jql)", {"startAt": 0, "maxResults": 50, "total": 25, "issues": self.tickets}),
            (r"/rest/api/2/issue/([A-Z]+-\d+)", lambda ask: one(self.tickets, "key", ask.found[1])),
            (r"/rest/api/2/project", [self.tickets[0]["fields"]["project"]]),
            (r"/rest/api/2/(?:field|issue/[^/]+/\w+)", []),
            (r"/rest/api/2/(?:myself|serverInfo|user)", self._jira_user(self.people[0])),
            (r"/api/0/organizations/", [org]),
            (r"/api/0/organizations/[^/]+/", org),
            (r"/api/0/organizations/[^/]+/projects/", [project]),
            (r"/api/0/organizations/[^/]+/issues/", self.sentry_issues),
            (r"/api/0/organizations/[^/]+/issues/([^/]+)/", lambda ask: self._sentry(ask.found[1])),
            (r"/api/0/organizations/[^/]+/issues/([^/]+)/events/[^/]+/", lambda ask: self._sentry_event(self._sentry(ask.found[1]))),
            (r"/api/0/organizations/[^/]+/issues/([^/]+)/[\w-]+/", []),
            (r"/api/0/auth/", {"id": "1", "name": "Ada", "email": "ada@example.com"}),
            (r"/api", {"kind": "APIVersions", "versions": ["v1"]}),
            (r"/apis", {"kind": "APIGroupList", "apiVersion": "v1", "groups": []}),
            (r"/version", {"major": "1", "minor": "31", "gitVersion": "v1.31.0"}),
            (r"/api/v1", {"kind": "APIResourceList", "groupVersion": "v1", "resources": [resource,
                {**resource, "name": "namespaces", "singularName": "namespace", "namespaced": False, "kind": "Namespace", "shortNames": ["ns"]}]}),
            (r"/api/v1/namespaces", lambda ask: spaces_table if "table" in ask.query["accept"][0].lower() else spaces),
            (r"/api/v1/pods", lambda ask: pods("", ask.query)),
            (r"/api/v1/namespaces/([^/]+)/pods", lambda ask: pods(ask.found[1], ask.query)),
            (r"/api/v1/namespaces/[^/]+/pods/([^/]+)", lambda ask: next(pod for pod in self.pods if pod["metadata"]["name"] == ask.found[1])),
            (r"/api/v1/namespaces/[^/]+/pods/([^/]+)/log", "\n".join(f"{self.when()} INFO {self.prose(1)}" for _ in range(60))),
            (r"/api/search", hits),
            (r"/api/dashboards/uid/([^/]+)", lambda ask: next(found for found in self.dashboards if found["dashboard"]["uid"] == ask.found[1])),
            (r"/api/datasources", [{"id": 1, "uid": f"prom{self.run}", "orgId": 1, "name": "Prometheus", "type": "prometheus",
                "typeName": "Prometheus", "typeLogoUrl": "/public/img/prom.svg", "access": "proxy", "url": "http://prometheus:9090", "user": "",
                "database": "", "basicAuth": False, "isDefault": True, "jsonData": {"httpMethod": "POST"}, "readOnly": False}]),
            (r"/api/(?:frontend/settings|health|org)", {"id": 1, "name": "Main", "version": "11.2.0", "buildInfo": {"version": "11.2.0"}}),
        ]  # fmt: skip
        return listed

    def _sentry(self, key: str) -> dict[str, Any]:
        return next(issue for issue in self.sentry_issues if key in {issue["id"], issue["shortId"]})


def _not_found(path: str) -> Answer:
    return {"message": "Not Found", "path": path}


def _one(listed: list[dict[str, Any]], key: str, value: Any) -> dict[str, Any]:
    return next(found for found in listed if found[key] == value)


def serve(data: StandIn) -> ThreadingHTTPServer:
    """Make an HTTP server on loopback that answers by the data; the caller runs and closes it."""
    routes = [(re.compile(pattern), answer) for pattern, answer in data.routes()]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = urlsplit(self.path)
            query = {**parse_qs(parts.query), "accept": [self.headers.get("Accept", "")]}
            path = parts.path if parts.path.startswith("/api/0/") else parts.path.rstrip("/")
            matched = ((pattern.fullmatch(path), answer) for pattern, answer in routes)
            status, body = 404, _not_found(path)
            for found, answer in matched:
                if found is not None:
                    try:
                        status, body = 200, answer(Asked(found, query)) if callable(answer) else answer
                    except (StopIteration, KeyError):
                        break
                    break
            written = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain" if isinstance(body, str) else "application/json")
            self.send_header("Content-Length", str(len(written)))
            self.send_header("X-Elastic-Product", "Elasticsearch")  # without which its clients refuse an answer
            self.end_headers()
            self.wfile.write(written)
            if status == 404:
                missing.append(f"{self.command} {self.path}")

        do_POST = do_GET  # noqa: N815 (the base class calls it by this name)

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    missing: list[str] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.missing = missing  # type: ignore[attr-defined]  # read by who looks for paths that are not answered
    return server
