"""The client of backend-core's REST API, for the tools of an agent. It calls as the person who asked.

The caller's JWT is sent byte for byte, so that backend-core alone decides what a person may do. This module keeps no token and
follows no redirect, because a token must not reach another server. Every fault is raised as an error of `middle_core.errors` with
words for people and its cause chained. This module knows no agent, no run and no door.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, ValidationError

from middle_core.backend.contract.models import Deletion, IngestRequest, Job, Problem, SearchResult, Source, SourceList, Stats
from middle_core.errors import BackendUnavailable, Forbidden, InvalidRequest, MiddleCoreError, NotFound, RateLimited, TooLarge, Unauthorized
from middle_core.node_api.context import run_context

MAX_ID_CHARS = 200
MAX_DETAIL_CHARS = 300
MAX_RETRY_AFTER_S = 3600.0

REFUSALS: Final[Mapping[int, tuple[type[MiddleCoreError], str | None]]] = {
    400: (InvalidRequest, "The knowledge service refused the request as not valid."),
    401: (Unauthorized, "The knowledge service did not accept your sign-in. Sign in again."),
    403: (Forbidden, "The knowledge service says: your role does not allow this."),
    404: (NotFound, None),
    409: (InvalidRequest, "The knowledge service refused the request: it conflicts with how things stand."),
    410: (NotFound, None),
    413: (TooLarge, "This is larger than the knowledge service accepts."),
    422: (InvalidRequest, "The knowledge service refused the request as not valid."),
    429: (RateLimited, "The knowledge service is busy. Try again in a moment."),
}

ModelT = TypeVar("ModelT", bound=BaseModel)
Params: TypeAlias = Mapping[str, str | list[str]]
"""A query. A list repeats the parameter; an empty list is not sent."""


class BackendClient:
    """Typed calls to backend-core, one method for each verb of the contract.

    Every method raises `Unauthorized`, `Forbidden`, `RateLimited` or `BackendUnavailable`, and `NotFound`, `InvalidRequest` or
    `TooLarge` if the request is to blame. Cancelling the task closes the request.

    Args:
        base_url: scheme, host and perhaps a path prefix, without credentials. None means that there is no backend-core: then every
            call raises `BackendUnavailable`.
        http: a client that its owner shares and closes. Its cookies, default headers and auth are not used, because they would mix
            users.
        timeout_s: seconds for a whole call, its retry included.
        max_response_bytes: the most that is read of an answer.
    """

    def __init__(
        self, base_url: str | None, http: httpx.AsyncClient, *, timeout_s: float = 15.0, max_response_bytes: int = 2 * 1024 * 1024
    ) -> None:
        url = httpx.URL(base_url or "")
        self._exists = base_url is not None
        if self._exists and (url.scheme not in ("http", "https") or not url.host or url.userinfo or url.query or url.fragment):
            raise ValueError("the address of backend-core must be http(s)://host[:port][/prefix], without credentials or a query.")
        self._base = str(url).rstrip("/") + "/api/v1"
        self._http = http
        self._timeout_s = timeout_s
        self._max_bytes = max_response_bytes

    async def search(self, query: str, *, k: int = 5, sources: Sequence[str] = ()) -> SearchResult:
        """The passages that match best, best first.

        Args:
            query: a person's words; it has no syntax.
            k: the most passages.
            sources: ids of the sources to search in; none means all.
        """
        return await self._call(SearchResult, "GET", "search", params={"q": query, "k": str(k), "source": list(sources)})

    async def list_sources(self) -> list[Source]:
        """All sources, by name."""
        return (await self._call(SourceList, "GET", "sources")).sources

    async def get_source(self, source_id: str) -> Source:
        """One source as backend-core has it now."""
        return await self._call(Source, "GET", f"sources/{segment(source_id)}")

    async def delete_source(self, source_id: str, *, idempotency_key: str) -> Deletion:
        """Delete a source for good. A second call with the same key gets the first answer and deletes nothing."""
        return await self._call(Deletion, "DELETE", f"sources/{segment(source_id)}", headers={"Idempotency-Key": idempotency_key})

    async def ingest(self, request: IngestRequest) -> Job:
        """Add a source from a text or a URL. backend-core fetches the URL, never this process."""
        return await self._call(Job, "POST", "ingest", content=request.model_dump_json(exclude_none=True).encode())

    async def get_job(self, job_id: str) -> Job:
        """How far an ingest job is."""
        return await self._call(Job, "GET", f"jobs/{segment(job_id)}")

    async def stats(self) -> Stats:
        """Numbers about the knowledge base."""
        return await self._call(Stats, "GET", "stats")

    async def _call(
        self,
        model: type[ModelT],
        method: str,
        path: str,
        *,
        params: Params | None = None,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> ModelT:
        if not self._exists:
            raise BackendUnavailable("This server has no knowledge service. Its operator can name one.")
        request = self._request(method, path, params=params, headers=headers or {}, content=content)
        try:
            async with asyncio.timeout(self._timeout_s):
                status, answer_headers, body = await self._send_patiently(request)
        except TimeoutError as error:
            raise BackendUnavailable("The knowledge service took too long to answer. Try again in a moment.") from error
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, httpx.CookieConflict) as error:
            raise BackendUnavailable from error
        if not 200 <= status < 300:
            raise refusal(status, answer_headers, body)
        try:
            return model.model_validate_json(body)
        except ValidationError as error:
            raise BackendUnavailable("The knowledge service gave an answer that cannot be read.") from error

    def _request(
        self, method: str, path: str, *, params: Params | None, headers: Mapping[str, str], content: bytes | None
    ) -> httpx.Request:
        """The request. It is not made by `http.build_request`, which would add the shared client's cookies and headers."""
        caller = run_context().caller
        if caller is None:
            raise Unauthorized
        token = caller.credential.token
        sent = {"Accept": "application/json", "Accept-Encoding": "identity", "Authorization": f"Bearer {token}", **headers}
        if content is not None:
            sent["Content-Type"] = "application/json"
        try:
            request = httpx.Request(method, f"{self._base}/{path}", params=params, headers=sent, content=content)
        except (UnicodeError, httpx.InvalidURL) as error:  # a model may write lone surrogates
            raise InvalidRequest("The request to the knowledge service holds characters that cannot be sent.") from error
        request.extensions["timeout"] = httpx.Timeout(self._timeout_s).as_dict()
        return request

    async def _send_patiently(self, request: httpx.Request) -> tuple[int, httpx.Headers, bytes]:
        """Send the request. A GET whose connection broke (a stale keep-alive, a restart) is sent once more."""
        try:
            return await self._send(request)
        except (httpx.NetworkError, httpx.RemoteProtocolError):
            if request.method != "GET":
                raise
        return await self._send(request)

    async def _send(self, request: httpx.Request) -> tuple[int, httpx.Headers, bytes]:
        response = await self._http.send(request, stream=True, auth=None, follow_redirects=False)
        try:
            if response.headers.get("content-encoding", "identity") != "identity":
                # The request did not ask for compression, and a few bytes could unpack to any size before they are counted.
                raise BackendUnavailable("The knowledge service gave an answer that cannot be read.")
            body = bytearray()
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > self._max_bytes:
                    raise BackendUnavailable("The knowledge service gave an answer that is too large.")
            return response.status_code, response.headers, bytes(body)
        finally:
            await response.aclose()


