"""Lines of a text that differ in a few words, or that come again, are written short, and come back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from shaping import Shaper, using
from shaping.encoders.lines import LEGEND, below_paths, decode, encode, mark, unmark, with_paths

CASES = Path(__file__).parents[1] / "cases" / "commands"

PACKAGES = "\n".join(
    f"lib{name}-dev/oldstable,now   {number}.4-{number} amd64 [installed,automatic]"
    for number, name in enumerate(("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"), 1)
)


def unpadded(text: str) -> str:
    """Return a text with one blank for each gap between its words."""
    lines = text.split("\n")
    return "\n".join(line[: len(line) - len(line.lstrip())] + " ".join(line.split()) for line in lines)


def test_what_lines_share_is_written_once() -> None:
    assert encode(PACKAGES).split("\n")[:3] == [
        "#1={}/oldstable,now   {} amd64 [installed,automatic]",
        "#1 (8 lines):",
        " libalpha-dev 1.4-1",
    ]


def test_every_line_comes_back_at_its_place() -> None:
    text = f"Listing...\n{PACKAGES}\n\nN: There are 2 more.\n{PACKAGES.replace('amd64', 'all')}\n"
    written = encode(text)
    assert len(written) < len(text) / 2
    assert unpadded(decode(written)) == unpadded(text)


def test_the_lines_of_windows_are_lines() -> None:
    assert encode(PACKAGES.replace("\n", "\r\n")) == encode(PACKAGES)


def test_a_word_that_stands_twice_is_written_once() -> None:
    text = "\n".join(f"Setting up part-{number} (as lib/part-{number}) for all users ..." for number in range(6))
    assert encode(text).split("\n")[:3] == [
        "#1=Setting up {} (as lib/{1}) for all users ...",
        "#1 (6 lines):",
        " part-0",
    ]


def test_paths_are_written_below_the_folder_or_file_that_they_share() -> None:
    folders = ("src/components/dialogs", "src/components/tables")
    paths = [
        f"  {folder}/{name}.tsx" for folder in folders for name in ("alpha", "beta", "gamma", "delta", "eta", "mu")
    ]
    assert encode("\n".join(["Files:", *paths])).split("\n")[1:4] == [
        "#1=  src/components/dialogs/{}",
        "#1 (6 lines):",
        " alpha.tsx",
    ]
    tests = [f"tests/models/test_{part}.py::test_{number}" for part in ("orders", "users") for number in range(6)]
    assert encode("\n".join(tests)).split("\n")[:2] == ["#1=tests/models/test_orders.py::{}", "#1 (6 lines):"]


def test_a_line_that_reports_an_error_stays_as_it_is_with_its_traceback() -> None:
    error = "2024-05-01 10:00:07 worker-7 finished job 17 with error: disk full"
    trace = [
        "Traceback (most recent call last):",
        *(f'  File "/srv/app/worker_{number}.py", line 1{number}, in work_on_all_of_it' for number in range(9)),
        "ValueError: disk full",
    ]
    lines = [f"2024-05-01 10:00:{number} worker-{number} finished job {number} in due time" for number in range(10, 40)]
    written = encode("\n".join([*lines, error, *trace, *lines])).split("\n")
    assert "#1 (30 lines):" in written
    assert [line for line in written if line in [error, *trace]] == [error, *trace]


def test_errors_are_lines_like_others_where_most_lines_report_one() -> None:
    kinds = [("Missing semicolon", "semi"), ("Unexpected var, use let or const", "no-var")]
    lines = [f"  {n}:1  error  {said}  {rule}" for n in range(10) for said, rule in kinds]
    assert encode("\n".join(lines)).split("\n")[:4] == [
        "#1=  {}  error  Missing semicolon  semi",
        "#1 0:1",
        "#2=  {}  error  Unexpected var, use let or const  no-var",
        "#2 0:1",
    ]
    others = [f"checked the file number {n}" for n in range(len(lines))]
    assert "\n".join(lines) in encode("\n".join([*others, *lines]))


def test_a_tag_in_brackets_before_a_line_is_no_document() -> None:
    threads = "\n".join(f"[main] INFO org.shop.Cart - took {n} items of cart({n * 7}): in {n * 3} ms" for n in range(9))
    assert encode(threads).split("\n")[:3] == [
        "#1=[main] INFO org.shop.Cart - took {} items of cart({}): in {} ms",
        "#1 (9 lines):",
        " 0 0 0",
    ]


def test_errors_are_written_short_only_right_below_one_of_their_kind() -> None:
    error = "Connection error: cannot resolve db.internal (try {} of 40) at 10:00:{}"
    lines = [error.format(number, number + 10) for number in range(20)]
    fine = [
        f"Connected again: resolved db.internal (try {number} of 40) at 10:01:{number + 10}" for number in range(20)
    ]
    text = "\n".join(line for pair in zip(lines, fine, strict=True) for line in pair)
    written = encode(text).split("\n")
    assert [line for line in written if "error" in line] == lines
    assert "#1 1 11" in written
    assert decode("\n".join(written)) == text
    text = "\n".join([*lines[:10], *fine, *lines[10:]])
    written = encode(text).split("\n")
    template = f"#1={error.format('{}', '{}')}"
    assert written[:4] == [lines[0], template, "#1 (9 lines):", " 1 11"]
    assert [line for line in written if "error" in line] == [lines[0], template, lines[10]]
    assert written[written.index(lines[10]) + 1] == "#1 (9 lines):"
    assert decode("\n".join(written)) == text


def test_objects_in_the_lines_of_a_log_are_written_short_by_their_members() -> None:
    lines = [
        f'{{"level":30,"host":"checkout-66cb4","req":{{"id":"r-{number}","port":{40000 + number}}},"msg":"got, it"}}'
        for number in range(8)
    ]
    text = "\n".join(line for pair in zip(lines, ["* no header"] * 8, strict=True) for line in pair)
    written = encode(text)
    assert written.split("\n")[:4] == [
        '#1={"level":30,"host":"checkout-66cb4","req":{"id":"{}","port":{}},"msg":"got, it"}',
        "#1 r-0 40000",
        "* no header",
        "#1 r-1 40001",
    ]
    assert decode(written) == text


@pytest.mark.parametrize(
    "text",
    [
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n" + "+    total_of_all_parts = 1\n" * 9,
        "".join(f"    self.member_of_class_{number} = number_of_parts;\n" for number in range(9)),
        "".join(f"app/models/part_{number}.py:{number}:    total_of_parts = {number} + 1\n" for number in range(9)),
        "".join(f"8d77d549 (Ada 2026-11-17 04:29:17 +0000 {number:3})     total = {number}\n" for number in range(9)),
        "".join(f'    total_{number} = {{"name of all parts": {number}}}\n' for number in range(9)),
        "#1 is the best\n" + PACKAGES,
        "".join(f"name{number}: {{}} of all the parts that there are\n" for number in range(9)),
    ],
)
def test_diffs_source_code_and_texts_with_such_tags_stay_as_they_are(text: str) -> None:
    assert encode(text) == text


def test_a_text_is_written_short_by_a_tool_and_not_by_one_that_reads_files() -> None:
    result = {"content": [{"type": "text", "text": PACKAGES}]}
    shaper = Shaper({})
    for profile in ("minimal", "standard"):
        with using(profile):
            (short,) = shaper.shape_result(result, tool="list_packages", channels="text")["content"]
            (whole,) = shaper.shape_result(result, tool="read_file", channels="text")["content"]
        assert unpadded(decode(short["text"])) == unpadded(PACKAGES) != short["text"]
        assert whole["text"] == PACKAGES


def test_lines_that_were_found_in_files_stand_below_their_paths() -> None:
    text = (
        "3 files\n"
        "lib/shop/cart/total.py:12:def total(lines: list[Line]) -> Decimal:\n"
        'lib/shop/cart/total.py-13-    """Add the lines up."""\n'
        "--\n"
        "lib/shop/cart/total.py:40:    return total(open_lines)\n"
        "lib/shop/mail-2-go/send.py:7:from shop.cart.total import total\n"
        "lib/shop/mail-2-go/send.py:9:    amount = total(order.lines)\n"
        "lib/shop/mail-2-go/send.py:31:    logger.info('total %s', amount)"
    )
    written = encode(text)
    assert written == (
        "(each path in lib/shop/ stands above the lines found in it)\n"
        "3 files\n"
        "cart/total.py\n"
        "12:def total(lines: list[Line]) -> Decimal:\n"
        '13-    """Add the lines up."""\n'
        "--\n"
        "40:    return total(open_lines)\n"
        "mail-2-go/send.py\n"
        "7:from shop.cart.total import total\n"
        "9:    amount = total(order.lines)\n"
        "31:    logger.info('total %s', amount)"
    )
    assert decode(written) == text


def test_lines_that_could_be_misread_below_a_path_stay_as_they_are() -> None:
    text = "\n".join(f"lib/shop/cart/total.py:{at}:total" for at in range(20)) + "\n12: the last one"
    assert decode(encode(text)) == text
    assert "\n12:total" not in encode(text)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["src/a.py", "src/a.py-1", "src/lib/b-2-c.rs"]), st.integers(1, 99), st.sampled_from("-:")
        )
        | st.sampled_from(["--", "", "Binary file src/x matches", "src/a.py", "src/a.py:"]),
        min_size=8,
    )
)
def test_any_lines_found_in_files_come_back(found: list[tuple[str, int, str] | str]) -> None:
    lines = [one if isinstance(one, str) else f"{one[0]}{one[2]}{one[1]}{one[2]}def a(b): pass" for one in found]
    assert list(with_paths(below_paths(lines))) == (lines if below_paths(lines) else [])


def test_a_secret_is_masked_before_lines_are_written_short() -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    text = "\n".join(
        f"remote {number} https://x.dev/repo-{number}.git fetched by token {secret}" for number in range(9)
    )
    assert secret not in Shaper({}).shape(text).text


PORT = """Ethernet{} is {}
  MTU 1500 bytes, BW 10000 Kbit, DLY 1000 usec, reliability 255/255
  Encapsulation ARPA, loopback not set
  Counters:
    Last input {}
    Queueing strategy: fifo, size 75
