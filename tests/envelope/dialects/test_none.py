from typing import Any

import pytest

from shaping.envelope import Envelope, LocalMeta, local_envelope, parse, recognise
from shaping.errors import make_error


@pytest.mark.parametrize("data", [None, 5, "x", [1], {"a": 1}])
def test_it_is_the_data_alone(data: Any) -> None:
    assert local_envelope(data, "op", truncated=True).render("none", debug=True) == data
    assert Envelope.parse(data, "none") == Envelope(data=data, meta=LocalMeta())


def test_an_error_is_for_the_surface_to_tell() -> None:
    assert local_envelope({"seen": 1}, "op", error=make_error("TIMEOUT", "x")).render("none") == {"seen": 1}


@pytest.mark.parametrize("wire", [None, 5, "x", [1], {"a": 1}, {}])
def test_what_carries_no_envelope_is_data(wire: Any) -> None:
    assert recognise(wire) == "none"
    assert parse(wire).data == wire


def test_an_envelope_is_parsed_already() -> None:
    envelope = local_envelope(1, "op")
    assert parse(envelope) is envelope
