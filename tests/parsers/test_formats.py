"""Texts of each format become data; what only looks like one stays text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shaping.parsers import Parsed, parse, parse_within
from shaping.parsers.rows import parse_csv

NMAP = """<?xml version="1.0"?>
<!-- a scan -->
<run xmlns:x="urn:x" args="nmap -O" start="1399586326" version="5.21">
 <host><address addr="192.168.1.1" type="ipv4"/><address addr="6C:2E" type="mac"/><name>router</name></host>
 <host><address addr="192.168.1.3" type="ipv4"/><x:note kind="short">two words</x:note><empty/></host>
</run>
"""
MANIFEST = """\
kind: Deployment
metadata:
  name: web
  on: push
  labels:
    version: 0.10
    date: 2026-10-11
spec:
  replicas: 2
  paused: false
  args: [a, "1"]
  script: |
    echo one
    echo two
  ports:
  - containerPort: 80
    name: http
---
kind: Service
metadata:
  name: web
"""
PS = (
    """\
USER        PID %CPU    VSZ TTY      COMMAND
root          1  0.0  78148 ?        /sbin/init auto
root          2  0.1      0 ?        [kthreadd]
systemd-resolve 885 12.5 70732 ?     /lib/systemd/systemd-resolved
root         10  0.0      0 ?        [migration/0]
"""
    + "root         10  0.0      0 ?        [migration/0]\n" * 6
)
DF = """\
Filesystem      Size  Used Avail Use% Mounted on
udev            970M     0  970M   0% /dev
tmpfs           200M  1.8M  198M   1% /run
/dev/sda1        20G   13G  6.0G  68% /
"""
UNITS = """\
  UNIT             LOAD      ACTIVE   DESCRIPTION
  dev-cdrom.device loaded    active   A drive
● exim.service     not-found inactive exim.service
  web.service      loaded    active   The web server
  ssh.service      loaded    active   Remote shells
"""
PSQL = " id | name\n----+-------\n  1 | a | b\n".replace("a | b", "a") + "  2 | \n(2 rows)\n"
MYSQL = "+----+------+\n| id | name |\n+----+------+\n|  1 | a    |\n|  2 | NULL |\n+----+------+\n"
VERTICAL = """\
*************************** 1. row ***************************
  id: 1
name: first: one
*************************** 2. row ***************************
  id: 2
