"""One HTTP connection: uvicorn's, but cut when its client stops reading.

It knows no door and no application. What any ingress does for the server behind it (bounds on a request's head, one request at a time on
a connection) is not done here.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
import sys
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

logger = logging.getLogger(__name__)

STALLED_S: Final = 60.0
"""Seconds in which a client takes not one byte of what waits for it, after which its connection is cut, as by any proxy: what becomes of its run is the door's rule."""

UNSENT: Final = 262_144
"""Bytes for a client that the kernel keeps beside those under way. Without a bound it takes up to 4 MB for one that reads nothing."""
_NOTSENT_LOWAT: Final = getattr(socket, "TCP_NOTSENT_LOWAT", 25 if sys.platform == "linux" else None)
_RESET: Final = struct.pack("ii", 1, 0)
"""SO_LINGER on, for 0 s: what is not sent is thrown away with the socket. The kernel would go on offering it for minutes."""


class Connection(HttpToolsProtocol):
    """A slow client stays, as long as it takes something.

    uvicorn waits for ever, and so does every buffer on the way: behind a proxy that acknowledges for a browser that is gone, such
    followers pile up (nesquena/hermes-webui#7139). ASGI has no word for it, so it is done where the socket is.
    """

    stalled_s = STALLED_S
    _watch: asyncio.TimerHandle | None = None
    _waiting = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's own narrowing
        """See `asyncio.BaseProtocol`."""
        super().connection_made(transport)
        plug = transport.get_extra_info("socket")
        if _NOTSENT_LOWAT is not None and _is_tcp(plug):
            plug.setsockopt(socket.IPPROTO_TCP, _NOTSENT_LOWAT, UNSENT)

    def pause_writing(self) -> None:
        """The transport's buffer is full. See `asyncio.BaseProtocol`."""
        super().pause_writing()
        self._look_later()

    def resume_writing(self) -> None:
        """The client has taken most of it. See `asyncio.BaseProtocol`."""
        self._look_no_more()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.BaseProtocol`."""
        self._look_no_more()
        super().connection_lost(exc)

    def _look_later(self) -> None:
        self._look_no_more()
        self._waiting = self.transport.get_write_buffer_size()
        self._watch = asyncio.get_running_loop().call_later(self.stalled_s, self._look)

    def _look_no_more(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def _look(self) -> None:
        if self.transport.get_write_buffer_size() < self._waiting:
            self._look_later()
            return
        logger.info("a client has read nothing for %.0f s: its connection is cut", self.stalled_s)
        plug = self.transport.get_extra_info("socket")
        if _is_tcp(plug):
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.transport.abort()


def _is_tcp(plug: Any) -> bool:
    return plug is not None and plug.family in {socket.AF_INET, socket.AF_INET6}
