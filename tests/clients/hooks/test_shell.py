"""Which command's output a line of shell prints."""

from __future__ import annotations

import pytest

from shaping.clients.hooks.results import printing_command


@pytest.mark.parametrize(
    ("line", "argv"),
    [
        ("git log --oneline", ("git", "log", "--oneline")),
        ("cd src && git log -5 | head -20", ("git", "log", "-5")),
        ("FOO=1 npm test 2>&1 | tail -20", ("npm", "test")),
        ("kubectl get pods -o json > /dev/stdout", ("kubectl", "get", "pods", "-o", "json")),
        ("curl -s 'http://localhost/a?b=c&d=e'", ("curl", "-s", "http://localhost/a?b=c&d=e")),
        ("psql -c 'select 1; select 2'", ("psql", "-c", "select 1; select 2")),
        ("cargo test \\\n  --workspace", ("cargo", "test", "--workspace")),
    ],
)
def test_the_one_command_that_prints_is_found(line: str, argv: tuple[str, ...]) -> None:
    assert printing_command(line) == (argv, False)


@pytest.mark.parametrize(
    "line",
    [
        "git status; git log",
        "make || make -k",
        "gh api /x | jq .",
        "cat a.json | jq .",
        "for f in *; do stat $f; done",
        "(cd x; ls)",
        "python - <<'END'\nprint(1)\nEND",
        "echo 'not closed",
    ],
)
def test_where_several_commands_may_have_printed_it_is_the_shell(line: str) -> None:
    assert printing_command(line) == (("bash",), False)


@pytest.mark.parametrize(
    "line",
    [
        "cat a.py",
        "/bin/cat a.py",
        "cd src && cat a.py",
        "cat a.py | head -50",
        "sed -n 1,80p a.py",
        "head -5 a.py; tail -5 a.py",
        "git status && cat a.py",
        "git show HEAD:a.py",
        "for f in *.py; do cat $f; done",
        "shaping expand r_abc",
        "/opt/venv/bin/shaping run -- git log",
    ],
)
def test_the_text_of_files_and_our_own_answers_stay(line: str) -> None:
    command = printing_command(line)
    assert command is None or command.stays
