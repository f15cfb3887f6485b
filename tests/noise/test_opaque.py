"""Opaque values: checksums and their like go from records; identifiers and answers stay."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import Any

from shaping.noise import reduce


def without_opaque(value: Any, *arguments: str) -> Any:
    return reduce(value, ("opaque",), arguments=frozenset(arguments))[0]


def test_checksums_etags_node_ids_and_cursors_go_from_records() -> None:
    value: Any = [
        {
            "id": n,
            "node_id": f"MDQ6VXNlcjYzNzk5MA{n}==",
            "etag": f'W/"abcdef{n}"',
            "md5Checksum": f"{n}9e107d9d372bb6826bd81d3542a419d",
            "cursor": "Y3Vyc29yOnYyOpHOABCDEF==",
            "name": f"file {n}",
        }
        for n in range(3)
    ]
    assert without_opaque(value) == [{"id": n, "name": f"file {n}"} for n in range(3)]


def test_an_identifier_of_something_else_stays() -> None:
    tasks: Any = [{"ID": f"task{n}", "NodeID": f"ldawcom10uqi6owysgi28n4v{n % 3}"} for n in range(6)]
    assert without_opaque(tasks) is tasks
    users = [{"login": f"u{n}", "id": n, "node_id": f"MDQ6VXNlcjYzNzk5MA{n}=="} for n in (1, 2, 1, 1)]
    issues: Any = [{"number": n, "title": f"Door {n}", "user": user} for n, user in enumerate(users)]
    assert [issue["user"] for issue in without_opaque(issues)] == [{"login": u["login"], "id": u["id"]} for u in users]


def test_one_of_a_kind_is_an_answer() -> None:
    value: Any = {
        "name": "express",
        "dist": {"shasum": "ab72dace89c50c8417bd3f865dad0b4fd1ca1c73"},
        "next_cursor": "abcdefgh",
    }
    assert without_opaque(value) is value


def test_what_another_tool_takes_as_an_argument_stays() -> None:
    value: Any = [{"id": n, "cursor": f"Y3Vyc29yOnYyOpHOABCDEF{n}"} for n in range(3)]
    assert without_opaque(value, "cursor") is value


def test_the_only_identifier_of_a_record_stays() -> None:
    value: Any = [{"digest": f"sha256:{n}bcdefabcdef", "size": 10, "ok": True} for n in range(3)]
    assert without_opaque(value) is value


def test_a_commit_is_no_checksum() -> None:
    value: Any = [{"sha": f"{n}b72dace89c50c8417bd3f865dad0b4fd1ca1c73", "message": "fix"} for n in range(3)]
    assert without_opaque(value) is value


def test_words_in_an_opaque_member_stay() -> None:
    value: Any = [{"id": n, "signature": "Yours sincerely, Ada"} for n in range(3)]
    assert without_opaque(value) is value


def test_base64_goes_from_a_list_and_a_file_that_was_asked_for_is_read() -> None:
    blob = b64encode(bytes(range(256)) * 2).decode()
    mails: Any = [{"id": n, "parts": [{"type": "a", "body": {"size": 3, "data": blob}}]} for n in range(2)]
    assert without_opaque(mails) == [{"id": n, "parts": [{"type": "a", "body": {"size": 3}}]} for n in range(2)]
    text = b64encode(b"import os\n" * 40).decode()
    lines = "\n".join(text[at : at + 60] for at in range(0, len(text), 60))
    asked: Any = {"path": "a.py", "encoding": "base64", "content": lines}
    assert without_opaque(asked) == {"path": "a.py", "encoding": "base64", "content": "import os\n" * 40}
    picture: Any = {"path": "a.png", "encoding": "base64", "content": blob}
    assert without_opaque(picture) == {"path": "a.png", "encoding": "base64"}


def test_long_hex_goes_unless_it_names_the_record() -> None:
    digests = [sha256(str(n).encode()).hexdigest() for n in range(3)]
    value: Any = [{"id": digest, "content": digest, "name": f"n{n}"} for n, digest in enumerate(digests)]
    assert without_opaque(value) == [{"id": digest, "name": f"n{n}"} for n, digest in enumerate(digests)]


def test_a_wrapper_is_known_by_what_is_in_it() -> None:
    value: Any = {"edges": [{"cursor": f"Y3Vyc29yOnYyOpHO{n}", "node": {"id": n}} for n in range(3)]}
    assert without_opaque(value) == {"edges": [{"node": {"id": n}} for n in range(3)]}
