"""A stand-in for the Cerebras chat-completions service on a loopback port, for the real SDK to talk to.

It speaks the documented format (streaming and not, tools, reasoning, usage, time_info, error bodies, rate-limit headers). It is as
strict about requests as the real service, and a script can make it misbehave in every way in which a network can. It writes the bytes
itself, so a cut, a missing end marker or one-byte delivery is exact. It shares no code with what it tests.

In process::

    async with CerebrasServer() as server:
        server.script(Reply(status=429, headers={"retry-after": "0.01"}), Reply("Hello"))
        ChatCerebras(base_url=server.url, api_key="k")
        server.requests[0].body, server.requests[0].closed_early

`with serve_in_thread() as server` is the same for synchronous callers. As a process::

    python -m tests.fakes.cerebras_server --port 0 --rate 2000 --tokens 1000 --script 429-once

prints its URL on the first line. `SCRIPTS` names the scripts. After a script, or without one, `assistant` answers.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import itertools
import json
import operator
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from tests.fakes.cerebras_rules import Refusal, check

Json = dict[str, Any]

RATE_LIMITS = {
    "x-ratelimit-limit-requests-day": "14400",
    "x-ratelimit-limit-tokens-minute": "60000",
    "x-ratelimit-remaining-requests-day": "14399",
    "x-ratelimit-remaining-tokens-minute": "59000",
    "x-ratelimit-reset-requests-day": "33011.38",
    "x-ratelimit-reset-tokens-minute": "11.38",
}

# Error bodies of the service are flat, not wrapped in "error".
ERRORS: Mapping[int, Json] = {
    400: {"message": "Bad request.", "type": "invalid_request_error", "param": "validation_error", "code": "wrong_api_format"},
    401: {"message": "Wrong API Key", "type": "invalid_request_error", "param": "api_key", "code": "wrong_api_key"},
    402: {"message": "Payment required.", "type": "payment_required_error", "param": "quota", "code": "payment_required"},
    404: {"message": "Model does not exist.", "type": "not_found_error", "param": "model", "code": "model_not_found"},
    429: {
        "message": "Tokens per minute limit exceeded - too many tokens processed.",
        "type": "too_many_tokens_error",
        "param": "quota",
        "code": "token_quota_exceeded",
    },
    500: {"message": "Encountered a server error, please try again.", "type": "server_error", "param": "", "code": ""},
    503: {"message": "Service unavailable.", "type": "server_error", "param": "", "code": ""},
}
TOO_LONG: Json = {
    "message": "Please reduce the length of the messages or completion. Current length is 140000 while limit is 131072",
    "type": "invalid_request_error",
    "param": "messages",
    "code": "context_length_exceeded",
}
FAILED_CALLS: Json = {
    "message": "Failed to generate tool_calls. Please adjust your prompt.",
    "type": "invalid_request_error",
    "param": "tools",
    "code": "tool_use_failed",
}


@dataclass(frozen=True)
class Call:
    """A tool call; `arguments` is an object, or text that need not be JSON. It goes out in `pieces` deltas."""

    name: str
    arguments: Json | str
    id: str = ""
    pieces: int = 3


@dataclass(frozen=True)
class Reply:
    """How one request is answered."""

    text: str | Sequence[str] = ""
    """A text goes out word by word, a sequence item by item."""
    reasoning: str = ""
    calls: Sequence[Call] = ()
    interleaved: bool = False
    """Send pieces of several calls in turn, instead of one call after the other."""
    finish_reason: str | None = ""
    """Empty: the one that fits the answer. None: never sent."""
    rate: float = 0.0
    """Deltas a second; 0 means as fast as the socket takes them."""

    status: int = 200
    error: Json | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    usage: bool = True
    done: bool = True
    """Whether the end marker is sent."""
    bytes_at_once: int = 0
    """Send the stream in pieces of this size; 0 means frame by frame."""

    cut_after: int | None = None
    """Abort the connection after so many deltas."""
    hang_after: int | None = None
    """After so many deltas send nothing more, until the client leaves."""
    error_after: int | None = None
    """An error object as the next frame after so many deltas; `error` and `error_status` say which."""
    error_status: int = 500
    raw_after: tuple[int, bytes] | None = None
    """Send exactly these bytes after so many deltas."""


@dataclass(eq=False)
class Request:
    """One request the server got, and what became of it."""

    method: str
    path: str
    headers: dict[str, str]
    body: Json
    at: float = field(default_factory=time.monotonic)
    sent: int = 0
    """Deltas sent."""
    closed_early: bool = False
    """The client closed the connection before the answer was complete."""
    closed_at: float | None = None
    """The `time.monotonic()` at which the client closed it."""
    over: asyncio.Event = field(default_factory=asyncio.Event)
    sending: asyncio.Event = field(default_factory=asyncio.Event)
    """Set with the first delta."""


class CerebrasServer:
    """The server; an async context manager. `url` is the SDK's `base_url`."""

    def __init__(self, *, port: int = 0, default: Callable[[Json], Reply] | None = None, keep_alive: bool = True) -> None:
        self._port = port
        self.keep_alive = keep_alive
        self._default = default or assistant
        self._replies: deque[Reply] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.requests: list[Request] = []
        self.asked = asyncio.Event()
        """Set with the first request."""
        self.connections = 0

    @property
    def url(self) -> str:
        """Where it listens; raises AssertionError while it does not."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def script(self, *replies: Reply) -> None:
        """The answers to the next requests, in order; after them the default answers again."""
        self._replies.extend(replies)

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def answer(self, connection: _Connection, request: Request) -> asyncio.Task[None]:
        """The task that answers. The server owns the task and ends it when it stops."""
        task = asyncio.get_running_loop().create_task(self._respond(connection, request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _respond(self, connection: _Connection, request: Request) -> None:
        try:
            reply = self._choose(request)
            if request.body.get("stream"):
                await self._stream(connection, request, reply)
            else:
                await connection.respond(200, _completion(request.body, reply), {**RATE_LIMITS, **reply.headers})
        except Refusal as refusal:
            await connection.respond(refusal.status, refusal.body, {**RATE_LIMITS, **refusal.headers})
        finally:
            request.over.set()

    def _choose(self, request: Request) -> Reply:
        if (request.method, request.path) != ("POST", "/v1/chat/completions"):
            raise Refusal(404, {"message": "Not Found", "type": "not_found_error", "param": "path", "code": "not_found"})
        check(request.headers, request.body)
        reply = self._replies.popleft() if self._replies else self._default(request.body)
        if reply.status != 200:
            raise Refusal(reply.status, reply.error if reply.error is not None else ERRORS[reply.status], reply.headers)
        return reply

    async def _stream(self, connection: _Connection, request: Request, reply: Reply) -> None:
        connection.head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked", **RATE_LIMITS, **reply.headers})
        connection.piece = reply.bytes_at_once
        clock = asyncio.get_running_loop().time
        start = clock()
        deltas = list(_deltas(reply))
        for count in range(len(deltas) + 1):
            if reply.raw_after and reply.raw_after[0] == count:
                await connection.send(reply.raw_after[1])
            if reply.error_after == count:
                error = {"error": reply.error or ERRORS[500], "status_code": reply.error_status}
                await connection.send(_sse(error))
                await connection.finish()
                return
            if reply.cut_after == count:
                connection.abort()
                return
            if reply.hang_after == count:
                request.sending.set()
                await asyncio.Event().wait()
            if count == len(deltas):
                break
            if reply.rate and (wait := start + count / reply.rate - clock()) > 0:
                await asyncio.sleep(wait)
            await connection.send(_sse(_chunk(request.body, deltas[count])))
            request.sent += 1
            request.sending.set()
        await connection.send(_sse(_closing(request.body, reply, len(deltas) - 1)))
        if reply.done:
            await connection.send(b"data: [DONE]\n\n")
        await connection.finish()


class _Connection(asyncio.Protocol):
    """HTTP/1.1 by hand: one request at a time, keep-alive, chunked answers."""

    def __init__(self, server: CerebrasServer) -> None:
        self._server = server
        self._buffer = b""
        self._request: Request | None = None
        self._task: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self.piece = 0
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._server.connections += 1

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, end, rest = self._buffer.partition(b"\r\n\r\n")
        if not end:
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", 0))
        if len(rest) < length:
            return
        self._buffer = rest[length:]
        method, path, _ = first.split(" ")
        request = Request(method, path, headers, json.loads(rest[:length]) if length else {})
        self._server.requests.append(request)
        self._server.asked.set()
        self._request, self.piece = request, 0
        self._task = self._server.answer(self, request)

    def eof_received(self) -> bool:
        return False  # close: a client that closes its sending side has left

    def connection_lost(self, exc: Exception | None) -> None:
        self._writable.set()
        if self._request and not self._request.over.is_set():
            self._request.closed_early = True
            self._request.closed_at = time.monotonic()
        if self._task:
            self._task.cancel()

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        if not self._server.keep_alive:
            headers = {**headers, "connection": "close"}
        lines = [f"HTTP/1.1 {status} -", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        self.transport.write("\r\n".join(lines).encode("latin-1"))

    async def respond(self, status: int, body: Json, headers: Mapping[str, str]) -> None:
        data = json.dumps(body).encode()
        self.head(status, {"content-type": "application/json", "content-length": str(len(data)), **headers})
        self.transport.write(data)
        await self._writable.wait()

    async def send(self, data: bytes) -> None:
        """Send body bytes, chunked, in pieces of `piece` bytes. Each piece is a write of its own."""
        for part in (data[i : i + self.piece] for i in range(0, len(data), self.piece)) if self.piece else (data,):
            self.transport.write(b"%x\r\n%s\r\n" % (len(part), part))
            await self._writable.wait()
            await asyncio.sleep(0)

    async def finish(self) -> None:
        self.transport.write(b"0\r\n\r\n")

    def abort(self) -> None:
        self._request = None  # we cut, not the client
        self.transport.abort()


# --- the format ------------------------------------------------------------------------------------------------------


def _sse(data: Json) -> bytes:
    return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"


def _frame(body: Json, **rest: Any) -> Json:
    return {
        "id": "chatcmpl-00000000",
        "created": 1_700_000_000,
        "model": body["model"],
        "system_fingerprint": "fp_fake",
        "object": "chat.completion.chunk",
        **rest,
    }


def _chunk(body: Json, delta: Json) -> Json:
    return _frame(body, choices=[{"delta": delta, "index": 0}])


def _closing(body: Json, reply: Reply, tokens: int) -> Json:
    finish = reply.finish_reason if reply.finish_reason != "" else ("tool_calls" if reply.calls else "stop")
    choice: Json = {"delta": {}, "index": 0} | ({"finish_reason": finish} if finish else {})
    return _frame(body, choices=[choice], **(_usage(body, reply, tokens) if reply.usage else {}))


def _usage(body: Json, reply: Reply, tokens: int) -> Json:
    prompt = max(1, len(json.dumps(body["messages"])) // 4)
    return {
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": tokens,
            "total_tokens": prompt + tokens,
            "prompt_tokens_details": {"cached_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": len(_words(reply.reasoning))},
        },
        "time_info": {
            "queue_time": 0.0001,
            "prompt_time": 0.001,
            "completion_time": 0.01,
            "total_time": 0.0111,
            "created": 1_700_000_000.0,
        },
    }


def _words(text: str | Sequence[str]) -> list[str]:
    return re.findall(r"\S+\s*|\s+", text) if isinstance(text, str) else list(text)


def _deltas(reply: Reply) -> Iterator[Json]:
    yield {"role": "assistant"}
    for word in _words(reply.reasoning):
        yield {"reasoning": word}
    for word in _words(reply.text):
        yield {"content": word}
    calls = [list(_call_deltas(index, call)) for index, call in enumerate(reply.calls)]
    ordered = itertools.chain(*itertools.zip_longest(*calls)) if reply.interleaved else itertools.chain(*calls)
    for delta in filter(None, ordered):
        yield {"tool_calls": [delta]}


def _call_deltas(index: int, call: Call) -> Iterator[Json]:
    arguments = _arguments(call)
    size = max(1, -(-len(arguments) // max(1, call.pieces)))
    pieces = [arguments[i : i + size] for i in range(0, len(arguments), size)] or [""]
    first = {"function": {"name": call.name, "arguments": pieces[0]}, "type": "function", "id": call.id or f"call_{index}"}
    yield {**first, "index": index}
    for piece in pieces[1:]:
        yield {"function": {"arguments": piece}, "type": "function", "index": index}


def _arguments(call: Call) -> str:
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)


def _completion(body: Json, reply: Reply) -> Json:
    message: Json = {"role": "assistant", "content": "".join(_words(reply.text))}
    if reply.reasoning:
        message["reasoning"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = [
            {"id": call.id or f"call_{i}", "type": "function", "function": {"name": call.name, "arguments": _arguments(call)}}
            for i, call in enumerate(reply.calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason or ("tool_calls" if reply.calls else "stop")}
    return {**_frame(body), "object": "chat.completion", "choices": [choice], **_usage(body, reply, len(list(_deltas(reply))) - 1)}


# --- the default: a plausible assistant ------------------------------------------------------------------------------


def assistant(body: Json, *, tokens: int = 60, rate: float = 0.0) -> Reply:
    """What a sensible model would answer.

    It calls the tool it is told to call, else `search_knowledge` or a tool that the person's words name, and after a tool result it
    writes an answer of about `tokens` words that quotes the result. Asked for JSON it writes JSON of the wanted shape.
    """
    said = _said(body)
    tools = {tool["function"]["name"]: tool["function"] for tool in body.get("tools") or ()}
    last = body["messages"][-1]
    shape = body.get("response_format") or {}
    if shape.get("type") == "json_schema":
        return Reply(json.dumps(sample(shape["json_schema"]["schema"], said), ensure_ascii=False), rate=rate)
    if shape.get("type") == "json_object":
        return Reply(json.dumps({key: f"A {key}." for key in re.findall(r"'(\w+)'", said)}), rate=rate)
    if name := _tool_to_call(body.get("tool_choice", "auto"), tools, last["role"], said):
        arguments = sample(tools[name].get("parameters") or {"type": "object"}, said)
        return Reply(calls=[Call(name, arguments, id=f"call_{len(body['messages'])}")], rate=rate)
    if last["role"] == "tool":
        words = _words(f"According to the source: {last['content'][:400]} ")
        return Reply([*words, *_filler(tokens - len(words))], rate=rate)
    return Reply(_filler(tokens), rate=rate)


def _filler(count: int) -> list[str]:
    return [f"word{n} " for n in range(max(0, count))]


def _said(body: Json) -> str:
    content = next((m["content"] for m in reversed(body["messages"]) if m["role"] == "user"), "")
    return content if isinstance(content, str) else " ".join(p.get("text", "") for p in content)


def _tool_to_call(choice: str | Json, tools: Mapping[str, Json], last_role: str, said: str) -> str | None:
    if isinstance(choice, dict):
        return str(choice["function"]["name"])
    if choice == "none" or not tools:
        return None
    if choice == "required":
        return next(iter(tools))
    if last_role != "user":
        return None
    if "search_knowledge" in tools:
        return "search_knowledge"
    wanted = said.lower()
    return next((name for name in tools if name in wanted or any(len(p) > 4 and p in wanted for p in name.lower().split("_"))), None)


def sample(schema: Json, said: str, root: Json | None = None) -> Any:
    """A value that fits the JSON schema, made from what the person said: their numbers, a quoted phrase, or the whole text."""
    root = root or schema
    if "$ref" in schema:
        return sample(functools.reduce(operator.getitem, schema["$ref"].removeprefix("#/").split("/"), root), said, root)
    for union in (schema[key] for key in ("anyOf", "oneOf", "allOf") if key in schema):
        return sample(union[0], said, root)
    if "const" in schema or "enum" in schema:
        return schema["const"] if "const" in schema else schema["enum"][0]
    found, quoted = re.search(r"-?\d+", said), re.search(r"'([^']+)'", said)
    properties = schema.get("properties", {})
    kind = schema.get("type")
    if kind == "object":
        return {name: sample(properties[name], said, root) for name in (schema.get("required") or properties)}
    if kind == "array":
        return [sample(schema.get("items", {"type": "string"}), said, root)]
    plain: dict[object, Any] = {"integer": int(found.group()) if found else 1, "boolean": True, "null": None}
    plain["number"] = plain["integer"]
    return plain.get(kind, quoted.group(1) if quoted else said or "something")


# --- ways to run it --------------------------------------------------------------------------------------------------


SCRIPTS: Mapping[str, Sequence[Reply]] = {
    "assistant": (),
    "429-once": [Reply(status=429, headers={"retry-after": "1"})],
    "429-always": [Reply(status=429, headers={"retry-after": "30"})] * 1000,
    "500-once": [Reply(status=500)],
    "500-always": [Reply(status=500)] * 1000,
    "error-mid-stream": [Reply("Half of the answer and then nothing", error_after=4)],
    "cut": [Reply("Half of the answer and then nothing", cut_after=4)],
    "no-end": [Reply("An answer that never says it is over", done=False, finish_reason=None)],
    "bytes": [Reply("你好 🌍 caf\u00e9 a\u0085b\u2028c end", bytes_at_once=1)],
    "malformed-args": [Reply(calls=[Call("search_knowledge", '{"query": "a"}{"query": "b"}')])],
    "reasoning": [Reply("The answer is 42.", reasoning="The person asks for the answer. I know it.")],
    "parallel": [Reply(calls=[Call("search_knowledge", {"query": "a"}), Call("search_knowledge", {"query": "b"})])],
    "hang": [Reply("Half of the answer and then nothing", hang_after=4)],
}
"""The answers to the first requests. After them the assistant answers."""


@contextlib.contextmanager
def serve_in_thread(**options: Any) -> Iterator[CerebrasServer]:
    """A server in a thread of its own, for callers that block."""
    ready: threading.Event = threading.Event()
    server = CerebrasServer(**options)
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def run() -> None:
        async with server:
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()), name="cerebras-server", daemon=True)
    thread.start()
    assert ready.wait(5), "the fake Cerebras server did not start"
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(5)
        loop.close()


async def _main(port: int, script: str, tokens: int, rate: float) -> None:
    async with CerebrasServer(port=port, default=lambda body: assistant(body, tokens=tokens, rate=rate)) as server:
        server.script(*SCRIPTS[script])
        print(server.url, flush=True)  # noqa: T201 - the caller reads it
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", choices=sorted(SCRIPTS), default="assistant")
    parser.add_argument("--tokens", type=int, default=60, help="length of an answer in words")
    parser.add_argument("--rate", type=float, default=0.0, help="words a second; 0 is as fast as possible")
    arguments = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_main(arguments.port, arguments.script, arguments.tokens, arguments.rate))
