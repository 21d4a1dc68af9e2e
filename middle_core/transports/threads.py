"""The thread list, a thread's status, and its deletion. The side bar uses them, and a tab that looks for runs of other tabs."""

# No `from __future__ import annotations`: FastAPI would look names up in the module, but `Who` is local to `router`.
import hashlib
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query
from starlette.responses import Response

from middle_core.auth.principal import Principal
from middle_core.contract.threads import RunItem, ThreadDetail, ThreadItem, ThreadPage
from middle_core.errors import ErrorCode
from middle_core.eventlog.records import Run, Thread
from middle_core.events import ClientThreadId
from middle_core.runs.service import RunService
from middle_core.transports.http.caller import Caller


def router(service: RunService, caller: Caller) -> APIRouter:
    """The routes, bound to their parts."""
    routes = APIRouter(prefix="/threads", tags=["threads"])
    Who = Annotated[Principal, Depends(caller)]  # noqa: N806 - a type

    @routes.get("")
    async def list_threads(
        principal: Who, limit: Annotated[int, Query(ge=1, le=200)] = 50, cursor: Annotated[str | None, Query(max_length=128)] = None
    ) -> ThreadPage:
        """The caller's threads."""
        page = await service.threads(principal, limit=limit, cursor=cursor)
        return ThreadPage(threads=[_item(one.thread, running=one.running) for one in page.threads], next=page.next)

    @routes.get("/{thread_id}", response_model=ThreadDetail)
    async def get_thread(principal: Who, thread_id: str, if_none_match: Annotated[str | None, Header()] = None) -> Response:
        """One thread. The ETag changes when its title, its status or its active run does."""
        status = await service.thread(principal, ClientThreadId(thread_id))
        detail = ThreadDetail(
            **_item(status.thread, running=status.active is not None).model_dump(),
            active_run=_run(status.active),
            last_run=_run(status.last),
        )
        body = detail.model_dump_json(by_alias=True)
        etag = f'"{hashlib.sha256(body.encode()).hexdigest()[:24]}"'
        headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
        if if_none_match is not None and etag in {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}:
            return Response(status_code=304, headers=headers)
        return Response(body, media_type="application/json", headers=headers)

    @routes.delete("/{thread_id}", status_code=204)
    async def delete_thread(principal: Who, thread_id: str) -> None:
        """Delete a thread with everything of it."""
        await service.delete_thread(principal, ClientThreadId(thread_id))

    return routes


def _item(thread: Thread, *, running: bool) -> ThreadItem:
    return ThreadItem(
        thread_id=thread.client_thread_id,
        title=thread.title,
        agent=thread.agent,
        created_at=thread.created_at,
        updated_at=thread.updated_at,
        running=running,
    )


def _run(run: Run | None) -> RunItem | None:
    if run is None:
        return None
    return RunItem(
        run_id=run.run_id,
        client_run_id=run.client_run_id,
        status=run.status,
        error_code=None if run.error_code is None else ErrorCode(run.error_code),
        started_at=run.started_at,
        finished_at=run.finished_at,
    )
