from __future__ import annotations

import asyncio
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from shaping.agent import (
    AcquireCredentials,
    Caller,
    Decision,
    FollowRedirect,
    GiveUp,
    Malformed,
    Memory,
    NextPage,
    Retry,
    UseCache,
    UseData,
    take,
)
from shaping.errors import ErrorDetail, ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def good(data: Any, **meta: Any) -> dict[str, Any]:
    return {"ok": True, "data": data, "error": None, "warnings": [], "meta": meta}


def bad(code: str, **more: Any) -> dict[str, Any]:
    return {"ok": False, "data": None, "error": {"code": code, "message": "no", **more}, "warnings": [], "meta": {}}


def moved(command: str, *, permanent: bool) -> dict[str, Any]:
    return bad("REDIRECTED", redirect={"command": command, "permanent": permanent})


class Script:
    """A tool that gives one prepared response after the other and notes what it was asked."""

    def __init__(self, *responses: Any) -> None:
        self.responses: Iterator[Any] = iter(responses)
        self.asked: list[Any] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.asked.append((*args, kwargs) if kwargs else args)
        response = next(self.responses)
        if isinstance(response, Exception):
            raise response
        return response


class AsyncScript(Script):
    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(0)
        return super().__call__(*args, **kwargs)


@pytest.fixture(params=[Script, AsyncScript])
def script(request: pytest.FixtureRequest) -> Callable[..., Script]:
    kind: Callable[..., Script] = request.param
    return kind


def run(caller: Caller, *args: Any, **kwargs: Any) -> Decision:
    """Call, and wait where that is asked for; so every test here holds for both kinds."""
    outcome: Any = caller(*args, **kwargs)
    decision: Decision = asyncio.run(outcome) if asyncio.iscoroutine(outcome) else outcome
    assert asyncio.iscoroutine(outcome) == isinstance(caller.call, AsyncScript)
    return decision


def test_data_comes_through(script: Callable[..., Script]) -> None:
    tool = script(good([1]))
    assert run(Caller(tool), "q", limit=2) == UseData([1])
    assert tool.asked == [("q", {"limit": 2})]


def test_a_retry_waits_as_long_as_it_is_told(script: Callable[..., Script]) -> None:
    waits: list[float] = []
    tool = script(bad("RATE_LIMITED", retryable=True, retry_after=7), bad("UNAVAILABLE"), good(1))
    assert run(Caller(tool, sleep=waits.append)) == UseData(1)
    assert waits == [7.0, 1.0]


def test_three_retries_of_one_code_are_enough(script: Callable[..., Script]) -> None:
    waits: list[float] = []
    tool = script(*[bad("UNAVAILABLE")] * 9)
    assert run(Caller(tool, sleep=waits.append)) == GiveUp(ErrorDetail(code="UNAVAILABLE", message="no"))
    assert (len(tool.asked), waits) == (4, [1.0] * 3)


def test_a_wait_beyond_patience_is_given_up(script: Callable[..., Script]) -> None:
    tool = script(bad("RATE_LIMITED", retryable=True, retry_after=3600))
    assert run(Caller(tool)).action == "give_up"


def test_the_default_sleep_is_real(script: Callable[..., Script]) -> None:
    tool = script(bad("RATE_LIMITED", retryable=True, retry_after=0.001), good(1))
    assert run(Caller(tool)) == UseData(1)


def test_an_expired_token_is_refreshed_once(script: Callable[..., Script]) -> None:
    refresh = script(None, None)
    tool = script(bad("TOKEN_EXPIRED"), bad("UNAVAILABLE"), bad("TOKEN_EXPIRED"))
    decision = run(Caller(tool, refresh=refresh, sleep=lambda _: None))
    assert decision == AcquireCredentials(ErrorDetail(code="TOKEN_EXPIRED", message="no"))
    assert (len(tool.asked), len(refresh.asked)) == (3, 1)


def test_without_a_way_to_refresh_the_decision_stands(script: Callable[..., Script]) -> None:
    assert run(Caller(script(bad("TOKEN_EXPIRED")))).action == "refresh_credentials"


def test_not_modified_gives_what_the_cache_holds(script: Callable[..., Script]) -> None:
    cache = script([1, 2])
    assert run(Caller(script(good(None, not_modified=True)), cache=cache), "q") == UseData([1, 2])
    assert cache.asked == [("q",)]
    assert run(Caller(script(good(None, not_modified=True)))) == UseCache()


def test_pages_of_a_list_become_one_list(script: Callable[..., Script]) -> None:
    tool = script(good([1], truncated=True, cursor="b"), good([2], truncated=True, cursor="c"), good([3]))
    assert run(Caller(tool), "q") == UseData([1, 2, 3])
    assert tool.asked == [("q",), ("q", {"cursor": "b"}), ("q", {"cursor": "c"})]


def test_pages_of_an_object_join_their_lists(script: Callable[..., Script]) -> None:
    pages = [
        good({"items": [1], "total": 3}, truncated=True, cursor="b"),
        good({"items": [2, 3], "total": 3, "end": True}),
    ]
    assert run(Caller(script(*pages))) == UseData({"items": [1, 2, 3], "total": 3, "end": True})


def test_pages_that_cannot_be_joined_are_listed(script: Callable[..., Script]) -> None:
    pages = [good({"a": 1}, truncated=True, cursor="b"), good({"a": 2})]
    assert run(Caller(script(*pages))) == UseData([{"a": 1}, {"a": 2}])


def test_pages_come_by_a_callback_of_their_own(script: Callable[..., Script]) -> None:
    page = script(good([2]))
    assert run(Caller(script(good([1], truncated=True, cursor="b")), page=page), "q") == UseData([1, 2])
    assert page.asked == [("b", "q")]


