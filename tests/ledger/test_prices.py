from __future__ import annotations

import json
from pathlib import Path

import pytest

from shaping.ledger.prices import PriceError, load_prices

TABLE = {
    "date": "2026-01-02",
    "currency": "EUR",
    "per_tokens": 1000,
    "models": {"small": {"input": 1, "cache_write": 2, "cache_read": 0.5}, "plain": {"input": 3}},
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(TABLE))
    return path


def test_a_result_is_priced_once_when_written_and_as_cache_reads_for_each_turn_that_it_stayed(table: Path) -> None:
    price = load_prices(table).find("small")
    assert (price.cost(1000), price.cost(1000, read=4000)) == (2.0, 4.0)
    assert (price.currency, price.date) == ("EUR", "2026-01-02")


def test_a_model_without_prices_of_a_cache_reads_its_input_again_in_each_turn(table: Path) -> None:
    price = load_prices(table).find("plain")
    assert (price.cost(1000), price.cost(1000, read=4000)) == (3.0, 15.0)


def test_the_bundled_table_is_dated_and_says_its_source() -> None:
    prices = load_prices(environ={"XDG_CONFIG_HOME": "/nowhere"})
    assert prices.date > "2026"
    assert "litellm" in prices.source
    assert all(price.input > 0 for price in prices.models.values())
    sonnet = prices.find("anthropic/claude-sonnet-4-5")
    assert sonnet.cache_write is not None
    assert sonnet.cache_read is not None
    assert sonnet.cache_read < sonnet.input < sonnet.cache_write


@pytest.mark.parametrize("place", ["variable", "directory"])
def test_a_user_replaces_the_table_by_a_variable_or_in_the_config_directory(
    place: str, table: Path, tmp_path: Path
) -> None:
    environ = {"SHAPING_PRICES": str(table)}
    if place == "directory":
        (tmp_path / "shaping").mkdir()
        table.rename(tmp_path / "shaping" / "prices.json")
        environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert list(load_prices(environ=environ).models) == ["small", "plain"]


def test_a_model_that_is_not_listed_is_refused_with_the_nearest(table: Path) -> None:
    with pytest.raises(PriceError, match=r"no model 'smal'; --prices names another table. Did you mean 'small'\?"):
        load_prices(table).find("smal")
    with pytest.raises(PriceError, match=r"no model 'xyz'; --prices names another table\.$"):
        load_prices(table).find("xyz")
