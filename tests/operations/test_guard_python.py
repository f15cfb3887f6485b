from __future__ import annotations

import pytest

from shaping.operations.guard import find_python_construct as find_construct

BLOCKED = [
    "import string; string.Formatter().get_field('0.' + ''.join(['_', '_', 'class', '_', '_']), (1,), {})",
    "f.vformat(joined, (1,), {})",
    "import logging.config",
    "logging.FileHandler('/tmp/x')",
    "import antigravity",
    "from test import support",
    "help('x')",
    "dataclasses.make_dataclass('X', [])",
    "exec('1')",
    "eval('1')",
    "compile('1', '', 'eval')",
    "e = eval",
    "run = [exec][0]",
    "map(eval, ['1'])",
    "@exec\ndef f(): pass",
    "class A:\n    __getitem__ = exec",
    "__import__('json')",
    "__builtins__['open']",
    "globals()['x']",
    "vars()['x']",
    "locals()",
    "breakpoint()",
    "\uff45\uff56\uff41\uff4c('1')",
    "().__class__",
    "().__class__.__bases__[0].__subclasses__()",
    "(lambda: 0).__globals__",
    "f.__code__.replace(co_code=b'')",
    "x.__init__.__globals__",
    "type(x).mro()",
    "(i for i in ()).gi_frame.f_back",
    "e.__traceback__.tb_frame",
    "getattr(x, '__class__')",
    "getattr(x, name)",
    "getattr(x, '__cl' + 'ass__')",
    "getattr(x, 'system')",
    "getattr(x, 'eval')",
    "getattr(*parts)",
    "g = getattr",
    "functools.reduce(getattr, ['a'], x)",
    "setattr(x, 'y', 1)",
    "delattr(x, 'y')",
    "'{0.__class__}'.format(x)",
    "'{0.gi_frame.f_globals}'.format(x for x in ())",
    "'{:{0[a].tb_frame[x]}}'.format(x)",
    "'{0[}-].gi_frame}'.format(x)",
    "show = '{0.gi_frame}'.format\nshow(x)",
    "show = template.format\nshow(x)",
    "('{0.__cl' + 'ass__}').format(x)",
    "template.format(x)",
    "''.join(parts).format(x)",
    "'{x.__class__}'.format_map({})",
    "x['__globals__']",
    "match x:\n    case object(__class__=c): pass",
    "import os",
    "import os.path as p",
    "import subprocess as s",
    "import json, sys",
    "import importlib",
    "import ctypes.util",
    "import _posixsubprocess, _socket",
    "from os import *",
    "from os.path import os",
    "from random import _os",
    "from logging import os as o",
    "from builtins import eval as e",
    "from json import __builtins__",
    "import pickle",
    "import operator",
    "random._os.getcwd()",
    "json.codecs.builtins.open",
    "logging.sys.modules",
    "x.system('ls')",
    "os.system('ls')",
    "os._exit(1)",
    "o.popen('ls')",
    "o.execvp('ls', [])",
    "o.spawnl(0, 'ls')",
    "s.Popen(['ls'])",
    "s.check_output(['ls'])",
    "c.CDLL(None)",
    "p.write_text('x')",
    "p.unlink()",
    "pd.read_pickle('x')",
    "np.load('x', allow_pickle=True)",
    "df.eval('1')",
    "open('f', 'w')",
    "open('f', mode='a')",
    "open('f', 'r+')",
    "open('f', mode)",
    "open('f', **options)",
    "open(*arguments)",
    "path.open('w')",
    "writer = open",
    "exit()",
    "input('?')",
    "sys.modules",
    "run = os",
    "yaml.unsafe_load(x)",
    "import tkinter",
    "x = (",
    "x = '\0'",
    "lambda: (yield",
]
ORDINARY = [
    "1 + 1",
    "[n * 2 for n in range(10) if n % 2]",
    "import json\njson.dumps({'a': [1, 2]})",
    "from collections import Counter\nCounter('abc').most_common(1)",
    "import math, datetime as dt\ndt.datetime.now().isoformat()",
    "def f(x):\n    return x.name\nf(item)",
    "class A:\n    def __init__(self):\n        super().__init__()\n        self.x = 1",
    "if __name__ == '__main__':\n    main()",
    "'{:.2f}'.format(3.14159)",
    "'{0.name}, not os.system {{.eval}}'.format(x)",
    "f'{total:>10} of {count}'",
    "type(x)",
    "await store.get('x')",
    "store.find(kind='exec', status='os')",
    "re.search(r'\\d+', text)",
    "'\\d'",
    "output = input * 2",
    "match x:\n    case {'a': 1}: pass\n    case Point(x=0): pass",
    "x = b'raw' + b'bytes'",
    "order.code, order.signal, order.types",
    "'a' + name + 'b'",
    "'-' * 40",
]


@pytest.mark.parametrize("code", BLOCKED)
def test_a_payload_that_reaches_outside_is_named(code: str) -> None:
    assert find_construct(code) is not None


@pytest.mark.parametrize("code", ORDINARY)
def test_an_ordinary_payload_passes(code: str) -> None:
    assert find_construct(code) is None


def test_the_construct_is_named_and_not_quoted() -> None:
    named = [find_construct(code) for code in ("import os", "x.__class__", "x['__globals__']", "open('secret', 'w')")]
    assert named == ["import of os", "attribute __class__", "text with __globals__", "open"]


def test_a_payload_too_deep_to_read_is_refused() -> None:
    assert find_construct("+".join(["'a'"] * 20_000)) == "unparsable"
    assert find_construct("(" * 5_000 + ")" * 5_000) == "unparsable"
