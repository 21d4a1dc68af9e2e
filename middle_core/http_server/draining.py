"""The end of a server: it drains before it closes, and then the process ends whatever its threads still do.

It knows no door. What draining means is the supervisor's, which it finds in the application's state.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any, Final

import uvicorn

LOOK_S: Final = 0.1
"""Seconds between two looks at whether a second Ctrl-C has come."""
CLOSING_S: Final = 1
"""Seconds between the end of the drain and the end of the last connection: who still reads then has had the whole drain."""


class DrainingServer(uvicorn.Server):
    """Drains before it closes. uvicorn closes its door and waits for open connections before it runs the lifespan's end, so an endless
    stream would block it (Kludex/uvicorn#451), and who comes meanwhile would find nobody instead of a 503 that says when to come again.
    """

    async def shutdown(self, sockets: Any = None) -> None:
        """Tell the streams, let the runs finish behind an open door, then shut down as ever. A second Ctrl-C ends the waiting."""
        parts = getattr(getattr(self.config.app, "state", None), "parts", None)
        if parts is not None:  # None: the start was refused
            async with asyncio.TaskGroup() as group:
                draining = group.create_task(parts.supervisor.drain(within_s=parts.drain_s))
                while not (draining.done() or self.force_exit):
                    await asyncio.wait([draining], timeout=LOOK_S)
                draining.cancel()
        await super().shutdown(sockets)


def end_now(number: int, frame: object) -> None:
    """End the process at once, with success: a stop that was asked for, and everything is closed.

    uvicorn raises its signal again once it has shut down. Python's own way would then wait for threads of sync tools and for graphs that
    ignore their cancellation; and the system's way does nothing at all in a container, where this is process 1.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
