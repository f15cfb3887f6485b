from __future__ import annotations

import socket

import pytest
import typer

from shaping.cli.output import free_address, parse_address


@pytest.mark.parametrize(
    ("text", "read"),
    [("8080", ("127.0.0.1", 8080)), ("[::1]:65535", ("::1", 65535)), ("localhost:1", ("localhost", 1))],
)
def test_an_address_is_a_host_and_a_port(text: str, read: tuple[str, int]) -> None:
    assert parse_address(text) == read


@pytest.mark.parametrize("text", ["0", "65536", "9" * 5000, "localhost", "x:", "x:²"])
def test_what_is_no_address_is_refused_as_a_wrong_call(text: str) -> None:
    with pytest.raises(typer.Exit) as stopped:
        parse_address(text)
    assert stopped.value.exit_code == 2


def test_a_place_that_is_taken_is_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(typer.Exit) as stopped:
            free_address(str(port))
        said = capsys.readouterr().err
    assert (stopped.value.exit_code, said) == (1, f"cannot listen at 127.0.0.1:{port}: Address already in use\n")
    assert free_address(str(port)) == ("127.0.0.1", port)
