"""A stand-in for a team's backend-core: the REST service of `backend/contract/openapi.json`, with real storage.

It verifies the caller's token itself and holds the roles, as a real one does: reader < contributor < admin.
Errors are problem+json. It shares no state with middle-core; what they have in common is the contract.
For tests, `app.state.authorizations` keeps the last Authorization headers as they came in, in memory only.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import uvicorn
from fastapi import APIRouter, Depends, FastAPI, Header, Query, Request
from fastapi import Path as PathParam
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from middle_core.auth.access import ROLES
from middle_core.auth.principal import Principal
from middle_core.auth.verify import Verifier
from middle_core.backend.contract.models import Deletion, IngestRequest, Job, Problem, SearchResult, Source, SourceList, Stats
from middle_core.demo.fetching import fetch_page
from middle_core.demo.ingest import Fetch, Ingest
from middle_core.demo.library import Document, Library
from middle_core.demo.seeds import documents
from middle_core.errors import Forbidden, InvalidRequest, MiddleCoreError, TooLarge, Unauthorized

DATABASE: Final = "backend-core.db"
MAX_BODY_BYTES: Final = 1024 * 1024
REMEMBERED_HEADERS: Final = 100


def create_app(
    *, database: Path, verify: Verifier, seeds: Iterable[Document] | None = None, fetch: Fetch = fetch_page, pace_s: float = 0.7
) -> FastAPI:
    """The service over this database file. seeds: what it starts with, by default the shipped documents."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with await asyncio.to_thread(Library, database) as library:
            await asyncio.to_thread(library.seed, documents() if seeds is None else seeds)
            app.state.library = library
            app.state.ingest = Ingest(library, fetch, pace_s=pace_s)
            async with asyncio.TaskGroup() as group:
                worker = group.create_task(app.state.ingest.run())
                yield
                worker.cancel()

    app = BackendCore(title="backend-core (stand-in)", version="1.0.0", lifespan=lifespan, docs_url=None, redoc_url=None)
    app.state.verify = verify
    app.state.authorizations = deque[bytes](maxlen=REMEMBERED_HEADERS)
    app.include_router(router)
    app.add_api_route("/healthz", healthz, include_in_schema=False)
    app.add_exception_handler(MiddleCoreError, on_error)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(HTTPException, on_http_error)
    app.add_exception_handler(Exception, on_bug)
    app.add_middleware(BoundedBody, max_bytes=MAX_BODY_BYTES)
    return app


class BackendCore(FastAPI):
    """FastAPI, whose OpenAPI says of errors what is true: they are problem+json."""

    def openapi(self) -> dict[str, Any]:
        """The served OpenAPI document; tests compare it with the contract."""
        document = super().openapi()
        for operations in document["paths"].values():
            for operation in operations.values():
                for status, answer in operation["responses"].items():
                    if int(status) >= 400 and "application/json" in answer.get("content", {}):
                        answer["content"]["application/problem+json"] = answer["content"].pop("application/json")
        return document


def serve(verify: Verifier, *, data_dir: Path, host: str, port: int) -> None:
    """Serve until stopped; the database is a file in the data folder. `verify` is what middle-core uses too, or another of the same issuer."""
    app = create_app(database=data_dir / DATABASE, verify=verify)
    uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=5)


# who may ------------------------------------------------------------------------------------------
class Caller:
    """A dependency: the verified caller, who holds at least this role."""

    def __init__(self, role: str) -> None:
        self.enough = frozenset(ROLES[ROLES.index(role) :])
        self.role = role

    async def __call__(
        self,
        request: Request,
        bearer: Annotated[
            HTTPAuthorizationCredentials | None, Depends(HTTPBearer(scheme_name="bearer", bearerFormat="JWT", auto_error=False))
        ],
    ) -> Principal:
        request.app.state.authorizations.extend(value for name, value in request.headers.raw if name == b"authorization")
        if bearer is None:
            raise Unauthorized("Send a token: Authorization: Bearer <token>.")
        verify: Verifier = request.app.state.verify
        principal = await verify(bearer.credentials)
        if not self.enough & (principal.roles or frozenset()):
            raise Forbidden(f"This needs the role {self.role}.")
        return principal


Reader = Annotated[Principal, Depends(Caller("reader"))]
Contributor = Annotated[Principal, Depends(Caller("contributor"))]
Admin = Annotated[Principal, Depends(Caller("admin"))]


def the_library(request: Request) -> Library:
    """The open knowledge base."""
    library: Library = request.app.state.library
    return library


def the_ingest(request: Request) -> Ingest:
    """The running ingest worker."""
    ingest: Ingest = request.app.state.ingest
    return ingest


