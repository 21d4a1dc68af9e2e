"""The HTTP server: uvicorn, with an end that drains, a start that is refused in words, and no patience with who never reads.

It knows no door: it gets an application. What draining means is the supervisor's.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from typing import Any, Final

import uvicorn
from fastapi import FastAPI
from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

logger = logging.getLogger(__name__)

LOOK_S: Final = 0.1
CLOSING_S: Final = 1
"""Seconds between the end of the drain and the end of the last connection: who still reads then has had the whole drain."""
STALLED_S: Final = 60.0
"""Seconds in which a client takes not one byte of what waits for it, after which its connection is cut, as by any proxy: what becomes of its run is the door's rule."""
HEAD_BYTES: Final = 65_536
"""Of a request's head, beyond the first piece of it that the socket gave."""
HEAD_S: Final = 60.0
"""Seconds in which a request's head has to be there, from the connection or from its first byte on."""
AT_ONCE: Final = 8
"""Requests on one connection, sent before the first of them is answered."""


class PatientProtocol(HttpToolsProtocol):
    """A connection that is cut when its client stops reading. A slow one stays, as long as it takes something.

    uvicorn waits for ever, and so does every buffer on the way: behind a proxy that acknowledges for a browser that is gone, such
    followers pile up (nesquena/hermes-webui#7139). ASGI has no word for it, so it is done where the socket is.

    Two more things that uvicorn leaves open: a head that never ends is refused before it fills the memory or holds its connection for
    ever, and who sends a second request while the first is being answered, and leaves, has left both.
    """

    stalled_s = STALLED_S
    head_s = HEAD_S
    _watch: asyncio.TimerHandle | None = None
    _late: asyncio.TimerHandle | None = None
    _waiting = 0
    _unused = 0
    _answering: tuple[RequestResponseCycle, ...] = ()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """See `asyncio.Protocol`."""
        super().connection_made(transport)
        self._late = self.loop.call_later(self.head_s, self._too_late)

    def data_received(self, data: bytes) -> None:
        """A piece of a request, or of several."""
        self._unused += len(data)
        super().data_received(data)
        if self._unused <= HEAD_BYTES or self.transport.is_closing():
            return
        if all(one.response_complete for one in self._answering):
            self.send_400_response("The head of the request is too long.")
        else:  # what follows a body: this would be words in the middle of an answer
            self.transport.close()

    def on_message_begin(self) -> None:
        """See `httptools`. What stood before it in this piece was used."""
        self._unused = 0
        if self._late is None:
            self._late = self.loop.call_later(self.head_s, self._too_late)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """See `httptools`."""
        self._unused = 0
        self._head_is_there()
        before = self.cycle
        super().on_headers_complete()
        if self.cycle is not before:
            self._answering = (*(one for one in self._answering if not one.response_complete), self.cycle)
        if len(self._answering) > AT_ONCE:
            self.transport.close()
        elif len(self._answering) > 1:
            self.flow.resume_reading()  # uvicorn reads no further now, and would not see the client leave

    def on_body(self, body: bytes) -> None:
        """See `httptools`."""
        self._unused = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """See `httptools`."""
        self._unused = 0
        super().on_message_complete()

    def pause_writing(self) -> None:
        """The transport's buffer is full."""
        super().pause_writing()
        self._look_later()

    def resume_writing(self) -> None:
        """The client has taken most of it."""
        self._look_no_more()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self._look_no_more()
        self._head_is_there()
        super().connection_lost(exc)
        for one in self._answering:  # uvicorn tells the newest alone
            if not one.response_complete:
                one.disconnected = True
                one.message_event.set()

    def _head_is_there(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _too_late(self) -> None:
        self._late = None
        if all(one.response_complete for one in self._answering):
            self.transport.close()

    def _look_later(self) -> None:
        self._look_no_more()
        self._waiting = self.transport.get_write_buffer_size()
        self._watch = self.loop.call_later(self.stalled_s, self._look)

    def _look_no_more(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def _look(self) -> None:
        if self.transport.get_write_buffer_size() < self._waiting:
            self._look_later()
            return
        logger.info("a client has read nothing for %.0f s: its connection is cut", self.stalled_s)
        self.transport.abort()


class DrainingServer(uvicorn.Server):
    """Drains before it closes. uvicorn closes its door and waits for open connections before it runs the lifespan's end, so an endless
    stream would block it (Kludex/uvicorn#451), and who comes meanwhile would find nobody instead of a 503 that says when to come again."""

    async def shutdown(self, sockets: Any = None) -> None:
        """Tell the streams, let the runs finish behind an open door, then shut down as ever. A second Ctrl-C ends the waiting."""
        app = self.config.app
        parts = getattr(app.state, "parts", None) if isinstance(app, PlainRefusal | FastAPI) else None
        if parts is not None:
            async with asyncio.TaskGroup() as group:
                draining = group.create_task(parts.supervisor.drain(within_s=parts.drain_s))
                while not (draining.done() or self.force_exit):
                    await asyncio.wait([draining], timeout=LOOK_S)
                draining.cancel()
        await super().shutdown(sockets)


class PlainRefusal:
    """Where the start is refused for a reason that the operator can mend, say that reason instead of a traceback."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self.state = app.state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await self._app(scope, receive, send)
            return

        async def plain(message: Message) -> None:
            refused = getattr(self.state, "refused", "")
            if message["type"] == "lifespan.startup.failed" and refused:
                message = {**message, "message": refused}
            await send(message)

        await self._app(scope, receive, plain)


def config_of(app: FastAPI, host: str, port: int) -> uvicorn.Config:
    """How the application is served."""
    return uvicorn.Config(
        PlainRefusal(app),
        host=host,
        port=port,
        http=PatientProtocol,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=CLOSING_S,
    )


def end_now(number: int, frame: object) -> None:
    """End the process at once, with success: a stop that was asked for, and everything is closed.

    uvicorn raises its signal again once it has shut down. Python's own way would then wait for threads of sync tools and for graphs that
    ignore their cancellation; and the system's way does nothing at all in a container, where this is process 1.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
