"""Two replicas on one Postgres: a run whose replica is killed, frozen or stopped goes on at the other one, before the same reader's eyes."""

from __future__ import annotations

import signal
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.agui_verify import verify_streams
from tests.fakes.postgres import PostgresServer
from tests.fakes.process import Server, gone, serve
from tests.fakes.stack import Reader
from tests.scenarios.slow_agent import whole

SLOW = "slow=tests.scenarios.slow_agent:build"
LEASE_S = 3

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


@asynccontextmanager
async def two(postgres: PostgresServer, folder: Path, **env: str) -> AsyncIterator[tuple[Server, Server]]:
    """Two replicas on one database."""
    times = {"MIDDLE_CORE_LEASE_S": str(LEASE_S), "MIDDLE_CORE_BEAT_S": "0.5", "MIDDLE_CORE_DRAIN_S": "0"}
    settings: Mapping[str, str] = {"MIDDLE_CORE_DATABASE_URL": postgres.of(folder), **times, **env}
    async with serve(folder / "1", agents=SLOW, env=settings) as here, serve(folder / "2", agents=SLOW, env=settings) as there:
        yield here, there


def after_the_boundary(reader: Reader) -> str:
    """The text that counts."""
    events: Sequence[Mapping[str, Any]] = reader.events
    at = reader.types.index("middle_core.attempt")
    return "".join(event["delta"] for event in events[at:] if event["type"] == "TEXT_MESSAGE_CONTENT")


async def test_whoever_follows_at_another_replica_sees_a_killed_run_go_on(postgres: PostgresServer, tmp_path: Path) -> None:
    async with two(postgres, tmp_path) as (here, there), here.say("count 400") as reader, there.follow(reader.run_id) as other:
        await other.until_text("w10 ")
        await here.kill()
        died = time.monotonic()
        await other.until_type("middle_core.attempt")
        waited = time.monotonic() - died
        await other.rest()
    assert waited <= LEASE_S + 2
    assert after_the_boundary(other) == whole(400)
    assert other.types[-1] == "RUN_FINISHED"
    [verdict] = await verify_streams([bytes(other.raw)])
    assert verdict.ok, verdict
    assert [message.get("content") for message in verdict.messages] == ["count 400", whole(400)]


async def test_what_one_replica_lets_go_the_other_takes_at_once(postgres: PostgresServer, tmp_path: Path) -> None:
    replicas = two(postgres, tmp_path, MIDDLE_CORE_LEASE_S="60")
    async with replicas as (here, there), here.say("count 300") as reader, there.follow(reader.run_id) as other:
        await other.until_text("w10 ")
        assert here.process is not None
        here.process.send_signal(signal.SIGTERM)
        await other.until_type("middle_core.attempt")
        assert await gone(here.process, 15) == 0
        await other.rest()
    assert after_the_boundary(other) == whole(300)


async def test_a_replica_that_wakes_up_writes_nothing_into_a_run_that_was_taken_over(postgres: PostgresServer, tmp_path: Path) -> None:
    async with two(postgres, tmp_path) as (here, there), here.say("count 200") as reader:
        async with there.follow(reader.run_id) as other:
            await other.until_text("w10 ")
            assert here.process is not None
            here.process.send_signal(signal.SIGSTOP)
            await other.until_type("middle_core.attempt")
            here.process.send_signal(signal.SIGCONT)
            await other.rest()
        assert (await here.ask("count 100")).text == whole(100), "meanwhile it beats, and would still be writing the answer before"
        async with there.follow(reader.run_id) as again, here.follow(reader.run_id) as woken:
            await again.rest()
            await woken.rest()
        assert (await there.ask("count 3")).text == whole(3)
    for seen in (other, again, woken):
        assert after_the_boundary(seen) == whole(200)
        assert [one for one in seen.types if one in {"RUN_FINISHED", "RUN_ERROR"}] == ["RUN_FINISHED"]
    assert again.raw.replace(b": middle-core", b"").count(b"middle_core.attempt") == 1
