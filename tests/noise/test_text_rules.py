"""Noise in texts that are not data: terminals, test runs, stack traces, web pages."""

from __future__ import annotations

import json

import pytest
import yaml

from shaping import Shaper
from shaping.noise import reduce_text

ALL = ("links", "opaque", "bulk", "boilerplate")
LINKS = "".join(f"* [Page {n}](https://x.dev/{n})\n" for n in range(9))
PROSE = "".join(
    f"Sentence {n} says something that nobody would want to miss when reading this page.\n" for n in range(40)
)
MORE = "".join(f'See [bug {n}](https://bugs.dev/{n} "The bug") for what came of it.\n' for n in range(6))


def reduced(text: str) -> str:
    return reduce_text(text, ALL)[0]


def test_what_a_terminal_would_show_is_shown() -> None:
    assert reduced("\x1b[31mred\x1b[0m\nloading 10%\rloading 90%\rdone       \nend") == "red\ndone\nend"
    assert reduced("one\r\ntwo\r\n") == "one\r\ntwo\r\n"


def test_colours_go_from_a_short_text_too_and_nothing_is_said_of_it() -> None:
    text = "".join(f"\x1b[96mapp.ts\x1b[0m:\x1b[93m{n}\x1b[0m \x1b[91merror\x1b[0m TS2322\n" for n in range(3))
    shaped = Shaper().shape(text, tool="check")
    assert (shaped.text, shaped.omissions) == (
        "app.ts:0 error TS2322\napp.ts:1 error TS2322\napp.ts:2 error TS2322\n",
        (),
    )


def test_equal_lines_are_counted_and_few_of_them_stay() -> None:
    assert reduced("start\n" + "waiting for lock\n" * 200 + "done") == "start\nwaiting for lock (x200)\ndone"
    few = "a\nb\nb\nb\nc\n\n\nd\n"
    assert reduced(few) == few


def test_passed_tests_are_listed_by_file_and_a_failed_one_stays() -> None:
    passed = [f"tests/test_a.py::test_one[{n}] PASSED [ {n}%]" for n in range(8)]
    text = "\n".join([*passed, "tests/test_a.py::test_two FAILED [ 90%]", "tests/test_b.py::test_three PASSED [100%]"])
    assert reduced(text) == (
        "PASSED tests/test_a.py: test_one[0 | 1 | 2 | 3 | 4 | 5 | 6 | 7]\n"
        "tests/test_a.py::test_two FAILED [ 90%]\ntests/test_b.py::test_three PASSED [100%]"
    )


def test_passed_tests_of_other_runners_are_counted() -> None:
    cargo = "".join(f"test parser::case_{n} ... ok\n" for n in range(20))
    assert reduced(f"running 21 tests\n{cargo}test parser::odd ... FAILED\n") == (
        "running 21 tests\n[20 lines of passed tests]\ntest parser::odd ... FAILED\n"
    )
    go = "".join(f"=== RUN   Test{n}\n--- PASS: Test{n} (0.00s)\n" for n in range(5))
    assert reduced(f"{go}--- FAIL: TestX (0.01s)\n") == "[10 lines of passed tests]\n--- FAIL: TestX (0.01s)\n"


def test_frames_of_libraries_are_counted_between_the_users_own() -> None:
    library = [
        f'  File "/venv/lib/python3.11/site-packages/web/app.py", line {n}, in call_{n}\n    return call(x)\n'
        for n in range(6)
    ]
    text = (
        'Traceback (most recent call last):\n  File "/app/main.py", line 3, in run\n    serve()\n'
        + "".join(library)
        + '  File "/app/views.py", line 9, in view\n    1 / 0\nZeroDivisionError: division by zero\n'
    )
    assert reduced(text) == text.replace("".join(library[1:-1]), "  [4 frames of libraries]\n")
    java = "".join(f"\tat org.springframework.web.Filter.doFilter(Filter.java:{n})\n" for n in range(9))
    trace = f"java.lang.Error: no\n\tat com.acme.Shop.buy(Shop.java:7)\n{java}\tat com.acme.Main.main(M.java:1)"
    assert reduced(trace).count("springframework") == 2
    assert "[7 frames of libraries]" in reduced(trace)
    assert "com.acme.Shop.buy" in reduced(trace)


