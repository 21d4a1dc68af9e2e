"""When a follower is sent away, and when it is not: the token's end, the age, a drain, the run's own end."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import pytest

from middle_core.auth.principal import Credential, Principal
from middle_core.eventlog.records import Started
from middle_core.events import Record
from middle_core.runs.adoption import Adoption
from middle_core.runs.engine import Engine
from middle_core.runs.follower import DRAIN_RETRY_MS, Follower, SentAway
from middle_core.runs.questions.continuation import Continuations
from middle_core.runs.supervisor import Supervisor
from middle_core.stores.store import Store
from middle_core.stores.urls import open_store
from tests.contracts.eventlog_contract import end, start, text


@dataclass
class At:
    """A run that nobody drives, in a log of its own."""

    store: Store
    supervisor: Supervisor
    adoption: Adoption
    started: Started
    now: float = 1_000.0

    def follower(self, *, expires_at: float = math.inf, after: int = 0) -> Follower:
        principal = Principal("iss", "alice", "Alice", None, expires_at, {}, Credential("t", expires_at))
        continuations = Continuations(self.store.log, self.store.questions, leaving=lambda: self.supervisor.draining)
        return Follower(
            self.started.run,
            after=after,
            principal=principal,
            log=self.store.log,
            supervisor=self.supervisor,
            adoption=self.adoption,
            continuations=continuations,
        )

    def clock(self) -> float:
        return self.now


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[At]:
    async with open_store(f"sqlite:///{tmp_path}/log.db") as store:
        engine = Engine(store.log, store.questions, {}, max_event_bytes=10_000, approval_ttl_s=60)
        async with Supervisor(
            store.log, store.questions, store.replicas, engine, replica="replica-1", beat_s=60, lease_s=120, orphan_timeout_s=600, grace_s=5
        ) as supervisor:
            yield At(store, supervisor, Adoption(store.log, engine, supervisor), await start(store.log))


async def test_at_the_tokens_end_it_is_sent_away_after_what_it_has_read(at: At) -> None:
    follower = at.follower(expires_at=at.now + 100)
    async with asyncio.timeout(10), aclosing(follower.records(tick_s=0.01, clock=at.clock)) as items:
        assert [record.seq for record in await _batch(items)] == [1]
        assert await anext(items) == [], "a tick"
        at.now += 101
        assert await anext(items) == SentAway("token_expired", 0)
        assert [item async for item in items] == []


async def test_the_tick_before_the_tokens_end_is_shorter_so_that_the_end_is_not_late(at: At) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    follower = at.follower(expires_at=at.now + 0.2)
    async with asyncio.timeout(10), aclosing(follower.records(tick_s=60, clock=lambda: at.now + loop.time() - began)) as items:
        assert [record.seq for record in await _batch(items)] == [1]
        assert await anext(items) == SentAway("token_expired", 0)


@pytest.mark.parametrize("max_age_s", [0, 50])
async def test_a_maximum_age_counts_from_the_first_record_on(at: At, max_age_s: float) -> None:
    async with asyncio.timeout(10), aclosing(at.follower().records(tick_s=0.01, max_age_s=max_age_s, clock=at.clock)) as items:
        assert [record.seq for record in await _batch(items)] == [1]
        at.now += 51
        assert await anext(items) == (SentAway("max_age", 0) if max_age_s else [])


async def test_a_drain_sends_it_away_at_once(at: At) -> None:
    async with asyncio.timeout(10), aclosing(at.follower(after=1).records(tick_s=60)) as items:
        asyncio.get_running_loop().call_soon(at.supervisor.begin_drain)  # before the follower waits: the wake-up is lost
        assert await anext(items) == SentAway("drain", DRAIN_RETRY_MS)


async def test_who_has_read_the_end_is_not_sent_away(at: At) -> None:
    await at.store.log.append(at.started.claim, [text("a")])
    await end(at.store.log, at.started.claim)
    at.supervisor.begin_drain()
    follower = at.follower(expires_at=at.now - 1)
    async with asyncio.timeout(10):
        items = [item async for item in follower.records(tick_s=60, clock=at.clock)]
    assert [[record.seq for record in _records(item)] for item in items] == [[1, 2, 3]]


async def test_it_reads_from_its_place_or_from_where_it_is_told(at: At) -> None:
    await at.store.log.append(at.started.claim, [text("a")])
    await end(at.store.log, at.started.claim)
    follower = at.follower(after=2)
    assert [record.seq async for item in follower.records(tick_s=60) for record in _records(item)] == [3]
    assert [record.seq async for item in follower.records(tick_s=60, after=0) for record in _records(item)] == [1, 2, 3]


def _records(item: object) -> list[Record]:
    assert isinstance(item, list)
    return item


async def _batch(items: AsyncIterator[object]) -> list[Record]:
    return _records(await anext(items))
