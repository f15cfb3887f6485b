"""Lines of a text that differ in a few words are written short, and come back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from shaping import Shaper, using
from shaping.encoders.lines import below_paths, decode, encode, with_paths

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


def test_lines_that_begin_alike_have_their_other_words_in_the_last_place() -> None:
    described = [
        "one word",
        "two  words here",
        "some",
        "a few more words here",
        "words",
        "no other line has so many of them",
    ]
    text = "\n".join(f"ii  lib{at}-dev:amd64   2.36.{at}-1  amd64  {words}" for at, words in enumerate(described * 2))
    written = encode(text)
    assert written.split("\n")[:4] == [
        "#1=ii  {}:amd64   {}  amd64  {}",
        "#1 (12 lines):",
        " lib0-dev 2.36.0-1 one word",
        " lib1-dev 2.36.1-1 two  words here",
    ]
    assert decode(written) == text


def test_lines_below_each_other_need_save_little_in_each() -> None:
    names = [
        f"{what}{of}:" for what in ("Active", "Inactive", "Cached", "Dirty") for of in ("", "(anon)", "Huge", "Swap")
    ]
    text = "\n".join(f"{name:<16} {number * 7919:>12} kB" for number, name in enumerate(names))
    assert encode(text).split("\n")[:3] == ["#1={}         {} kB", "#1 (16 lines):", " Active: 0"]


def test_numbers_are_padded_and_names_are_indented() -> None:
    places = (f"{line:>5}:{line % 9 + 1}" for line in range(5, 1005, 90))
    found = "\n".join(f"{place}  error  Unexpected var in module  no-var" for place in places)
    assert encode(found).split("\n")[0] == "#1=  {}  error  Unexpected var in module  no-var"
    names = [" " * (at % 3) + "name" * (1 + at % 2) for at in range(40)]
    outline = "\n".join(f"{name:<12} is the name of what is here" for name in names)
    assert unpadded(decode(encode(outline))) == unpadded(outline)


def test_links_stand_without_what_most_of_them_begin_with() -> None:
    site = "https://git.dev/acme/shop"
    text = "\n".join(f"- Round totals ([#{n}]({site}/issues/{n})), [notes]({site}/tree/v{n}.0)" for n in range(9))
    written = encode(f"{text}\n\nSee [the site](https://acme.dev/).\n")
    assert written.startswith("(links that begin with / go on from https://git.dev/acme/shop)\n")
    assert written.endswith("\n\nSee [the site](https://acme.dev/).\n")
    assert decode(written) == f"{text}\n\nSee [the site](https://acme.dev/).\n"
    rooted = f"{text}\nSee [the start](/)."
    assert "(links that" not in encode(rooted)
    assert encode(f"(links that begin with / go on from x)\n{rooted}").split("\n")[1:] == rooted.split("\n")


def test_blanks_in_the_last_words_of_a_line_stay() -> None:
    names = ("Ann", "Bob Li", "Eve", "Kay Lee", "Sam")
    said = [f"by contributor number {at} {names[at % 5]} ({at % 3}{' ' * (at % 2)})" for at in range(20)]
    text = "\n".join(f"{line}\n{'and more of it' * (at % 7)}" for at, line in enumerate(said))
    assert decode(encode(text)) == text


def test_every_line_comes_back_at_its_place() -> None:
    text = f"Listing...\n{PACKAGES}\n\nN: There are 2 more.\n{PACKAGES.replace('amd64', 'all')}\n"
    written = encode(text)
    assert len(written) < len(text) / 2
    assert unpadded(decode(written)) == unpadded(text)


def test_the_lines_of_windows_are_lines() -> None:
    assert encode(PACKAGES.replace("\n", "\r\n")) == encode(PACKAGES)


def test_a_line_that_comes_again_is_written_once() -> None:
    lines = [f"Ethernet{n} is up\n  Encapsulation ARPA, loopback not set\n  Input {n * 7} packets" for n in range(4)]
    text = "\n".join(lines)
    written = encode(text)
    assert written.split("\n")[:5] == [
        "Ethernet0 is up",
        "#1=  Encapsulation ARPA, loopback not set",
        "  Input 0 packets",
        "Ethernet1 is up",
        "#1",
    ]
    assert decode(written) == text


@pytest.mark.parametrize("odd", ["{}", "{1}", "\xa0", "\x0c"])
def test_a_line_that_comes_again_and_would_be_misread_as_a_template_stays(odd: str) -> None:
    line = f"POST /api/v1/items/refresh  body={odd} status=204 region=eu-west-1"
    text = "\n".join([*[line] * 6, *(f"one other line of the log {n}" for n in range(3)), *[line] * 6])
    assert decode(encode(text)) == text


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


def test_an_error_stays_as_it_is_among_lines_that_are_written_short() -> None:
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


@pytest.mark.parametrize("program", sorted(CASES.glob("*.json")), ids=lambda path: path.stem)
def test_what_programs_print_comes_back(program: Path) -> None:
    case = json.loads(program.read_text(encoding="utf-8"))
    for text in ("".join(case[stream]) for stream in ("stdout", "stderr") if stream in case):
        assert unpadded(decode(encode(text + text))) == unpadded((text + text).replace("\r\n", "\n"))


WORDS = st.sampled_from(["a", "b-1", "pid=4", "/usr/lib", "/usr/bin", "x:1", "x:22", "[on]", "3.5", "{…}", "#2"])
LINES = st.lists(st.lists(WORDS, max_size=6).map("  ".join), max_size=40)


@given(LINES, st.sampled_from(["", "  ", "\t"]))
def test_any_lines_come_back(lines: list[str], indent: str) -> None:
    text = "\n".join(f"{indent}{line} of the same kind of lines as before" for line in lines for _ in range(2))
    assert unpadded(decode(encode(text))) == unpadded(text)


VALUES = st.sampled_from([1, 22, "", "a", "a b", "a,b", "a  b", "{", "}", "{}", [], {}, {"c": 1}, [1, 2], None, "#1"])


def test_messages_of_a_compiler_stand_below_their_file() -> None:
    said = ("no such module", "'x' has the type any", "two arguments, but got one", "unreachable", "'q' is not set")
    messages = "\n".join(f"src/pages/orders/list.ts({n},5): error TS{n}7: {words}" for n, words in enumerate(said * 3))
    assert len(encode(messages)) < 0.8 * len(messages)
    assert decode(encode(messages)) == messages


def test_a_path_from_the_root_keeps_its_slash_alone_and_beside_others() -> None:
    for paths in (("/srv/application/views.py",), ("/srv/application/views.py", "/var/log/application/one.log")):
        found = "\n".join(f"{path}:{n}: something odd {n * n} was found" for path in paths for n in range(9))
        assert encode(found) != found
        assert decode(encode(found)) == found
