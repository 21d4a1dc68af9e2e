"""Merging: the same answer in fewer chunks, on time, and no task left behind however it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableBinding
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, Field

from middle_core.models.coalesce import FRAME_S, Coalesce, coalesced, merged
from tests.fakes.virtual_time import in_virtual_time

T = TypeVar("T")


def chunk(content: Any = "", **fields: Any) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=AIMessageChunk(content=content, **fields))


def args(text: str, index: int = 0, **fields: Any) -> ChatGenerationChunk:
    return chunk(tool_call_chunks=[{"index": index, "id": None, "name": None, "args": text, "type": "tool_call_chunk", **fields}])


def thought(text: str) -> ChatGenerationChunk:
    return chunk(additional_kwargs={"reasoning_content": text})


def total(chunks: list[ChatGenerationChunk]) -> AIMessageChunk:
    whole = reduce(add, (c.message for c in chunks))
    assert isinstance(whole, AIMessageChunk)
    return whole


def texts(chunks: list[ChatGenerationChunk]) -> list[str]:
    return [str(c.message.content) for c in chunks]


async def timed(
    source: list[tuple[float, ChatGenerationChunk]], *, frame_s: float = FRAME_S, limit: int = 1024, consumer_s: float = 0.0
) -> list[tuple[float, ChatGenerationChunk]]:
    """Each chunk of the merged source and when it came. The source waits so many seconds before each of its own chunks."""
    clock = asyncio.get_running_loop().time

    async def chunks() -> AsyncIterator[ChatGenerationChunk]:
        for pause, item in source:
            if pause:
                await asyncio.sleep(pause)
            yield item

    seen = []
    async for item in coalesced(chunks(), frame_s=frame_s, limit=limit):
        seen.append((clock(), item))
        if consumer_s:
            await asyncio.sleep(consumer_s)
    return seen


# --- the rule --------------------------------------------------------------------------------------------------------


def test_text_joins_text_thought_joins_thought_and_arguments_join_arguments_of_the_same_call():
    out = list(merged([thought("a"), thought("b"), chunk("c"), chunk("d"), args("e"), args("f"), args("g", 1), args("h", 0)]))
    assert [c.message.additional_kwargs.get("reasoning_content") for c in out[:1]] == ["ab"]
    assert texts(out[1:2]) == ["cd"]
    assert [c.message.tool_call_chunks[0]["args"] for c in out[2:]] == ["ef", "g", "h"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "special",
    [
        chunk("x", usage_metadata={"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}),
        chunk("x", response_metadata={"finish_reason": "stop"}),
        chunk("x", additional_kwargs={"refusal": "no"}),
        chunk("x", additional_kwargs={"reasoning_content": "y"}),
        chunk("x", name="n"),
        chunk("x", id="new"),
        chunk("x", chunk_position="last"),
        chunk([{"type": "text", "text": "x"}]),
        chunk(),
        ChatGenerationChunk(message=AIMessageChunk(content="x"), generation_info={"finish_reason": "stop"}),
        chunk("x", tool_call_chunks=[{"index": 0, "id": None, "name": None, "args": "y", "type": "tool_call_chunk"}]),
        args("x", id="call"),
        args("x", name="search"),
        args("x", index=None),  # type: ignore[arg-type]
    ],
)
def test_a_chunk_that_says_more_than_text_passes_as_it_is(special: ChatGenerationChunk):
    out = list(merged([chunk("a"), chunk("b"), special, chunk("c"), chunk("d")]))
    assert texts(out[:1] + out[2:]) == ["ab", "cd"]
    assert out[1] is special


def test_a_provider_label_that_stays_the_same_does_not_keep_text_apart():
    label = {"model_provider": "openai"}
    (out,) = merged([chunk("a", response_metadata=dict(label)), chunk("b", response_metadata=dict(label))])
    assert out.message.content == "ab"
    assert out.message.response_metadata == label


# --- exactness, for any chunks and any timing ------------------------------------------------------------------------

PIECES = st.one_of(
    st.text(max_size=4).map(chunk),
    st.text(max_size=4).map(thought),
    st.tuples(st.text(max_size=3), st.integers(0, 2)).map(lambda p: args(*p)),
    st.integers(0, 2).map(lambda i: args("{", i, id=f"call{i}", name="search")),
    st.text(max_size=3).map(lambda t: chunk(t, response_metadata={"model_provider": "openai"})),
    st.just(None).map(lambda _: chunk("t", usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3})),
    st.just(None).map(lambda _: chunk("e", response_metadata={"finish_reason": "stop"})),
    st.just(None).map(lambda _: args("[", 1, name="more")),
)
PAUSES = st.sampled_from([0.0, 0.0, 0.0001, 0.0005, 0.004, 0.02, 0.1])


@pytest.mark.slow
@given(st.lists(st.tuples(PAUSES, PIECES), min_size=1, max_size=40), st.sampled_from([1, 2, 5, 1000]), st.sampled_from([0.0, 0.0, 0.03]))
@settings(max_examples=150, deadline=None)
def test_the_sum_is_the_same_and_nothing_comes_late(source: list[tuple[float, ChatGenerationChunk]], limit: int, consumer_s: float):
    out = in_virtual_time(timed(source, limit=limit, consumer_s=consumer_s))
    before, after = total([c for _, c in source]), total([c for _, c in out])
    for part in (
        "content",
        "additional_kwargs",
        "tool_call_chunks",
        "tool_calls",
        "invalid_tool_calls",
        "usage_metadata",
        "response_metadata",
    ):
        assert getattr(after, part) == getattr(before, part), part
    assert len(out) <= len(source)

    if consumer_s or limit <= len(source):
        return
    shown = [(sum(p for p, _ in source[: i + 1]), c) for i, (_, c) in enumerate(source) if not is_empty(c)]
    if shown:
        assert next(at for at, c in out if not is_empty(c)) == pytest.approx(shown[0][0]), "the first is not delayed"
    assert out[-1][0] == pytest.approx(sum(p for p, _ in source)), "the last waits for no frame"


def is_empty(item: ChatGenerationChunk) -> bool:
    return not (item.message.content or item.message.additional_kwargs or item.message.tool_call_chunks)  # type: ignore[attr-defined]


# --- time ------------------------------------------------------------------------------------------------------------


def test_a_fast_stream_becomes_one_chunk_a_frame():
    out = in_virtual_time(timed([(0.0005, chunk(f"{n} ")) for n in range(2000)]))  # 2,000 tokens a second
    times = [at for at, _ in out]
    assert times[0] == pytest.approx(0.0005)
    assert len(out) == pytest.approx(1.0 / FRAME_S, abs=2)
    assert min(b - a for a, b in pairwise(times[:-1])) >= FRAME_S - 1e-9
    assert "".join(texts([c for _, c in out])) == "".join(f"{n} " for n in range(2000))


def test_a_stream_slower_than_the_frames_is_not_delayed_at_all():
    out = in_virtual_time(timed([(0.02, chunk(f"{n} ")) for n in range(50)]))
    assert [at for at, _ in out] == pytest.approx([0.02 * (n + 1) for n in range(50)])


def test_an_empty_opening_chunk_does_not_delay_the_first_word():
    out = in_virtual_time(timed([(0.001, chunk()), (0.001, chunk("Hello")), (1.0, chunk("!"))]))
    assert [at for at, _ in out] == pytest.approx([0.001, 0.002, 1.002])


def test_a_burst_beyond_the_limit_waits_for_no_frame():
    out = in_virtual_time(timed([*[(0.0, chunk("x"))] * 50, (1.0, chunk("!"))], limit=10))
    assert sum(len(str(c.message.content)) for at, c in out if at == 0.0) > 50 - 10


async def test_the_first_chunk_is_out_before_the_source_goes_on():
    seen = asyncio.Event()

    async def source() -> AsyncIterator[ChatGenerationChunk]:
        yield chunk("first")
        await seen.wait()  # would wait for ever if the first chunk were held back
        yield chunk("rest")

    out = []
    async with asyncio.timeout(5):
        async for item in coalesced(source(), frame_s=3600):
            out.append(item)
            seen.set()
    assert texts(out) == ["first", "rest"]


async def test_a_source_that_never_pauses_still_shows_its_first_chunk_first():
    produced = 0

    async def source() -> AsyncIterator[ChatGenerationChunk]:
        nonlocal produced
        for _ in range(500):
            produced += 1
            yield chunk("x")

    at_first = None
    async for _ in coalesced(source(), frame_s=0.001, limit=100):
        at_first = at_first or produced
    assert at_first == 1


async def test_the_source_waits_when_the_buffer_is_full():
    produced = 0

    async def source() -> AsyncIterator[ChatGenerationChunk]:
        nonlocal produced
        for _ in range(100):
            produced += 1
            yield chunk("x")

    async with aclosing(coalesced(source(), limit=5)) as chunks:
        await anext(chunks)
        for _ in range(20):
            await asyncio.sleep(0)
        assert produced <= 6
        rest = [c async for c in chunks]
    assert 1 + sum(len(t) for t in texts(rest)) == 100


# --- ways out --------------------------------------------------------------------------------------------------------


async def test_an_error_comes_after_the_text_that_came_before_it():
    async def source() -> AsyncIterator[ChatGenerationChunk]:
        for word in ("a", "b", "c"):
            yield chunk(word)
        raise ConnectionError("cut")

    out: list[ChatGenerationChunk] = []
    with pytest.raises(ConnectionError, match="cut"):
        await consume(coalesced(source(), frame_s=3600), into=out)
    assert "".join(texts(out)) == "abc"
    assert_no_task_left()


class Watched:
    """A source that never ends, and records how its reader left."""

    def __init__(self, words: int = 1) -> None:
        self.words = words
        self.left: BaseException | None = None
        self.open = asyncio.Event()

    async def chunks(self) -> AsyncGenerator[ChatGenerationChunk, None]:
        try:
            for _ in range(self.words):
                yield chunk("x")
            self.open.set()
            await asyncio.Event().wait()
        except BaseException as end:
            self.left = end
            raise


def assert_no_task_left() -> None:
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def consume(source: AsyncIterator[ChatGenerationChunk], into: list[ChatGenerationChunk] | None = None) -> None:
    async for item in source:
        if into is not None:
            into.append(item)


async def test_cancelling_the_consumer_cancels_the_source():
    source = Watched()
    task = asyncio.get_running_loop().create_task(consume(coalesced(source.chunks())))
    await asyncio.wait_for(source.open.wait(), 5)
    task.cancel()
    await asyncio.wait([task], timeout=5)
    assert task.cancelled()
    assert isinstance(source.left, asyncio.CancelledError)
    assert_no_task_left()


@pytest.mark.parametrize("words", [1, 50])
async def test_leaving_early_closes_the_source(words: int):
    source = Watched(words)
    async with aclosing(coalesced(source.chunks(), limit=5)) as chunks:
        await anext(chunks)
        for _ in range(10):
            await asyncio.sleep(0)
    assert source.left is not None
    assert_no_task_left()


async def test_another_task_may_close_it():
    source = Watched()
    chunks = coalesced(source.chunks())
    await anext(chunks)
    await asyncio.get_running_loop().create_task(_close(chunks))
    assert source.left is not None
    assert_no_task_left()


async def _close(chunks: AsyncGenerator[ChatGenerationChunk, None]) -> None:
    await chunks.aclose()


async def test_a_source_that_is_cancelled_from_within_is_a_cancellation():
    async def source() -> AsyncIterator[ChatGenerationChunk]:
        yield chunk("x")
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await consume(coalesced(source()))


async def test_a_reader_that_is_cancelled_before_its_first_step_leaves_nobody_waiting():
    """A loop that closes cancels every task at once, and the `finally` of a task that never ran does not run."""

    async def source() -> AsyncIterator[ChatGenerationChunk]:
        yield chunk("x")

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        consumer = group.create_task(consume(coalesced(source())))
        await asyncio.sleep(0)
        [reader] = asyncio.all_tasks() - {asyncio.current_task(), consumer}
        reader.cancel()
    assert consumer.cancelled()


# --- the wrapper -----------------------------------------------------------------------------------------------------


class Words(BaseChatModel):
    """Says n words without a pause, and records how it was called."""

    n: int = 200
    asked: list[dict[str, Any]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "words"

    def bind_tools(self, tools: Any, *, tool_choice: str | None = None, **kwargs: Any) -> Runnable[Any, AIMessage]:
        return self.bind(tools=[convert_to_openai_tool(t) for t in tools], **kwargs)

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("plain"))])

    async def _astream(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        self.asked.append({"stop": stop, **kwargs})
        for n in range(self.n):
            yield chunk(f"w{n} ")
        if kwargs.get("tools"):
            yield args('{"q": "a"}', id="c", name="Query")


class Silent(Words):
    _astream = BaseChatModel._astream


class Query(BaseModel):
    """Find something."""

    q: str


class Tokens(AsyncCallbackHandler):
    def __init__(self) -> None:
        self.seen: list[str] = []

    async def on_llm_new_token(self, token: Any, **kwargs: Any) -> None:
        self.seen.append(token)


async def test_callbacks_see_each_merged_chunk_once():
    tokens = Tokens()
    out = [c async for c in Coalesce(inner=Words()).astream("hi", config={"callbacks": [tokens]})]
    assert "".join(tokens.seen) == "".join(str(c.content) for c in out) == "".join(f"w{n} " for n in range(200))
    assert len(tokens.seen) < 20


async def test_callbacks_of_the_inner_model_are_kept():
    tokens = Tokens()
    inner = Words(callbacks=[tokens], tags=["t"], n=2)
    model = Coalesce(inner=inner)
    async for _ in model.astream("hi"):
        pass
    assert "".join(tokens.seen) == "w0 w1 "
    assert model.tags == ["t"]
    assert model.get_name() == "Words"


async def test_tools_are_bound_by_the_inner_model_and_streamed_merged():
    inner = Words(asked=[])
    bound = Coalesce(inner=inner).bind_tools([Query], parallel_tool_calls=True)
    assert isinstance(bound, RunnableBinding)
    out = [c async for c in bound.astream("hi", stop=["."])]
    assert out[-2].tool_calls[0]["args"] == {"q": "a"}
    assert len(out) < 20
    (asked,) = inner.asked
    assert (asked["stop"], asked["parallel_tool_calls"], asked["tools"][0]["function"]["name"]) == (["."], True, "Query")


@pytest.mark.parametrize("include_raw", [False, True])
async def test_structured_output_is_the_inner_models_own(include_raw: bool):
    structured = Coalesce(inner=Words(n=3)).with_structured_output(Query, include_raw=include_raw)
    events = [e async for e in structured.astream_events("hi", version="v2")]
    answer = events[-1]["data"]["output"]
    assert (answer["parsed"] if include_raw else answer) == Query(q="a")
    assert {e["name"] for e in events if e["event"] == "on_chat_model_stream"} == {"Words"}


def test_the_trace_names_the_inner_model():
    assert Coalesce(inner=Words())._get_ls_params(model="m") == Words()._get_ls_params(model="m")


async def test_a_model_that_cannot_stream_is_simply_called():
    assert (await Coalesce(inner=Silent()).ainvoke("hi")).content == "plain"
    assert [c.content async for c in Coalesce(inner=Silent()).astream("hi")] == ["plain"]


def test_synchronous_calls_pass_through():
    assert Coalesce(inner=Words()).invoke("hi").content == "plain"