def test_navigation_around_a_page_goes_and_links_in_its_words_stay() -> None:
    page = f"{LINKS}\n# Title\n\n{PROSE}{MORE}\n### Archive\n\n{LINKS}"
    text = reduced(page)
    assert text.count("[navigation: 9 links]") == 2
    assert "See [bug 3](https://bugs.dev/3) for what came of it." in text
    assert PROSE in text
    assert reduced(LINKS * 4) == LINKS * 4  # a page of links is about its links


def test_what_stands_before_a_title_goes_where_it_is_links_and_a_date_stays() -> None:
    links = LINKS.replace("* ", "Menu\n\n* ", 1)
    page = f"{links}\n8 April 2015\n\n# Title\n\n{PROSE}{MORE}"
    assert reduced(page).startswith("[navigation: 9 links]\n\n8 April 2015\n\n# Title\n")
    told = page.replace("Menu", PROSE.split("\n")[0])
    assert told.split("\n")[0] in reduced(told)  # a sentence is no menu


HASH = "0a" * 16
CHANGES = "# Changelog\n" + "\n".join(
    f"* fix it ([#{at}](https://x.dev/r/issues/{at})) ([c0ffee{at % 10}](https://x.dev/r/commit/c0ffee{at % 10}{HASH}))"
    for at in range(100, 106)
)


def test_links_to_what_they_name_have_one_address_for_all() -> None:
    reduced, left_out = reduce_text(CHANGES, ("links",))
    assert reduced.split("\n")[:3] == [
        f"(addresses of links like these: [#100](https://x.dev/r/issues/100), [c0ffee0](https://x.dev/r/commit/c0ffee0{HASH}))",
        "# Changelog",
        "* fix it ([#100]) ([c0ffee0])",
    ]
    assert [omission.reason for omission in left_out] == ["links"]


def test_the_words_of_such_a_link_may_hold_a_parenthesis() -> None:
    changes = CHANGES.replace("([#", "([PR (#")
    assert reduce_text(changes, ("links",))[0].split("\n")[2] == "* fix it ([PR (#100]) ([c0ffee0])"


@pytest.mark.parametrize(
    "text",
    [
        f"{CHANGES}\n* see [#7] and [0123abc]",  # which would get an address
        CHANGES.replace("issues/", "issues/x"),
        "\n".join(f"[{at}](https://x.dev/{at}) [word](https://x.dev/word)" for at in range(9)),
    ],
)
def test_links_that_do_not_say_where_they_lead_keep_their_addresses(text: str) -> None:
    assert "(https://x.dev" in reduce_text(text, ("links",))[0].split("\n")[-2]


def test_a_link_of_a_page_is_said_once_and_one_into_the_page_is_its_words() -> None:
    page = (
        f"{LINKS}\n# Title\n\n{PROSE}{MORE}"
        "By [Ann](/people/ann/x),[[7]](#cite-7) of [`[part]`](#part) as [Ann](/people/ann/x) said.\n"
        "[![](//cdn.dev/220px-a.jpg)](/wiki/File:A.jpg) ![Chart](https://cdn.dev/chart.png)\n"
    )
    end = reduced(page).split("By ")[1]
    assert end == ("[Ann](/people/ann/x),[7] of `[part]` as [Ann] said.\n[picture](/wiki/File:A.jpg) [image: Chart]\n")


def test_a_page_loses_what_a_converter_escaped_outside_code() -> None:
    page = f"{LINKS}\n# Title\n\n{PROSE}{MORE}See load\\_all(x\\=1) or `a\\_b`.\n"
    assert reduced(page).endswith("See load_all(x=1) or `a\\_b`.\n")


