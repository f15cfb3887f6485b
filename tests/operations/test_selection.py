from __future__ import annotations

from typing import Any

import pytest

from shaping.operations.spec import (
    OperationFilter,
    Spec,
    TooManyError,
    listed_name,
    listing_tokens,
    make_spec,
    select_operations,
    short_description,
    tool_definition,
)


def spec(name: str, method: str = "GET", path: str = "/x", **more: Any) -> Spec:
    reads = method == "GET"
    defaults = {"type": "query" if reads else "mutation", "operation_type": "query" if reads else "command"}
    return make_spec(name, **{**defaults, "namespace": "api", "origin": {"method": method, "path": path}, **more})


SPECS = [
    spec("get_issue", path="/issues/{id}", tags=["issues"]),
    spec("add_issue", "POST", "/issues", tags=["issues"]),
    spec("get_user", path="/users/{id}", tags=["users", "public"]),
    spec("run", "POST", "/run", operation_type="eval", language="python"),
]


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        (OperationFilter(), ["get_issue", "add_issue", "get_user", "run"]),
        (OperationFilter(tags=("issues", "public")), ["get_issue", "add_issue", "get_user"]),
        (OperationFilter(methods=("post",)), ["add_issue", "run"]),
        (OperationFilter(paths=("/issues*", "/run")), ["get_issue", "add_issue", "run"]),
        (OperationFilter(ids=("get_*",)), ["get_issue", "get_user"]),
        (OperationFilter(ids=("api.add_*",)), ["add_issue"]),
        (OperationFilter(read_only=True), ["get_issue", "get_user"]),
        (OperationFilter(tags=("issues",), read_only=True), ["get_issue"]),
    ],
)
def test_each_wish_narrows_and_its_values_widen(choice: OperationFilter, names: list[str]) -> None:
    assert [s.name for s in select_operations(SPECS, choice)] == names


def test_a_list_that_costs_too_much_is_refused_with_what_there_is_to_choose() -> None:
    with pytest.raises(TooManyError) as caught:
        select_operations(SPECS, OperationFilter(), limit=10)
    tokens = listing_tokens(SPECS)
    assert str(caught.value) == (
        f"4 operations are about {tokens} tokens of tool definitions; the limit is 10.\n"
        "Choose some: --tag, --method, --path '/a/*', --id 'get_*', or --read-only (2 only read).\n"
        "Tags: issues (2), users (1), public (1).\n"
        "Or raise the limit: --max-tool-tokens."
    )


def test_many_tags_are_counted_and_not_listed() -> None:
    specs = [spec(f"op{n}", tags=[f"t{n}"]) for n in range(15)]
    with pytest.raises(TooManyError, match=r"and 3 more\."):
        select_operations(specs, OperationFilter(), limit=1)
    with pytest.raises(TooManyError) as caught:
        select_operations([spec("x")], OperationFilter(), limit=1)
    assert "Tags" not in str(caught.value)


def test_a_huge_list_is_counted_too() -> None:
    listed = [spec(f"op{n}", input={"description": "word " * 50_000}) for n in range(9)]
    assert listing_tokens(listed) == pytest.approx(9 * 50_000, rel=0.02)


def test_a_name_is_one_that_every_client_takes() -> None:
    assert listed_name(SPECS[0]) == "api_get_issue"
    long = listed_name(spec("x" * 60 + "_end"))
    assert (len(long), long.startswith("api_xxx"), long.endswith("_end")) == (64, True, True)


def test_a_long_description_is_cut_between_paragraphs_or_words() -> None:
    assert (
        short_description(spec("a", description="First.\n\n" + "more " * 100, codes=["NOT_FOUND"]))
        == "First. …\nErrors: NOT_FOUND"
    )
    assert short_description(spec("a", description="word " * 100)).endswith("word word …")
    assert short_description(spec("a", description="Short.")) == "Short."


def test_a_definition_is_an_object_with_an_object_for_input() -> None:
    assert tool_definition(spec("a", description="d")) == {
        "name": "api_a",
        "description": "d",
        "inputSchema": {"type": "object"},
    }


def test_an_operation_is_chosen_by_the_id_that_its_document_gives() -> None:
    found = [
        spec("repos_get", origin={"operation_id": "repos/get"}),
        spec("repos_list", origin={"operation_id": "repos/list"}),
    ]
    for pattern in ("repos/get", "repos_get", "*/get"):
        assert [one.name for one in select_operations(found, OperationFilter(ids=(pattern,)))] == ["repos_get"]
