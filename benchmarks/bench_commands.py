"""Runs 200 real commands, 2 GB of output and 2,000 tests through `shaping run` and checks what must hold.

    .venv/bin/python benchmarks/bench_commands.py [--only commands|memory|pytest]

Commands: the exit code is the command's; stdout and stderr are in the answer or expand to the exact bytes; nothing hangs.
Memory: the most that `shaping run` held while `yes | head -c 2G` went through it. Pytest: tokens of the answer, names in it.
"""

# ruff: noqa: E501 (the list of commands is read across)
from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.results import compiled_modules, markdown_table, write_section
from shaping import tokens
from shaping.commands.storage import streams_of
from shaping.shaper import Shaper
from shaping.store.expand import stream_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

SHAPING = str(Path(sys.executable).with_name("shaping"))
PYTHON = sys.executable
SETUP = """
seq 1 3000 > numbers; seq 1 9 > few; printf 'b\\na\\nc\\na\\n' > letters; printf 'x\\ty\\n1\\t2\\n3\\t4\\n' > rows.tsv
printf 'name,size\\nada,1\\nbob,2\\n' > rows.csv; printf '{"a": [1, 2, {"b": null}], "c": "é"}' > doc.json
printf '{"n": 1}\\n{"n": 2}\\n' > lines.jsonl; head -c 70000 /dev/urandom > noise.bin; mkdir -p deep/er/still
printf 'one\\r\\ntwo\\r\\n' > dos; printf '\\033[31mred\\033[0m plain\\n' > colours; : > empty; ln -s numbers link
for n in $(seq 1 60); do echo "file $n" > "deep/file$n.txt"; done; cp numbers "with space"
git init -q -b main . ; git config user.email a@example.invalid; git config user.name Ada; git add few letters doc.json
git commit -q -m first --date 2026-01-01T00:00:00Z; echo ten >> few; git commit -q -am second --date 2026-01-02T00:00:00Z
echo changed >> letters; printf '{"name": "x", "version": "1.0.0", "scripts": {"hi": "echo hi", "bad": "exit 7"}}' > package.json
"""
COREUTILS = """
ls; ls -l deep; ls -a; ls -1; ls -R deep; ls nowhere; ls -d deep; ls -la deep/er; ls --bogus; ls deep few
cat few; cat numbers; cat doc.json; cat lines.jsonl; cat rows.csv; cat rows.tsv; cat noise.bin; cat colours; cat dos; cat empty
cat nowhere; cat few nowhere; cat -n letters; cat -A dos; head numbers; head -n 3 few; head -c 100 noise.bin; head nowhere
tail numbers; tail -n 1 few; tail -c 9 numbers; tail nowhere; wc numbers; wc -l few letters; wc nowhere; wc -c noise.bin
sort letters; sort -r letters; sort -u letters; sort -n numbers; sort nowhere; uniq letters; uniq -c letters; cut -d, -f1 rows.csv
cut -f2 rows.tsv; cut -z; tr a b; seq 5; seq 1 2000; seq 3 1; seq x; echo; echo hello; echo -n hello; printf %s\\n a b c
printf %d x; true; false; test -f few; test -f nowhere; test 1 -gt 2; expr 1 + 2; expr 1 / 0; expr 0; basename /a/b.c .c
dirname /a/b; realpath few; realpath -e nowhere; readlink link; readlink few; stat -c %s few; stat nowhere; file few
md5sum few; sha256sum few letters; md5sum nowhere; cksum numbers; base64 few; base64 noise.bin; base64 -d few; od -c few
od -A x -t x1 noise.bin; nl letters; fold -w 10 numbers; fmt letters; paste few letters; join few letters; comm few letters
tac few; rev letters; shuf -n 0 few; split --bogus; tee; du -b few; find . -name few; find deep -name *.txt; find nowhere
find deep -type d; find . -newer nowhere; grep a letters; grep z letters; grep -c 1 numbers; grep -n 99 numbers; grep -r file deep
grep x nowhere; grep -v a letters; grep -E [ few; diff few letters; diff few few; cmp few letters; cmp few few; sed s/a/b/ letters
sed -n 2,4p numbers; sed bogus few; awk {print} few; awk {print$1*2} few; awk BEGIN{exit(3)}; awk bogus(; env -i A=b env; env false
xargs echo; sleep 0.1; printenv nosuchvariable; id -u nobody; id nosuchuser; which sh; which nosuchprogram; uname -s; arch
touch -c nowhere; mkdir deep; rmdir deep; rm nowhere; cp nowhere x; mv nowhere x; ln -s few link; chmod 999 few; dd if=few status=none
timeout 0.1 sleep 5; timeout 5 true; nice true; sum few; factor 1234567890; numfmt --to=iec 123456; tsort few; pr -l 20 few
sh -c exit\\ 42; sh -c kill\\ -9\\ $$; sh -c kill\\ -15\\ $$; sh -c echo\\ out;echo\\ err>&2;exit\\ 3; sh -c yes|head\\ -n\\ 200000
sh -c for\\ i\\ in\\ 1\\ 2\\ 3;do\\ printf\\ "$i\\r";done;echo; sh -c exec\\ 1>&-;exit\\ 4; sh -c exec\\ 2>&-;echo\\ x
"""
GIT = """
git status; git status --porcelain; git log; git log --oneline; git log -1 --format=%s; git log nowhere; git diff; git diff --stat
git diff --exit-code; git show; git show HEAD:few; git show nowhere; git branch; git branch -a; git tag; git remote -v; git ls-files
git rev-parse HEAD; git rev-parse nowhere; git blame few; git blame nowhere; git grep ten; git grep nothing-like-it; git config -l
git stash list; git cat-file -p HEAD; git cat-file -p nowhere; git merge nowhere; git push; git pull; git bogus; git --version
git log --bogus; git checkout nowhere; git describe; git shortlog -s HEAD; git rev-list --count HEAD; git ls-tree HEAD
"""
LANGUAGES: list[list[str]] = [
    [PYTHON, "-c", "print('x' * 5000)"],
    [PYTHON, "-c", "import sys; sys.exit(17)"],
    [PYTHON, "-c", "raise ValueError('no')"],
    [PYTHON, "-c", "import json; print(json.dumps([{'id': n, 'none': None} for n in range(300)]))"],
    [PYTHON, "-c", "import json; print(json.dumps({'a': 1}, indent=4))"],
    [PYTHON, "-c", "import sys; [print(n, file=sys.stderr) for n in range(9000)]"],
    [PYTHON, "-c", "import sys; sys.stdout.buffer.write(bytes(range(256)) * 40)"],
    [PYTHON, "-c", "import sys\nfor n in range(101): print(f'\\r{n}%', end='')\nprint()"],
    [PYTHON, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"],
    [PYTHON, "-c", "import sys; sys.stdout.write('é' * 40000)"],
    [PYTHON, "-c", "for n in range(40000): print('line', n)"],
    [PYTHON, "-c", "def f(: pass"],
    [PYTHON, "nowhere.py"],
    [PYTHON, "-m", "nosuchmodule"],
    [PYTHON, "--version"],
    [PYTHON, "-m", "json.tool", "doc.json"],
    [PYTHON, "-m", "json.tool", "few"],
    [PYTHON, "-m", "pip", "--version"],
    [PYTHON, "-m", "pip", "list", "--disable-pip-version-check"],
    [PYTHON, "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"],
    [PYTHON, "-m", "pip", "show", "pydantic"],
    [PYTHON, "-m", "pip", "show", "nosuchpackage-of-ours"],
    [PYTHON, "-m", "pip", "bogus"],
    [PYTHON, "-m", "pip", "download", "--no-index", "nosuchpackage-of-ours"],
    ["npm", "--version"],
    ["npm", "run", "hi"],
    ["npm", "pkg", "get", "name"],
    ["npm", "bogus"],
    ["npm", "ls"],
    ["npm", "ls", "--json"],
]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=["commands", "memory", "pytest", "added"])
    only = parser.parse_args().only
    parts = {"commands": bench_commands, "memory": bench_memory, "pytest": bench_pytest, "added": bench_added}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = str(Path(folder, "cache"))
        os.environ["XDG_CONFIG_HOME"] = str(Path(folder, "config"))
        good = [part(Path(folder)) for name, part in parts.items() if only in (None, name)]
    return 0 if all(good) else 1


