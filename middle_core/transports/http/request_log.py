"""One line in the server's log for each request, when its answer is over. Pure ASGI.

The line has the path but not the query, no header but the run's id, and nothing of a body. Probes of health are not logged.
"""

from __future__ import annotations

import logging
import time
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from middle_core.transports.http.correlation import correlation_id

logger = logging.getLogger(__name__)

QUIET: Final = frozenset({"/healthz", "/readyz"})


class RequestLog:
    """Stands inside of `CorrelationMiddleware`, whose id it logs."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in QUIET:
            await self._app(scope, receive, send)
            return
        began = time.monotonic()
        status, run_id, sent = 500, None, 0

        async def watched(message: Message) -> None:
            nonlocal status, run_id, sent
            if message["type"] == "http.response.start":
                status, run_id = message["status"], Headers(raw=message["headers"]).get("x-run-id")
            elif message["type"] == "http.response.body":
                sent += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            facts = {
                "method": scope["method"],
                "path": scope["path"],
                "status": status,
                "ms": round((time.monotonic() - began) * 1000),
                "bytes": sent,
                "correlation_id": correlation_id(),
            }
            logger.info("request", extra=facts | ({"run_id": run_id} if run_id else {}))
