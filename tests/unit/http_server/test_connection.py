"""When a client that does not read is cut, on a transport and a clock that the test holds; over real sockets in tests/scenarios."""

from __future__ import annotations

import asyncio

import pytest
import uvicorn
from fastapi import FastAPI
from uvicorn.server import ServerState

from middle_core.http_server.connection import STALLED_S, Connection
from tests.fakes.virtual_time import in_virtual_time


class Pipe(asyncio.Transport):
    """A connection with so many bytes waiting for its client."""

    waiting = 0
    aborted = False

    def get_write_buffer_size(self) -> int:
        return self.waiting

    def abort(self) -> None:
        self.aborted = True

    def is_closing(self) -> bool:
        return self.aborted

    def close(self) -> None:
        """A client that is gone leaves nothing to close."""


def connected() -> tuple[Connection, Pipe]:
    connection = Connection(config=uvicorn.Config(FastAPI(), lifespan="off", log_config=None), server_state=ServerState(), app_state={})
    pipe = Pipe()
    connection.connection_made(pipe)
    return connection, pipe


async def stalls(connection: Connection, pipe: Pipe, *waiting: int) -> float:
    """The client leaves so many bytes, each for a patience and a bit; how long it was borne in all, in patiences."""
    began = asyncio.get_running_loop().time()
    pipe.waiting = waiting[0]
    connection.pause_writing()
    for left in waiting[1:]:
        await asyncio.sleep(0.9 * STALLED_S)
        assert not pipe.aborted
        pipe.waiting = left
    while not pipe.aborted:  # noqa: ASYNC110 - the clock jumps
        await asyncio.sleep(0.1 * STALLED_S)
    return (asyncio.get_running_loop().time() - began) / STALLED_S


@pytest.mark.parametrize(
    ("waiting", "patiences"),
    [((100,), 1), ((100, 99), 2), ((100, 99, 98), 3), ((100, 99, 99), 2), ((100, 120), 1)],
    ids=["takes nothing", "takes one byte", "takes one byte again and again", "stops taking", "has more waiting than before"],
)
def test_who_takes_nothing_for_a_minute_is_cut(waiting: tuple[int, ...], patiences: float) -> None:
    async def main() -> None:
        connection, pipe = connected()
        assert await stalls(connection, pipe, *waiting) == pytest.approx(patiences, abs=0.11)

    in_virtual_time(main())


@pytest.mark.parametrize("how", ["it has read", "it is gone"])
def test_who_has_read_or_is_gone_is_not_watched(how: str) -> None:
    async def main() -> None:
        connection, pipe = connected()
        pipe.waiting = 100
        connection.pause_writing()
        await asyncio.sleep(0.9 * STALLED_S)
        if how == "it has read":
            connection.resume_writing()
        else:
            connection.connection_lost(None)
        await asyncio.sleep(10 * STALLED_S)
        assert not pipe.aborted

    in_virtual_time(main())
