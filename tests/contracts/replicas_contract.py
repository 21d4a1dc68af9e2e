"""What every adapter keeps of the port `Replicas`: a replica that is alone is never told of others, and others' times end."""

from __future__ import annotations

from middle_core.eventlog.records import Ending, RunStatus
from middle_core.events import RunId
from middle_core.stores.store import Store
from tests.contracts.eventlog_contract import FINISHED, start
from tests.contracts.store_contract import StoreContract

OWNER = "replica-1"
"""The replica for which the contract's runs are started."""
ELSEWHERE = "replica-2"


class ReplicasContract(StoreContract):
    """Subclass it as `Test...`."""

    async def followed(self, store: Store, run_id: RunId) -> bool:
        return await store.replicas.followed_elsewhere(run_id, replica=OWNER)

    async def test_a_run_is_followed_elsewhere_as_long_as_somebody_says_so(self, store: Store) -> None:
        run_id = (await start(store.log)).run.run_id
        assert not await self.followed(store, run_id)
        await store.replicas.followed_here([run_id], replica=ELSEWHERE, for_s=60)
        assert await self.followed(store, run_id) is store.shared
        assert not await store.replicas.followed_elsewhere(run_id, replica=ELSEWHERE), "not elsewhere, from there"
        await store.replicas.followed_here([run_id], replica=ELSEWHERE, for_s=0)
        assert not await self.followed(store, run_id)

    async def test_what_a_dead_replica_said_ends_by_itself(self, store: Store) -> None:
        run_id = (await start(store.log)).run.run_id
        await store.replicas.followed_here([run_id], replica=ELSEWHERE, for_s=0.001)
        await store.log.ping()
        while await self.followed(store, run_id):
            await store.log.ping()

    async def test_its_own_followers_and_those_of_a_run_that_is_over_are_not_written_down(self, store: Store) -> None:
        started = await start(store.log)
        run_id = started.run.run_id
        await store.replicas.followed_here([run_id], replica=started.run.owner_replica, for_s=60)
        assert not await store.replicas.followed_elsewhere(run_id, replica="another")
        await store.log.append(started.claim, [FINISHED], ending=Ending(RunStatus.FINISHED))
        await store.replicas.followed_here([run_id], replica=ELSEWHERE, for_s=60)
        assert not await self.followed(store, run_id)

    async def test_an_unknown_run_is_not_followed(self, store: Store) -> None:
        for run_id in (RunId("no uuid"), RunId("00000000-0000-7000-8000-000000000000")):
            await store.replicas.followed_here([run_id], replica=ELSEWHERE, for_s=60)
            assert not await self.followed(store, run_id)
