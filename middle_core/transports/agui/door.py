"""CopilotKit's endpoints: AG-UI over SSE, for the Next.js proxy or any other AG-UI client.

A POST is `start` then `follow`; a reconnect is `follow`; `connect` is a snapshot then `follow`. This module does not know
how a run works.
"""

# No `from __future__ import annotations`: FastAPI would look names up in the module, but `Who` is local to `router`.
from collections.abc import Sequence
from typing import Annotated

from ag_ui.core import RunAgentInput
from fastapi import APIRouter, Depends, Header, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import StreamingResponse

from middle_core.auth.principal import Principal
from middle_core.contract.info import Info
from middle_core.errors import NotFound
from middle_core.events import ClientThreadId
from middle_core.runs.follower import Follower
from middle_core.runs.intake.request import check_id, start_request
from middle_core.runs.service import RunService
from middle_core.transports.agui import frames as agui
from middle_core.transports.http.body import read_model
from middle_core.transports.http.caller import Caller
from middle_core.transports.sse import streams
from middle_core.transports.sse.streams import StreamPolicy


class StopBody(BaseModel):
    """What to stop: the thread's active run. With `runId`, only if the active run has this id (the server's or the client's)."""

    model_config = ConfigDict(extra="ignore")

    thread_id: str = Field(alias="threadId")
    run_id: str | None = Field(default=None, alias="runId", max_length=256)


class Stopped(BaseModel):
    """Whether there was something to stop."""

    stopped: bool


def router(  # noqa: C901 - one function for each endpoint, all small
    service: RunService, caller: Caller, policy: StreamPolicy, *, default_agent: str, info: Info, max_body_bytes: int
) -> APIRouter:
    """The routes, bound to their parts."""
    routes = APIRouter(prefix="/copilotkit", tags=["copilotkit"])
    Who = Annotated[Principal, Depends(caller)]  # noqa: N806 - a type

    def stream(follower: Follower, *, before: Sequence[bytes] = ()) -> StreamingResponse:
        chunks = streams.event_stream(follower, policy=policy, encode=agui.frames, before=before)
        return streams.response(chunks, run_id=follower.run.run_id)

    async def run(request: Request, principal: Principal, agent: str, idempotency_key: str | None) -> StreamingResponse:
        body, digest = await read_model(request, RunAgentInput, max_bytes=max_body_bytes)
        started = await service.start(principal, agent, start_request(body, digest, idempotency_key=idempotency_key))
        return stream(started)

    async def connect(request: Request, principal: Principal, agent: str) -> StreamingResponse:
        body, _ = await read_model(request, RunAgentInput, max_bytes=max_body_bytes)
        connection = await service.connect(principal, ClientThreadId(check_id("threadId", body.thread_id)), agent, body)
        before = [agui.synthetic(event) for event in connection.opening.before]
        if connection.follower is None:
            return streams.response(streams.synthetic([*before, *map(agui.synthetic, connection.opening.end)]))
        return stream(connection.follower, before=before)

    async def stop(request: Request, principal: Principal) -> Stopped:
        asked, _ = await read_model(request, StopBody, max_bytes=max_body_bytes)
        thread_id = ClientThreadId(check_id("threadId", asked.thread_id))
        return Stopped(stopped=await service.stop_thread(principal, thread_id, asked.run_id))

    def known(agent: str) -> str:
        if agent not in service.agents:
            raise NotFound(f"There is no agent called {agent[:64]!r} here.")
        return agent

    @routes.get("/info")
    async def get_info(principal: Who) -> Info:
        """The agents and what this server can do."""
        return info

    @routes.get("/runs/{run_id}/events")
    async def get_events(principal: Who, run_id: str, last_event_id: Annotated[str | None, Header()] = None) -> StreamingResponse:
        """Follow a run from a cursor."""
        return stream(await service.attach(principal, run_id, last_event_id))

    @routes.post("")
    async def post_run(request: Request, principal: Who, idempotency_key: Annotated[str | None, Header()] = None) -> StreamingResponse:
        """Run the default agent."""
        return await run(request, principal, default_agent, idempotency_key)

    @routes.post("/connect")
    async def post_connect(request: Request, principal: Who) -> StreamingResponse:
        """Open a thread: its messages, then its active run, live."""
        return await connect(request, principal, default_agent)

    @routes.post("/stop")
    async def post_stop(request: Request, principal: Who) -> Stopped:
        """Stop the active run of a thread, or withdraw its open questions."""
        return await stop(request, principal)

    @routes.post("/{agent}")
    async def post_agent_run(
        request: Request, principal: Who, agent: str, idempotency_key: Annotated[str | None, Header()] = None
    ) -> StreamingResponse:
        """Run a named agent."""
        return await run(request, principal, known(agent), idempotency_key)

    @routes.post("/{agent}/connect")
    async def post_agent_connect(request: Request, principal: Who, agent: str) -> StreamingResponse:
        """Open a thread of a named agent."""
        return await connect(request, principal, known(agent))

    @routes.post("/{agent}/stop")
    async def post_agent_stop(request: Request, principal: Who, agent: str) -> Stopped:
        """As `/stop`, for a thread of a named agent."""
        known(agent)
        return await stop(request, principal)

    return routes
