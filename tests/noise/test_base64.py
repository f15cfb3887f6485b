"""Base64: text in it is read, bytes and long tokens go or are counted in place, and what is handed back stays."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from hashlib import sha512
from typing import TYPE_CHECKING, Any

import pytest

from shaping import Shaper
from shaping.noise import reduce
from shaping.response import Omission

if TYPE_CHECKING:
    from collections.abc import Callable

PICTURE = b64encode(bytes(range(256)) * 2).decode()


def decoded(value: Any, *arguments: str) -> Any:
    return reduce(value, ("opaque",), arguments=frozenset(arguments))[0]


def token(seed: int, size: int = 190) -> str:
    """Write a token such as APIs give out, always the same for one seed."""
    drawn = b"".join(sha512(f"{seed} {part}".encode()).digest() for part in range(4))
    return urlsafe_b64encode(drawn).decode()[:size]


def mail(n: int, lines: int = 12) -> str:
    return "".join(f"Dear Anna, line {line} of mail {n} says that the build failed.\n" for line in range(lines))


def test_text_in_base64_is_read_in_every_record() -> None:
    value: Any = [{"id": n, "data": urlsafe_b64encode(mail(n).encode()).decode()} for n in range(5)]
    reduced, omissions = reduce(value, ("opaque",))
    assert reduced == [{"id": n, "data": mail(n)} for n in range(5)]
    assert omissions == [Omission("[].data", 5, "boilerplate")]


def test_text_is_read_where_bytes_stand_beside_it() -> None:
    codes = [b64encode(mail(1).encode()).decode(), PICTURE, b64encode(b"Thanks!").decode(), "", "plain"]
    value: Any = [{"id": n, "name": f"n{n}", "content": code} for n, code in enumerate(codes)]
    assert [row["content"] for row in decoded(value)] == [mail(1), "[base64, 512 bytes]", "Thanks!", "", "plain"]


@pytest.mark.parametrize("rows", [1, 3])
def test_short_text_in_base64_is_read_too(rows: int) -> None:
    value: Any = [{"id": n, "body": {"size": 9, "data": b64encode(mail(n, 2).encode()).decode()}} for n in range(rows)]
    assert decoded(value) == [{"id": n, "body": {"size": 9, "data": mail(n, 2)}} for n in range(rows)]


def test_a_short_file_broken_into_lines_is_read() -> None:
    code = b64encode(mail(1, 2).encode()).decode()
    value: Any = {"path": "a.txt", "content": f"{code[:60]}\n{code[60:]}\n"}
    assert decoded(value) == {"path": "a.txt", "content": mail(1, 2)}


def test_html_in_base64_is_unwrapped_as_other_html_is() -> None:
    code = b64encode(b"<html><body>" + b"<p>The build failed.</p>" * 6 + b"</body></html>").decode()
    value: Any = [{"id": n, "data": code} for n in range(2)]
    reduced, omissions = reduce(value, ("opaque", "boilerplate"))
    assert reduced == [{"id": n, "data": "\n".join(["The build failed."] * 6)} for n in range(2)]
    assert omissions == [Omission("[].data", 2, "boilerplate")]


def test_bytes_are_counted_in_place_where_nothing_else_tells_the_records_apart() -> None:
    value: Any = {"created": 1, "data": [{"b64_json": PICTURE}, {"b64_json": PICTURE[:-8]}]}
    reduced, omissions = reduce(value, ("opaque",))
    assert reduced == {"created": 1, "data": [{"b64_json": "[base64, 512 bytes]"}, {"b64_json": "[base64, 507 bytes]"}]}
    assert omissions == [Omission("data[].b64_json", 2, "opaque")]
    attached: Any = {"contentType": "image/jpeg", "encoding": "base64", "content": PICTURE}
    assert decoded(attached) == attached | {"content": "[base64, 512 bytes]"}


def test_bytes_that_were_counted_can_be_asked_for() -> None:
    shaper = Shaper({"global": {"profile": "minimal"}}, expandable=True)
    shaped = shaper.shape({"contentType": "image/jpeg", "content": PICTURE})
    assert shaped.ref is not None
    assert shaper.expand(shaped.ref, path="content").data == PICTURE


def test_what_is_called_an_identifier_is_never_counted_instead() -> None:
    value: Any = [{"hash": PICTURE, "open": True}, {"hash": PICTURE[:-8], "open": True}]
    assert decoded(value) is value


@pytest.mark.parametrize("letter", ["ACDEFGHIKLMNPQRSTVWY", "0123456789", "acgt", "-"])
def test_a_sequence_of_letters_is_no_code(letter: str) -> None:
    value: Any = [{"id": n, "name": f"n{n}", "sequence": letter * 400} for n in range(3)]
    assert decoded(value) is value


@pytest.mark.parametrize(
    "value",
    [
        {"id": 1, "name": "the one that was asked for", "reference": token(1)},
        [{"reference": token(n), "open": True} for n in range(3)],
        {"name": "n", "photos": [{"width": 400, "reference": token(n)} for n in range(3)]},
        [{"name": f"n{n}", "message_id": token(n)} for n in range(3)],
        [{"id": n, "name": f"n{n}", "next_page": token(n)} for n in range(3)],
        [{"id": n, "name": f"n{n}", "bookingToken": token(n, 400)} for n in range(3)],
        [{"id": n, "name": f"n{n}", "receipt_handle": PICTURE} for n in range(3)],
        [{"id": n, "name": f"n{n}", "place": token(n, 110)} for n in range(3)],
        [{"id": n, "name": f"n{n}", "failure": token(n)} for n in range(3)],
        [{"id": n, "at": f"Reports/Archive/2026/11/Regions/{'NorthernEurope/Accounts' * 5}/{n}"} for n in range(3)],
        [{"id": n, "test": f"test_that_{'the_server_answers_' * 7}Error{n}"} for n in range(3)],
    ],
)
def test_what_may_be_needed_or_read_is_no_token(value: Any) -> None:
    assert decoded(value) is value


def test_the_picture_of_a_page_is_no_token() -> None:
    value: Any = [{"number": n, "text": f"page {n}", "page_image": PICTURE[:-4] * 4} for n in range(3)]
    assert decoded(value) == [{"number": n, "text": f"page {n}"} for n in range(3)]


def test_a_token_that_another_tool_takes_stays() -> None:
    value: Any = [{"id": n, "name": f"n{n}", "photo_reference": token(n)} for n in range(3)]
    assert decoded(value, "photo_reference") is value


def test_the_way_to_the_next_page_is_not_read() -> None:
    code = b64encode(b'{"last_id": 5, "seen": "' + b"a" * 300 + b'"}').decode()
    value: Any = {"name": "list", "total": 90, "nextPageToken": code}
    assert decoded(value) is value
    state: Any = [{"id": n, "state": b64encode(b'{"last":1,"value":"' + b"x" * 100 + b'"}').decode()} for n in range(3)]
    assert decoded(state) is state


@pytest.mark.parametrize("key", ["id", "attachmentId", "documentId", "ref"])
@pytest.mark.parametrize("code", [lambda n: b64encode(mail(n).encode()).decode(), lambda n: token(n, 340)])
def test_an_identifier_in_base64_stays_as_another_call_needs_it(key: str, code: Callable[[int], str]) -> None:
    for value in ([{key: code(n), "subject": f"Mail {n}"} for n in range(5)], {key: code(1), "subject": "Mail"}):
        assert decoded(value) == value