def test_pictures_of_a_page_are_told_by_what_they_show() -> None:
    item = "* [![Teaser {0}](https://cdn.dev/{0}.jpg)](https://x.dev/{0})\n\n  [Story {0}](https://x.dev/{0})\n"
    items = "".join(item.format(n) for n in range(8))
    page = f"{items}![A map](https://cdn.dev/map.png) ![](https://cdn.dev/logo.svg)\n"
    stories = "".join(f"* [Story {n}](https://x.dev/{n})\n" for n in range(8))
    assert reduced(page) == f"{stories}[image: A map] \n"
    gallery = "".join(f"![Cat {n}](https://cdn.dev/{n}.jpg)\n" for n in range(20))
    assert reduced(gallery) == gallery  # it is about its pictures


def test_a_message_shows_the_line_of_code_that_it_points_at_without_those_around_it() -> None:
    pointed = "  ● sum\n\n    > 10 | expect(1).toBe(2);\n         |           ^\n\n"
    jest = pointed.replace("    > 10", "      8 | a();\n      9 |\n    > 10").replace("^\n", "^\n      11 | });\n")
    assert reduced(jest) == pointed
    rust = (
        'error[E0308]: mismatched types\n --> src/main.rs:2:18\n  |\n1 | fn main() {\n2 |     let x: i32 = "a";\n'
        "  |            ---   ^^^ expected `i32`\n  |            |\n  |            because of this\n3 | }\n  |\n"
    )
    assert reduced(rust) == rust.replace("  |\n1 | fn main() {\n", "").replace("3 | }\n  |\n", "")
    rows = " id | name\n----+-----\n" + "".join(f"  {n} | row {n}\n" for n in range(1, 6))
    assert reduced(jest + rows) == pointed + rows  # a table is no code


@pytest.mark.parametrize(
    "line",
    [
        "[ RUN      ] Suite.Case{0}\n[       OK ] Suite.Case{0} (0 ms)",
        "        PASS [   0.005s] shop cart::test_{0}",
        "ShopTest > buysThing{0}() PASSED",
        "  Passed Shop.Tests.Buys{0} [3 ms]",
        "Test Case '-[Shop buys{0}]' passed (0.001 seconds).",
        " {0}/40 Test  #{0}: shop_{0} ...........   Passed    0.01 sec",
    ],
)
def test_tests_that_passed_are_counted_for_runners_of_many_languages(line: str) -> None:
    lines = "\n".join(line.format(n) for n in range(10, 20))
    count = lines.count("\n") + 1
    assert reduced(f"{lines}\nit broke\n") == f"[{count} lines of passed tests]\nit broke\n"


@pytest.mark.parametrize(
    "line",
    [
        "module.a.aws_vpc.b[{0}]: Refreshing state... [id=vpc-{0}]",
        "#7 sha256:{0}abc 1.05MB / 28.07MB 0.2s",
        "go: downloading github.com/acme/shop v1.2.{0}",
        "  - Installing acme-shop (1.2.{0})",
        "Using rack 2.2.{0}",
    ],
)
def test_steps_of_tools_of_many_languages_are_counted(line: str) -> None:
    lines = [line.format(n) for n in range(10, 20)]
    assert reduced("\n".join([*lines, "done"])) == "\n".join([lines[0], "[8 lines of progress]", lines[-1], "done"])


def test_a_page_of_html_is_shown_as_a_browser_shows_it_without_its_navigation() -> None:
    body = "".join(f"<p>{line}</p>" for line in PROSE.splitlines())
    page = f"<!DOCTYPE html><html><head><title>x</title></head><body><nav>Menu</nav>{body}</body></html>"
    text = reduced(page)
    assert text.split("\n")[0] == PROSE.split("\n")[0]
    assert "Menu" not in text
    assert "<p>" not in text