"""


def test_lines_that_come_again_are_marks_of_the_first_below_their_headings() -> None:
    text = "".join(PORT.format(n, "down" if n % 2 else "up", f"00:00:{n}") for n in range(3))
    written = encode(text)
    assert written.split("\n") == [
        LEGEND,
        "Ethernet0 is up",
        "&1:   MTU 1500 bytes, BW 10000 Kbit, DLY 1000 usec, reliability 255/255",
        "&2:   Encapsulation ARPA, loopback not set",
        "  Counters:",
        "    Last input 00:00:0",
        "&3:     Queueing strategy: fifo, size 75",
        "Ethernet1 is down",
        "&1-2",
        "  Counters:",
        "    Last input 00:00:1",
        "&3",
        "Ethernet2 is up",
        "&1-2",
        "  Counters:",
        "    Last input 00:00:2",
        "&3",
        "",
    ]
    assert decode(written) == text


def test_a_line_that_comes_again_at_once_is_counted() -> None:
    text = "start\n" + "waiting for the server to come up\n" * 200 + "done"
    assert encode(text).split("\n")[1:] == ["start", "&1: waiting for the server to come up", "&1 x199", "done"]
    assert decode(encode(text)) == text


def test_of_a_traceback_that_comes_again_only_the_frames_are_marks() -> None:
    frames = [f'  File "/srv/app/worker_{number}.py", line 1{number}, in work_on_all_of_it' for number in range(5)]
    trace = ["Traceback (most recent call last):", *frames, "ValueError: disk full"]
    text = "\n".join([*trace, "once more", *trace])
    written = encode(text).split("\n")
    assert written[-4:] == ["once more", trace[0], "&1-5", trace[-1]]
    assert decode("\n".join(written)) == text


def test_an_error_that_comes_again_is_never_a_mark() -> None:
    lines = ["error: the disk /dev/sda1 is full", "retrying the upload of all parts", "still waiting for the disk"] * 6
    written = encode("\n".join(lines)).split("\n")
    assert written.count(lines[0]) == 6
    assert decode("\n".join(written)) == "\n".join(lines)


@pytest.mark.parametrize("program", sorted(CASES.glob("*.json")), ids=lambda path: path.stem)
def test_what_programs_print_comes_back(program: Path) -> None:
    case = json.loads(program.read_text(encoding="utf-8"))
    for text in ("".join(case[stream]) for stream in ("stdout", "stderr") if stream in case):
        assert unpadded(decode(encode(text + text))) == unpadded((text + text).replace("\r\n", "\n"))


WORDS = st.sampled_from(["a", "b-1", "pid=4", "/usr/lib", "/usr/bin", "x:1", "x:22", "[on]", "3.5", "…", "#2"])
LINES = st.lists(st.lists(WORDS, max_size=6).map("  ".join), max_size=40)


@given(
    st.lists(st.sampled_from(["", "  ", "a", "  a line that comes again", "\tanother line of it", "&", "& 1", "x\r"]))
)
def test_marked_lines_come_back_to_the_letter(lines: list[str]) -> None:
    assert list(unmark(mark(lines) or lines)) == lines


@given(LINES, st.sampled_from(["", "  ", "\t"]))
def test_any_lines_come_back(lines: list[str], indent: str) -> None:
    text = "\n".join(f"{indent}{line} of the same kind of lines as before" for line in lines for _ in range(2))
    assert unpadded(decode(encode(text))) == unpadded(text)


VALUES = st.sampled_from([1, 22, "", "a", "a b", "a,b", "a  b", "{", "}", "{}", [], {}, {"c": 1}, [1, 2], None, "#1"])


@given(
    st.lists(st.dictionaries(st.sampled_from("xyz"), VALUES, min_size=1), max_size=30), st.sampled_from(["", "10:00 "])
)
def test_any_objects_in_lines_come_back(rows: list[dict[str, object]], before: str) -> None:
    lines = [before + json.dumps({"service": "checkout", **row}, separators=(",", ":")) for row in rows]
    text = "\n".join(["The log of today:", *lines, *lines])
    assert decode(encode(text)) == text


def test_messages_of_a_compiler_stand_below_their_file() -> None:
    said = ("no such module", "'x' has the type any", "two arguments, but got one", "unreachable", "'q' is not set")
    messages = "\n".join(f"src/pages/orders/list.ts({n},5): error TS{n}7: {words}" for n, words in enumerate(said * 3))
    assert len(encode(messages)) < 0.8 * len(messages)
    assert decode(encode(messages)) == messages


def test_metrics_are_written_short_by_their_labels() -> None:
    metrics = "\n".join(
        f'http_seconds_bucket{{le="{limit}",method="GET",route="/{route}"}} {number}.0'
        for route in ("orders", "users")
        for number, limit in enumerate(("0.005", "0.01", "0.1", "1.0", "10.0", "+Inf"))
    )
    text = f"# TYPE http_seconds histogram\n{metrics}\nqueue_depth 4.0\n"
    assert decode(encode(text)) == text
    assert len(encode(text)) < len(text) / 2
    assert " 0.1 orders 2.0" in encode(text) or " 0.1 2.0" in encode(text)


def test_many_lines_of_one_word_stand_in_a_line() -> None:
    keys = [f"order:{number * 37 % 1000 + 1000}" for number in range(130)]
    text = "Found keys:\n" + "\n".join(keys) + "\n\nERROR\n"
    assert encode(text).split("\n")[:2] == [
        "Found keys:",
        "[100 lines, order:… each] " + " ".join(key[6:] for key in keys[:100]),
    ]
    assert decode(encode(text)) == text
    names = "\n".join(["a2p", "addr2line", "alias", "apropos", "ar", "arch"] * 5)
    assert encode(names) == "[30 lines] " + names.replace("\n", " ")
    assert encode("[3 lines] a b c\n" + names) == "[3 lines] a b c\n" + names
    values = "\n".join(f"{number},{number * 7}" for number in range(40))
    assert encode(values) == values


@given(st.lists(st.text("ab:-./7", min_size=1, max_size=6), min_size=20, max_size=60), st.integers(1, 40))
def test_any_words_come_back(words: list[str], times: int) -> None:
    text = "\n".join(["Found:", *words * times, "", *words])
    assert decode(encode(text)) == text


def test_a_path_from_the_root_keeps_its_slash_alone_and_beside_others() -> None:
    for paths in (("/srv/application/views.py",), ("/srv/application/views.py", "/var/log/application/one.log")):
        found = "\n".join(f"{path}:{n}: something odd {n * n} was found" for path in paths for n in range(9))
        assert encode(found) != found
        assert decode(encode(found)) == found
