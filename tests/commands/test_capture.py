from __future__ import annotations

from io import BytesIO

from shaping.commands.capture import Capture


def test_what_is_small_is_held_whole() -> None:
    capture = Capture()
    for chunk in (b"one\n", b"two\n"):
        capture.take(chunk)
    assert (capture.whole, capture.size, capture.held, capture.text()) == (True, 8, b"one\ntwo\n", "one\ntwo\n")


def test_what_is_large_keeps_both_ends_and_passes_everything_on() -> None:
    kept = BytesIO()
    capture = Capture(lambda: kept, whole=1000, edge=50)  # type: ignore[arg-type, return-value]  # it writes
    data = b"".join(b"line %d\n" % n for n in range(1000))
    for at in range(0, len(data), 77):
        capture.take(data[at : at + 77])
    assert (capture.whole, capture.size, kept.getvalue()) == (False, len(data), data)
    text = capture.text()
    assert text.startswith("line 0\nline 1\n")
    assert text.endswith("line 998\nline 999\n")
    missing = len(data) - len(capture.held) - len(capture.end)
    assert f"\n… {missing:,} bytes …\n" in text


def test_a_line_without_end_is_cut_anywhere() -> None:
    capture = Capture(whole=100, edge=10)
    capture.take(b"x" * 500)
    assert (len(capture.held), capture.whole) == (10, False)


def test_bytes_that_are_no_text_are_marked() -> None:
    capture = Capture()
    capture.take(b"\xef\xbb\xbfok \xff\n")
    assert capture.text() == "ok �\n"


def test_the_same_output_has_the_same_digest_however_it_came() -> None:
    one, other = Capture(), Capture()
    one.take(b"ab")
    other.take(b"a")
    other.take(b"b")
    assert one.digest == other.digest
