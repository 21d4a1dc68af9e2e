"""The `Replicas` of a store that is for one replica: there is no other one to tell, and none that tells."""

from __future__ import annotations

from collections.abc import Callable, Collection

from middle_core.events import RunId


class Alone:
    """See `eventlog.port.Replicas`."""

    def on_stop(self, told: Callable[[RunId], None]) -> None:
        """Nobody tells."""

    async def followed_here(self, run_ids: Collection[RunId], *, replica: str, for_s: float) -> None:
        """Nobody asks."""

    async def followed_elsewhere(self, run_id: RunId, *, replica: str) -> bool:
        """There is no elsewhere."""
        return False
