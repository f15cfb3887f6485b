"""What an HTTP server refused, told from any client library's exception without importing the library."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from shaping.errors.outcomes import code_for_status, phrase, retry_after


def refusal(exc: BaseException) -> tuple[str, str, dict[str, Any]] | None:
    """Tell the sentence, the code and the rest; None where the exception stands for no HTTP status."""
    status = _status(exc)
    if status is None:
        return None
    response = getattr(exc, "response", None)
    items = getattr(getattr(response, "headers", None) or getattr(exc, "headers", None), "items", None)
    wait = retry_after(dict(items()) if callable(items) else {})
    return _sentence(exc, response, status), code_for_status(status), {"http": status, "retry_after": wait}


def _status(exc: BaseException) -> int | None:
    """Find the status, however the library spells it."""
    response = getattr(exc, "response", None)
    places = [(response, "status_code"), (response, "status"), (exc, "status_code"), (exc, "status"), (exc, "code")]
    for owner, name in places:
        status = getattr(owner, name, None)
        if isinstance(status, int) and 400 <= status <= 599:
            return status
    return None


def _sentence(exc: BaseException, response: Any, status: int) -> str:
    place = _place(_url(response) or _url(exc))
    upstream = _upstream(response) or getattr(exc, "detail", None)
    said = f": {upstream[:300]}" if isinstance(upstream, str) and upstream else ""
    return f"HTTP {status} {phrase(status)}".strip() + (f" from {place}" if place else "") + said


def _url(owner: Any) -> Any:
    try:
        return getattr(owner, "url", None)
    except Exception:  # noqa: BLE001  httpx raises where a response was made without its request
        return None


def _place(url: Any) -> str:
    """Give an address without its user, password, query and fragment."""
    try:
        parts = urlsplit("" if url is None else str(url))
    except ValueError:
        return ""
    return f"{parts.hostname or ''}{parts.path}"


def _upstream(response: Any) -> str | None:
    try:
        return said_in(json.loads(response.content))
    except Exception:  # noqa: BLE001  any client library may be behind this, and its answer may be unread or not JSON
        return None


def said_in(body: Any) -> str | None:
    """Find the sentence that the JSON body of an error holds."""
    for name in ("message", "error", "detail", "title", "error_description"):
        found = body.get(name) if isinstance(body, Mapping) else None
        found = found.get("message") if isinstance(found, Mapping) else found
        if isinstance(found, str) and found:
            return found
    return None
