"""An issuer's published key set: fetched when needed, cached, and kept through an outage for a bounded time.

A set is fresh for `ttl_s`; the next token after that fetches it again. A key id that is not in the set is either forged or new, so
it causes a fetch too. There is at most one fetch in `pause_s`, so that forged tokens cannot make this server flood the issuer.

A key id is refused if a fetch that ended after the token came does not have it, or if the issuer has withdrawn it. In all other
cases nobody can tell a forged key from a new one, and the answer is `BackendUnavailable` with the seconds to wait: a person who signs in again would gain nothing.
That happens within `pause_s` of the last fetch, and when the issuer cannot be reached. Known keys serve on through an outage, for
`outage_s` from the time they were fetched.

This module knows nothing of a token but its key id.
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
    """The key set at a URL.

    Args:
        url: an https address, or http on loopback.
        http: the client for fetches; its owner closes it.
        ttl_s: seconds for which a set is fresh.
        outage_s: seconds for which a set serves while the issuer cannot be reached.
        pause_s: seconds from one fetch to the next, at least.
        timeout_s: seconds for one whole fetch.
        max_bytes: the largest answer that is read.
        clock: seconds that never go back.

    Raises:
        ValueError: the address is neither https nor on loopback.
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
        self._fetches = 0
        """How many fetches have succeeded."""
        self._withdrawn: list[str | None] = []
        """Ids of keys that the issuer had and has no more; the newest `MAX_KEYS`."""
        self._fetching = asyncio.Lock()

    async def key(self, kid: str | None) -> JwksKey | None:
        """The key of that id, or None if the issuer does not have it. Without an id: the only key of the set.

        Raises:
            BackendUnavailable: nobody can tell now whether the issuer has the key; `retry_after` says when to ask again.
        """
        fetches = self._fetches
        found = self._keys.get(kid)
        age = self._clock() - self._fetched_at
        if found and (age < self._ttl_s or (age < self._outage_s and self._fetching.locked())):
            return found  # while another token's fetch runs, a set that is only stale serves
        await self._refresh()
        if self._clock() - self._fetched_at >= self._outage_s:
            raise BackendUnavailable(UNREACHABLE, retry_after=self._pause_left()) from self._failure
        found = self._keys.get(kid)
        if found is None and self._fetches == fetches and kid not in self._withdrawn:
            raise BackendUnavailable(UNREACHABLE, retry_after=self._pause_left()) from self._failure
        return found

    def _pause_left(self) -> float:
        """Seconds until the issuer may be asked again."""
        return max(0.0, self._tried_at + self._pause_s - self._clock())

    async def _refresh(self) -> None:
        """Fetch the set, unless that was tried less than `pause_s` ago, most often by another token while this one waited for its turn."""
        async with self._fetching:
            if self._clock() - self._tried_at < self._pause_s:
                return
            self._tried_at = self._clock()
            try:
                async with asyncio.timeout(self._timeout_s):
                    self._replace(parse(await self._fetch()))
            except asyncio.CancelledError:
                if not self._keys:  # the caller left and the issuer did not fail, so the next caller may ask at once
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
                self._failure = error.with_traceback(None)  # a cause to show later; its frames would be kept alive
                logger.warning("The key set at %s cannot be fetched: %s.", self._url.host, type(error).__name__)
            else:
                self._fetched_at = self._clock()
                self._fetches += 1
                self._failure = None
            self._tried_at = self._clock()

    def _replace(self, keys: dict[str | None, JwksKey]) -> None:
        self._withdrawn = [kid for kid in (*self._withdrawn, *self._keys) if kid not in keys][-MAX_KEYS:]
        self._keys = keys

    async def _fetch(self) -> bytes:
        """The body at the URL.

        Raises:
            ValueError: the answer is not a plain 200 of bounded size.
            httpx.HTTPError: the issuer cannot be reached, and httpx's other errors.
        """
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
    """The usable keys of a JWK set by key id; a single key also under None.

    Raises:
        ValueError: the set has no usable key.
    """
    document = json.loads(body)
    listed = document.get("keys") if isinstance(document, dict) else None
    usable: list[tuple[str | None, JwksKey]] = []
    for jwk in listed[:MAX_KEYS] if isinstance(listed, list) else []:
        if isinstance(jwk, dict) and (parsed := from_jwk(jwk)):
            kid = jwk.get("kid")
            usable.append((kid if isinstance(kid, str) else None, JwksKey(*parsed)))
    keys: dict[str | None, JwksKey] = {
        kid: key for kid, key in reversed(usable) if kid is not None
    }  # of two keys with one id the first counts
    if len(usable) == 1:
        keys[None] = usable[0][1]  # with several keys, one would have to be guessed for a token without a key id
    if not keys:
        raise ValueError("The key set holds no key that can verify a token.")
    return keys


def is_loopback(host: str) -> bool:
    """Whether the host is this machine, by its name or its literal address. Nothing is looked up."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