def test_a_page_has_the_lines_that_a_browser_shows_and_a_row_of_its_table_is_one_line() -> None:
    source = """
        <h1>Prices</h1>
        <div>
          <a href="#top">Up</a> and
          <a href="/all">all of them</a>
        </div>
        <table><tr><th>Name</th>
            <th>Price</th></tr>
          <tr>
            <td>Tea</td> <td>4</td>
          </tr></table>
        <ul><li>one</li>
            <li>two</li></ul>
        <pre>a
  b</pre>"""
    words = "<p>Some words.</p>" * 200
    shown = "Prices\n\nUp and all of them (/all)\n\nName | Price\nTea | 4\n\n- one\n- two\n\na\n  b\n\nSome words."
    for before in ("<!DOCTYPE html><html>", "\ufeff<!-- a --><!DOCTYPE html>\n<html>"):
        reduced, _ = reduce_text(f"{before}<body>{source}{words}</body></html>", ["boilerplate"])
        assert reduced.startswith(shown)


def test_none_of_it_happens_to_a_diff() -> None:
    diff = "diff --git a/x b/x\n@@ -1,9 +1,9 @@\n" + "+same line\n" * 20
    assert reduced(diff) == diff


def test_a_drawn_tree_is_written_as_levels() -> None:
    tree = ".\n" + "├── a\n│   ├── b.py\n│   └── c\n│       └── d e.py\n" * 4 + "└── f\n\n5 directories, 9 files\n"
    levels = " a\n  b.py\n  c\n   d e.py\n"
    assert reduced(tree) == ".\n" + levels * 4 + " f\n\n5 directories, 9 files\n"
    packages = "x@1.0.0 /x\n" + "├─┬ a@1\n│ └── b@2 deduped\n" * 8 + "└── c@3\n"
    assert reduced(packages) == "x@1.0.0 /x\n" + " a@1\n  b@2 deduped\n" * 8 + " c@3\n"
    prose = "A tree looks like this:\n├── a\n└── b\n" * 9
    assert reduced(prose) == prose


def test_what_kubernetes_keeps_of_an_object_once_more_goes_from_json_and_from_yaml() -> None:
    pod = {
        "kind": "Pod",
        "metadata": {
            "name": "web",
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": '{"kind":"Pod","spec":{"x":1}}' * 20},
            "managedFields": [{"manager": "kubectl", "fieldsV1": {f"f:part{n}": {"f:x": {}} for n in range(9)}}],
        },
        "spec": {f"member{n}": {"name": "web", "image": "nginx"} for n in range(30)},
    }
    shaper = Shaper({"global": {"profile": "minimal"}}, watch=False)
    for text in (json.dumps(pod), yaml.safe_dump(pod, width=10_000)):
        shown = shaper.shape(text, tool="get").text
        assert "last-applied" not in shown.split("(left out")[0]
        assert "f:part" not in shown
        assert "nginx" in shown


def test_a_piece_of_a_page_is_its_text_but_a_template_stays() -> None:
    rows = "".join(f"<tr><td>{n}</td>\n<td><a href='/users/{n}'>User {n}</a></td></tr>\n" for n in range(60))
    table = f"<table><tr><th>id</th><th>name</th></tr>\n{rows}</table>"
    text, omissions = reduce_text(table, ("boilerplate",))
    assert text.startswith("id | name\n")
    assert "\n7 | User 7 (/users/7)\n" in text
    assert omissions
    template = table.replace("<table>", '<table id="{{ name }}">')
    assert reduce_text(template, ("boilerplate",)) == (template, [])


def test_blanks_that_fill_a_page_go() -> None:
    words = "A sentence that is long enough to be one of a page that somebody reads from above.  \n   \n\n \t\n"
    links = "".join(f"It is near [place {n}](about:blank/place{n}.html).\n" for n in range(20))
    page = f"{words * 30}# Places\n\n{words}{links}\n{words}"
    text = reduce_text(page, ("boilerplate",))[0]
    assert "above.\n\nA sentence" in text
    assert "[place 3](place3.html)" in text
