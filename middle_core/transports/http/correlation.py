"""A correlation id for each request, and the last handler: an unexpected error becomes a problem.

Pure ASGI: BaseHTTPMiddleware hides disconnects (Kludex/starlette#1438).
"""

from __future__ import annotations

import logging
import uuid
from contextvars import ContextVar

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from middle_core.contract.problems import Problem
from middle_core.errors import MiddleCoreError

logger = logging.getLogger(__name__)

_CORRELATION: ContextVar[str] = ContextVar("middle_core_correlation", default="")


def correlation_id() -> str:
    """This request's id; a fresh one outside of a request."""
    return _CORRELATION.get() or uuid.uuid4().hex[:16]


class CorrelationMiddleware:
    """Gives each HTTP request its id, echoes it as `X-Correlation-Id`, and turns a stray exception into a 500 problem."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        own = uuid.uuid4().hex[:16]
        token = _CORRELATION.set(own)
        started = False

        async def tagged(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                MutableHeaders(scope=message)["X-Correlation-Id"] = own
            await send(message)

        try:
            await self._app(scope, receive, tagged)
        except Exception as error:
            logger.exception("unexpected error", extra={"correlation_id": own}, exc_info=error)
            if started:
                raise
            await _internal(own, send)
        finally:
            _CORRELATION.reset(token)


async def _internal(own: str, send: Send) -> None:
    error = MiddleCoreError()
    problem = Problem(status=error.status, code=error.code, title=error.title, detail=error.detail, correlation_id=own)
    body = problem.model_dump_json().encode()
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", str(len(body)).encode()),
        (b"x-correlation-id", own.encode()),
    ]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
