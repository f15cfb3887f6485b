from __future__ import annotations

from typing import Any

import pytest

from shaping import Shaper
from shaping.errors import make_error
from shaping.redaction import redact

KEY = "9f8b1c2d3e4f5a6b7c8d"
NAMES = """
    api_key apiKey apikey API_KEY x-api-key access_token token auth_token private_token client_secret refresh_token
    secret sig auth subscription-key
""".split()  # noqa: SIM905  a list of words is read as words


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("before", ["?", "?page=2&", "?page=2&amp;", "#", "?page=2\\u0026"])
def test_a_credential_in_a_query_is_hidden_and_the_rest_of_the_address_stays(name: str, before: str) -> None:
    text = f"GET https://api.example.com/v1/things{before}{name}={KEY}&limit=5 failed with 401"
    hidden, hits = redact(text)
    assert hidden == text.replace(KEY, "[redacted:url-token]")
    assert [hit.rule for hit in hits] == ["url-token"]


@pytest.mark.parametrize("secret", ["hunter2", "correct-horse", "Tr0ub4dor&3"[:9], "correcthorsebattery", "s3cret%21"])
def test_a_password_in_a_query_is_hidden(secret: str) -> None:
    hidden, _ = redact(f"POST /login?user=bob&password={secret}&next=/home")
    assert hidden == "POST /login?user=bob&password=[redacted:url-password]&next=/home"


def test_an_address_inside_an_address_is_looked_into() -> None:
    hidden, _ = redact(f"https://a.example/go?to=https%3A%2F%2Fb.example%2Fx%3Fapi_key%3D{KEY}")
    assert KEY not in hidden


@pytest.mark.parametrize(
    "query",
    [
        "?token=1",
        "?token=12345678901234",
        "?token=authenticated",
        "?token=37VX8H2EWV",
        "?token=<your-token>",
        "?token={token_1234567}",
        "?token=$TOKEN_12345678",
        "?api_key=DEMO_KEY",
        "?api_key=YOUR_API_KEY",
        "?api_key=xxxxxxxx1234",
        f"?page_token={KEY}",
        f"?pageToken={KEY}",
        f"?next_token={KEY}",
        f"?nextPageToken={KEY}",
        f"?continuation-token={KEY}",
        f"?sync_token={KEY}",
        f"?$skiptoken={KEY}",
        f"?cursor={KEY}",
        f"?after={KEY}",
        "?key=sort_by_name",
        f"?csrf_token={KEY}",
        f"?authuser=0&design={KEY}",
        f"?monkey={KEY}",
        "?pwd=/home/ada/project2",
        "?password=required",
        "?password=YOUR_PASSWORD",
        "?password=new_password",
        "?password={password}",
        "?password=***",
        "[?username=name&password=password]",
        "?reset_password=2024-01-01",
        "?auth=basic",
        "?sig=none",
    ],
)
def test_a_place_a_placeholder_and_a_plain_word_stay(query: str) -> None:
    text = f"see https://api.example.com/v1/things{query}&limit=5 for the rest"
    assert redact(text) == (text, [])


def test_prose_about_credentials_stays() -> None:
    text = (
        "Pass `token=` in the query; a csrf token (csrf=...) is sent as a header. Is token=abc right? No: use api_key."
    )
    assert redact(text) == (text, [])


@pytest.mark.parametrize(
    "field",
    ["next", "next_page", "nextLink", "next_page_url", "lastPageUrl", "prev", "page", "@odata.deltaLink", "cursor"],
)
def test_a_token_in_a_link_that_pages_stays_and_a_key_in_it_does_not(field: str) -> None:
    value: Any = {field: f"https://api.example.com/items?token={KEY}"}
    assert redact(value) == (value, [])
    hidden, hits = redact({field: f"https://api.example.com/items?token={KEY}&api_key={KEY}"})
    assert hidden == {field: f"https://api.example.com/items?token={KEY}&api_key=[redacted:url-token]"}
    assert len(hits) == 1


@pytest.mark.parametrize(
    "field",
    ["preview_url", "previewLink", "homepage", "home_page_url", "web_page", "landingPage", "page_url", "pagesUrl"],
)
def test_a_token_that_opens_a_place_is_hidden_though_its_field_sounds_like_paging(field: str) -> None:
    hidden, _ = redact({field: f"https://api.example.com/items?token={KEY}"})
    assert hidden == {field: "https://api.example.com/items?token=[redacted:url-token]"}


def test_a_token_of_a_delta_query_is_a_place_wherever_it_stands() -> None:
    text = f"https://graph.example.com/v1.0/me/drive/root/delta?token={KEY}"
    assert redact(text) == (text, [])


def test_no_such_credential_reaches_a_model_or_an_error() -> None:
    address = f"https://api.example.com/v1?api_key={KEY}"
    shaped = Shaper({}).shape({"called": address, "log": [f"GET {address} 500"]}, tool="t")
    assert KEY not in shaped.text
    assert KEY not in make_error("UNAVAILABLE", f"cannot reach {address}").message