def segment(value: str) -> str:
    """The value as one quoted path segment.

    Raises:
        NotFound: the value cannot be an id: it is empty, dots only, or too long.
    """
    if not value or len(value) > MAX_ID_CHARS or value in (".", ".."):  # a client resolves dot segments even if they are quoted
        raise NotFound
    try:
        return quote(value, safe="")
    except UnicodeEncodeError as error:
        raise NotFound from error


def refusal(status: int, headers: Mapping[str, str], body: bytes) -> MiddleCoreError:
    """The typed error for an answer that is not 2xx. A 5xx, a redirect or an unknown status is `BackendUnavailable`."""
    kind, text = REFUSALS.get(status, (BackendUnavailable, None))
    own = safe_detail(headers, body)
    if kind is InvalidRequest:
        text = own or text
    elif kind is Forbidden and own:  # only the service knows which role is missing
        text = f"{text} {own}"
    return kind(text, retry_after=retry_after(headers.get("retry-after", "")))


def safe_detail(headers: Mapping[str, str], body: bytes) -> str | None:
    """The `detail` of a problem+json answer as one printable line of bounded length, or None."""
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/problem+json":
        return None
    try:
        detail = Problem.model_validate_json(body).detail
    except ValidationError:
        return None  # the answer of a proxy or of another service, whose words are not for people
    line = " ".join("".join(c if c.isprintable() else " " for c in detail).split())
    return line if len(line) <= MAX_DETAIL_CHARS else line[: MAX_DETAIL_CHARS - 1] + "…"


def retry_after(value: str) -> float | None:
    """The seconds of a Retry-After header in its numeric form, bounded; None for a date or another text."""
    text = value.strip()
    return min(float(text), MAX_RETRY_AFTER_S) if text.isascii() and text.isdigit() and len(text) < 10 else None
