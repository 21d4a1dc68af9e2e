"""How the application is served, and what an operator reads where its start is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from fastapi import FastAPI
from starlette.types import Message

from middle_core.http_server.config import KEEP_ALIVE_S, PlainRefusal, config_of
from middle_core.http_server.connection import Connection


def refusing(words: str) -> FastAPI:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if words:
            app.state.refused = words
        fail()
        yield

    def fail() -> None:
        raise RuntimeError("the inside")

    return FastAPI(lifespan=lifespan)


async def told(app: FastAPI) -> list[Message]:
    """What the server is told of the start."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "lifespan.startup"}

    async def send(message: Message) -> None:
        sent.append(message)

    with pytest.raises(RuntimeError):
        await PlainRefusal(app)({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, receive, send)
    return sent


async def test_a_refused_start_is_told_in_words() -> None:
    assert await told(refusing("The disk is full.")) == [{"type": "lifespan.startup.failed", "message": "The disk is full."}]


async def test_a_start_that_fails_for_another_reason_keeps_its_traceback() -> None:
    [message] = await told(refusing(""))
    assert "the inside" in message["message"]


def test_the_server_names_itself_nowhere_and_keeps_connections_longer_than_an_ingress() -> None:
    config = config_of(FastAPI(), "127.0.0.1", 0)
    assert (config.http, config.server_header, config.access_log) == (Connection, False, False)
    assert config.timeout_keep_alive == KEEP_ALIVE_S > 60
