"""`POST /chat` and `/chat/resume`, each with two representations, and attaching again.

With `Accept: text/event-stream` a client gets the turn as it happens, otherwise the same turn as one JSON object at its end. Both
come from one projection of the run's records (`transports.chat.events`). This module knows only how to start and follow a run.
"""

# No `from __future__ import annotations`: FastAPI would look names up in the module, but `Who` is local to `router`.
import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Header, Query, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from middle_core.auth.principal import Principal
from middle_core.errors import Draining, InvalidRequest, MiddleCoreError, NotFound, Unauthorized
from middle_core.events import ClientThreadId
from middle_core.runs.follower import Follower, SentAway
from middle_core.runs.intake.request import StartRequest
from middle_core.runs.service import RunService
from middle_core.transports.chat.events import ChatFrames, ChatProjector
from middle_core.transports.chat.openapi import EVENTS, MESSAGE_BODY, RESUME_BODY, TURN
from middle_core.transports.chat.requests import ChatRequest, ResumeRequest, message_request, resume_request
from middle_core.transports.chat.response import ChatResponse
from middle_core.transports.http.body import read_model
from middle_core.transports.http.caller import Caller
from middle_core.transports.http.negotiation import JSON, wants_stream
from middle_core.transports.sse import streams
from middle_core.transports.sse.frames import comment
from middle_core.transports.sse.streams import StreamPolicy

RETRY_MS: Final = 1000
"""Milliseconds after which a browser's EventSource attaches again."""
LOOK_S: Final = 1.0
"""Seconds between two looks of a waiting JSON caller at the token's end and at a drain."""
EXPIRED: Final = "Your sign-in has expired before the answer was there. Sign in, and send the same request again to get it."


@dataclass(frozen=True, slots=True)
class Want:
    """How a client wants a turn. key: the Idempotency-Key."""

    key: str | None
    tokens: bool
    hold: bool


def _want(
    idempotency_key: Annotated[str | None, Header()] = None,
    tokens: Annotated[bool, Query(description="Send `token` events too. A JSON answer holds all words as it is.")] = False,
    hold: Annotated[bool, Query(description="Stay through a pause; go on when the answer comes through any door. Streams only.")] = False,
) -> Want:
    return Want(idempotency_key, tokens, hold)


class ChatDoor:
    """Gives a turn in the representation that the request wants."""

    def __init__(self, service: RunService, policy: StreamPolicy, *, default_agent: str, max_body_bytes: int) -> None:
        self._service = service
        self._policy = policy
        self._default_agent = default_agent
        self._max_body_bytes = max_body_bytes

    async def message(self, request: Request, principal: Principal, want: Want, *, agent: str | None) -> Response:
        """Send a message. agent: from the path; if None, the body may name one."""
        asked, digest = await read_model(request, ChatRequest, max_bytes=self._max_body_bytes)
        if agent is not None and asked.agent not in (None, agent):
            raise InvalidRequest("agent: the path names another one.")
        started = message_request(asked, digest, owner=principal.owner, idempotency_key=want.key)
        return await self._answer(request, principal, want, agent or asked.agent or self._default_agent, started)

    async def resume(self, request: Request, principal: Principal, want: Want) -> Response:
        """Answer open questions."""
        asked, digest = await read_model(request, ResumeRequest, max_bytes=self._max_body_bytes)
        agent = await self._service.asked(principal, ClientThreadId(asked.thread_id), {one.interrupt_id for one in asked.answers})
        return await self._answer(request, principal, want, agent, resume_request(asked, digest, idempotency_key=want.key))

    def stream(self, want: Want, follower: Follower) -> StreamingResponse:
        """The turn as it happens. What the client has of it is projected too, from the beginning, and not sent again."""
        chunks = streams.event_stream(
            follower,
            policy=self._policy,
            encode=ChatFrames(after=follower.after, tokens=want.tokens, hold=want.hold),
            goodbye=_goodbye,
            before=[b"retry: %d\n\n" % RETRY_MS],
            after=0,
            hold=want.hold,
        )
        headers = {**streams.HEADERS, "X-Run-Id": follower.run.run_id, "Vary": "Accept"}
        return _Watched(follower, chunks, headers=headers)

    async def _answer(self, request: Request, principal: Principal, want: Want, agent: str, asked: StartRequest) -> Response:
        streaming = wants_stream(", ".join(request.headers.getlist("accept")))
        if want.hold and not streaming:
            raise InvalidRequest("hold: only with Accept: text/event-stream. A JSON answer comes when the turn has ended or is paused.")
        follower = await self._service.start(principal, agent, asked)
        if streaming:
            return self.stream(want, follower)
        try:
            response = await _unless_gone(request, _whole(follower))
        finally:
            follower.client_left()
        if response is None:
            return Response(status_code=499)  # to nobody
        headers = {"X-Run-Id": follower.run.run_id, "Vary": "Accept", "Cache-Control": "no-store"}
        return Response(response.encoded(), media_type=JSON, headers=headers)


