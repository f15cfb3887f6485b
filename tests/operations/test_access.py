from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from pydantic import BaseModel, Field

from shaping.errors import ToolError
from shaping.operations.access import Access, Context, Identity, Trust
from shaping.operations.registry import Registry
from shaping.operations.spec import make_spec

if TYPE_CHECKING:
    from shaping.envelope import Envelope

ANN = Identity("ann", frozenset({"read", "write"}), {"project:7": ["edit"], "team:*": ["*"]})


def verdict(access: Access, identity: Identity | None = ANN, given: Any = None) -> str | None:
    try:
        access.check("op", identity, given)
    except ToolError as refused:
        return refused.detail.message
    return None


@pytest.mark.parametrize(
    ("access", "said"),
    [
        (Access(), None),
        (Access(scopes=("read", "write")), None),
        (Access(scopes=("read", "admin")), "op needs the scope admin"),
        (Access(scopes=("audit", "admin")), "op needs the scopes audit, admin"),
        (Access(any_scopes=("admin", "write")), None),
        (Access(any_scopes=("admin", "audit")), "op needs one of the scopes admin, audit"),
        (Access(resource_type="team", action="edit"), None),
        (Access(resource_type="team"), None),
        (Access(resource_type="project", action="edit"), "op needs edit on project:*"),
        (Access(resource_type="project", action="edit", resource_id="7"), None),
        (Access(resource_type="project", action="edit", resource_id="8"), "op needs edit on project:8"),
        (Access(resource_type="project", action="drop", resource_id="7"), "op needs drop on project:7"),
    ],
)
def test_an_identity_may_do_what_it_was_granted(access: Access, said: str | None) -> None:
    assert verdict(access) == said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"project": 7}, None),
        ({"project": "7"}, None),
        ({"project": 8}, "op needs edit on project:8"),
        ({"project": ["7"]}, "op needs edit on project:*"),
        ({}, "op needs edit on project:*"),
        ("7", "op needs edit on project:*"),
    ],
)
def test_the_id_in_the_input_is_the_one_that_must_be_granted(given: Any, said: str | None) -> None:
    assert verdict(Access(resource_type="project", action="edit", id_member="project"), given=given) == said


def test_scopes_may_come_in_a_list_and_one_alone_is_itself() -> None:
    assert verdict(Access(any_scopes=("read",)), Identity("bob", ["read"])) is None
    assert verdict(Access(scopes=("read",)), Identity("bob", "reader")) == "op needs the scope read"
    assert (Identity("bob", "read"), Access("read", "write")) == (
        Identity("bob", frozenset({"read"})),
        Access(("read",), ("write",)),
    )


def test_nobody_may_do_what_needs_somebody() -> None:
    assert verdict(Access(), None) is None
    assert verdict(Access(scopes=("read",)), None) == "op needs an identity"


def made(registry: Registry, name: str, handler: Any, **more: Any) -> None:
    namespace, _, name = name.rpartition(".")
    registry.register(make_spec(name, **{"namespace": namespace, "operation_type": "query", **more}), handler)


def run(registry: Registry, name: str, given: Any = None, **more: Any) -> Envelope[Any]:
    async def call() -> Envelope[Any]:
        return await registry.execute(name, given, shape=False, **more)

    return anyio.run(call)


def code(envelope: Envelope[Any]) -> str | None:
    return envelope.error.code if envelope.error else None


def test_a_call_without_the_right_is_refused_before_its_input_is_looked_at() -> None:
    registry = Registry()
    made(registry, "shop.get", lambda _: 1, input={"type": "object", "required": ["id"]}, access={"scopes": ["admin"]})
    assert code(run(registry, "shop.get", {}, identity=ANN)) == "PERMISSION_DENIED"
    assert code(run(registry, "shop.get", {})) == "AUTH_REQUIRED"


class Target(BaseModel):
    project: int = Field(alias="projectId")

    model_config = {"populate_by_name": True}


def test_what_the_handler_will_see_is_checked_as_well() -> None:
    registry = Registry()
    access = Access(resource_type="project", action="edit", id_member="project")
    made(registry, "shop.get", lambda given: given.project, input=Target, access=access)
    assert code(run(registry, "shop.get", {"project": 7, "projectId": 8}, identity=ANN)) == "PERMISSION_DENIED"
    assert run(registry, "shop.get", {"project": 7}, identity=ANN).data == 7


def test_trust_is_held_and_not_claimed() -> None:
    registry, other = Registry(), Registry()
    made(registry, "shop.get", lambda _: 1, access=Access(scopes=("admin",)))
    assert run(registry, "shop.get", trust=registry.trust()).data == 1
    for claimed in (True, Trust(), other.trust(), object(), pickle.loads(pickle.dumps(registry.trust()))):  # noqa: S301 (our own bytes)
        assert code(run(registry, "shop.get", trust=claimed)) == "AUTH_REQUIRED"


# Calling one another.


def composed() -> Registry:
    async def total(given: Any, context: Context) -> Any:
        env = context.env()
        first, second = await env.shop.price(id=1), await env["shop"]["price"]({"id": 2})
        return [first.data, second.data]

    async def stream(_: Any) -> Any:
        yield 1

    registry = Registry()
    made(registry, "shop.price", lambda given: given["id"] * 10, access=Access(scopes=("read",)))
    made(registry, "shop.total", total)
    made(registry, "shop.ticks", stream, type="subscription")
    made(registry, "admin.drop", lambda _: "dropped")
    return registry


def test_handlers_call_one_another_in_the_callers_name() -> None:
    assert run(composed(), "shop.total", identity=ANN).data == [10, 20]
    assert run(composed(), "shop.total", identity=Identity("eve")).data == [None, None]


def test_an_env_has_no_subscriptions_and_only_the_namespaces_asked_for() -> None:
    env = composed().build_env(ANN)
    assert {name: list(entries) for name, entries in env.items()} == {"shop": ["price", "total"], "admin": ["drop"]}
    assert list(composed().build_env(ANN, namespaces={"shop"})) == ["shop"]
    assert ("shop" in env, len(env)) == (True, 2)


def test_an_env_answers_an_unknown_name_with_the_nearest() -> None:
    env = composed().build_env()
    with pytest.raises(ToolError) as caught:
        env.shop.prize  # noqa: B018  asking is the test
    assert caught.value.detail.similar == ("price",)
    assert not hasattr(env, "_private")


def test_an_env_may_carry_trust() -> None:
    registry = composed()

    async def call() -> Envelope[Any]:
        envelope: Envelope[Any] = await registry.build_env(trust=registry.trust()).shop.price(id=3)
        return envelope

    assert anyio.run(call).data == 30


def test_a_context_without_a_registry_has_nobody_to_call() -> None:
    with pytest.raises(RuntimeError, match="nothing else to call"):
        Context("op").env()
