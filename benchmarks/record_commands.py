"""Records what real programs print, as cases for the tests of the presets.

    .venv/bin/python benchmarks/record_commands.py SCRATCH

Runs git, pytest, cargo, npm, pip, eslint, ruff, mypy, tsc and go in small projects under SCRATCH (eslint and typescript are
expected in SCRATCH/js/node_modules) and writes tests/cases/commands/<program>-<case>.json.
"""

# ruff: noqa: E501 (the projects stand here as they would in files)
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

CASES = Path(__file__).parent.parent / "tests" / "cases" / "commands"
BIN = Path(sys.executable).parent
TESTS = "import pytest\n\n\n@pytest.mark.parametrize('n', range({count}))\ndef test_{name}(n: int) -> None:\n    assert n * 2 == n + n\n"
FAILING = """
def price(amount, rate):
    return amount + amount * rate


def test_price_with_tax():
    net = 100
    assert price(net, 0.2) == 119


def test_name_is_trimmed():
    name = "  ada "
    assert name.lower() == "ada"


def test_missing_key():
    settings = {"host": "localhost"}
    assert settings["port"] == 8080
"""
FILES = {
    "py/test_many.py": TESTS.format(count=1997, name="doubling"),
    "py/test_orders.py": FAILING,
    "broken/test_broken.py": "import nosuchmodule\n\n\ndef test_x():\n    assert nosuchmodule.x\n",
    "lint/app.py": "import os\nimport sys\n\ndef f(x):\n    y = 1\n    return undefined_name + x\n\nprint(f('a' + 1))\n",
    "lint/totals.py": "def add(a: int, b: int) -> int:\n    return a + b\n\n\nadd('1', 2)\nvalue: str = add(1, 2)\nadd(1, 2, 3)\n",
    "rust/Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n',
    "rust/src/lib.rs": (
        "pub fn total(items: &[u32]) -> u32 {\n    items.iter().sum()\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n"
        + "".join(f"    #[test]\n    fn adds_{n}() {{\n        assert_eq!(total(&[{n}, 1]), {n} + 1);\n    }}\n\n" for n in range(40))
        + '    #[test]\n    fn empty_is_one() {\n        assert_eq!(total(&[]), 1, "an empty cart");\n    }\n\n'
        "    #[test]\n    fn panics() {\n        let none: Option<u32> = None;\n        none.unwrap();\n    }\n}\n"
    ),
    "rustbad/Cargo.toml": '[package]\nname = "bad"\nversion = "0.1.0"\nedition = "2021"\n',
    "rustbad/src/main.rs": 'fn main() {\n    let unused = 1;\n    let n: u32 = "five";\n    println!("{}", missing(n));\n}\n',
    "node/package.json": json.dumps(
        {"name": "shop", "version": "1.0.0", "scripts": {"test": "node test.js", "build": "node -e \"console.log('built')\""}}
    ),
    "node/test.js": "const assert = require('assert');\nconsole.log('running');\nassert.strictEqual(1 + 1, 3, 'sums are wrong');\n",
    "js/src/a.js": "const unused = 1;\nfunction f(x) { return y + x }\nif (f(1) == undefinedThing) { debugger; }\n",
    "js/src/b.js": "export default function g() { var a = 1; var a = 2; return }\nlet z = ;\n",
    "js/eslint.config.mjs": "import js from '@eslint/js';\nexport default [js.configs.recommended];\n",
    "js/src/c.ts": (
        "interface User { name: string; age: number }\nconst u: User = { name: 1, age: 'x' };\n"
        "function f(a: number): string { return a }\nf('a');\nconsole.log(u.email, missing);\n"
    ),
    "js/src/d.ts": "export const n: number = 'no';\nimport { nothing } from './nowhere';\n",
    "go/go.mod": "module shop\n\ngo 1.19\n",
    "go/shop.go": "package shop\n\nfunc Total(items []int) int {\n\tsum := 0\n\tfor _, item := range items {\n\t\tsum += item\n\t}\n\treturn sum\n}\n",
    "go/shop_test.go": (
        'package shop\n\nimport "testing"\n\n'
        + "".join(f'func TestAdds{n}(t *testing.T) {{\n\tif Total([]int{{{n}, 1}}) != {n + 1} {{\n\t\tt.Fatal("wrong")\n\t}}\n}}\n\n' for n in range(30))
        + 'func TestEmptyIsOne(t *testing.T) {\n\tif got := Total(nil); got != 1 {\n\t\tt.Errorf("Total(nil) = %d, want 1", got)\n\t}\n}\n\n'
        'func TestPanics(t *testing.T) {\n\tvar m map[string]int\n\tm["a"] = Total([]int{1})\n}\n'
    ),
    "gobad/go.mod": "module bad\n\ngo 1.19\n",
    "gobad/bad_test.go": 'package bad\n\nimport (\n\t"os"\n\t"testing"\n)\n\nfunc TestX(t *testing.T) {\n\tvar n int = "five"\n\tmissing(n)\n}\n',
}  # fmt: skip
GIT = """
git init -q -b main . && git config user.email a@example.invalid && git config user.name Ada
for n in $(seq 1 40); do echo "line $n" >> notes.txt; git add notes.txt; git commit -q -m "Write line $n" --date "2026-01-01T00:00:00Z"; done
git checkout -q -b side && sed -i '1s/.*/their first/' notes.txt && git commit -q -am "Change the first line"
git checkout -q main && sed -i '1s/.*/our first/' notes.txt && git commit -q -am "Change it too"
echo more > other.txt; touch new1 new2 new3
"""
RUNS: list[tuple[str, str, list[str]]] = [
    ("git-status", "repo", ["git", "status"]),
    ("git-log", "repo", ["git", "log"]),
    ("git-diff", "repo", ["git", "diff", "HEAD~3"]),
    ("git-push", "repo", ["git", "push", "nowhere", "main"]),
    ("git-clone", ".", ["git", "clone", "--progress", "--no-local", "repo", "cloned"]),
    ("git-merge", "repo", ["git", "merge", "side"]),
    ("pytest-many", "py", [str(BIN / "pytest"), "-p", "no:cacheprovider"]),
    ("pytest-verbose", "py", [str(BIN / "pytest"), "-p", "no:cacheprovider", "-v"]),
    ("pytest-broken", "broken", [str(BIN / "pytest"), "-p", "no:cacheprovider", "--color=yes"]),
    ("ruff-check", "lint", [str(BIN / "ruff"), "check", "--no-cache", "--isolated"]),
    ("ruff-json", "lint", [str(BIN / "ruff"), "check", "--no-cache", "--isolated", "--output-format", "json"]),
    ("mypy-errors", "lint", [str(BIN / "mypy"), "--no-error-summary", "--cache-dir=/dev/null", "totals.py"]),
    ("cargo-test", "rust", ["cargo", "test", "--offline"]),
    ("cargo-build", "rustbad", ["cargo", "build", "--offline", "--color=always"]),
    ("npm-test", "node", ["npm", "test"]),
    ("npm-missing", "node", ["npm", "run", "biuld"]),
    ("npm-install", "node", ["npm", "install", "--no-audit", "--no-fund", "./nowhere"]),
    ("pip-install", ".", [str(BIN / "python"), "-m", "pip", "install", "--no-index", "--disable-pip-version-check", "nosuchpackage-of-ours==9"]),
    ("pip-list", ".", [str(BIN / "python"), "-m", "pip", "list", "--disable-pip-version-check"]),
    ("eslint-errors", "js", ["npx", "eslint", "src/a.js", "src/b.js"]),
    ("tsc-errors", "js", ["npx", "tsc", "--noEmit", "src/c.ts", "src/d.ts"]),
    ("tsc-pretty", "js", ["npx", "tsc", "--noEmit", "--pretty", "src/c.ts", "src/d.ts"]),
    ("go-test", "go", ["go", "test", "-v", "./..."]),
    ("go-build", "gobad", ["go", "test", "./..."]),
]  # fmt: skip


