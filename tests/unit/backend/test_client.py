"""backend.client against real sockets: the token is sent byte for byte, each bad answer is a typed error, and everything is bounded."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from middle_core.auth.principal import Credential, Principal
from middle_core.backend.client import REFUSALS, BackendClient, retry_after, safe_detail, segment
from middle_core.backend.contract.models import IngestRequest, JobStatus
from middle_core.demo.backend_core import create_app
from middle_core.demo.issuer import DevIssuer
from middle_core.errors import BackendUnavailable, Forbidden, InvalidRequest, MiddleCoreError, NotFound, RateLimited, TooLarge, Unauthorized
from middle_core.node_api.context import within
from tests.fakes.http_server import Handler, HttpServer, Request, always, answer, closed_port, http_client, never, serving

TOKEN = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhIn0.c2ln-_AZaz09"
SOURCES = json.dumps({"sources": []}).encode()
STATS = json.dumps({"sources": 0, "objects": 0, "queries_served": 0, "jobs_running": 0, "per_day": []}).encode()
DELETION = json.dumps({"source_id": "s", "name": "S", "deleted_objects": 1, "deleted_at": "2026-01-01T00:00:00Z"}).encode()
PROBLEM = {"Content-Type": "application/problem+json"}


@contextmanager
def calling_with(token: str) -> Iterator[None]:
    with within(caller=Principal("i", "s", "n", None, 1.0, {}, Credential(token, 1.0))):
        yield


async def ask(handler: Handler, call: Callable[[BackendClient], Awaitable[object]], *, timeout_s: float = 5.0) -> tuple[object, HttpServer]:
    """Make one call against a scripted server; returns its result and what the server saw."""
    async with HttpServer(handler) as server, http_client() as http:
        with calling_with(TOKEN):
            return await call(BackendClient(server.url, http, timeout_s=timeout_s, max_response_bytes=10_000)), server


async def failing(
    handler: Handler, call: Callable[[BackendClient], Awaitable[object]], *, timeout_s: float = 5.0
) -> tuple[MiddleCoreError, HttpServer]:
    async with HttpServer(handler) as server, http_client(follow_redirects=True) as http:
        with calling_with(TOKEN), pytest.raises(MiddleCoreError) as error:
            await call(BackendClient(server.url, http, timeout_s=timeout_s, max_response_bytes=10_000))
    return error.value, server


def list_sources(client: BackendClient) -> Awaitable[object]:
    return client.list_sources()


def delete_source(client: BackendClient) -> Awaitable[object]:
    return client.delete_source("s", idempotency_key="k-1")


def ingest(client: BackendClient) -> Awaitable[object]:
    return client.ingest(IngestRequest(text="hello"))


# what is sent -------------------------------------------------------------------------------------
async def test_the_token_goes_along_byte_for_byte_and_nothing_else_of_the_user() -> None:
    _, server = await ask(always(answer(200, SOURCES)), list_sources)
    (request,) = server.requests
    assert request.header("authorization") == b"Bearer " + TOKEN.encode()
    assert {name.lower() for name, _ in request.headers} <= {b"host", b"accept", b"accept-encoding", b"authorization"}


async def test_the_shared_client_mixes_no_users() -> None:
    """Cookies, default headers and auth of the shared httpx client stay out of the requests."""
    handler = always(answer(200, SOURCES, {"Set-Cookie": "session=alices"}))
    async with HttpServer(handler) as server, http_client(headers={"X-User": "alice"}, auth=("alice", "secret")) as http:
        client = BackendClient(server.url, http)
        for token in ("alices.t.t", "bobs.t.t"):
            with calling_with(token):
                await client.list_sources()
        assert [request.header("authorization") for request in server.requests] == [b"Bearer alices.t.t", b"Bearer bobs.t.t"]
        assert [request.header(name) for request in server.requests for name in ("cookie", "x-user")] == [None] * 4


async def test_forty_at_once_each_send_their_own_token() -> None:
    async with HttpServer(always(answer(200, SOURCES))) as server, http_client() as http:
        client = BackendClient(server.url, http)

        async def as_user(n: int) -> None:
            with calling_with(f"token.of.{n}"):
                await client.list_sources()

        async with asyncio.TaskGroup() as group:
            for n in range(40):
                group.create_task(as_user(n))
        assert sorted(request.header("authorization") or b"" for request in server.requests) == sorted(
            f"Bearer token.of.{n}".encode() for n in range(40)
        )


async def test_without_a_backend_each_call_says_so() -> None:
    async with http_client() as http:
        with pytest.raises(BackendUnavailable, match="no knowledge service"):
            await BackendClient(None, http).list_sources()


async def test_without_a_caller_nothing_is_sent() -> None:
    async with HttpServer(always(answer(200, SOURCES))) as server, http_client() as http:
        with pytest.raises(Unauthorized):
            await BackendClient(server.url, http).list_sources()
        assert server.requests == []


async def test_a_delete_carries_its_idempotency_key() -> None:
    _, server = await ask(always(answer(200, DELETION)), delete_source)
    assert (server.requests[0].method, server.requests[0].header("idempotency-key")) == ("DELETE", b"k-1")


async def test_a_query_is_quoted_and_the_prefix_of_the_address_is_kept() -> None:
    async with HttpServer(always(answer(200, b'{"query": "", "hits": []}'))) as server, http_client() as http:
        with calling_with(TOKEN):
            await BackendClient(f"{server.url}/core/", http).search("a&k=50#b ü", k=3)
            await BackendClient(server.url, http).search("a", sources=["s/1", "ü&k=9"])
        assert server.requests[0].target == "/core/api/v1/search?q=a%26k%3D50%23b+%C3%BC&k=3"
        assert server.requests[1].target == "/api/v1/search?q=a&k=5&source=s%2F1&source=%C3%BC%26k%3D9"


@pytest.mark.parametrize(
    ("source_id", "target"),
    [
        ("plain-1", "plain-1"),
        ("a/b", "a%2Fb"),
        ("../../admin", "..%2F..%2Fadmin"),
        ("a?x=1#y", "a%3Fx%3D1%23y"),
        ("a b", "a%20b"),
        ("100%25", "100%2525"),
        ("nul\0", "nul%00"),
        ("line\r\nX-Evil: 1", "line%0D%0AX-Evil%3A%201"),
        ("ü", "%C3%BC"),
        ("...", "..."),
    ],
)
async def test_an_id_stays_one_path_segment(source_id: str, target: str) -> None:
    error, server = await failing(always(answer(404)), lambda client: client.get_source(source_id))
    assert isinstance(error, NotFound)
    assert server.requests[0].target == f"/api/v1/sources/{target}"


@pytest.mark.parametrize("source_id", ["", ".", "..", "x" * 201, "\ud800"])
async def test_what_cannot_be_an_id_is_not_found_without_a_call(source_id: str) -> None:
    for call in (
        lambda client: client.get_source(source_id),
        lambda client: client.get_job(source_id),
        lambda client: client.delete_source(source_id, idempotency_key="k"),
    ):
        error, server = await failing(always(answer(200)), call)
        assert isinstance(error, NotFound)
        assert server.requests == []


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.text(min_size=1, max_size=50))
def test_a_segment_survives_the_url_whole(value: str) -> None:
    try:
        quoted = segment(value)
    except NotFound:
        assert value in (".", "..") or any(0xD800 <= ord(c) <= 0xDFFF for c in value)
        return
    path = httpx.URL(f"http://x/a/{quoted}").raw_path.decode()
    assert path.count("/") == 2
    assert unquote(path.removeprefix("/a/")) == value


async def test_characters_that_cannot_be_sent_are_an_invalid_request() -> None:
    for call in (lambda client: client.search("\ud800"), lambda client: client.delete_source("s", idempotency_key="ü")):
        error, server = await failing(always(answer(200)), call)
        assert isinstance(error, InvalidRequest)
        assert server.requests == []


# what comes back ----------------------------------------------------------------------------------
STATUSES = [
    (400, InvalidRequest),
    (401, Unauthorized),
    (403, Forbidden),
    (404, NotFound),
    (405, BackendUnavailable),
    (409, InvalidRequest),
    (410, NotFound),
    (413, TooLarge),
    (418, BackendUnavailable),
    (422, InvalidRequest),
    (429, RateLimited),
    (301, BackendUnavailable),
    (304, BackendUnavailable),
    (500, BackendUnavailable),
    (502, BackendUnavailable),
    (503, BackendUnavailable),
    (504, BackendUnavailable),
]


@pytest.mark.parametrize(("status", "kind"), STATUSES)
@pytest.mark.parametrize("body", [b"", b"<html>secret internals</html>", b'{"detail": "secret internals"}'])
async def test_each_status_is_a_typed_error_in_our_words(status: int, kind: type[MiddleCoreError], body: bytes) -> None:
    error, server = await failing(always(answer(status, b"" if status == 304 else body)), list_sources)
    assert type(error) is kind
    assert "secret" not in error.detail
    assert TOKEN not in error.detail
    assert len(server.requests) == 1


def test_every_refusal_of_the_table_is_tested() -> None:
    assert set(REFUSALS) <= {status for status, _ in STATUSES}


async def test_a_redirect_is_not_followed() -> None:
    error, server = await failing(always(answer(302, b"", {"Location": "/api/v1/elsewhere"})), list_sources)
    assert isinstance(error, BackendUnavailable)
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [400, 409, 422])
async def test_backend_cores_own_words_are_shown_where_it_says_what_is_wrong(status: int) -> None:
    body = json.dumps({"title": "T", "status": status, "detail": "url: not\u202e public\n\x1b[31m", "code": "c"}).encode()
    error, _ = await failing(always(answer(status, body, PROBLEM)), ingest)
    assert error.detail == "url: not public [31m"


async def test_a_refusal_says_which_role_is_missing_where_backend_core_does() -> None:
    body = json.dumps({"title": "T", "status": 403, "detail": "This needs the role contributor.", "code": "c"}).encode()
    error, _ = await failing(always(answer(403, body, PROBLEM)), ingest)
    assert error.detail == "The knowledge service says: your role does not allow this. This needs the role contributor."


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({}, b'{"title": "T", "status": 422, "detail": "d", "code": "c"}'),
        ({"content-type": "text/html"}, b"<html>"),
        ({"content-type": "application/problem+json"}, b"not json"),
        ({"content-type": "application/problem+json"}, b'{"detail": 5}'),
        ({"content-type": "application/problem+json"}, b'{"detail": "d"}'),
        ({"content-type": "application/problem+json"}, b"[]"),
    ],
)
def test_no_other_words_are_shown(headers: dict[str, str], body: bytes) -> None:
    assert safe_detail(headers, body) is None


def test_shown_words_are_bounded() -> None:
    body = json.dumps({"title": "T", "status": 422, "detail": "d" * 5000, "code": "c"}).encode()
    shown = safe_detail({"content-type": "application/problem+json; charset=utf-8"}, body)
    assert shown is not None
    assert len(shown) == 300


@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_is_carried(status: int) -> None:
    error, _ = await failing(always(answer(status, b"", {"Retry-After": "7"})), list_sources)
    assert error.retry_after == 7


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("5", 5), (" 0 ", 0), ("99999", 3600), ("1" * 400, None), ("-1", None), ("²", None), ("1.5", None), ("", None), ("Wed, 21 Oct", None)],
)
def test_retry_after(value: str, seconds: float | None) -> None:
    assert retry_after(value) == seconds


@pytest.mark.parametrize(
    "response",
    [
        answer(200, b"{"),
        answer(200, b""),
        answer(204),
        answer(200, b'{"sources": 5}'),
        answer(200, b'{"sources": [{"id": "x"}]}'),
        answer(200, b"[" * 5000),
        answer(200, b"x" * 10_001),
        answer(200, SOURCES, {"Content-Encoding": "gzip"}),
        answer(200, SOURCES, {"Content-Length": "5000"}),
        b"HTTP/1.1 999999 X\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n\r\n",
    ],
    ids=["cut", "empty", "204", "type", "field", "nested", "large", "encoded", "short", "no status", "no http"],
)
async def test_an_answer_that_cannot_be_read_is_unavailable_with_its_cause(response: bytes) -> None:
    error, _ = await failing(always(response), delete_source)
    assert isinstance(error, BackendUnavailable)
    assert error.__cause__ is not None or "too large" in error.detail or "cannot be read" in error.detail


async def test_a_body_without_end_is_cut() -> None:
    async def endless(_: Request) -> bytes:
        return b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1_000_000

    error, _ = await failing(endless, list_sources)
    assert "too large" in error.detail


async def test_an_answer_that_is_not_read_gives_its_connection_back() -> None:
    answers = [answer(200, SOURCES), answer(200, b"x" * 1_000_000, {"Content-Encoding": "gzip"})]

    async def handle(_: Request) -> bytes:
        return answers.pop()

    async with HttpServer(handle) as server, http_client(limits=httpx.Limits(max_connections=1)) as http:
        client = BackendClient(server.url, http, max_response_bytes=10_000)
        with calling_with(TOKEN):
            with pytest.raises(BackendUnavailable) as kept:  # keeps the response alive, so that the garbage collector does not close it
                await client.list_sources()
            assert await client.list_sources() == []
    assert "cannot be read" in kept.value.detail


async def test_a_silent_backend_costs_the_timeout() -> None:
    error, server = await failing(never, list_sources, timeout_s=0.1)
    assert isinstance(error, BackendUnavailable)
    assert "too long" in error.detail
    assert isinstance(error.__cause__, TimeoutError | httpx.TimeoutException)
    assert len(server.requests) == 1


async def test_nobody_there() -> None:
    async with http_client() as http:
        with calling_with(TOKEN), pytest.raises(BackendUnavailable) as error:
            await BackendClient(closed_port(), http).stats()
    assert isinstance(error.value.__cause__, httpx.ConnectError)


# retries and cancellation -------------------------------------------------------------------------
def hanging_up(times: int, then: bytes) -> Handler:
    left = [None] * times

    async def handle(_: Request) -> bytes | None:
        return left.pop() if left else then

    return handle


async def test_a_get_whose_connection_broke_is_sent_once_more() -> None:
    sources, server = await ask(hanging_up(1, answer(200, SOURCES)), list_sources)
    assert (sources, len(server.requests)) == ([], 2)


async def test_and_not_a_third_time() -> None:
    error, server = await failing(hanging_up(2, answer(200, SOURCES)), list_sources)
    assert isinstance(error, BackendUnavailable)
    assert isinstance(error.__cause__, httpx.RemoteProtocolError)
    assert len(server.requests) == 2


@pytest.mark.parametrize("call", [delete_source, ingest], ids=["delete", "ingest"])
async def test_what_changes_something_is_sent_once(call: Callable[[BackendClient], Awaitable[object]]) -> None:
    error, server = await failing(hanging_up(1, answer(200, DELETION)), call)
    assert isinstance(error, BackendUnavailable)
    assert len(server.requests) == 1


async def test_cancelling_the_task_closes_the_request() -> None:
    async with HttpServer(never) as server, http_client() as http:
        client = BackendClient(server.url, http, timeout_s=30)
        with calling_with(TOKEN):
            async with asyncio.TaskGroup() as group:
                call = group.create_task(client.list_sources())
                await asyncio.wait_for(server.arrived.wait(), 5)
                call.cancel()
        await asyncio.wait_for(server.gone.wait(), 5)
        assert call.cancelled()


# completeness of the translation ------------------------------------------------------------------
HTTPX_ERRORS = [kind for _, kind in inspect.getmembers(httpx, inspect.isclass) if issubclass(kind, Exception)]


class Raising(httpx.AsyncBaseTransport):
    """A transport whose every request fails with this error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        raise self.error