def test_a_cursor_that_comes_back_ends_the_paging(script: Callable[..., Script]) -> None:
    tool = script(*[good([1], truncated=True, cursor="b")] * 9)
    assert run(Caller(tool)) == UseData([1, 1], complete=False, cursor="b")


def test_paging_has_an_end(script: Callable[..., Script]) -> None:
    tool = script(*[good([n], truncated=True, cursor=str(n)) for n in range(9)])
    assert run(Caller(tool, max_pages=3)) == UseData([0, 1, 2], complete=False, cursor="2")


def test_a_failure_on_a_later_page_gives_no_data(script: Callable[..., Script]) -> None:
    tool = script(good([1], truncated=True, cursor="b"), bad("NOT_FOUND"))
    assert run(Caller(tool)) == GiveUp(ErrorDetail(code="NOT_FOUND", message="no"))


def test_a_permanent_redirect_is_followed_and_remembered(script: Callable[..., Script], tmp_path: Path) -> None:
    memory = Memory(tmp_path / "moved.json")
    redirect = script(good(1), good(2))
    caller = Caller(script(moved("tool new", permanent=True)), redirect=redirect, memory=memory)
    assert run(caller, "tool old") == UseData(1)
    assert run(caller, "tool old") == UseData(2)
    assert (redirect.asked, memory.known()) == ([("tool new",)] * 2, {"tool old": "tool new"})


def test_a_redirect_for_this_call_is_forgotten(script: Callable[..., Script], tmp_path: Path) -> None:
    memory = Memory(tmp_path / "moved.json")
    caller = Caller(script(moved("tool new", permanent=False)), redirect=script(good(1)), memory=memory)
    assert (run(caller, "tool old"), memory.known()) == (UseData(1), {})


def test_redirects_in_a_loop_are_malformed(script: Callable[..., Script]) -> None:
    caller = Caller(script(moved("b", permanent=True)), redirect=script(moved("a", permanent=True)))
    assert run(caller, "a") == Malformed("redirected in a loop: a -> b -> a")


def test_a_call_can_be_named_for_the_memory(script: Callable[..., Script], tmp_path: Path) -> None:
    memory = Memory(tmp_path / "moved.json")
    memory.remember("users", "people")
    redirect = script(good(1))
    caller = Caller(script(), redirect=redirect, memory=memory, command=lambda **given: str(given["name"]))
    assert (run(caller, name="users"), redirect.asked) == (UseData(1), [("people",)])


def test_a_redirect_is_remembered_without_the_arguments_of_the_call_that_met_it(
    script: Callable[..., Script], tmp_path: Path
) -> None:
    memory = Memory(tmp_path / "moved.json")
    redirect = script(good(1), good(2))
    call = script(moved("tool users add --name alice", permanent=True))
    caller = Caller(call, redirect=redirect, memory=memory, command=lambda name: f"tool user create --name {name}")
    assert (run(caller, "alice"), run(caller, "bob")) == (UseData(1), UseData(2))
    assert redirect.asked == [("tool users add --name alice",), ("tool users add --name bob",)]
    assert memory.known() == {"tool user create": "tool users add"}


def test_a_call_never_runs_what_was_remembered_for_the_arguments_of_another(
    script: Callable[..., Script], tmp_path: Path
) -> None:
    memory = Memory(tmp_path / "moved.json")
    redirect = script(good(1), good(2))
    call = script(*(moved(f"tool users add {name}", permanent=True) for name in ("alice", "bob")))
    caller = Caller(call, redirect=redirect, memory=memory, command=lambda **_: "tool user create")
    assert (run(caller, name="alice"), run(caller, name="bob")) == (UseData(1), UseData(2))
    assert redirect.asked == [("tool users add alice",), ("tool users add bob",)]


def test_without_a_way_to_redirect_the_decision_stands(script: Callable[..., Script]) -> None:
    decision = run(Caller(script(moved("b", permanent=False))), 1)
    assert isinstance(decision, FollowRedirect)


def test_a_coded_error_that_is_raised_is_a_response(script: Callable[..., Script]) -> None:
    error = ToolError("NOT_FOUND", "no")
    assert run(Caller(script(error))) == GiveUp(error.detail)


def test_any_other_exception_passes(script: Callable[..., Script]) -> None:
    with pytest.raises(KeyError):
        run(Caller(script(KeyError("x"))))


def test_a_finished_process_is_read_with_its_exit_code() -> None:
    program = 'import sys; print(\'{"ok": true, "data": null, "error": null, "meta": {}, "x": 1}\'); sys.exit(5)'
    run_program = partial(subprocess.run, capture_output=True, check=False)
    assert run(Caller(run_program), [sys.executable, "-c", program]) == Malformed("data and error are both null")
    assert run(Caller(run_program), [sys.executable, "-c", "print('gone'); exit(5)"]).action == "give_up"


def test_taking_a_decision_gives_data_or_raises() -> None:
    error = ErrorDetail(code="NOT_FOUND", message="no")
    assert take(UseData([1])) == [1]
    undone: list[tuple[Decision, str]] = [
        (GiveUp(error), "NOT_FOUND"),
        (Retry(1.0, 1, error), "NOT_FOUND"),
        (Malformed("torn"), "BAD_RESPONSE"),
        (UseCache(), "PRECONDITION"),
        (NextPage("c", []), "PRECONDITION"),
    ]
    for decision, code in undone:
        with pytest.raises(ToolError) as caught:
            take(decision)
        assert caught.value.code == code
