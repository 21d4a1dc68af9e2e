"""What was shown stays on the screen and after a reload: while a subgraph asks, and after an answer, a stop, other words and a kill."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.corpus.browser import folded
from tests.fakes.ports import free_port
from tests.fakes.process import serve
from tests.fakes.stack import Reader, Stack, run_input, stack, user
from tests.scenarios.offering_agent import NOTE, OFFERS, build
from tests.scenarios.slow_agent import whole

AGENT = "offering=tests.scenarios.offering_agent:build"

pytestmark = pytest.mark.both_stores


def agents() -> dict[str, Any]:
    return {"default": build}


def screen(*readers: Reader) -> list[str]:
    """The texts that a page shows after these streams, with the message that it sent first."""
    shown: Sequence[dict[str, Any]] = [{"id": "h1", "role": "user", "content": "go"}]
    for one in readers:
        shown = folded(shown, one.events)
    return texts(shown)


def texts(messages: Sequence[dict[str, Any]]) -> list[str]:
    """Of all messages but closed questions."""
    return [str(one["content"]) for one in messages if one["role"] != "activity"]


async def reloaded(server: Stack) -> list[str]:
    return texts(await server.history())


async def asks(server: Stack) -> Reader:
    """Say "go" and come to the question."""
    async with server.stream("POST", "/copilotkit", body=run_input(user("go", "h1"))) as reader:
        await reader.rest()
    assert reader.events[-1]["outcome"]["type"] == "interrupt"
    return reader


def answer(asked: Reader, payload: Any) -> dict[str, Any]:
    [question] = asked.events[-1]["outcome"]["interrupts"]
    return run_input(resume=[{"interruptId": question["id"], "status": "resolved", "payload": payload}])


async def test_it_stays_while_it_asks_and_after_the_answer(tmp_path: Path) -> None:
    async with stack(tmp_path, agents=agents()) as server:
        asked = await asks(server)
        assert screen(asked) == await reloaded(server) == ["go", NOTE, OFFERS]
        async with server.stream("POST", "/copilotkit", body=answer(asked, 3)) as told:
            await told.rest()
        assert screen(asked, told) == await reloaded(server) == ["go", NOTE, OFFERS, whole(3)]


async def test_other_words_keep_it_for_the_model_as_well(tmp_path: Path) -> None:
    async with stack(tmp_path, agents=agents()) as server:
        await asks(server)
        said = await server.ask("never mind")
        assert said.text.endswith(f"go / {OFFERS} / never mind"), "the model has what was said, and no note"
        assert (await reloaded(server))[:4] == ["go", NOTE, OFFERS, "never mind"]


async def test_a_stop_at_the_question_keeps_it(tmp_path: Path) -> None:
    async with stack(tmp_path, agents=agents()) as server:
        await asks(server)
        assert await server.stop()
        assert await reloaded(server) == ["go", NOTE, OFFERS]
        assert f"go / {OFFERS} / never mind" in (await server.ask("never mind")).text


async def test_a_stop_after_the_answer_keeps_it(tmp_path: Path) -> None:
    async with stack(tmp_path, agents=agents()) as server:
        asked = await asks(server)
        async with server.stream("POST", "/copilotkit", body=answer(asked, 2000)) as told:
            await told.until_text("w3 ")
            assert await server.stop()
            await told.rest()
        assert screen(asked, told) == await reloaded(server) == ["go", NOTE, OFFERS, told.text]


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_a_killed_server_keeps_it(tmp_path: Path) -> None:
    port = free_port()
    async with serve(tmp_path, port=port, agents=AGENT) as server:
        asked = await asks(server)
        await server.kill()
    async with serve(tmp_path, port=port, agents=AGENT) as server:
        assert await reloaded(server) == ["go", NOTE, OFFERS]
        with pytest.raises(httpx.TransportError):
            async with server.stream("POST", "/copilotkit", body=answer(asked, 60)) as told:
                await told.until_text("w20 ")
                await server.kill()
                await told.rest()
    async with serve(tmp_path, port=port, agents=AGENT) as server:
        async with server.follow(told.run_id, told.last_id) as rest:
            await rest.rest()
        assert screen(asked, told, rest) == await reloaded(server) == ["go", NOTE, OFFERS, whole(60)]


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_a_server_killed_before_the_question_keeps_it(tmp_path: Path) -> None:
    """The nodes that had ended do not run again, so nobody else would say their words."""
    port, agent = free_port(), "offering=tests.scenarios.offering_agent:build_slow"
    async with serve(tmp_path, port=port, agents=agent) as server:
        with pytest.raises(httpx.TransportError):
            async with server.stream("POST", "/copilotkit", body=run_input(user("go", "h1"))) as reader:
                await reader.until_text("w20 ")
                await server.kill()
                await reader.rest()
    async with serve(tmp_path, port=port, agents=agent) as server:
        async with server.follow(reader.run_id, reader.last_id) as rest:
            await rest.rest()
        assert rest.events[-1]["outcome"]["type"] == "interrupt"
        assert screen(reader, rest) == await reloaded(server) == ["go", NOTE, OFFERS, whole(60)]
