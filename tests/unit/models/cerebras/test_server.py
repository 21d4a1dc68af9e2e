"""The simulator itself: it runs as a process, keeps its pace, and the SDK's own decoder reads it."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from cerebras.cloud.sdk import AsyncCerebras, BadRequestError, RateLimitError

from tests.fakes.cerebras_server import SCRIPTS, Call, CerebrasServer, Reply


@asynccontextmanager
async def sdk(url: str) -> AsyncIterator[AsyncCerebras]:
    async with AsyncCerebras(api_key="k", base_url=url, max_retries=0, warm_tcp_connection=False) as client:
        yield client


ASK: dict[str, Any] = {"model": "gpt-oss-120b", "messages": [{"role": "user", "content": "hi"}]}


async def test_it_is_paced():
    async with CerebrasServer(keep_alive=False) as server, sdk(server.url) as client:
        server.script(Reply(["x"] * 300, rate=3000))
        start = time.monotonic()
        stream: Any = await client.chat.completions.create(**ASK, stream=True)
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
        assert text == "x" * 300
        assert time.monotonic() - start >= 300 / 3000


async def test_a_plain_completion():
    async with CerebrasServer(keep_alive=False) as server, sdk(server.url) as client:
        server.script(Reply("a b", reasoning="hm", calls=[Call("f", {"x": 1})]))
        answer: Any = await client.chat.completions.create(**ASK)
    message = answer.choices[0].message
    assert (message.content, message.reasoning, message.tool_calls[0].function.arguments) == ("a b", "hm", '{"x": 1}')
    assert answer.usage.total_tokens > 0


async def test_errors_are_the_sdks_own():
    async with CerebrasServer(keep_alive=False) as server, sdk(server.url) as client:
        with pytest.raises(BadRequestError, match="unsupported"):
            await client.chat.completions.create(**ASK, extra_body={"thinking": True})
        server.script(Reply(status=429, headers={"retry-after": "1"}))
        with pytest.raises(RateLimitError) as caught:
            await client.chat.completions.create(**ASK)
    assert caught.value.response.headers["x-ratelimit-limit-tokens-minute"] == "60000"


async def test_the_assistant_searches_and_then_quotes():
    tools: Any = [
        {
            "type": "function",
            "function": {"name": "search_knowledge", "parameters": {"type": "object", "properties": {"query": {"type": "string"}}}},
        }
    ]
    async with CerebrasServer(keep_alive=False) as server, sdk(server.url) as client:
        first: Any = await client.chat.completions.create(**ASK, tools=tools)
        call = first.choices[0].message.tool_calls[0]
        assert (call.function.name, call.function.arguments) == ("search_knowledge", '{"query": "hi"}')
        history = [
            *ASK["messages"],
            {"role": "assistant", "tool_calls": [call.model_dump(exclude_none=True)]},
            {"role": "tool", "tool_call_id": call.id, "content": "Cats purr."},
        ]
        second: Any = await client.chat.completions.create(model=ASK["model"], messages=history, tools=tools)
    assert "Cats purr." in second.choices[0].message.content


@pytest.mark.parametrize("script", ["paced", "bytes"])
async def test_it_runs_as_a_process(script: str):
    options = ["--tokens", "25", "--rate", "2000"] if script == "paced" else ["--script", script]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.fakes.cerebras_server", *options, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        assert process.stdout is not None
        url = (await asyncio.wait_for(process.stdout.readline(), 30)).decode().strip()
        async with sdk(url) as client:
            answer: Any = await client.chat.completions.create(**ASK)
        expected = "".join(f"word{n} " for n in range(25)) if script == "paced" else SCRIPTS["bytes"][0].text
        assert answer.choices[0].message.content == expected
    finally:
        process.terminate()
        await process.wait()
