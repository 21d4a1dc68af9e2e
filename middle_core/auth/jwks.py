"""An issuer's published key set: fetched when needed, cached, and kept through an outage for a bounded time.

Policy. A set is fresh for `ttl_s`; then the next token fetches it again. A key id that the set lacks is
either forged or a rotation, so it fetches too. All fetches together happen at most once per `pause_s`, one
at a time, so that forged tokens cannot turn us against the issuer. When a fetch fails the last good set
serves for `outage_s` from the time it was fetched; after that, or for a key id it lacks, the answer is
`BackendUnavailable`: we cannot tell, and a person who signs in again would not be helped.

Knows no token beyond its key id.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

import httpx

from middle_core.auth.keys import PublicKey, from_jwk
from middle_core.errors import BackendUnavailable

logger = logging.getLogger(__name__)

MAX_KEYS: Final = 100
UNREACHABLE: Final = "Your sign-in cannot be checked right now. Try again in a moment."


@dataclass(frozen=True, slots=True)
class JwksKey:
    """One usable key of a set, and the algorithms it allows."""

    key: PublicKey
    algorithms: tuple[str, ...]


class JwksCache:
    """The key set at a URL (https, or http on loopback). `clock` counts seconds and never goes back.

    Raises ValueError for another URL. max_bytes bounds the answer, timeout_s one fetch as a whole.
    """

    def __init__(
        self,
        url: str,
        http: httpx.AsyncClient,
        *,
        ttl_s: float = 300.0,
        outage_s: float = 4 * 3600.0,
        pause_s: float = 10.0,
        timeout_s: float = 5.0,
        max_bytes: int = 256 * 1024,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = httpx.URL(url)
        if self._url.scheme != "https" and not (self._url.scheme == "http" and is_loopback(self._url.host)):
            raise ValueError("The JWKS address must start with https://: whoever can change the key set on its way can sign in as anyone.")
        self._http = http
        self._ttl_s, self._outage_s, self._pause_s = ttl_s, outage_s, pause_s
        self._timeout_s, self._max_bytes = timeout_s, max_bytes
        self._clock = clock
        self._keys: dict[str | None, JwksKey] = {}
        self._fetched_at = self._tried_at = float("-inf")
        self._failure: Exception | None = None
        self._fetching = asyncio.Lock()

    async def key(self, kid: str | None) -> JwksKey | None:
        """The key of that id, or None if the issuer has none such. Without an id: the only key of the set.

        Raises `BackendUnavailable` where the issuer cannot be asked and what we have does not tell.
        """
        found = self._keys.get(kid)
        age = self._clock() - self._fetched_at
        if found and (age < self._ttl_s or (age < self._outage_s and self._fetching.locked())):
            return found  # while someone fetches, a set that is only stale need not keep anyone waiting
        await self._refresh()
        if self._clock() - self._fetched_at >= self._outage_s:
            raise BackendUnavailable(UNREACHABLE, retry_after=self._pause_s) from self._failure
        found = self._keys.get(kid)
        if found is None and self._failure is not None:
            raise BackendUnavailable(UNREACHABLE, retry_after=self._pause_s) from self._failure
        return found

    async def _refresh(self) -> None:
        """Fetch the set, unless that was tried less than `pause_s` ago: by another while we waited for our turn, most often."""
        async with self._fetching:
            if self._clock() - self._tried_at < self._pause_s:
                return
            self._tried_at = self._clock()
            try:
                async with asyncio.timeout(self._timeout_s):
                    self._keys = parse(await self._fetch())
            except asyncio.CancelledError:
                if not self._keys:  # the caller went away, the issuer did not fail: the next one may ask at once
                    self._tried_at = float("-inf")
                raise
            except (
                TimeoutError,
                httpx.HTTPError,
                httpx.StreamError,
                httpx.InvalidURL,
                httpx.CookieConflict,
                ValueError,
                RecursionError,
            ) as error:
                self._failure = error.with_traceback(None)  # kept as a cause; its frames need not be
                logger.warning("The key set at %s cannot be fetched: %s.", self._url.host, type(error).__name__)
            else:
                self._fetched_at = self._clock()
                self._failure = None
            self._tried_at = self._clock()

    async def _fetch(self) -> bytes:
        """The body at the URL. Raises httpx's errors, or ValueError for an answer that is no plain 200 of bounded size."""
        request = httpx.Request("GET", self._url, headers={"Accept": "application/json", "Accept-Encoding": "identity"})
        request.extensions["timeout"] = httpx.Timeout(self._timeout_s).as_dict()
        response = await self._http.send(request, stream=True, auth=None, follow_redirects=False)
        try:
            if response.status_code != 200 or response.headers.get("content-encoding", "identity") != "identity":
                raise ValueError("The answer is not a plain 200.")
            body = bytearray()
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > self._max_bytes:
                    raise ValueError("The answer is too large.")
            return bytes(body)
        finally:
            await response.aclose()


def parse(body: bytes) -> dict[str | None, JwksKey]:
    """The usable keys of a JWK set by key id; the only one also under None. Raises ValueError if there is none."""
    document = json.loads(body)
    listed = document.get("keys") if isinstance(document, dict) else None
    usable: list[tuple[str | None, JwksKey]] = []
    for jwk in listed[:MAX_KEYS] if isinstance(listed, list) else []:
        if isinstance(jwk, dict) and (parsed := from_jwk(jwk)):
            kid = jwk.get("kid")
            usable.append((kid if isinstance(kid, str) else None, JwksKey(*parsed)))
    keys: dict[str | None, JwksKey] = {kid: key for kid, key in reversed(usable) if kid is not None}  # the first of a name counts
    if len(usable) == 1:
        keys[None] = usable[0][1]  # with more, a token without a key id would have to guess
    if not keys:
        raise ValueError("The key set holds no key that can verify a token.")
    return keys


def is_loopback(host: str) -> bool:
    """Whether the host is this machine by its name or literal address; nothing is looked up."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
