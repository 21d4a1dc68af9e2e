"""The Cerebras model against the simulator, through the real SDK: what it sends, what it makes of answers, how it fails and stops."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic import BaseModel, SecretStr, ValidationError

from middle_core.auth.principal import Credential, Principal
from middle_core.errors import (
    InvalidRequest,
    ModelBadRequest,
    ModelContextTooLong,
    ModelError,
    ModelRateLimited,
    ModelStreamCut,
    ModelUnavailable,
)
from middle_core.models.cerebras.model import ChatCerebras, Waiting
from middle_core.models.coalesce import Coalesce
from middle_core.node_api.context import RunContext, enter
from middle_core.node_api.emit import progress
from tests.fakes.cerebras_server import ERRORS, FAILED_CALLS, SCRIPTS, TOO_LONG, Call, CerebrasServer, Reply, serve_in_thread

MULTIBYTE = "你好 🌍 café a\u0085b\u2028c\u2029d \r\n end"


@pytest.fixture
async def server() -> AsyncIterator[CerebrasServer]:
    async with CerebrasServer() as running:
        yield running


Make = Callable[..., ChatCerebras]


@pytest.fixture
async def make(server: CerebrasServer) -> AsyncIterator[Make]:
    """Makes models on the server; closes them at the end."""
    made: list[ChatCerebras] = []

    def new(**fields: Any) -> ChatCerebras:
        made.append(ChatCerebras(**{"api_key": "the-key", "base_url": server.url, **fields}))
        return made[-1]

    yield new
    for model in made:
        await model.aclose()


async def gather(model: BaseChatModel | Any, *args: Any, **kwargs: Any) -> tuple[list[AIMessageChunk], AIMessageChunk]:
    chunks = [chunk async for chunk in model.astream(*args, **kwargs)]
    return chunks, sum(chunks[1:], start=chunks[0])


async def search(query: str) -> str:
    """Search."""
    return query


# --- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 3, 7])
async def test_text_survives_any_delivery_byte_for_byte(server: CerebrasServer, make: Make, size: int):
    server.script(Reply(list(MULTIBYTE), bytes_at_once=size))
    chunks, whole = await gather(make(frame_s=0), "hi")
    assert whole.content == MULTIBYTE
    assert len(chunks) == len(MULTIBYTE) + 1
    assert {chunk.id for chunk in chunks} == {whole.id}


async def test_the_socket_is_read_once_a_frame(server: CerebrasServer, make: Make):
    server.script(Reply([f"w{n} " for n in range(60)], rate=200))
    sent, shown, start = [], [""], time.monotonic()
    async for chunk in make(frame_s=0.1).astream("hi"):
        sent.append(server.requests[0].sent)  # how many deltas the server had sent when this chunk came
        shown.append(shown[-1] + chunk.text)
    assert shown[-1] == "".join(f"w{n} " for n in range(60))
    frames = (time.monotonic() - start) / 0.1
    assert len(sent) <= frames + 3, "one chunk a frame"
    told = [text.count(" ") for text in shown]
    assert all(now >= min(before, 60) for before, now in zip(sent, told[2:], strict=False)), "what had been sent at a frame is in the next"


async def test_the_first_token_waits_for_no_frame(server: CerebrasServer, make: Make):
    server.script(Reply(["", "", "first ", "never"], rate=100, hang_after=4))
    async with asyncio.timeout(5), aclosing(make(frame_s=3600)._astream([HumanMessage("hi")])) as chunks:  # type: ignore[type-var]
        assert (await anext(chunks)).text == "first "


async def test_usage_and_times_come_once_with_the_last_chunk(server: CerebrasServer, make: Make):
    server.script(Reply("a b c", reasoning="hm so"))
    chunks, whole = await gather(make(frame_s=0), "hi")
    assert [chunk.usage_metadata is not None for chunk in chunks] == [False] * 5 + [True]
    assert whole.usage_metadata is not None
    assert (whole.usage_metadata["output_tokens"], whole.usage_metadata["output_token_details"]) == (5, {"reasoning": 2})
    metadata = whole.response_metadata
    assert (metadata["finish_reason"], metadata["model_name"], metadata["time_info"]["total_time"]) == ("stop", "gpt-oss-120b", 0.0111)
    assert chunks[-1].chunk_position == "last"


async def test_reasoning_is_kept_apart_from_the_answer(server: CerebrasServer, make: Make):
    server.script(Reply("It is 42.", reasoning="I know it."))
    _, whole = await gather(make(), "hi")
    assert (whole.content, whole.additional_kwargs["reasoning_content"]) == ("It is 42.", "I know it.")
    assert [block["type"] for block in whole.content_blocks] == ["reasoning", "text"]


@pytest.mark.parametrize("interleaved", [False, True])
async def test_parallel_calls_keep_their_arguments_apart(server: CerebrasServer, make: Make, interleaved: bool):
    server.script(
        Reply(
            "Let me see. ", calls=[Call("search", {"query": "é"}, "a", 5), Call("search", {"query": "2"}, "b", 3)], interleaved=interleaved
        )
    )
    _, whole = await gather(make().bind_tools([search]), "hi")
    assert whole.content == "Let me see. "
    assert [(call["id"], call["args"]) for call in whole.tool_calls] == [("a", {"query": "é"}), ("b", {"query": "2"})]
    assert "malformed_tool_calls" not in whole.response_metadata


@pytest.mark.parametrize("arguments", ['{"query": "a"}{"query": "b"}', '{"query": "trunca', '["x"]', '"x"', "{"])
async def test_arguments_that_are_not_an_object_are_reported(server: CerebrasServer, make: Make, arguments: str):
    server.script(Reply(calls=[Call("search", {"query": "ok"}, "good"), Call("search", arguments, "bad")]))
    _, whole = await gather(make(), "hi")
    assert whole.response_metadata["malformed_tool_calls"] == ["bad"]


async def test_a_call_without_arguments_is_well_formed(server: CerebrasServer, make: Make):
    server.script(Reply(calls=[Call("now", "", "c")]))
    _, whole = await gather(make(), "hi")
    assert whole.tool_calls[0]["args"] == {}
    assert "malformed_tool_calls" not in whole.response_metadata


class City(BaseModel):
    """A city."""

    name: str
    people: int


@pytest.mark.parametrize("method", ["function_calling", "json_schema", "json_mode"])
@pytest.mark.parametrize("include_raw", [False, True])
async def test_structured_output(server: CerebrasServer, make: Make, method: Any, include_raw: bool):
    if method == "json_mode":
        server.script(Reply('{"name": "Oslo", "people": 7}'))
    answer: Any = await make().with_structured_output(City, method=method, include_raw=include_raw).ainvoke("'Oslo' has 7")
    assert (answer["parsed"] if include_raw else answer) == City(name="Oslo", people=7)
    (request,) = server.requests
    assert ("response_format" in request.body, "tools" in request.body) == (method != "function_calling", method == "function_calling")


async def test_an_answer_that_does_not_fit_is_told_with_the_raw_message(server: CerebrasServer, make: Make):
    server.script(Reply("not json"))
    answer: Any = await make().with_structured_output(City, method="json_schema", include_raw=True).ainvoke("hi")
    assert (answer["parsed"], answer["raw"].content, answer["parsing_error"] is not None) == (None, "not json", True)


# --- what is sent ----------------------------------------------------------------------------------------------------


async def test_nothing_of_the_person_or_the_machine_goes_to_the_provider(
    server: CerebrasServer, make: Make, monkeypatch: pytest.MonkeyPatch
):
    ann = Principal("issuer", "ann", "Ann", None, 9e9, {"email": "ann@example.org"}, Credential("header.payload.signature", 9e9))
    enter(RunContext(caller=ann))
    monkeypatch.setenv("CEREBRAS_CUSTOM_HEADERS", "X-Team: secret\nAuthorization: Bearer other")
    monkeypatch.setenv("CEREBRAS_API_KEY", "key-of-the-environment")
    monkeypatch.setenv("CEREBRAS_BASE_URL", "http://127.0.0.1:1")
    await make().ainvoke("hi", config={"configurable": {"thread_id": "t"}, "metadata": {"user": "ann"}})
    (request,) = server.requests
    assert set(request.headers) <= {
        "host",
        "accept",
        "accept-encoding",
        "connection",
        "user-agent",
        "content-type",
        "content-length",
        "authorization",
    }
    assert request.headers["authorization"] == "Bearer the-key"
    assert set(request.body) == {"model", "messages", "max_completion_tokens", "stream", "stream_options"}
    assert not [word for word in ("header.payload.signature", "ann", "secret", "other") if word in repr((request.headers, request.body))]


async def test_the_key_is_in_no_text_that_describes_the_model(make: Make):
    model = make()
    assert "the-key" not in f"{model!r} {model} {model._identifying_params} {model.model_dump()}"


async def test_parameters_and_their_overrides(server: CerebrasServer, make: Make):
    model = make(temperature=0, top_p=0.5, seed=7, stop=["END"], reasoning_effort="low", max_tokens=99)
    await model.ainvoke("hi")
    await model.ainvoke("hi", stop=["X"], temperature=1.5, max_tokens=5, seed=8, model="qwen-3.8-27b", reasoning_effort="none")
    first, second = (request.body for request in server.requests)
    assert first | {"messages": 0} == {
        "model": "gpt-oss-120b",
        "messages": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0,
        "top_p": 0.5,
        "seed": 7,
        "stop": ["END"],
        "reasoning_effort": "low",
        "max_completion_tokens": 99,
    }
    assert (second["model"], second["stop"], second["temperature"], second["max_completion_tokens"]) == ("qwen-3.8-27b", ["X"], 1.5, 5)
    assert (second["seed"], second["reasoning_effort"]) == (8, "none")


async def test_what_a_model_does_not_take_is_left_out_and_logged_once(server: CerebrasServer, make: Make, caplog: pytest.LogCaptureFixture):
    model = make(model="another-model", reasoning_effort="low")
    for _ in range(2):
        await model.bind_tools([search], parallel_tool_calls=False).ainvoke("hi", frequency_penalty=1.0)
    assert not {"reasoning_effort", "parallel_tool_calls", "frequency_penalty"} & set(server.requests[1].body)
    (record,) = (r for r in caplog.records if "left out" in r.message)
    assert "frequency_penalty, parallel_tool_calls, reasoning_effort" in record.message


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        (None, None),
        ("auto", "auto"),
        ("none", "none"),
        ("any", "required"),
        (True, "required"),
        ("search", {"type": "function", "function": {"name": "search"}}),
        ({"type": "function", "function": {"name": "search"}}, {"type": "function", "function": {"name": "search"}}),
    ],
)
async def test_tool_choice(server: CerebrasServer, make: Make, choice: Any, sent: Any):
    await make().bind_tools([search], tool_choice=choice).ainvoke("hi")
    assert server.requests[0].body.get("tool_choice") == sent


def test_a_tool_choice_that_is_no_tool_is_refused():
    with pytest.raises(ValueError, match="'serch', which is not among the bound tools: search"):
        ChatCerebras(api_key=SecretStr("k")).bind_tools([search], tool_choice="serch")


@pytest.mark.parametrize("model", ["gpt-oss-120b", "another-model"])
async def test_strict_tools_go_to_models_that_take_them_and_never_mixed(server: CerebrasServer, make: Make, model: str):
    def other(query: str) -> str:
        """Another."""
        return query

    await make(model=model).bind_tools([search, other], strict=True).ainvoke("hi")
    mixed = {"type": "function", "function": {"name": "x", "parameters": {"type": "object", "properties": {}}, "strict": True}}
    await make(model=model).bind_tools([search, mixed]).ainvoke("hi")
    strict = [[tool["function"].get("strict") for tool in request.body["tools"]] for request in server.requests]
    assert strict == [[True, True] if model == "gpt-oss-120b" else [None, None], [None, None]]


async def test_an_image_is_refused_in_words_by_a_text_model_and_the_thread_goes_on(server: CerebrasServer, make: Make):
    picture = HumanMessage(
        [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]
    )
    with pytest.raises(InvalidRequest, match="reads text only"):
        await make().ainvoke([picture])
    assert not server.requests
    await make().ainvoke([picture, HumanMessage("It was a cat.")])
    assert server.requests[0].body["messages"][0]["content"] == "What is this?\n[image left out: this model reads text only]"
    await make(model="gemma-4-31b").ainvoke([picture])
    assert server.requests[1].body["messages"][0]["content"][1] == {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


async def test_reasoning_goes_back_within_the_turn_only(server: CerebrasServer, make: Make):
    def turn(call: str) -> list[Any]:
        thought = {"reasoning_content": "I should look."}
        asks = AIMessage("", additional_kwargs=thought, tool_calls=[{"name": "search", "args": {"query": "x"}, "id": call}])
        return [HumanMessage("hi"), asks, ToolMessage("found", tool_call_id=call)]

    await make().bind_tools([search]).ainvoke([*turn("a"), AIMessage("So."), *turn("b")])
    await make(model="another-model").bind_tools([search]).ainvoke(turn("a"))
    assert [m.get("reasoning") for m in server.requests[0].body["messages"] if m["role"] == "assistant"] == [None, None, "I should look."]
    assert "reasoning" not in server.requests[1].body["messages"][1]


async def test_connections_are_reused(server: CerebrasServer, make: Make):
    model = make()
    for _ in range(3):
        await model.ainvoke("hi")
    assert (len(server.requests), server.connections) == (3, 1)


def test_one_model_works_in_one_event_loop_after_another():
    with serve_in_thread(keep_alive=False) as server:
        model = ChatCerebras(api_key=SecretStr("k"), base_url=server.url)
        answers = [asyncio.run(model.ainvoke("hi")).content for _ in range(2)]
    assert answers[0] == answers[1] != ""


async def test_synchronous_calls_work_where_a_loop_is_running(make: Make):
    def blocking(model: ChatCerebras) -> list[Any]:
        return [chunk.content for chunk in model.stream("hi")]

    with serve_in_thread(keep_alive=False) as other:
        other.script(Reply("one two"))
        assert blocking(make(base_url=other.url)) == ["one ", "two", ""]


# --- waiting for capacity --------------------------------------------------------------------------------------------


class Waits:
    """Collects what the model reports about waiting."""

    def __init__(self) -> None:
        self.told: list[Waiting] = []
        self.first = asyncio.Event()

    async def __call__(self, waiting: Waiting) -> None:
        self.told.append(waiting)
        self.first.set()


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (Reply(status=429, headers={"retry-after": "0.02"}), "rate_limited"),
        (Reply(status=429, headers={"retry-after-ms": "20"}), "rate_limited"),
        (
            Reply(status=429, headers={"x-ratelimit-remaining-tokens-minute": "0", "x-ratelimit-reset-tokens-minute": "0.02"}),
            "rate_limited",
        ),
        (Reply(status=500, headers={"retry-after": "0.02"}), "unavailable"),
        (Reply(status=503, headers={"retry-after": "0.02"}), "unavailable"),
    ],
)
async def test_a_refusal_that_may_pass_is_waited_out_and_told(server: CerebrasServer, make: Make, bad: Reply, reason: Any):
    waits = Waits()
    server.script(bad, Reply("done"))
    _, whole = await gather(make(on_wait=waits), "hi")
    assert whole.content == "done"
    assert waits.told == [Waiting(reason=reason, seconds=0.02, attempt=1)]
    assert server.requests[1].at - server.requests[0].at >= 0.02


@pytest.mark.parametrize(
    "bad",
    [
        Reply("never seen", cut_after=0),
        Reply("never seen", cut_after=1),  # after the opening chunk, which shows nothing
        Reply("never seen", error_after=0, error_status=503),
        Reply("never seen", error_after=1, error=ERRORS[429], error_status=429),
        Reply(done=False, finish_reason=None),
        Reply("x", raw_after=(0, b"data: {\n\n")),
    ],
)
async def test_a_stream_that_breaks_before_the_first_token_is_asked_again(server: CerebrasServer, make: Make, bad: Reply):
    server.script(bad, Reply("done"))
    _, whole = await gather(make(), "hi")
    assert (whole.content, len(server.requests)) == ("done", 2)


async def test_a_wait_longer_than_the_limit_is_the_callers(server: CerebrasServer, make: Make):
    waits = Waits()
    server.script(Reply(status=429, headers={"retry-after": "60"}))
    with pytest.raises(ModelRateLimited) as caught:
        await make(on_wait=waits, max_wait_s=20).ainvoke("hi")
    assert caught.value.retry_after == 60
    assert (waits.told, len(server.requests)) == ([], 1)


async def test_retries_are_counted(server: CerebrasServer, make: Make):
    server.script(*[Reply(status=429, headers={"retry-after": "0.001"})] * 10)
    with pytest.raises(ModelRateLimited):
        await make(max_retries=2).ainvoke("hi")
    assert len(server.requests) == 3


async def test_the_whole_wait_is_bounded(server: CerebrasServer, make: Make):
    waits = Waits()
    server.script(*[Reply(status=503, headers={"retry-after": "0.1"})] * 100)
    with pytest.raises(ModelUnavailable):
        await make(max_retries=100, max_wait_s=0.35, on_wait=waits).ainvoke("hi")
    assert len(waits.told) <= 3
    assert len(server.requests) == len(waits.told) + 1


async def test_a_provider_that_says_no_retry_is_believed(server: CerebrasServer, make: Make):
    server.script(Reply(status=503, headers={"x-should-retry": "false"}))
    with pytest.raises(ModelUnavailable):
        await make().ainvoke("hi")
    assert len(server.requests) == 1


async def test_no_server_at_all(make: Make):
    waits = Waits()
    with pytest.raises(ModelUnavailable) as caught:
        await make(base_url="http://127.0.0.1:9", max_retries=1, on_wait=waits).ainvoke("hi")
    assert caught.value.__cause__ is not None
    assert [w.reason for w in waits.told] == ["unavailable"]


async def test_a_person_sees_the_wait_as_progress(server: CerebrasServer, make: Make):
    async def tell(waiting: Waiting) -> None:
        await progress(f"waiting for capacity, {waiting.seconds} s")

    model = Coalesce(inner=make(on_wait=tell))

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    server.script(Reply(status=429, headers={"retry-after": "0.02"}), Reply("done"))
    events = [e async for e in graph.compile().astream_events({"messages": [HumanMessage("hi")]}, version="v2")]
    kinds = [e["event"] for e in events if e["event"] in {"on_custom_event", "on_chat_model_stream"}]
    assert kinds[:2] == ["on_custom_event", "on_chat_model_stream"]
    told: list[Any] = [e["data"] for e in events if e["event"] == "on_custom_event"]
    assert told[0]["label"] == "waiting for capacity, 0.02 s"


# --- failing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply(status=400), (ModelBadRequest, "refused the request")),
        (Reply(status=400, error=TOO_LONG), (ModelContextTooLong, "too long")),
        (Reply(status=400, error=FAILED_CALLS), (ModelBadRequest, "valid tool call")),
        (Reply(status=401), (ModelBadRequest, "key")),
        (Reply(status=402), (ModelBadRequest, "used up")),
        (Reply(status=403, error={}), (ModelBadRequest, "key")),
        (Reply(status=404), (ModelBadRequest, "does not exist")),
        (Reply(status=413, error={"error": {"message": "x"}}), (ModelContextTooLong, "too long")),
        (Reply(status=422, error={"detail": ["x"]}), (ModelBadRequest, "refused the request")),
        (Reply(status=429), (ModelRateLimited, "limit")),
        (Reply(status=500), (ModelUnavailable, "cannot be reached")),
        (Reply(status=503), (ModelUnavailable, "cannot be reached")),
    ],
)
@pytest.mark.parametrize("streaming", [True, False])
async def test_refusals_are_typed_with_words_for_people_and_the_cause_for_the_log(
    server: CerebrasServer, make: Make, reply: Reply, expected: tuple[type[ModelError], str], streaming: bool
):
    error, says = expected
    server.script(reply)
    model = make(max_retries=0)
    with pytest.raises(error) as caught:
        await (gather(model, "hi") if streaming else model.ainvoke("hi"))
    assert type(caught.value) is error
    assert says in caught.value.detail
    assert str((reply.error or ERRORS.get(reply.status, {})).get("message", "-")) not in caught.value.detail
    assert caught.value.__cause__ is not None
    assert caught.value.retry_after == (11.38 if reply.status == 429 else None)


async def fails_after(model: BaseChatModel, error: type[Exception]) -> str:
    """The text that came before the error."""
    seen: list[str] = []

    async def consume() -> None:
        async for chunk in model.astream("hi"):
            seen.append(chunk.text)  # noqa: PERF401 - what came before the error is the point

    with pytest.raises(error) as caught:
        await consume()
    assert type(caught.value) is error
    return "".join(seen)


@pytest.mark.parametrize("coalesced", [False, True])
@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply("a b c", cut_after=3), ModelStreamCut),
        (Reply("a b", done=False), ModelStreamCut),
        (Reply("a b", finish_reason=None), ModelStreamCut),
        (Reply("a b", done=False, finish_reason=None), ModelStreamCut),
        (Reply("a b c", raw_after=(3, b"data: {not json\n\n")), ModelStreamCut),
        (Reply("a b c", raw_after=(3, b"data: []\n\n")), ModelStreamCut),
        (Reply("a b c", raw_after=(3, b'data: {"choices": [{"delta": "x"}]}\n\n')), ModelStreamCut),
        (Reply("a b c", raw_after=(3, b'data: {"choices": [{"delta": {"content": "\xff"}}]}\n\n')), ModelStreamCut),
        (Reply("a b c", raw_after=(3, b'data: {"choices": {"0": 1}}\n\n')), ModelStreamCut),
        (Reply("a b c", raw_after=(3, b'data: {"choices": [{"delta": {"tool_calls": [{"index": [0]}]}}]}\n\n')), ModelStreamCut),
        (Reply("a b c", raw_after=(3, b'data: {"error": "plain words"}\n\n')), ModelUnavailable),
        (Reply("a b c", error_after=3), ModelUnavailable),
        (Reply("a b c", error_after=3, error_status=429, error=ERRORS[429]), ModelRateLimited),
        (Reply("a b c", error_after=3, error_status=400, error=TOO_LONG), ModelContextTooLong),
    ],
)
async def test_a_stream_that_breaks_later_keeps_its_text_and_is_not_asked_again(
    server: CerebrasServer, make: Make, reply: Reply, error: type[Exception], coalesced: bool
):
    server.script(reply)
    model = make()
    assert (await fails_after(Coalesce(inner=model) if coalesced else model, error)).split() == ["a", "b"]
    assert len(server.requests) == 1


async def test_a_stream_that_falls_silent_is_a_cut(server: CerebrasServer, make: Make):
    server.script(Reply("a b c", hang_after=3))
    assert (await fails_after(make(timeout=0.05), ModelStreamCut)).split() == ["a", "b"]


# --- stopping --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("coalesced", [False, True])
@pytest.mark.parametrize("after", [0, 1, 3])
async def test_a_cancelled_call_closes_its_connection_at_once(server: CerebrasServer, make: Make, coalesced: bool, after: int):
    server.script(Reply("a b c", hang_after=after))
    model = make()
    task = asyncio.get_running_loop().create_task(gather(Coalesce(inner=model) if coalesced else model, "hi"))
    await asyncio.wait_for(server.asked.wait(), 5)
    (request,) = server.requests
    await asyncio.wait_for(request.sending.wait(), 5)
    task.cancel()
    await asyncio.wait([task], timeout=5)
    assert task.cancelled()
    await asyncio.wait_for(request.over.wait(), 5)
    assert request.closed_early


async def test_leaving_the_stream_early_closes_the_connection(server: CerebrasServer, make: Make):
    server.script(Reply("a b c", hang_after=2))
    async with aclosing(make()._astream([HumanMessage("hi")])) as chunks:  # type: ignore[type-var]
        await anext(chunks)
    await asyncio.wait_for(server.requests[0].over.wait(), 5)
    assert server.requests[0].closed_early


async def test_a_wait_for_capacity_can_be_cancelled(server: CerebrasServer, make: Make):
    waits = Waits()
    server.script(Reply(status=429, headers={"retry-after": "15"}))
    task = asyncio.get_running_loop().create_task(make(on_wait=waits).ainvoke("hi"))
    await asyncio.wait_for(waits.first.wait(), 5)
    task.cancel()
    await asyncio.wait([task], timeout=1)
    assert task.cancelled()


async def test_a_finished_call_is_not_taken_for_an_abandoned_one(server: CerebrasServer, make: Make):
    await make().ainvoke("hi")
    assert not server.requests[0].closed_early


# --- every script of the simulator ends well -------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(set(SCRIPTS) - {"hang"}))
async def test_every_script_ends_in_an_answer_or_a_typed_error(server: CerebrasServer, make: Make, name: str):
    server.script(*SCRIPTS[name][:2])
    asking = make(max_wait_s=2, max_retries=1).bind_tools([search]).ainvoke("hi")
    if name in {"429-always", "500-always", "error-mid-stream", "cut", "no-end"}:
        with pytest.raises(ModelError):
            await asking
    else:
        answer = await asking
        assert answer.content or answer.tool_calls or answer.invalid_tool_calls


def test_settings_are_checked():
    for wrong in ({"max_tokens": 0}, {"timeout": 0}, {"stop": list("abcde")}, {"max_retries": -1}):
        with pytest.raises(ValidationError):
            ChatCerebras(api_key=SecretStr("k"), **wrong)
