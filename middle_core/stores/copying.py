"""Moves all threads of one database into another, a thread at a time, and compares each of them afterwards.

A thread arrives in one transaction, so what is there is whole, and a copy that was broken off goes on where it stopped. Knows no database.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from middle_core.stores.content import Content
from middle_core.stores.store import DatabaseRefused


class Source(Protocol):
    """A database that nobody writes meanwhile."""

    async def threads(self) -> list[str]:
        """The id of every thread, in order."""

    async def thread(self, thread_id: str) -> Content: ...


class Target(Protocol):
    """The database that gets them."""

    async def fitting(self, content: Content) -> Content:
        """The thread in the form in which this database holds it. Raises `DatabaseRefused` where the schemas do not match."""

    async def thread(self, thread_id: str) -> Content | None:
        """None where the thread is not there."""

    async def put(self, thread_id: str, content: Content) -> Content:
        """Write the thread, and return it as it was read back in the same transaction. Raises `DatabaseRefused` for a name that is taken."""


@dataclass(slots=True)
class Copied:
    """What a copy did.

    Args:
        there: threads that an earlier copy had brought.
        counts: how many threads, runs and so on are in both databases now.
    """

    there: int = 0
    counts: Counter[str] = field(default_factory=Counter)


async def copy(source: Source, target: Target, *, progress: Callable[[int, int], None]) -> Copied:
    """Copy what is missing, and compare all.

    Args:
        progress: called with the number of threads that are done, and of all.

    Raises:
        DatabaseRefused: a thread at the target is another one, or did not arrive as it was.
    """
    threads = await source.threads()
    copied = Copied()
    for done, thread_id in enumerate(threads):
        progress(done, len(threads))
        content = await target.fitting(await source.thread(thread_id))
        arrived = await target.thread(thread_id)
        if arrived is None:
            arrived = await target.put(thread_id, content)
        else:
            copied.there += 1
        if (arrived.counts, arrived.digest()) != (content.counts, content.digest()):
            raise DatabaseRefused(
                f"The conversation {thread_id} is not the same in both databases. If it went on at the target, the target is in use already: "
                "do not copy again. Otherwise delete it there and copy again."
            )
        copied.counts.update(content.counts)
    progress(len(threads), len(threads))
    return copied
