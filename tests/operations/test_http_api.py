"""A registry behind a plain HTTP client."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from shaping.errors import ToolError
from shaping.operations.access import Access, Identity
from shaping.operations.http_api import MAX_BODY, http_app
from shaping.operations.registry import Registry
from shaping.operations.spec import make_spec
from shaping.shaper import Shaper

JSON = {"Content-Type": "application/json"}


def registry(config: dict[str, Any] | None = None) -> Registry:
    def busy(_: Any) -> Any:
        raise ToolError("RATE_LIMITED", "slow down", retry_after=1.5)

    async def ticks(given: Any) -> Any:
        for number in range(given["count"]):
            yield {"n": number}
        raise ToolError("NOT_FOUND", "gone")

    made = Registry(shaper=Shaper(config=config or {}))
    base: dict[str, Any] = {"namespace": "shop", "operation_type": "query"}
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    made.register(
        make_spec("get", **base, input=schema, description="Gets."), lambda given: {"id": given["id"], "note": None}
    )
    made.register(make_spec("busy", **base), busy)
    made.register(make_spec("mine", **base, access=Access(scopes=("read",))), lambda _, context: context.identity.id)
    made.register(make_spec("ticks", **base, type="subscription"), ticks)
    return made


@pytest.fixture
def client() -> Any:
    def identify(request: Any) -> Identity | None:
        name = request.headers.get("x-user")
        return Identity(name, frozenset({"read"})) if name else None

    with TestClient(http_app(registry(), identify=identify), headers=JSON) as made:
        yield made


def test_the_operations_are_listed(client: Any) -> None:
    listed = client.get("/operations").json()["operations"]
    assert [(entry["id"], entry["type"]) for entry in listed] == [
        ("shop.get", "query"),
        ("shop.busy", "query"),
        ("shop.mine", "query"),
        ("shop.ticks", "subscription"),
    ]
    assert listed[0]["input"]["required"] == ["id"]


def test_an_answer_is_the_dialects_json_with_status_200(client: Any) -> None:
    response = client.post("/operations/shop.get", json={"id": 3}, headers={"X-Request-ID": "r1"})
    assert (response.status_code, response.json()) == (200, {"request_id": "r1", "data": {"id": 3}})
    assert response.headers["x-request-id"] == "r1"


@pytest.mark.parametrize(
    ("path", "given", "status", "code"),
    [
        ("shop.get", {"id": "x"}, 400, "invalid_argument"),
        ("shop.nothing", {}, 404, "operation_not_found"),
        ("shop.busy", {}, 429, "rate_limited"),
        ("shop.mine", {}, 401, "auth_required"),
    ],
)
def test_an_error_has_its_own_status(client: Any, path: str, given: Any, status: int, code: str) -> None:
    response = client.post(f"/operations/{path}", json=given)
    assert (response.status_code, response.json()["error"]["error_code"]) == (status, code)


def test_a_wait_is_told_in_the_header_too(client: Any) -> None:
    assert client.post("/operations/shop.busy").headers["retry-after"] == "2"


def test_who_calls_is_told_by_the_server(client: Any) -> None:
    assert client.post("/operations/shop.mine", headers={"X-User": "ann"}).json() == {"data": "ann"}


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (b"{", "application/json", "the body is not JSON"),
        (b" " * (MAX_BODY + 1), "application/json", f"the body has more than {MAX_BODY} bytes"),
    ],
)
def test_a_body_that_cannot_be_taken_is_refused(client: Any, body: bytes, kind: str, message: str) -> None:
    response = client.post("/operations/shop.get", content=body, headers={"Content-Type": kind})
    assert (response.status_code, response.json()["error"]["error"]) == (400, message)


def test_a_refusal_keeps_the_request_id_and_names_what_is_near(client: Any) -> None:
    response = client.post("/operations/shop.gte", json={}, headers={"X-Request-ID": "r1"})
    said = response.json()
    assert (response.headers["x-request-id"], said["request_id"], said["error"]["similar"][0]) == (
        "r1",
        "r1",
        "shop.get",
    )


def test_a_subscription_is_a_stream_of_events(client: Any) -> None:
    response = client.post("/operations/shop.ticks", json={"count": 2})
    assert response.headers["content-type"].startswith("text/event-stream")
    events = [dict(line.split(": ", 1) for line in event.splitlines()) for event in response.text.strip().split("\n\n")]
    assert [(e["id"], e["event"]) for e in events] == [("0", "message"), ("1", "message"), ("2", "error")]
    assert json.loads(events[1]["data"])["data"] == {"n": 1}


def test_no_event_holds_a_line_of_a_private_key_that_an_earlier_one_began() -> None:
    line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7"
    lines = [
        "-----BEGIN PRIVATE KEY-----",
        *(f"{line}{number:012d}" for number in range(9)),
        "-----END PRIVATE KEY-----",
    ]

    async def logged(_: Any) -> Any:
        for number, text in enumerate([*lines, "done"]):
            yield {"n": number, "line": text}

    made = registry()
    made.register(make_spec("log", namespace="shop", operation_type="query", type="subscription"), logged)
    with TestClient(http_app(made), headers=JSON) as client:
        said = client.post("/operations/shop.log", json={}).text
    assert line not in said
    assert "done" in said

    async def subscribed() -> list[Any]:
        return [envelope.data async for envelope in made.subscribe("shop.log", {}, shape=True)]

    assert line not in str(asyncio.run(subscribed()))


def test_the_config_names_the_dialect() -> None:
    with TestClient(http_app(registry({"global": {"dialect": "invariant"}})), headers=JSON) as client:
        response = client.post("/operations/shop.get", json={"id": 3})
    assert set(response.json()) == {"ok", "data", "error", "warnings", "meta"}


def test_only_what_was_chosen_is_served() -> None:
    made = registry()
    with TestClient(http_app(made, [spec for spec in made.list() if spec.name == "busy"]), headers=JSON) as client:
        assert client.post("/operations/shop.get", json={"id": 3}).status_code == 404


def test_an_answer_that_the_client_holds_already_is_not_sent_again(client: Any) -> None:
    first = client.post("/operations/shop.get", json={"id": 3})
    tag = first.headers["etag"]
    again = client.post("/operations/shop.get", json={"id": 3}, headers={"If-None-Match": tag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    several = client.post("/operations/shop.get", json={"id": 3}, headers={"If-None-Match": f'"old", W/{tag}'})
    assert several.status_code == 304
    other = client.post("/operations/shop.get", json={"id": 4}, headers={"If-None-Match": tag})
    assert other.status_code == 200
    assert other.headers["etag"] != tag
    assert "etag" not in client.post("/operations/shop.busy", json={}).headers


async def known_by_token(request: Any) -> Identity | None:
    token = request.headers.get("authorization", "")
    if token == "crash":
        raise RuntimeError("with ghp_" + "a1B2" * 9)
    if token != "good":
        raise ToolError("AUTH_REQUIRED", "this token has expired")
    return Identity("ann", frozenset({"read"}))


@pytest.mark.parametrize(
    ("token", "status", "body"),
    [
        ("good", 200, {"data": "ann"}),
        ("old", 401, {"error": {"error": "this token has expired", "error_code": "auth_required"}}),
        ("crash", 500, {"error": {"error": "with [redacted:github-token]", "error_code": "internal_error"}}),
    ],
)
def test_who_calls_may_be_asked_elsewhere_and_a_refusal_is_an_envelope(
    token: str, status: int, body: dict[str, Any]
) -> None:
    with TestClient(http_app(registry(), identify=known_by_token), headers=JSON) as client:
        answer = client.post("/operations/shop.mine", headers={"authorization": token})
    assert (answer.status_code, answer.json()) == (status, body)


@pytest.fixture
def guarded() -> Any:
    made = registry()
    made.register(make_spec("pay", namespace="shop", operation_type="command", type="mutation"), lambda _: "paid")
    app = http_app(made, hosts=["127.0.0.1:8000"], token="t0ken")
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        yield client


KNOWN = {**JSON, "Authorization": "Bearer t0ken"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (KNOWN, 200),
        (JSON, 401),
        ({**JSON, "Authorization": "Bearer other"}, 401),
        ({**KNOWN, "Host": "evil.example"}, 421),
        ({**KNOWN, "Host": "127.0.0.1:9000"}, 421),
        ({**KNOWN, "Origin": "http://evil.example"}, 403),
        ({**KNOWN, "Origin": "null"}, 403),
        ({**KNOWN, "Origin": "http://127.0.0.1:8000"}, 200),
        ({**KNOWN, "Content-Type": "text/plain"}, 415),
        ({"Authorization": "Bearer t0ken"}, 415),
    ],
)
@pytest.mark.parametrize("body", [b"", b"{}"])
def test_what_can_change_something_is_closed_to_pages_and_to_strangers(
    guarded: Any, headers: Any, status: int, body: bytes
) -> None:
    answer = guarded.post("/operations/shop.pay", content=body, headers=headers)
    assert (answer.status_code, answer.headers.get("www-authenticate")) == (status, "Bearer" if status == 401 else None)


def test_a_token_may_stand_in_the_printed_address_and_reading_needs_none(guarded: Any) -> None:
    assert guarded.post("/operations/shop.pay?token=t0ken", headers=JSON).status_code == 200
    assert guarded.get("/operations").status_code == 200
    assert guarded.get("/operations", headers={"Host": "evil.example"}).status_code == 421
    assert guarded.get("/operations", headers={"Origin": "http://evil.example"}).status_code == 403
    assert guarded.post("/operations/shop.get", json={"id": 3}).status_code != 401
    assert guarded.post("/operations/shop.nothing", json={}).status_code == 401


def issues(_: Any) -> list[dict[str, Any]]:
    return [{"id": n, "state": "open" if n % 3 else "closed", "title": f"Issue {n}"} for n in range(3000)]


@pytest.fixture
def asked() -> Any:
    def identify(request: Any) -> Identity | None:
        name = request.headers.get("x-user")
        return Identity(name) if name else None

    made = Registry(shaper=Shaper({"global": {"max_tokens": 300}}, expandable=True))
    base: dict[str, Any] = {"namespace": "shop", "operation_type": "query"}
    made.register(make_spec("list", **base), issues)
    made.register(make_spec("pay", namespace="shop", operation_type="command", type="mutation"), issues)
    app = http_app(made, hosts=["127.0.0.1:8000"], token="t0ken", identify=identify)
    with TestClient(app, base_url="http://127.0.0.1:8000", headers=JSON) as client:
        yield client


def test_what_an_answer_left_out_can_be_asked_for(asked: Any) -> None:
    cut = asked.post("/operations/shop.list", json={}).json()
    ref = cut["ref"]

    def expand(**given: Any) -> Any:
        answer = asked.post("/expand", json={"ref": ref, **given})
        assert answer.status_code == 200, answer.text
        return answer.json()

    sql = "SELECT state, count(*) AS n FROM items GROUP BY state"
    assert expand(sql=sql)["data"] == [{"state": "closed", "n": 1000}, {"state": "open", "n": 2000}]
    assert expand(sql="schema")["data"][0]["columns"] == "id int, state text, title text"
    assert expand(path="[2999].title")["data"] == "Issue 2999"
    page = expand(cursor=cut["cursor"], path=None)
    assert page["data"][0]["id"] == len(cut["data"])
    hits = expand(search="Issue 2999")["data"]
    assert hits["found"] == 1
    assert "[2999].title" in json.dumps(hits)


@pytest.mark.parametrize(
    ("given", "status", "message"),
    [
        ({}, 400, "ref: Field required"),
        ([], 400, "a valid dictionary"),
        ({"ref": "REF", "sq": "x"}, 400, "sq: Extra inputs are not permitted"),
        ({"ref": "REF", "sql": 1}, 400, "sql: Input should be a valid string"),
        ({"ref": "REF", "sql": "DROP TABLE items"}, 400, "SELECT"),
        ({"ref": "REF", "sql": "SELECT stat FROM items"}, 400, "state"),
        ({"ref": "r_other"}, 404, "nothing is kept behind this ref here"),
    ],
)
def test_a_wrong_question_is_answered_with_its_reason(asked: Any, given: Any, status: int, message: str) -> None:
    ref = asked.post("/operations/shop.list", json={}).json()["ref"]
    if "ref" in given:
        given = {**given, "ref": given["ref"].replace("REF", ref)}
    answer = asked.post("/expand", json=given, headers={"X-Request-ID": "r1"})
    assert (answer.status_code, answer.headers["x-request-id"]) == (status, "r1"), answer.text
    assert message in answer.text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Content-Type": "text/plain"}, 415),
    ],
)
def test_expanding_is_closed_to_pages_of_other_origins(asked: Any, headers: Any, status: int) -> None:
    ref = asked.post("/operations/shop.list", json={}).json()["ref"]
    assert asked.post("/expand", content=json.dumps({"ref": ref}), headers=headers).status_code == status


ANN, BOB, TOKEN = {"X-User": "ann"}, {"X-User": "bob"}, {"Authorization": "Bearer t0ken"}


@pytest.mark.parametrize(
    ("operation", "owner", "others"),
    [("list", ANN, [BOB, {}, TOKEN]), ("list", {}, [ANN, TOKEN]), ("pay", TOKEN, [{}, {"Authorization": "Bearer x"}])],
)
def test_only_who_was_answered_may_ask_for_the_rest(asked: Any, operation: str, owner: Any, others: Any) -> None:
    ref = asked.post(f"/operations/shop.{operation}", json={}, headers=owner).json()["ref"]
    for question in ({}, {"sql": "SELECT count(*) FROM items"}, {"search": "Issue 7"}):
        body = {"ref": ref, **question}
        assert asked.post("/expand", json=body, headers=owner).status_code == 200
        assert {asked.post("/expand", json=body, headers=other).status_code for other in others} == {404}