name:
"""
EXPANDED = "-[ RECORD 1 ]---\nid   | 1\nname | a\n-[ RECORD 2 ]---\nid   | 2\nname | b\n"
PACKAGES = "\n\n".join(f"Package: lib{n}\nVersion: 1.{n}.0\nSection: libs" for n in range(4)) + "\n"
SETTINGS = "".join(
    f"net.ipv4.conf.{name}.{key} = {n}\n" for name in ("all", "lo") for n, key in enumerate(("arp", "log", "tag"))
)
SETTINGS = f"fs.file-max = 379085\n{SETTINGS}net.ipv4.ip_forward = 1\nvm.info = a\nvm.info = \n"
GREP = "".join(f"src/{name}.py:{n}:  x = {n}: {name}\n" for name in ("a", "b") for n in (3, 7, 11))
GREP_AROUND = "src/a-2-b.py-6-# before\nsrc/a-2-b.py:7:x = 1\n--\n" + "".join(
    f"src/c.py-{n}-\nsrc/c.py:{n + 1}:  y-3-{n}\n" for n in (10, 20)
)
SYSLOG = "".join(f"Dec 10 06:55:{n:02d} lab sshd[242{n:02d}]: Failed password for {n}\n" for n in range(8))
PYLOG = "".join(f"2026-10-11 10:00:{n:02d},123 INFO [app.web] served {n}\n" for n in range(8))


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        (NMAP, "xml", {"run": {"xmlns": "urn:x", "args": "nmap -O", "start": 1399586326, "version": 5.21, "host": [
            {"address": [{"addr": "192.168.1.1", "type": "ipv4"}, {"addr": "6C:2E", "type": "mac"}], "name": "router"},
            {"address": [{"addr": "192.168.1.3", "type": "ipv4"}], "note": {"kind": "short", "text": "two words"},
             "empty": None},
        ]}}),
        (MANIFEST, "yaml", [
            {"kind": "Deployment",
             "metadata": {"name": "web", "on": "push", "labels": {"version": "0.10", "date": "2026-10-11"}},
             "spec": {"replicas": 2, "paused": False, "args": ["a", "1"],
                      "script": "echo one\necho two\n", "ports": [{"containerPort": 80, "name": "http"}]}},
            {"kind": "Service", "metadata": {"name": "web"}},
        ]),
        (PS, "table", [
            {"USER": "root", "PID": 1, "%CPU": 0.0, "VSZ": 78148, "TTY": "?", "COMMAND": "/sbin/init auto"},
            {"USER": "root", "PID": 2, "%CPU": 0.1, "VSZ": 0, "TTY": "?", "COMMAND": "[kthreadd]"},
            {"USER": "systemd-resolve", "PID": 885, "%CPU": 12.5, "VSZ": 70732, "TTY": "?",
             "COMMAND": "/lib/systemd/systemd-resolved"},
            *[{"USER": "root", "PID": 10, "%CPU": 0.0, "VSZ": 0, "TTY": "?", "COMMAND": "[migration/0]"}] * 7,
        ]),
        (DF, "table", [
            dict(zip(("Filesystem", "Size", "Used", "Avail", "Use%", "Mounted on"), cells, strict=True)) for cells in (
                ("udev", "970M", "0", "970M", "0%", "/dev"),
                ("tmpfs", "200M", "1.8M", "198M", "1%", "/run"),
                ("/dev/sda1", "20G", "13G", "6.0G", "68%", "/"),
            )
        ]),
        (UNITS, "table", [
            {"mark": mark, "UNIT": unit, "LOAD": load, "ACTIVE": active, "DESCRIPTION": words}
            for mark, unit, load, active, words in (
                ("", "dev-cdrom.device", "loaded", "active", "A drive"),
                ("●", "exim.service", "not-found", "inactive", "exim.service"),
                ("", "web.service", "loaded", "active", "The web server"),
                ("", "ssh.service", "loaded", "active", "Remote shells"),
            )
        ]),
        ("| a | b |\n|---|:-:|\n| 1 | x \\| y |\n| 2 |  |\n", "pipes", [{"a": 1, "b": "x | y"}, {"a": 2, "b": ""}]),
        (PSQL, "pipes", [{"id": 1, "name": "a"}, {"id": 2, "name": ""}]),
        (MYSQL, "pipes", [{"id": 1, "name": "a"}, {"id": 2, "name": "NULL"}]),
        (VERTICAL, "pairs", [{"id": 1, "name": "first: one"}, {"id": 2, "name": ""}]),
        ("1. row\nid: 1\nname: NULL\n\n2. row\nid: 2\nname: b", "pairs", [
            {"id": 1, "name": "NULL"}, {"id": 2, "name": "b"},
        ]),
        (EXPANDED, "pairs", [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]),
        (GREP_AROUND, "grep", [
            {"path": "src/a-2-b.py", "line": "6-", "text": "# before"},
            {"path": "src/a-2-b.py", "line": "7:", "text": "x = 1"},
            *[{"path": "src/c.py", "line": line, "text": text} for line, text in (
                ("10-", ""), ("11:", "  y-3-10"), ("20-", ""), ("21:", "  y-3-20"),
            )],
        ]),
        (PACKAGES, "pairs", [{"Package": f"lib{n}", "Version": f"1.{n}.0", "Section": "libs"} for n in range(4)]),
        (SETTINGS, "pairs", {
            "fs.file-max": 379085,
            "net.ipv4.conf": {"all": {"arp": 0, "log": 1, "tag": 2}, "lo": {"arp": 0, "log": 1, "tag": 2}},
            "net.ipv4.ip_forward": 1,
            "vm.info": ["a", ""],
        }),
        (
            GREP,
            "grep",
            [{"path": f"src/{p}.py", "line": n, "text": f"  x = {n}: {p}"} for p in ("a", "b") for n in (3, 7, 11)],
        ),
        (SYSLOG, "log", [
            {"time": f"Dec 10 06:55:{n:02d}", "host": "lab", "process": "sshd", "pid": 24200 + n,
             "message": f"Failed password for {n}"} for n in range(8)
        ]),
        (PYLOG, "log", [
            {"time": f"2026-10-11 10:00:{n:02d}", "ms": 123, "level": "INFO", "logger": "app.web"}
            | {"message": f"served {n}"}
            for n in range(8)
        ]),
    ],
)  # fmt: skip
def test_a_text_is_read_as_what_it_is(text: str, name: str, value: Any) -> None:
    assert parse(text) == Parsed(value, name)


@pytest.mark.parametrize(
    "text",
    [
        "<p>One <b>bold</b> word</p>",
        "<html><body><p>x</p></body></html>",
        "<a><b>",
        '<!DOCTYPE x [<!ENTITY y "z">]><a>&y;</a>',
        "Note: this is\n  a letter\nDear: all\nlines\nof: prose\nwith: colons\nand: more",
        "# a comment\nname: x\nspec:\n  a: 1\n  b: 2\n  c: 3\n  d: 4\n",
        "base: &x\n  a: 1\nother: *x\nc:\n  d: 1\n  e: 2\n  f: 3\n",
        "a:\n  b: 1\na:\n  b: 2\nc: 1\nd: 2\ne: 3\n",
        "One word   and another\ntwo lines  of a poem\nthree of them   here\nfour  at last\n",
        "| a | b |\n|---|---|\n| 1 | 2 | 3 |\n",
        "a | b\nc | d\n",
        "Title: x\n\nBody text without any of it\n\nEnd: y\n",
        "src/a.py:1:x\n" * 6,
        "http://x.dev:80: no\nhttp://x.dev:80: no\n",
        "".join(f"2026-10-11 10:00:0{n} INFO served\n" for n in range(7)) + "Traceback (most recent call last):\n",
        "x.y = 1\nx.y.z = 2\n" + "".join(f"a.b{n} = 1\n" for n in range(8)),
        "a.x = 1\nb.x = 1\na.y = 1\nb.y = 1\na.z = 1\nb.z = 1\na.w = 1\nb.w = 1\n",
        "def f():\n    x = 1\n    return {'a': x}\n\n\nclass C:\n    y = 2\n",
    ],
)
def test_what_is_not_surely_of_a_format_stays_text(text: str) -> None:
    assert parse(text) is None


def test_a_table_is_found_with_the_lines_around_it() -> None:
    body = "".join(f"web-{n:<12}loaded    active   A service of some sort\n" for n in range(40))
    text = f"UNIT            LOAD      ACTIVE   DESCRIPTION\n{body}\n40 units listed.\n"
    parsed = parse_within(text)
    assert parsed is not None
    assert (parsed.format, parsed.before, parsed.after) == ("table", "", "\n\n40 units listed.\n")
    assert parsed.value[39] == {
        "UNIT": "web-39",
        "LOAD": "loaded",
        "ACTIVE": "active",
        "DESCRIPTION": "A service of some sort",
    }


def test_rows_are_found_behind_the_line_that_introduces_them() -> None:
    rows = "\n\n".join(f"Commit: {n:040x}\nAuthor: Ada\nMessage: change {n}: more of it\n" for n in range(9))
    rows += "\n\nIt has a body.\n"
    parsed = parse_within(f"Commit history:\n{rows}")
    assert parsed is not None
    assert (parsed.format, parsed.before, len(parsed.value)) == ("pairs", "Commit history:\n", 9)
    assert parsed.value[1] == {"Commit": f"{1:040x}", "Author": "Ada", "Message": "change 1: more of it"}
    assert parsed.value[8]["Message"] == "change 8: more of it\n\nIt has a body."


def test_json_is_found_between_the_lines_of_a_program_that_warns() -> None:
    value = {"packages": [{"name": f"part-{n}", "needs": {"core": "1.2"}} for n in range(20)]}
    text = f"warn: old cache\n{json.dumps(value, indent=2)}\nwarn: see the log\n"
    parsed = parse_within(text)
    assert parsed is not None
    assert (parsed.value, parsed.before, parsed.after) == (value, "warn: old cache\n", "\nwarn: see the log\n")


def test_a_sentence_in_a_record_is_no_name() -> None:
    rows = [f"Commit: {n:040x}\nAuthor: Ada\nMessage: change {n}\n" for n in range(5)]
    rows[3] += "\nNobody asked for that: it was simpler.\nTwo lines: this is the second.\n"
    parsed = parse("\n".join(rows))
    assert parsed is not None
    assert [[*record] for record in parsed.value] == [["Commit", "Author", "Message"]] * 5
    said = "change 3\n\nNobody asked for that: it was simpler.\nTwo lines: this is the second."
    assert parsed.value[3]["Message"] == said


@pytest.mark.parametrize("inside", ["\n", "\r\n", "\n\n", "\u2028", "\x0b", "\x85"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_cell_in_quotes_keeps_its_line_breaks(inside: str, end: str) -> None:
    rows = [f'{n},"first{inside}second, of {n}",{n}' for n in range(4)]
    expected = [{"id": n, "note": f"first{inside}second, of {n}", "last": n} for n in range(4)]
    assert parse_csv(end.join(["id,note,last", *rows])) == expected


def test_separated_values_may_have_old_line_ends_or_spaces_between_quoted_names() -> None:
    rows = [{"id": n, "name": f"row {n}"} for n in range(4)]
    assert parse_csv("\r".join(["id,name", *(f"{n},row {n}" for n in range(4))])) == rows
    assert parse_csv("\n".join(['"id", "name"', *(f'{n}, "row {n}"' for n in range(4))])) == rows
    assert parse_csv("First, we met, then\nwe left, and, so\n") is None


def test_a_document_type_is_no_obstacle_unless_it_is_that_of_a_page() -> None:
    taxa = "<TaxaSet><Taxon><TaxId>1</TaxId><Rank>kingdom</Rank></Taxon><Taxon><TaxId>2</TaxId></Taxon></TaxaSet>"
    parsed = parse(f'<?xml version="1.0"?>\n<!DOCTYPE TaxaSet PUBLIC "-//NLM//DTD Taxon//EN" "taxon.dtd">\n{taxa}')
    assert parsed is not None
    assert parsed.value == {"TaxaSet": {"Taxon": [{"TaxId": 1, "Rank": "kingdom"}, {"TaxId": 2}]}}
    assert parse(f'<!DOCTYPE x SYSTEM "file:///etc/passwd" [<!ENTITY y SYSTEM "z">]>{taxa}') is None
    assert parse("<!DOCTYPE html><html><p>one</p><p>two</p></html>") is None


def test_what_is_indented_below_names_are_their_members() -> None:
    text = "Neighbors:\n\n" + "\n".join(
        f"Local port1.0.{n}:\n  Chassis ID ....... 0050.56a6.9a{n}\n  TTL .............. 3601 (secs)\n"
        f"  Capabilities ..... Bridge\n                     Router\n"
        for n in range(4)
    )
    parsed = parse(text)
    assert parsed is not None
    assert parsed.value["Local port1.0.2"] == {
        "Chassis ID": "0050.56a6.9a2",
        "TTL": "3601 (secs)",
        "Capabilities": "Bridge\nRouter",
    }


def test_names_that_come_back_after_others_are_no_outline() -> None:
    assert parse("\n".join(f"{'ab'[n % 2]} {n}: x\nname: {n}\nother: {n}" for n in range(9))) is None


def test_headings_of_several_words_and_of_two_lines_name_their_columns() -> None:
    sockets = "Netid  State   Recv-Q     Local Address:Port      Peer Address:Port\n" + "\n".join(
        f"tcp    LISTEN  {n}           10.0.0.{n}:443                    *:*" for n in range(8)
    )
    parsed = parse(sockets)
    assert parsed is not None
    assert parsed.value[3] == {
        "Netid": "tcp",
        "State": "LISTEN",
        "Recv-Q": 3,
        "Local Address:Port": "10.0.0.3:443",
        "Peer Address:Port": "*:*",
    }
    rule = "-" * 40
    ports = f"{rule}\nEthernet    VLAN  Status\nInterface         now\n{rule}\n" + "\n".join(
        f"Eth1/{n}      {n}     up" for n in range(8)
    )
    parsed = parse(ports)
    assert parsed is not None
    assert parsed.value[2] == {"Ethernet Interface": "Eth1/2", "VLAN": 2, "Status now": "up"}


def test_lines_of_names_and_values_are_records() -> None:
    parsed = parse("\n".join(f'time=10:0{n} level=info msg="it began: {n}" path=/a/{n}' for n in range(9)))
    assert parsed is not None
    assert parsed.value[4] == {"time": "10:04", "level": "info", "msg": "it began: 4", "path": "/a/4"}
    assert parse("\n".join(f"a=1 b=2 c={n} and words" for n in range(9))) is None


def test_what_xml_says_twice_under_one_name_leaves_it_a_text() -> None:
    assert parse('<list><item id="1" text="Save">Writes the file</item></list>') is None
    assert parse('<a xmlns:x="urn:x"><b title="1" x:title="2"/></a>') is None
    assert parse("<a><?pi x?><b>21</b></a>") is None


def test_elements_of_xml_that_come_back_after_others_keep_their_order() -> None:
    parsed = parse('<a n="1"><b>x</b><c/><b>y</b></a>')
    assert parsed is not None
    assert parsed.value == {"a": {"n": 1, "elements": [{"b": "x"}, "c", {"b": "y"}]}}
    assert parse('<a elements="1"><b>x</b><c/><b>y</b></a>') is None


def test_an_empty_element_of_xml_between_others_is_a_word() -> None:
    settings = parse("<dict><key>fast</key><true/><key>old</key><false/></dict>")
    assert settings is not None
    assert settings.value == {"dict": {"elements": [{"key": "fast"}, "true", {"key": "old"}, "false"]}}


def test_comments_of_xml_are_kept() -> None:
    parsed = parse("<a><!-- one --><b>21</b><!-- two --></a>")
    assert parsed is not None
    assert parsed.value == {"a": {"comment": "one\ntwo", "b": 21}}


def test_yaml_with_comments_is_no_outline() -> None:
    tasks = "".join(f"  - name: t{n}\n    cmd: run {n}  # {n}\n    when: yes\n" for n in range(6))
    assert parse(f"tasks:\n{tasks}") is None


def test_headings_that_one_space_divides_are_two_columns() -> None:
    rows = "\n".join(f"root     {n:5}  0.0 {n:6} {n * 7:5} ?        S    00:0{n} python x{n}" for n in range(9))
    parsed = parse(f"USER       PID %CPU    VSZ   RSS TTY      STAT TIME  COMMAND\n{rows}")
    assert parsed is not None
    assert list(parsed.value[0]) == ["USER", "PID", "%CPU", "VSZ", "RSS", "TTY", "STAT", "TIME", "COMMAND"]


def test_a_heading_of_two_words_is_one_where_only_wide_gaps_divide_columns() -> None:
    rows = "\n".join(
        f"{n}m          Normal    Pulled   pod/web-{n}   Image of web-{n} was there" for n in range(10, 19)
    )
    parsed = parse(f"LAST SEEN   TYPE      REASON   OBJECT       MESSAGE\n{rows}")
    assert parsed is not None
    assert parsed.value[2] == {
        "LAST SEEN": "12m",
        "TYPE": "Normal",
        "REASON": "Pulled",
        "OBJECT": "pod/web-12",
        "MESSAGE": "Image of web-12 was there",
    }


def test_a_column_without_cells_is_one_of_its_own() -> None:
    rows = "\n".join(f"web    {n:4} root  cwd  unknown                      /proc/{n}/cwd" for n in range(9))
    parsed = parse(f"COMMAND PID USER   FD  TYPE    DEVICE SIZE/OFF NODE NAME\n{rows}")
    assert parsed is not None
    assert parsed.value[2] == {
        "COMMAND": "web",
        "PID": 2,
        "USER": "root",
        "FD": "cwd",
        "TYPE": "unknown",
        "DEVICE": "",
        "SIZE/OFF": "",
        "NODE": "",
        "NAME": "/proc/2/cwd",
    }


@pytest.mark.parametrize(
    ("log", "line", "record"),
    [
        (
            SYSLOG,
            "Oct 11 10:01:00 box syslogd 1.4.1: restart.",
            {"host": "box", "process": "syslogd 1.4.1", "message": "restart."},
        ),
        (SYSLOG, "Oct 11 10:01:00 box --- again ---", {"host": "box", "message": "--- again ---"}),
        (PYLOG, "2026-10-11 10:01:00 a line of another program", {"message": "a line of another program"}),
    ],
)
def test_each_line_of_a_log_that_has_a_time_is_a_record(log: str, line: str, record: dict[str, str]) -> None:
    parsed = parse(f"{log}{line}\n{log}")
    assert parsed is not None
    assert parsed.format == "log"
    assert len(parsed.value) == 2 * log.count("\n") + 1
    found = parsed.value[log.count("\n")]
    assert {name: value for name, value in found.items() if name != "time"} == record


def test_an_access_log_is_no_list_of_matches() -> None:
    line = '19.2.1.{0} - - [14/May/2024:06:25:2{0} +0000] "GET /app.js HTTP/1.1" 304 33 "-" "Mozilla"'
    parsed = parse("\n".join(line.format(n) for n in range(9)))
    assert parsed is not None
    assert parsed.format == "log"


def test_an_element_holds_numbers_only_where_all_of_its_name_do() -> None:
    text = "<rooms>" + "".join(f"<room size='{at}'><number>{at}</number></room>" for at in (21, 22)) + "{}</rooms>"
    extra = "<room size='23'><number>21b</number></room>"
    parsed = parse(text.format(extra))
    assert parsed is not None
    assert [room["number"] for room in parsed.value["rooms"]["room"]] == ["21", "22", "21b"]
    assert [room["size"] for room in parsed.value["rooms"]["room"]] == [21, 22, 23]


@pytest.mark.parametrize("text", ['{"total":2}', '<?xml version="1.0"?>\n<run><total>2</total></run>'])
def test_the_mark_of_an_encoding_before_a_text_hides_no_data(text: str) -> None:
    assert parse(f"\ufeff{text}") == parse(text) is not None


@pytest.mark.parametrize("sha", ["a2dce385c8bd", "a2dce385c8{}"])
def test_a_first_row_that_is_like_those_below_it_is_no_header(sha: str) -> None:
    text = "\n".join(f"{sha.format(n)} commit\trefs/heads/topic-{n}" for n in range(10, 40))
    assert parse(text, ("csv",)) is None


def test_the_indents_of_a_tree_of_processes_stay() -> None:
    text = (
        "  PID TTY          TIME CMD\n"
        "    1 ?        00:00:07 init\n"
        "  310 ?        00:00:01   sshd\n"
        "  977 pts/0    00:00:00     bash\n"
        "  412 ?        00:00:02   cron\n"
    )
    parsed = parse(text)
    assert parsed is not None
    assert [row["CMD"] for row in parsed.value] == ["init", "  sshd", "    bash", "  cron"]


def test_the_indents_of_a_tree_of_devices_stay() -> None:
    text = (
        "NAME       SIZE TYPE\n"
        "vda         20G disk\n"
        "└─vda1      20G part\n"
        "  └─secret  20G crypt\n"
        "vdb         10G disk\n"
    )
    parsed = parse(text)
    assert parsed is not None
    assert [row["NAME"] for row in parsed.value] == ["vda", "└─vda1", "  └─secret", "vdb"]


def test_a_last_column_aligned_to_the_right_has_no_indents() -> None:
    text = (
        "NAME   KIND       AGE\n"
        "web    service     5d\n"
        "store  service   217d\n"
        "batch  job      3d12h\n"
        "queue  service    88d\n"
    )
    parsed = parse(text)
    assert parsed is not None
    assert [row["AGE"] for row in parsed.value] == ["5d", "217d", "3d12h", "88d"]