def an_error(kind: type[Exception]) -> Exception:
    if kind is httpx.HTTPStatusError:
        request = httpx.Request("GET", "http://x")
        return httpx.HTTPStatusError("secret words", request=request, response=httpx.Response(500, request=request))
    return kind("secret words") if "message" in inspect.signature(kind).parameters else kind()


@pytest.mark.parametrize("kind", HTTPX_ERRORS)
@pytest.mark.parametrize("call", [list_sources, delete_source], ids=["get", "delete"])
async def test_every_error_of_httpx_is_translated(kind: type[Exception], call: Callable[[BackendClient], Awaitable[object]]) -> None:
    raised = an_error(kind)
    async with http_client(transport=Raising(raised)) as http:
        with calling_with(TOKEN), pytest.raises(BackendUnavailable) as error:
            await call(BackendClient("http://backend.example", http))
    assert error.value.__cause__ is raised
    assert "secret" not in error.value.detail


@pytest.mark.parametrize("url", ["", "backend", "ftp://x", "http://", "http://user:secret@x", "http://x?a=1", "http://x#a", "//x"])
async def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    async with http_client() as http:
        with pytest.raises(ValueError, match="address of backend-core") as wrong:
            BackendClient(url, http)
    assert "secret" not in str(wrong.value)


# with the stand-in --------------------------------------------------------------------------------
async def test_every_verb_against_the_stand_in_over_a_real_socket(tmp_path: Path) -> None:
    issuer = DevIssuer.open(tmp_path)
    token = issuer.token("alice", ["admin"], 60)
    app = create_app(database=tmp_path / "b.db", verify=issuer.verifier(), seeds=[], pace_s=0)
    async with serving(app) as url, http_client() as http:
        client = BackendClient(url, http)
        with calling_with(token):
            job = await client.ingest(IngestRequest(title="Otters", text="Otters hold hands while they sleep."))
            async with asyncio.timeout(10):
                while job.status not in (JobStatus.done, JobStatus.failed):
                    job = await client.get_job(job.id)
            assert job.source_id is not None
            assert [source.name for source in await client.list_sources()] == ["Otters"]
            assert (await client.get_source(job.source_id)).object_count == 1
            (hit,) = (await client.search("do otters sleep?", k=3)).hits
            assert (hit.source_id, hit.title, hit.text) == (job.source_id, "Otters", "Otters hold hands while they sleep.")
            assert (await client.search("do otters sleep?", sources=["another"])).hits == []
            assert (await client.search("do otters sleep?", sources=["another", job.source_id])).hits == [hit]
            assert ((await client.stats()).sources, (await client.stats()).queries_served) == (1, 3)
            first = await client.delete_source(job.source_id, idempotency_key="k")
            assert await client.delete_source(job.source_id, idempotency_key="k") == first
            with pytest.raises(NotFound):
                await client.get_source(job.source_id)
        with calling_with(issuer.token("bob", ["reader"], 60)), pytest.raises(Forbidden):
            await client.delete_source("x", idempotency_key="k2")
        with calling_with(token[:-4] + "AAAA"), pytest.raises(Unauthorized):
            await client.stats()
    assert app.state.authorizations[0] == b"Bearer " + token.encode()
