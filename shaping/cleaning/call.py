"""Cleaning what is said about a call beside its data: its error, warnings and hints, and a tool's own envelope."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import orjson

from shaping import envelope as envelopes
from shaping.budget.fit import Budget, fit_value
from shaping.cleaning import protect
from shaping.errors.texts import change_texts
from shaping.response import TOOL_WARNING, CallContext, Warned, counted
from shaping.tokens import counter
from shaping.values import to_plain

if TYPE_CHECKING:
    from shaping.envelope import Envelope
    from shaping.envelope.model import CommonMeta
    from shaping.errors import ErrorDetail
    from shaping.settings.plan import Plan

M = TypeVar("M", bound="CommonMeta")
# The shares of a budget; what they leave, and what is not used of them, is the data's.
_ERROR: Final = 0.75
_WARNINGS: Final = 0.125
_META: Final = 0.125
_LEFT_OUT: Final = re.compile(r"(\d[\d,]{0,12}) more warnings? left out")
_CODE: Final = 100  # characters of an error's code, which another program may have written


def clean_call(call: CallContext, plan: Plan) -> CallContext:
    """Take secrets and private fields out of what others say about a call, and cut it to its share of the budget."""
    source = None if call.source is None else _clean_source(call.source, plan)
    if source is not None and call.source is not None and call.error is call.source.error:
        error = source.error
    else:
        error = None if call.error is None else clean_error(call.error, plan)
    hints = [protect(dict(hint), plan.anywhere) for hint in call.upgrade_hints]
    # Only the tool's own warnings: ours may name a private field, to say that there is none.
    warnings = tuple(
        _clean_warning(each, plan.anywhere) if each.code == TOOL_WARNING else each for each in call.warnings
    )
    return call._replace(
        error=error,
        source=source,
        warnings=limit_warnings(warnings, plan),
        upgrade_hints=tuple(limit_value(hints, _META, plan)),
    )


def clean_error(error: ErrorDetail, plan: Plan) -> ErrorDetail:
    """Take secrets and private fields out of an error, and cut it to its share; the same where nothing is to go."""
    anywhere = plan.anywhere
    cleaned = change_texts(error, lambda said: {name: protect(value, anywhere) for name, value in said.items()})
    if (code := protect(error.code, anywhere)[:_CODE]) != error.code:
        cleaned = cleaned.model_copy(update={"code": code})
    return limit_error(cleaned, plan)


def limit_error(error: ErrorDetail, plan: Plan) -> ErrorDetail:
    """Cut what an error says to its share of the budget, its message last."""
    return change_texts(error, lambda said: {"message": "", **limit_value(said, _ERROR, plan)})


def limit_warnings(warnings: tuple[Warned, ...], plan: Plan) -> tuple[Warned, ...]:
    """Cut warnings to their share of the budget, but for the one that the config is not in use.

    Those of a tool's own envelope are cut where it is read, and once more with all that is said about the call.
    """
    loud = tuple(warned for warned in warnings if warned.code == "BAD_CONFIG")
    said_before = [found for each in warnings if (found := _LEFT_OUT.fullmatch(each.message))]
    others = [each for each in warnings if each not in loud and not _LEFT_OUT.fullmatch(each.message)]
    said = [{"code": each.code, "message": each.message, "path": each.path} for each in others]
    kept = limit_value(said, _WARNINGS, plan)
    if kept is said:
        return warnings
    short = tuple(Warned(each.get("code", ""), each.get("message", ""), each.get("path")) for each in kept)
    left_out = len(others) - len(kept) + sum(int(found[1].replace(",", "")) for found in said_before)
    told = (Warned("BUDGET", f"{counted(left_out, 'more warning')} left out"),) if left_out else ()
    return (*loud, *short, *told)


def clean_envelope(envelope: Envelope[Any], plan: Plan) -> Envelope[Any]:
    """Clean the envelope that a tool itself answered in; its data goes the way of all data."""
    warnings = tuple(_clean_warning(each, plan.anywhere) for each in envelope.warnings)
    return _clean_source(envelope.model_copy(update={"warnings": warnings}), plan)


def _clean_source(source: Envelope[Any], plan: Plan) -> Envelope[Any]:
    # Warnings of our own may name a private field, to say that there is none.
    open_plan = replace(plan, private=None)
    return source.model_copy(
        update={
            "error": None if source.error is None else clean_error(source.error, plan),
            "warnings": limit_warnings(tuple(_clean_warning(each, open_plan) for each in source.warnings), plan),
            "meta": _clean_meta(envelopes.presentable(source.meta), plan),
        }
    )


def _clean_warning(warned: Warned, plan: Plan) -> Warned:
    path = warned.path and protect(warned.path, plan)
    return Warned(protect(warned.code, plan), protect(warned.message, plan), path)


def _clean_meta(meta: M, plan: Plan) -> M:
    """Clean each member of an envelope's meta that can hold a text; one that is no longer valid is left out."""
    dumped = to_plain(meta.model_dump(mode="python", exclude_unset=True))
    said: dict[str, Any] = {
        name: value for name, value in dumped.items() if isinstance(value, str | dict | list) and name != "source"
    }
    if "headers" in said:
        # A header's name is the name of a member to a private path.
        said["headers"] = [{name: value} for name, value in said["headers"]]
    anywhere = plan.anywhere
    clean = limit_value({name: protect(value, anywhere) for name, value in said.items()}, _META, plan)
    if "headers" in clean:
        clean["headers"] = [pair for header in clean["headers"] for pair in header.items()]
    if clean == said:
        return meta
    fixed = {name: value for name, value in dumped.items() if name not in said}
    try:
        return type(meta).model_validate({**fixed, **clean})
    except ValueError:  # pydantic's ValidationError
        return type(meta).model_validate(fixed)


def limit_value(value: Any, share: float, plan: Plan) -> Any:
    """Cut plain data to a share of the budget, as JSON; the same object where it is within it."""
    if plan.max_tokens is None or not value:
        return value
    most = int(plan.max_tokens * share)
    if len(orjson.dumps(value)) <= most:  # no text has more tokens than bytes
        return value
    exact = counter(plan.tokenizer).exact
    return fit_value(value, Budget(most), lambda fitted: orjson.dumps(fitted.value).decode(), exact).value