TheLibrary = Annotated[Library, Depends(the_library)]
TheIngest = Annotated[Ingest, Depends(the_ingest)]
Id = Annotated[str, PathParam(min_length=1, max_length=200)]


# the verbs ----------------------------------------------------------------------------------------
def problems(*codes: int) -> dict[int | str, dict[str, Any]]:
    """The error answers of a route, for its OpenAPI."""
    return {code: {"model": Problem} for code in (401, 403, *codes, 429)}


router = APIRouter(prefix="/api/v1")


@router.get("/search", operation_id="search", responses=problems(422))
def search(
    _: Reader,
    library: TheLibrary,
    q: Annotated[str, Query(max_length=1000)],
    source: Annotated[list[Annotated[str, Query(min_length=1, max_length=200)]], Query(default_factory=list, max_length=100)],
    k: Annotated[int, Query(ge=1, le=50)] = 5,
) -> SearchResult:
    """Search the knowledge base (reader)."""
    return SearchResult(query=q, hits=library.search(q, k, source))


@router.get("/sources", operation_id="list_sources", responses=problems())
def list_sources(_: Reader, library: TheLibrary) -> SourceList:
    """List the sources (reader)."""
    return SourceList(sources=library.list_sources())


@router.get("/sources/{source_id}", operation_id="get_source", responses=problems(404, 422))
def get_source(_: Reader, library: TheLibrary, source_id: Id) -> Source:
    """One source as it is now (reader)."""
    return library.get_source(source_id)


@router.delete("/sources/{source_id}", operation_id="delete_source", responses=problems(404, 422))
def delete_source(
    caller: Admin,
    library: TheLibrary,
    source_id: Id,
    idempotency_key: Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=200)] = None,
) -> Deletion:
    """Delete a source and its objects for good (admin)."""
    return library.delete_source(source_id, owner=caller.owner, key=idempotency_key)


@router.post("/ingest", operation_id="ingest", status_code=202, responses=problems(413, 422))
async def ingest(caller: Contributor, worker: TheIngest, request: IngestRequest) -> Job:
    """Add a source from a text or a public URL (contributor)."""
    if (request.text is None) == (request.url is None):
        raise InvalidRequest("Send exactly one of text and url.")
    return await worker.submit(caller.owner, request)


@router.get("/jobs/{job_id}", operation_id="get_job", responses=problems(404, 422))
def get_job(caller: Contributor, library: TheLibrary, job_id: Id) -> Job:
    """How far an ingest job is (contributor)."""
    return library.get_job(job_id, caller.owner)


@router.get("/stats", operation_id="get_stats", responses=problems())
def get_stats(_: Reader, library: TheLibrary) -> Stats:
    """Numbers about the knowledge base (reader)."""
    return library.stats()


async def healthz() -> dict[str, str]:
    """Alive, without a token."""
    return {"status": "ok"}


# errors -------------------------------------------------------------------------------------------
def problem(status: int, code: str, title: str, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """A problem+json answer (RFC 9457)."""
    body = Problem(title=title, status=status, detail=detail, code=code)
    return JSONResponse(body.model_dump(), status, headers, media_type="application/problem+json")


async def on_error(_: Request, error: Exception) -> JSONResponse:
    """An error of our tree, with what its status asks for in the headers."""
    assert isinstance(error, MiddleCoreError)
    headers: dict[str, str] = {}
    if error.status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="backend-core", error="invalid_token"'
    if error.retry_after is not None:
        headers["Retry-After"] = str(round(error.retry_after))
    return problem(error.status, error.code, error.title, error.detail, headers)


async def on_invalid(_: Request, error: Exception) -> JSONResponse:
    """A request that does not fit the contract; names the field, repeats nothing of its value."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    return problem(422, "invalid_request", "Invalid request", f"{'.'.join(map(str, first['loc']))}: {first['msg']}")


async def on_http_error(_: Request, error: Exception) -> JSONResponse:
    """What the framework itself refuses: no such path, no such method."""
    assert isinstance(error, HTTPException)
    return problem(error.status_code, "not_found" if error.status_code == 404 else "invalid_request", error.detail, error.detail)


async def on_bug(_: Request, __: Exception) -> JSONResponse:
    """A fault of this service; the server logs it."""
    return problem(500, MiddleCoreError.code, MiddleCoreError.title, "Something went wrong in the knowledge service.")


class BoundedBody:
    """ASGI middleware: a body larger than `max_bytes` is refused (413), whatever Content-Length says.

    The body is read here, because FastAPI turns an error raised while it reads into a 400.
    """

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self.app = app
        self.max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self.max_bytes:
                await problem(413, TooLarge.code, TooLarge.title, str(TooLarge()))(scope, receive, send)
                return
        whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return whole.pop() if whole else await receive()

        await self.app(scope, replay, send)
