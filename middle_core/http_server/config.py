"""How the application is served: uvicorn's settings, and a refused start told in words. It knows no door."""

from __future__ import annotations

from typing import Final

import uvicorn
from fastapi import FastAPI
from starlette.types import Message, Receive, Scope, Send

from middle_core.http_server.connection import Connection
from middle_core.http_server.draining import CLOSING_S

KEEP_ALIVE_S: Final = 75
"""Seconds that an idle connection stays open: longer than an ingress keeps it, or it would send a request into one that is just being closed."""


class PlainRefusal:
    """Where the start is refused for a reason that the operator can mend, say that reason instead of a traceback."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self.state = app.state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
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
    """uvicorn's settings for this application, which is opened and closed by its lifespan."""
    return uvicorn.Config(
        PlainRefusal(app),
        host=host,
        port=port,
        http=Connection,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=CLOSING_S,
    )