def main(scratch: Path) -> None:
    for name, text in FILES.items():
        (scratch / name).parent.mkdir(parents=True, exist_ok=True)
        (scratch / name).write_text(text)
    (scratch / "repo").mkdir()
    subprocess.run(["bash", "-c", GIT], cwd=scratch / "repo", check=True, capture_output=True)
    for name, where, argv in RUNS:
        record(name, scratch / where, argv, scratch)


def record(name: str, where: Path, argv: list[str], scratch: Path) -> None:
    env = {**os.environ, "GOFLAGS": "-mod=mod", "GOCACHE": str(scratch / ".gocache"), "COLUMNS": "100"}
    done = subprocess.run(argv, cwd=where, capture_output=True, check=False, env=env)
    case = {
        "argv": [Path(argv[0]).name, *argv[1:]],
        "exit_code": done.returncode,
        "stdout": _plain(done.stdout, scratch).split("\n"),
        "stderr": _plain(done.stderr, scratch).split("\n"),
    }
    (CASES / f"{name}.json").write_text(json.dumps(case, indent=1, ensure_ascii=False) + "\n")
    print(f"{name}: exit {done.returncode}, {len(done.stdout)} + {len(done.stderr)} characters")


def _plain(raw: bytes, scratch: Path) -> str:
    text = raw.decode(errors="replace")
    return (
        text.replace(str(scratch), "/scratch").replace(str(BIN.parent), "/venv").replace(str(Path.home()), "/home/ada")
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scratch", type=Path, help="a folder in which the projects are made")
    main(parser.parse_args().scratch.absolute())
