"""A server that is told to stop drains behind an open door; a second Ctrl-C ends the waiting; a refused start drains nothing."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from middle_core.http_server.draining import DrainingServer
from tests.fakes.until import until


@dataclass
class Runs:
    """What is drained: `over` is set when the last run is done."""

    drain_s: float = 42.0
    over: asyncio.Event = field(default_factory=asyncio.Event)
    asked_for: list[float] = field(default_factory=list)

    @property
    def supervisor(self) -> Runs:
        return self

    async def drain(self, *, within_s: float) -> None:
        self.asked_for.append(within_s)
        await self.over.wait()


@asynccontextmanager
async def serving(runs: Runs | None) -> AsyncIterator[tuple[DrainingServer, str, asyncio.Task[None]]]:
    app = Starlette(routes=[Route("/", lambda _: PlainTextResponse("here"))])
    if runs is not None:
        app.state.parts = runs
    listening = socket.create_server(("127.0.0.1", 0))
    server = DrainingServer(uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=1))
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        task = group.create_task(server.serve(sockets=[listening]))
        await until(lambda: server.started)
        yield server, f"http://127.0.0.1:{listening.getsockname()[1]}", task


async def test_the_door_is_open_while_runs_finish_and_closed_after_that() -> None:
    runs = Runs()
    async with serving(runs) as (server, url, task), httpx.AsyncClient() as http:
        server.should_exit = True
        await until(lambda: runs.asked_for == [42.0])
        assert (await http.get(url)).text == "here"
        runs.over.set()
        await task
        with pytest.raises(httpx.ConnectError):
            await http.get(url)


async def test_a_second_ctrl_c_ends_the_waiting() -> None:
    runs = Runs()
    async with serving(runs) as (server, _, task):
        server.should_exit = True
        await until(lambda: bool(runs.asked_for))
        server.force_exit = True
        await task
    assert not runs.over.is_set()


async def test_where_the_start_was_refused_nothing_is_drained() -> None:
    async with serving(None) as (server, _, task):
        server.should_exit = True
        await task
