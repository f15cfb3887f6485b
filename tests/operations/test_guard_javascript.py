from __future__ import annotations

import builtins
from typing import Any

import pytest

from shaping.errors import ToolError
from shaping.operations.guard_javascript import find_construct, unescape

BLOCKED = [
    "process.exit(1)",
    "process['exit'](1)",
    "process['ex' + 'it'](1)",
    "process[`exit`]()",
    "process[`ex${'it'}`]()",
    "process?.exit()",
    "(process).exit()",
    "(0, process.exit)(0)",
    "const p = process; p.exit()",
    "let p; p = process",
    "const { exit } = process",
    "const { env } = process",
    "run(process)",
    "({ process })",
    "process[name]()",
    "pr\\u006fcess.exit()",
    "x.\\u0063onstructor",
    "globalThis['Function']('x')()",
    "globalThis.process.exit()",
    "globalThis['pro' + 'cess']",
    "window.eval('1')",
    "window['ev' + 'al']('1')",
    "this['eval']('1')",
    "self['require']('fs')",
    "document.defaultView.process",
    "top.eval('1')",
    "frames[0].process.exit()",
    "this.process.exit()",
    "f().process.exit()",
    "const p = f().process",
    "const { process } = x",
    "new Worker(url)",
    "WebAssembly.instantiate(x)",
    "globalThis[name]",
    "window[k1 + k2]",
    "const g = globalThis",
    "run(window)",
    "const { process: p } = globalThis",
    "''.constructor.constructor('x')()",
    "(() => {}).constructor('x')()",
    "(() => {})[key]",
    "x['constructor']",
    "x['con' + 'structor']",
    "x['con'.concat('structor')]",
    "x[['con', 'structor'].join('')]",
    "let k; k = 'constr'; x[k + 'uctor']",
    "x[(0, 'constructor')]",
    "x['c\\x6fnstruct\\u006fr']",
    "x['\\u{63}onstructor']",
    "x['rotcurtsnoc'.split('').reverse().join('')]",
    "const { constructor: c } = x",
    "const { constructor } = x",
    "const { ['construct' + 'or']: c } = x",
    "({ constructor: 1 })",
    "get(x, 'constructor')",
    "x.__proto__.y = 1",
    "x['__proto__']",
    "Reflect.get(x, y)",
    "Object.getOwnPropertyDescriptor(x, y)",
    "String.fromCharCode(101)",
    "atob('ZXZhbA==')",
    "eval('1')",
    "const e = eval",
    "(0, eval)('1')",
    "eval?.('1')",
    "new Function('return 1')()",
    "Function`return 1`",
    "const F = Function",
    "require('fs')",
    "const r = require",
    "module.require('fs')",
    "import('fs')",
    "import fs from 'fs'",
    "import.meta.url",
    "Deno.exit()",
    "importScripts('x')",
    "setTimeout('alert(1)', 1)",
    "setTimeout('alert' + x, 1)",
    "window.setInterval(`run()`, 1)",
    "with (x) { y }",
    "handlers[name](event)",
    "arguments.callee",
    "x.mainModule",
    "const = 1",
    "((((",
]
ORDINARY = [
    "1 + 1",
    "return document.title",
    "document.querySelectorAll('a').length",
    "[1, 2].map((n) => n * 2).join(', ')",
    "const rows = [...document.querySelectorAll('tr')]; rows[0].cells[1].textContent",
    "const parent = node.parentNode; parent.appendChild(child)",
    "const self = this",
    "matrix[i][j]",
    "map['item' + i]",
    "map[`key_${i}`] = 1",
    "/\\d+/.exec(text)",
    "process.platform",
    "process.versions.electron",
    "process.memoryUsage()",
    "typeof window === 'undefined'",
    "window.innerWidth",
    "window['scrollY']",
    "class A { constructor() { super(); this.x = 1 } get(k) { return this[k] } }",
    "error.constructor.name",
    "await fetch('/api').then((r) => r.json())",
    "setTimeout(() => done(), 10)",
    "setTimeout(done, 10)",
    "queue.process(job)",
    "queue.process(job).then(done)",
    "host.process.platform",
    "({ [name]: 1, type: 'eval' })",
    "console.log('process', `a\\n${b}`)",
    "['a', x].join()",
    "'a'.concat(x)",
    "x.join('')",
    "run()",
    "(function () {})()",
    "let a = 1; a += 1",
    "items[items.length - 1]",
    "``",
    "data[key(x)]",
]


@pytest.mark.parametrize("code", BLOCKED)
def test_a_payload_that_reaches_outside_is_named(code: str) -> None:
    assert find_construct(code) is not None


@pytest.mark.parametrize("code", ORDINARY)
def test_an_ordinary_payload_passes(code: str) -> None:
    assert find_construct(code) is None


def test_the_construct_is_named_and_not_quoted() -> None:
    codes = ("process['ex'+'it']()", "globalThis['Function']", "x['con'+'structor']", "import('a')", "setTimeout('a')")
    named = [find_construct(code) for code in codes]
    assert named == ["process", "property Function", "property constructor", "dynamic import", "text run by setTimeout"]


def test_a_payload_too_deep_to_read_is_refused() -> None:
    assert find_construct("+".join(["'a'"] * 1_000)) == "deeply nested expression"


@pytest.mark.parametrize(
    ("escape", "text"),
    [("\\x6f", "o"), ("\\u006f", "o"), ("\\u{6f}", "o"), ("\\u{110000}", "\ufffd"), ("\\q", "q")],
)
def test_an_escape_reads_as_its_character(escape: str, text: str) -> None:
    assert unescape(escape) == text


def test_without_the_extra_nothing_is_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_tree_sitter(name: str, *rest: Any) -> Any:
        if name.startswith("tree_sitter"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_tree_sitter)
    with pytest.raises(ToolError, match=r'pip install "shaping\[js\]"') as caught:
        find_construct("1 + 1")
    assert caught.value.detail.code == "DEPENDENCY_UNAVAILABLE"