def commands() -> Iterator[list[str]]:
    for text in (COREUTILS, GIT):
        for line in text.strip().splitlines():
            for command in line.split("; "):
                yield [word.replace("\0", " ") for word in command.replace("\\ ", "\0").replace("\\\\", "\\").split()]
    yield from LANGUAGES


def bench_commands(folder: Path) -> bool:
    where = folder / "scratch"
    where.mkdir()
    subprocess.run(["bash", "-c", SETUP], cwd=where, check=True, capture_output=True)
    shaper = Shaper({}, expandable=True)
    listed = list(commands())
    began, bad = time.perf_counter(), 0
    for argv in listed:
        problem = check(argv, where, shaper)
        if problem:
            bad += 1
            print(f"BAD {argv}: {problem}")
    print(f"{len(listed)} commands, {bad} bad, {time.perf_counter() - began:.0f} s")
    return bad == 0 and len(listed) >= 200


def check(argv: list[str], where: Path, shaper: Shaper) -> str | None:
    """Say what is wrong with how a command was shaped, if anything."""
    direct = subprocess.run(argv, cwd=where, capture_output=True, input=b"in\n", check=False, timeout=60)
    shaped = subprocess.run(
        [SHAPING, "run", "--json", "--", *argv], cwd=where, capture_output=True, input=b"in\n", check=False, timeout=60
    )
    expected = direct.returncode if direct.returncode >= 0 else 128 - direct.returncode
    if shaped.returncode != expected:
        return f"exits with {shaped.returncode}, the command with {expected}"
    told = json.loads(shaped.stdout)
    if told["ok"] != (expected == 0):
        return f"ok is {told['ok']}"
    for name, raw in (("stdout", direct.stdout), ("stderr", direct.stderr)):
        if not given_back(told, name, raw, shaper):
            return f"{name} is lost ({len(raw)} bytes)"
    return None


