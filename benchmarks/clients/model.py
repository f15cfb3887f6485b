"""A scripted model on 127.0.0.1.

Its script is a list of [tool, arguments]. To a request that offers tools it answers with the next step's call (the next
one is told by how many results the request already holds), and when all are done with a text; to any other request
with a text. Every request goes to FOLDER as it came. It speaks OpenAI chat completions and responses, Anthropic
messages and Gemini generateContent, streamed where asked. "$ref" among the arguments stands for the ref that
the last result shows.
"""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Body = dict[str, Any]
Steps = list[list[Any]]

REF = re.compile(r'\bref[\\"\'=: ]+([A-Za-z0-9_-]{4,})')


def texts(value: Any) -> Iterator[str]:
    """Every string in a value, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)


class Api(Protocol):
    """One provider's way of offering tools, calling one and telling results."""

    def results(self, body: Body) -> list[tuple[Any, Any]]:
        """List the results that a request holds."""
        ...

    def tools(self, body: Body) -> list[tuple[str, str | None]]:
        """Name the tools that a request offers."""
        ...

    def answer(self, body: Body, call: Body | None, text: str) -> Any:
        """Answer with a call or a text, as events where the request streams."""
        ...


class Chat:
    """OpenAI chat completions."""

    def results(self, body: Body) -> list[tuple[Any, Any]]:
        """List the results that a request holds."""
        return [(m["tool_call_id"], m.get("content")) for m in body["messages"] if m.get("role") == "tool"]

    def tools(self, body: Body) -> list[tuple[str, str | None]]:
        """Name the tools that a request offers."""
        return [(t["function"]["name"], None) for t in body.get("tools") or () if "function" in t]

    def answer(self, body: Body, call: Body | None, text: str) -> Any:
        """Answer with a call or a text, as events where the request streams."""
        message: Body = {"role": "assistant", "content": text}
        if call:
            function = {"name": call["name"], "arguments": json.dumps(call["arguments"])}
            message = {"role": "assistant", "content": None}
            message["tool_calls"] = [{"index": 0, "id": call["id"], "type": "function", "function": function}]
        finish = "tool_calls" if call else "stop"
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        head = {"id": "chatcmpl-lab", "created": 1, "model": body.get("model", "lab")}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": finish}
            return {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
        chunk = {**head, "object": "chat.completion.chunk"}
        return [
            (None, {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}),
            (None, {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage}),
            (None, "[DONE]"),
        ]


class Responses:
    """OpenAI responses."""

    def results(self, body: Body) -> list[tuple[Any, Any]]:
        """List the results that a request holds."""
        items = [i for i in body["input"] if isinstance(i, dict)]
        found = (i for i in items if i.get("type", "").endswith(("_call_output", "tool_search_output")))
        return [(i["call_id"], i.get("output", i.get("tools"))) for i in found]

    def tools(self, body: Body) -> list[tuple[str, str | None]]:
        """Name the tools offered, at the top, in the input or found by a search, with the namespace or kind of each."""
        out = []
        given = list(body.get("tools") or ())
        for item in body["input"]:
            if isinstance(item, dict) and item.get("type") in {"additional_tools", "tool_search_output"}:
                given += item["tools"]
        for tool in given:
            space = tool["name"] if tool.get("type") == "namespace" else None
            for one in tool["tools"] if space else [tool]:
                plain = space if space != "functions" else None
                out.append((one.get("name", one["type"]), one["type"] if one["type"] != "function" else plain))
        return out

    def answer(self, body: Body, call: Body | None, text: str) -> Any:
        """Answer with a call or a text, as events where the request streams."""
        if call:
            item = {"type": "function_call", "id": "fc_lab", "call_id": call["id"], "name": call["name"]}
            item["arguments"] = json.dumps(call["arguments"])
            if call["space"] == "custom":
                item = {"type": "custom_tool_call", "id": "ctc_lab", "call_id": call["id"], "name": call["name"]}
                item["input"] = call["arguments"]["input"]
            elif call["space"] == "tool_search":
                item = {"type": "tool_search_call", "id": "tsc_lab", "call_id": call["id"], "status": "completed"}
                item |= {"execution": "client", "arguments": call["arguments"]}
            elif call["space"]:
                item["namespace"] = call["space"]
        else:
            item = {"type": "message", "id": "msg_lab", "role": "assistant", "status": "completed"}
            item["content"] = [{"type": "output_text", "text": text, "annotations": []}]
        response = {"id": "resp_lab", "object": "response", "created_at": 1, "model": body.get("model", "lab")}
        usage: Body = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
        usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        done = {**response, "status": "completed", "output": [item], "usage": usage}
        if not body.get("stream"):
            return done
        events: list[Body] = [
            {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": done},
        ]
        if not call:
            events.insert(
                2,
                {
                    "type": "response.output_text.delta",
                    "item_id": "msg_lab",
                    "output_index": 0,
                    "content_index": 0,
                    "delta": text,
                },
            )
        return [(e["type"], {**e, "sequence_number": n}) for n, e in enumerate(events)]


class Messages:
    """Anthropic messages."""

    def results(self, body: Body) -> list[tuple[Any, Any]]:
        """List the results that a request holds."""
        blocks = (b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"])
        return [(b["tool_use_id"], b.get("content")) for b in blocks if b["type"] == "tool_result"]

    def tools(self, body: Body) -> list[tuple[str, str | None]]:
        """Name the tools that a request offers."""
        return [(t["name"], None) for t in body.get("tools") or ()]

    def answer(self, body: Body, call: Body | None, text: str) -> Any:
        """Answer with a call or a text, as events where the request streams."""
        block = {"type": "text", "text": text}
        if call:
            block = {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["arguments"]}
        stop = "tool_use" if call else "end_turn"
        usage = {"input_tokens": 100, "output_tokens": 10}
        message = {"id": "msg_lab", "type": "message", "role": "assistant", "model": body.get("model", "lab")}
        message |= {"stop_sequence": None, "usage": usage}
        if not body.get("stream"):
            return {**message, "content": [block], "stop_reason": stop}
        empty = {"type": "text", "text": ""} if not call else {**block, "input": {}}
        delta = {"type": "text_delta", "text": text}
        if call:
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call["arguments"])}
        events: list[Body] = [
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ]
        return [(e["type"], e) for e in events]


class Gemini:
    """Gemini generateContent."""

    def results(self, body: Body) -> list[tuple[Any, Any]]:
        """List the results that a request holds."""
        parts = (p for c in body["contents"] for p in c.get("parts") or ())
        return [(p["functionResponse"].get("id"), p["functionResponse"]) for p in parts if "functionResponse" in p]

    def tools(self, body: Body) -> list[tuple[str, str | None]]:
        """Name the tools that a request offers."""
        groups = body.get("tools") or ()
        return [(f["name"], None) for g in groups for f in g.get("functionDeclarations") or ()]

    def answer(self, body: Body, call: Body | None, text: str) -> Any:
        """Answer with a call or a text, as events where the request streams."""
        part: Body = {"text": text}
        if call:
            part = {"functionCall": {"id": call["id"], "name": call["name"], "args": call["arguments"]}}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}
        whole = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "lab"}
        return [(None, whole)] if body["_stream"] else whole


