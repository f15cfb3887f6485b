"""Texts that are not data."""

from __future__ import annotations

import textwrap
from base64 import b64encode

import pytest

from shaping import Shaper
from shaping.noise import reduce, reduce_text

ALL = ("links", "opaque", "bulk", "boilerplate")


def test_a_text_without_noise_is_the_same_text() -> None:
    text = "Commit: abc\nAuthor: Ada\n\nMessage: fix\n"
    assert reduce_text(text, ALL) == (text, [])
    assert reduce_text("no rules  \n", ()) == ("no rules  \n", [])


def test_a_diff_is_never_touched() -> None:
    diff = "diff --git a/x b/x\n@@ -1,3 +1,3 @@\n \n-a  \n+b\n \n\n\n\n"
    assert reduce_text(diff, ALL) == (diff, [])


def test_encoded_bytes_become_a_note_and_sequences_stay() -> None:
    blob = b64encode(bytes(n * 7919 % 256 for n in range(900))).decode()
    text, omissions = reduce_text(f"screenshot: {blob} done", ALL)
    assert text == f"screenshot: [base64, {len(blob)} characters] done"

    assert [(omission.path, omission.count, omission.reason) for omission in omissions] == [("", 1, "opaque")]
    sequence = "ACGT" * 200
    assert reduce_text(f"dna {sequence} end", ALL) == (f"dna {sequence} end", [])


BASE64 = "\n".join(textwrap.wrap(b64encode(bytes(range(256)) * 4).decode(), 64))
HEX = "\n    ".join([*(":".join(f"{n * line % 256:02x}" for n in range(15)) + ":" for line in range(9)), "ab:cd"])


@pytest.mark.parametrize(("blob", "said"), [(BASE64, "[base64, 1368 characters]"), (HEX, "[hex, 137 bytes]")])
def test_bytes_in_lines_are_said_by_their_size_unless_they_are_the_text(blob: str, said: str) -> None:
    prose = "A line of words. " * 40
    text = f"{prose}\n    {blob}\nEnd\n"
    assert reduce_text(text, ("opaque",))[0] == text.replace(blob, said)
    assert reduce_text(f"-----BEGIN-----\n{blob}\n-----END-----\n", ("opaque",))[1] == []
    sequence = "\n".join(["GATTACA" * 9] * 9)
    assert reduce_text(f"{prose}\n{sequence}\n", ("opaque",))[1] == []


@pytest.mark.parametrize(
    ("before", "end", "is_blob"),
    [
        ("Invite codes, one a person:", "", False),
        ("Content-Transfer-Encoding: base64\n", "", True),
        ("-----BEGIN CERTIFICATE-----", "", True),
        ("The picture:", "c2hvcnQgbGFzdCBsaW5l", True),
        ("The picture:", f"{BASE64[:62]}==", True),
    ],
)
def test_codes_one_a_line_are_no_bytes(before: str, end: str, is_blob: bool) -> None:
    prose = "A line of words. " * 60
    codes = "\n".join(
        f"{BASE64[n * 7 : n * 7 + 30]}{BASE64[n * 9 + 400 : n * 9 + 434]}".replace("\n", "x") for n in range(8)
    )
    text = f"{prose}\n{before}\n{codes}\n{end}\n{prose}"
    assert ("[base64, " in reduce_text(text, ("opaque",))[0]) is is_blob


def test_codes_of_different_lengths_are_no_bytes() -> None:
    prose = "A line of words. " * 60
    codes = "\n".join(BASE64.replace("\n", "x")[n * 80 : n * 80 + 70 - n] for n in range(8))
    assert reduce_text(f"{prose}\n{codes}\n{prose}", ("opaque",))[1] == []


@pytest.mark.parametrize("codes", ["\x1b[31m", "\x1b[2J\x1b[H", "\x1b[31m\n\x1b[0m"])
def test_a_text_of_terminal_codes_alone_stays(codes: str) -> None:
    assert reduce_text(codes, ALL) == (codes, [])
    assert Shaper().shape(codes, profile="minimal").text == codes


def test_a_page_of_blank_lines_shrinks_and_two_stay() -> None:
    spaced = "def a() -> int: ...\n\n\ndef b() -> int: ...  \n"
    assert reduce_text(spaced, ALL) == (spaced, [])
    text, omissions = reduce_text("a\n\n\n\n\n\n\nb", ALL)
    assert text == "a\n\nb"
    assert [omission.reason for omission in omissions] == ["boilerplate"]


def test_a_string_is_reduced_as_a_text() -> None:
    assert reduce("a\n\n\n\n\n\n\nb", ALL)[0] == "a\n\nb"


def test_steps_of_a_build_that_went_well_are_counted_and_what_failed_stays() -> None:
    steps = [f"   Compiling crate-{at} v1.0.{at}" for at in range(20)]
    errors = ["error[E0382]: borrow of moved value: `entries`", "  --> src/journal.rs:118:20"]
    reduced, omissions = reduce_text("\n".join([*steps, *errors, "   Compiling last v0.1.0"]), ["bulk"])
    assert reduced.split("\n") == [
        steps[0],
        "[18 lines of progress]",
        steps[-1],
        *errors,
        "   Compiling last v0.1.0",
    ]
    assert [omission.reason for omission in omissions] == ["bulk"]