def given_back(told: dict[str, Any], name: str, raw: bytes, shaper: Shaper) -> bool:
    """Whether an output is in the answer, or expands to its exact bytes."""
    ref = told["meta"].get("ref")
    if ref is not None:
        return b"".join(stream_parts(shaper.keeper("command").store, streams_of(shaper, ref)[name])) == raw
    error = told["error"]
    if name == "stderr":
        data = told["data"]
        shown = error.get("detail") if error else data.get("stderr") if isinstance(data, dict) else None
        shown = shown or told["meta"].get("stderr") or ""
        return bool(shown.encode() == raw or (error and raw.decode().strip() in error["message"]))
    value = (error.get("details") or {}).get("stdout", "") if error else told["data"]
    if isinstance(value, dict) and not error and value.keys() <= {"stdout", "stderr"}:
        value = value.get("stdout", "")
    if isinstance(value, str):
        return value.encode() == raw
    return bool(value == (json.loads(raw) if raw.count(b"\n{") == 0 else [json.loads(one) for one in raw.splitlines()]))


def bench_memory(_: Path) -> bool:
    began = time.perf_counter()
    process = subprocess.Popen([SHAPING, "run", "--json", "--", "sh", "-c", "yes | head -c 2G"], stdout=subprocess.PIPE)
    out = process.stdout.read() if process.stdout else b""
    _pid, status, usage = os.wait4(process.pid, 0)
    held = usage.ru_maxrss / 1024
    print(
        f"yes | head -c 2G: exit {status}, {held:.0f} MB held, {time.perf_counter() - began:.0f} s, says {out[:160]!r}"
    )
    return status == 0 and held < 200


def bench_pytest(folder: Path) -> bool:
    where = folder / "tests"
    where.mkdir()
    many = "import pytest\n@pytest.mark.parametrize('n', range(1997))\ndef test_many(n):\n    assert n + n == 2 * n\n"
    three = "".join(f"def test_wrong_{n}():\n    value = {n}\n    assert value == {n + 40}\n\n\n" for n in range(3))
    (where / "test_all.py").write_text(many + three)
    good = True
    for words in ([], ["-q"], ["-v"], ["--color=yes", "-v"]):
        argv = [
            SHAPING,
            "run",
            "--json",
            "--max-tokens",
            "600",
            "--",
            PYTHON,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            *words,
        ]
        done = subprocess.run(argv, cwd=where, capture_output=True, check=False, timeout=300)
        text = done.stdout.decode().strip()
        missing = [n for n in range(3) if f"test_wrong_{n}" not in text or f"assert {n} == {n + 40}" not in text]
        cost = tokens.exact(text)
        print(f"pytest {' '.join(words)}: exit {done.returncode}, {cost} tokens, missing {missing}")
        good = good and done.returncode == 1 and cost <= 600 and not missing
    return good


EVERYDAY = (
    "git status; git log -50; git diff HEAD~3; ls -la; cat pyproject.toml; grep -rn import shaping/store; env; "
    "find shaping -name *.py; head -100 CHANGELOG.md; wc -l README.md; cat config/clients.json; echo done"
)
ADDED_SECONDS = 0.25
TIMES = 5


def bench_added(_: Path) -> bool:
    """Measure what `shaping run` adds to everyday commands, in seconds of the processor: the best of several."""
    root = Path(__file__).parents[1]
    rows = []
    with compiled_modules():
        for command in EVERYDAY.split("; "):
            alone, run = (_processor([*words, *command.split()], root) for words in ((), (SHAPING, "run", "--")))
            rows.append((f"`{command}`", f"{alone:.3f}", f"{run:.3f}", f"{run - alone:.3f}"))
    table = markdown_table(("command", "alone", "with shaping run", "added"), rows)
    print(table)
    recipe = {
        "what": f"seconds of the processor until the command line is back, the best of {TIMES}",
        "target": f"at most {ADDED_SECONDS} added",
    }
    write_section("What shaping run adds", table, recipe=recipe)
    return all(float(row[-1]) <= ADDED_SECONDS for row in rows)


def _processor(words: list[str], where: Path) -> float:
    spent = []
    for _ in range(TIMES):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(words, cwd=where, capture_output=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(spent)


if __name__ == "__main__":
    sys.exit(main())
