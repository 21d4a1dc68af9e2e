"""auth.jwks: key sets are cached, rotated, bounded, fetched rarely, and kept through an outage for a bounded time."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging

import httpx
import pytest

from middle_core.auth.jwks import JwksCache, is_loopback, parse
from middle_core.errors import BackendUnavailable
from tests.fakes.http_server import closed_port, http_client
from tests.fakes.tokens import JwksServer, ec_key, ed_key, jwk_of, rsa_key


class Clock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def cache(url: str, http: httpx.AsyncClient, clock: Clock, *, timeout_s: float = 5.0) -> JwksCache:
    return JwksCache(url, http, ttl_s=300, outage_s=3600, pause_s=10, timeout_s=timeout_s, clock=clock)


async def test_a_set_is_fetched_once_while_fresh_and_again_after() -> None:
    clock = Clock()
    async with JwksServer([jwk_of(ed_key(), "a")]) as issuer, http_client() as http:
        keys = cache(issuer.url, http, clock)
        for _ in range(5):
            assert await keys.key("a") is not None
        assert issuer.fetches == 1
        clock.now += 301
        assert await keys.key("a") is not None
        assert issuer.fetches == 2


async def test_a_rotated_key_is_found_and_a_withdrawn_one_is_gone() -> None:
    clock = Clock()
    async with JwksServer([jwk_of(ed_key(), "old")]) as issuer, http_client() as http:
        keys = cache(issuer.url, http, clock)
        assert await keys.key("old") is not None
        issuer.keys = [jwk_of(ed_key("second"), "new")]
        clock.now += 10
        assert await keys.key("new") is not None
        assert await keys.key("old") is None


async def test_unknown_key_ids_cannot_make_us_hammer_the_issuer() -> None:
    clock = Clock()
    async with JwksServer([jwk_of(ed_key(), "a")]) as issuer, http_client() as http:
        keys = cache(issuer.url, http, clock)
        assert await keys.key("a") is not None
        told = []
        for n in range(84):
            try:
                assert await keys.key(f"forged-{n}") is None
            except BackendUnavailable as error:
                told.append(error.retry_after)
            clock.now += 0.25
        assert len(told) == 84 - 2  # only the two that caused a fetch are known to be forged
        assert all(0 < (wait or 0) <= 10 for wait in told)
        assert issuer.fetches == 1 + 2  # 21 s of forgeries, one fetch in 10 s
        assert await keys.key("a") is not None


async def test_a_new_key_behind_forged_ones_is_asked_to_come_again_and_is_then_taken() -> None:
    clock = Clock()
    async with JwksServer([jwk_of(ed_key(), "a")]) as issuer, http_client() as http:
        keys = cache(issuer.url, http, clock)
        for n in range(200):
            with contextlib.suppress(BackendUnavailable):
                assert await keys.key(f"forged-{n}") is None
        issuer.keys.append(jwk_of(ed_key("second"), "new"))
        clock.now += 3
        with pytest.raises(BackendUnavailable, match="cannot be checked right now") as error:
            await keys.key("new")
        assert error.value.retry_after == 7
        clock.now += 7
        assert await keys.key("new") is not None


async def test_a_forged_key_is_refused_at_once_when_the_set_was_just_asked_for_it() -> None:
    async with JwksServer([jwk_of(ed_key(), "a")]) as issuer, http_client() as http:
        assert await cache(issuer.url, http, Clock()).key("forged") is None


async def test_many_at_once_share_one_fetch() -> None:
    async with JwksServer([jwk_of(ed_key(), "a")], mode="gate") as issuer, http_client() as http:
        keys = cache(issuer.url, http, Clock())
        async with asyncio.TaskGroup() as group:
            waiting = [group.create_task(keys.key("a")) for _ in range(50)]
            await asyncio.wait_for(issuer.http.arrived.wait(), 5)
            issuer.gate.set()
        assert all(task.result() is not None for task in waiting)
        assert issuer.fetches == 1


async def test_a_stale_set_serves_while_someone_fetches() -> None:
    clock = Clock()
    async with JwksServer([jwk_of(ed_key(), "a")]) as issuer, http_client() as http:
        keys = cache(issuer.url, http, clock)
        assert await keys.key("a") is not None
        clock.now += 301
        issuer.mode = "gate"
        issuer.http.arrived.clear()
        async with asyncio.TaskGroup() as group:
            first = group.create_task(keys.key("a"))
            await asyncio.wait_for(issuer.http.arrived.wait(), 5)
            assert await asyncio.wait_for(keys.key("a"), 1) is not None
            assert not first.done()
            issuer.gate.set()
        assert first.result() is not None


@pytest.mark.parametrize("mode", ["status", "redirect", "huge", "gzip", "garbage", "nested", "empty", "hang_up"])
async def test_an_ill_issuer_is_a_503_and_is_not_asked_again_at_once(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    async with JwksServer([jwk_of(ed_key(), "a")], mode=mode) as issuer, http_client(follow_redirects=True) as http:
        keys = cache(issuer.url, http, clock)
        with caplog.at_level(logging.WARNING):
            for _ in range(3):
                with pytest.raises(BackendUnavailable, match="cannot be checked right now") as error:
                    await keys.key("a")
        assert (error.value.status, error.value.retry_after) == (503, 10)
        assert error.value.__cause__ is not None
        assert issuer.fetches == 1
        assert len(caplog.records) == 1
        issuer.mode = "ok"
        clock.now += 10
        assert await keys.key("a") is not None


async def test_a_silent_issuer_costs_the_timeout_once() -> None:
    async with JwksServer(mode="silent") as issuer, http_client() as http:
        keys = cache(issuer.url, http, Clock(), timeout_s=0.05)
        for _ in range(3):
            with pytest.raises(BackendUnavailable):
                await keys.key("a")
        assert issuer.fetches == 1


async def test_an_issuer_that_is_not_there() -> None:
    async with http_client() as http:
        with pytest.raises(BackendUnavailable) as error:
            await cache(f"{closed_port()}/jwks", http, Clock()).key("a")
    assert isinstance(error.value.__cause__, httpx.ConnectError)


async def test_the_last_good_set_survives_an_outage_for_a_bounded_time() -> None:
    clock = Clock()
    async with JwksServer([jwk_of(ed_key(), "a")]) as issuer, http_client() as http:
        keys = cache(issuer.url, http, clock)
        assert await keys.key("a") is not None
        issuer.mode = "status"
        clock.now += 1800
        assert await keys.key("a") is not None
        with pytest.raises(BackendUnavailable):  # a rotation or a forgery: we cannot tell
            await keys.key("b")
        assert await keys.key("a") is not None
        clock.now += 1800
        with pytest.raises(BackendUnavailable):
            await keys.key("a")


async def test_a_caller_that_leaves_does_not_make_the_next_one_wait() -> None:
    async with JwksServer([jwk_of(ed_key(), "a")], mode="gate") as issuer, http_client() as http:
        keys = cache(issuer.url, http, Clock())
        async with asyncio.TaskGroup() as group:
            impatient = group.create_task(keys.key("a"))
            await asyncio.wait_for(issuer.http.arrived.wait(), 5)
            impatient.cancel()
        await asyncio.wait_for(issuer.http.gone.wait(), 5)
        issuer.gate.set()
        assert await keys.key("a") is not None


async def test_a_token_without_a_key_id_needs_a_set_of_one_key() -> None:
    lone, pair = JwksServer([jwk_of(ed_key(), "a")]), JwksServer([jwk_of(ed_key(), "a"), jwk_of(ec_key(), "b")])
    async with lone, pair, http_client() as http:
        assert await cache(lone.url, http, Clock()).key(None) is not None
        assert await cache(pair.url, http, Clock()).key(None) is None


@pytest.mark.parametrize(
    "url", ["http://issuer.example/jwks", "ftp://issuer.example", "jwks.json", "http://localhost.evil.example/jwks", ""]
)
async def test_a_key_set_over_plain_http_is_refused_except_on_loopback(url: str) -> None:
    async with http_client() as http:
        with pytest.raises(ValueError, match="https"):
            JwksCache(url, http)


@pytest.mark.parametrize(
    ("host", "is_it"), [("localhost", True), ("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("10.0.0.1", False), ("a.b", False)]
)
def test_loopback(host: str, is_it: bool) -> None:
    assert is_loopback(host) is is_it


def test_what_cannot_verify_is_left_out_of_a_set() -> None:
    private = {**jwk_of(ed_key(), "private"), "d": "AAAA"}
    unusable = [
        {"kty": "oct", "k": "c2VjcmV0", "kid": "secret"},
        jwk_of(rsa_key(), "enc", use="enc"),
        jwk_of(rsa_key(), "ops", key_ops=["encrypt"]),
        jwk_of(rsa_key(), "ops-number", key_ops=7),
        jwk_of(rsa_key(), "alg", alg="RSA-OAEP"),
        jwk_of(rsa_key(), "confused", alg="HS256"),
        jwk_of(rsa_key(), "none", alg="none"),
        jwk_of(rsa_key("weak", 1024), "weak"),
        jwk_of(ec_key(), "curve", crv="P-521"),
        {"kty": "RSA", "n": 5, "e": [], "kid": "types"},
        {"kty": "RSA", "kid": "empty"},
        {"kty": ["RSA"], "kid": "list"},
        {"kid": "no type"},
        private,
        "text",
        None,
    ]
    keys = parse(json.dumps({"keys": [*unusable, jwk_of(rsa_key(), "good", alg="RS256"), jwk_of(ec_key(), "also")]}).encode())
    assert set(keys) == {"good", "also"}
    assert keys["good"].algorithms == ("RS256",)
    assert keys["also"].algorithms == ("ES256",)
    bodies: list[object] = [{"keys": unusable}, {"keys": {}}, {}, [], 5]
    for body in bodies:
        with pytest.raises(ValueError, match="no key"):
            parse(json.dumps(body).encode())


def test_the_first_key_of_a_name_counts_and_a_set_is_bounded() -> None:
    twice = parse(json.dumps({"keys": [jwk_of(ed_key(), "a"), jwk_of(ec_key(), "a")]}).encode())
    assert twice["a"].algorithms == ("EdDSA",)
    many = parse(json.dumps({"keys": [jwk_of(ed_key(), str(n)) for n in range(300)]}).encode())
    assert len(many) == 100
