from collections.abc import AsyncIterator
from typing import Annotated, Any

import anyio
import pytest
from pydantic import BaseModel, Field

from shaping.operations import Registry, operation
from shaping.operations.access import Context, Identity
from shaping.operations.spec import ManifestError


class Price(BaseModel):
    amount: int
    unit: str = "EUR"


@operation(type="query", namespace="shop", codes=["NOT_FOUND"])
def price(id: Annotated[int, Field(description="of the item")], unit: str = "EUR") -> Price:  # noqa: A002  a name from outside
    """Give the price of an item."""
    return Price(amount=id * 10, unit=unit)


@operation(type="mutation", namespace="shop")
async def buy(order: Price, context: Context) -> str:
    return f"{order.amount} for {context.identity.id if context.identity else 'nobody'}"


@operation(namespace="shop")
async def ticks(count: int) -> AsyncIterator[int]:
    for number in range(count):
        yield number


@pytest.fixture
def registry() -> Registry:
    made = Registry()
    made.register(price)
    made.add(op.pair for op in (buy, ticks))
    return made


def test_a_function_stays_callable_and_keeps_its_name() -> None:
    assert price(2) == Price(amount=20)
    assert (price.__dict__["__name__"], price.__doc__) == ("price", "Give the price of an item.")


def test_the_signature_is_the_spec() -> None:
    spec = price.spec
    assert (spec.id, spec.type, spec.operation_type, spec.description) == (
        "shop.price",
        "query",
        "query",
        "Give the price of an item.",
    )
    assert spec.input.json == {
        "title": "price_input",
        "type": "object",
        "properties": {
            "id": {"title": "Id", "description": "of the item", "type": "integer"},
            "unit": {"title": "Unit", "type": "string", "default": "EUR"},
        },
        "required": ["id"],
        "additionalProperties": False,
    }
    assert spec.output.json["required"] == ["amount"]
    assert (buy.spec.type, buy.spec.operation_type, buy.spec.state_changing) == ("mutation", "command", True)
    assert (ticks.spec.type, ticks.spec.operation_type) == ("subscription", "query")
    assert ticks.spec.output.json == {"type": "integer"}


def test_every_kind_of_function_is_called_with_what_it_was_given(registry: Registry) -> None:
    async def main() -> list[Any]:
        bought = await registry.execute("shop.buy", {"order": {"amount": 5}}, Identity("ann"), shape=False)
        priced = await registry.execute("shop.price", {"id": "3"}, shape=False)
        ticked = [e.data async for e in registry.subscribe("shop.ticks", {"count": 2}, shape=False)]
        return [bought.data, priced.data, ticked]

    assert anyio.run(main) == ["5 for ann", {"amount": 30, "unit": "EUR"}, [0, 1]]


def test_an_unknown_argument_is_refused(registry: Registry) -> None:
    envelope = anyio.run(registry.execute, "shop.price", {"id": 1, "unti": "USD"})
    assert envelope.error is not None
    assert envelope.error.code == "BAD_ARGUMENT"


def test_what_a_function_does_to_the_world_must_be_said() -> None:
    def plain(x: int) -> int:
        return x

    with pytest.raises(ManifestError, match="declares no operation_type"):
        operation()(plain)


def test_parameters_without_names_are_refused() -> None:
    def variadic(*parts: int) -> int:
        return len(parts)

    with pytest.raises(TypeError, match="parameters have names"):
        operation(type="query")(variadic)


def test_a_function_that_says_nothing_takes_and_gives_anything() -> None:
    def anything(x) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001  that is the case
        ...

    spec = operation(type="query", description="d", name="n", operation_type="logs")(anything).spec
    assert (spec.name, spec.output.json, spec.operation_type) == ("n", {}, "logs")