def router(service: RunService, caller: Caller, policy: StreamPolicy, *, default_agent: str, max_body_bytes: int) -> APIRouter:
    """The routes, bound to their parts."""
    routes = APIRouter(prefix="/chat", tags=["chat"])
    door = ChatDoor(service, policy, default_agent=default_agent, max_body_bytes=max_body_bytes)
    Who = Annotated[Principal, Depends(caller)]  # noqa: N806 - a type
    Wanted = Annotated[Want, Depends(_want)]  # noqa: N806 - a type

    @routes.post("", responses=TURN, openapi_extra=MESSAGE_BODY)
    async def post_chat(request: Request, principal: Who, want: Wanted) -> Response:
        """Send a message to the default agent, or to the one that the body names."""
        return await door.message(request, principal, want, agent=None)

    @routes.post("/resume", responses=TURN, openapi_extra=RESUME_BODY)
    async def post_resume(request: Request, principal: Who, want: Wanted) -> Response:
        """Answer what a thread waits for, and go on."""
        return await door.resume(request, principal, want)

    @routes.get("/runs/{run_id}/events", responses=EVENTS, response_class=Response)
    async def get_events(
        principal: Who, want: Wanted, run_id: str, last_event_id: Annotated[str | None, Header()] = None
    ) -> StreamingResponse:
        """Follow a turn from a place in it."""
        return door.stream(want, await service.attach(principal, run_id, last_event_id, further=want.hold))

    @routes.post("/{agent}", responses=TURN, openapi_extra=MESSAGE_BODY)
    async def post_agent_chat(request: Request, principal: Who, want: Wanted, agent: str) -> Response:
        """Send a message to a named agent."""
        if agent not in service.agents:
            raise NotFound(f"There is no agent called {agent[:64]!r} here.")
        return await door.message(request, principal, want, agent=agent)

    return routes


class _Watched(StreamingResponse):
    """A stream that says when its client is gone, even before the client has read anything."""

    def __init__(self, follower: Follower, chunks: AsyncIterator[bytes], *, headers: dict[str, str]) -> None:
        super().__init__(chunks, headers=headers, media_type=None)
        self._follower = follower

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._follower.client_left()


def _goodbye(reason: str, retry_after_ms: int) -> bytes:
    """A comment and no event. The turn goes on, and the client attaches again after `retry`, as after any cut."""
    return b"retry: %d\n" % retry_after_ms + comment(f"attach again: {reason}")


async def _whole(follower: Follower) -> ChatResponse | MiddleCoreError:
    """The turn when it is over. An error that hinders it is returned, because a task group would wrap it."""
    projector = ChatProjector()
    try:
        async with aclosing(follower.records(tick_s=LOOK_S)) as items:
            async for item in items:
                if isinstance(item, SentAway):
                    return Draining(retry_after=1) if item.reason == "drain" else Unauthorized(EXPIRED)
                for record in item:
                    projector.feed(record)
                if projector.response is not None:
                    return projector.response
    except MiddleCoreError as error:
        return error
    return NotFound()  # deleted meanwhile, with its thread


async def _unless_gone(request: Request, work: Coroutine[Any, Any, ChatResponse | MiddleCoreError]) -> ChatResponse | None:
    """The result of the work, or None if the client hung up first. Raises the error of the work."""
    async with asyncio.TaskGroup() as group:
        working = group.create_task(work)
        leaving = group.create_task(_gone(request))
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        working.cancel()
    if working.cancelled():
        return None
    found = working.result()
    if isinstance(found, MiddleCoreError):
        raise found
    return found


async def _gone(request: Request) -> None:
    """Wait until the client has hung up. The body has been read, so nothing else can arrive."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