APIS: dict[str, Api] = {"/chat/completions": Chat(), "/responses": Responses(), "/messages": Messages()}
APIS |= {":generateContent": Gemini(), ":streamGenerateContent": Gemini()}


class ScriptedModel(ThreadingHTTPServer):
    """The server: its script, and the folder to which every request goes."""

    allow_reuse_address = True

    def __init__(self, port: int, folder: Path, steps: Steps, indirect: Body, extra: Body) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.folder, self.steps, self.indirect, self.extra = folder, steps, indirect, extra
        self.lock, self.count = threading.Lock(), 0
        folder.mkdir(parents=True, exist_ok=True)


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: ScriptedModel
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer a model request with the next call of the script."""
        path = self.path.split("?")[0]
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        name = next((key for key in APIS if path.endswith(key)), None)
        with self.server.lock:
            self.server.count += 1
            note = re.sub(r"\W+", "-", path).strip("-")
            (self.server.folder / f"{self.server.count:03d}-{note}.json").write_bytes(raw)
        if name is None:
            self.give(200 if path.endswith("count_tokens") else 404, {"input_tokens": len(raw) // 4})
            return
        body = json.loads(raw)
        body["_stream"] = path.endswith("streamGenerateContent")
        call = self.next_call(APIS[name], body)
        answer = APIS[name].answer(
            body, call if isinstance(call, dict) else None, call if isinstance(call, str) else "done"
        )
        if isinstance(answer, list):
            self.stream(answer)
        else:
            self.give(200, answer)

    def next_call(self, api: Api, body: Body) -> Body | str | None:
        """The next step's call, a text where it cannot be made, or None where there is nothing to call."""
        offered = api.tools(body)
        done = api.results(body)
        if not offered or len(done) >= len(self.server.steps):
            return None
        tool, arguments = self.server.steps[len(done)]
        last = "\n".join(texts(done[-1][1])) if done else ""
        ref = REF.search(last)
        arguments = {k: (ref.group(1) if ref else "NO-REF-SEEN") if v == "$ref" else v for k, v in arguments.items()}
        call: Body = {"id": f"call_lab_{len(done):03d}", "space": None}
        fits = [(n, space) for n, space in offered if n == tool or re.search(rf"[_.:/-]{tool}$", n)]
        for name, space in sorted(fits, key=lambda fit: "lab" not in f"{fit[0]} {fit[1]}"):
            return {**call, "name": name, "arguments": {**arguments, **self.server.extra}, "space": space}
        names = [name for name, _ in offered]
        for wanted, form in self.server.indirect.items():  # one tool that calls all others by name
            if wanted in names:
                written = json.dumps(form).replace('"$arguments"', json.dumps(arguments)).replace("$tool", tool)
                filled = json.loads(written.replace("$arguments", json.dumps(json.dumps(arguments))[1:-1]))
                return {**call, "name": wanted, "arguments": filled, "space": dict(offered)[wanted]}
        with (self.server.folder / "missing.txt").open("a") as file:
            file.write(f"{tool}: not among {names}\n")
        return f"the tool {tool} is not offered"

    def do_GET(self) -> None:
        """List one model; nothing else is here."""
        with (self.server.folder / "gets.txt").open("a") as file:
            file.write(self.path + "\n")
        if self.path.split("?")[0].endswith("/models"):
            self.give(
                200, {"object": "list", "data": [{"id": "lab", "object": "model", "created": 1, "owned_by": "lab"}]}
            )
            return
        self.give(404, {"error": {"message": "not here"}})

    do_HEAD = do_GET  # noqa: N815 (the name that http.server looks for)

    def give(self, status: int, value: Any) -> None:
        """Send one JSON value."""
        payload = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(payload)

    def stream(self, events: list[tuple[str | None, Any]]) -> None:
        """Send server-sent events."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for name, value in events:
            head = f"event: {name}\n" if name else ""
            data = value if isinstance(value, str) else json.dumps(value)
            self.wfile.write(f"{head}data: {data}\n\n".encode())
        self.wfile.flush()
        self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Print nothing: what was asked is in the folder."""
