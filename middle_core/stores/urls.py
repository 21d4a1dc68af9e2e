"""Which adapter a database URL names.

Knows the adapters by name only: psycopg is an extra, and a server on SQLite starts without it.
"""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from middle_core.stores import copying
from middle_core.stores.claims import ClaimSource, no_claim
from middle_core.stores.copying import Copied
from middle_core.stores.sqlite import store as sqlite
from middle_core.stores.sqlite.departure import open_source
from middle_core.stores.store import DatabaseRefused, Store
from middle_core.stores.tail import TailBounds

POSTGRES: Final = frozenset({"postgresql", "postgres"})
POSTGRES_NEEDS: Final = frozenset({"psycopg", "psycopg_pool", "langgraph.checkpoint.postgres"})
"""The packages of the extra `[postgres]`, as they are imported."""


@asynccontextmanager
async def open_store(
    url: str, *, claim: ClaimSource = no_claim, direct_url: str = "", run_ttl_s: float = 0, bounds: TailBounds | None = None
) -> AsyncIterator[Store]:
    """The store at `url`, made or brought to this version's schema if need be, closed at the end.

    Args:
        url: `sqlite:///folder/file.db`, `sqlite:////absolute/file.db`, or `postgresql://user:password@host/database`.
        claim: gives the claim under which the calling code may write checkpoints.
        direct_url: the same Postgres past its PgBouncer, to listen on and to change the schema with.
        run_ttl_s: seconds after which a run that is over may be deleted with its events, on Postgres; 0 keeps all.
        bounds: how many records are kept in memory for followers on this replica.

    Raises:
        DatabaseRefused: the URL names no database of ours, another process has it, its schema is newer, or it cannot be used.
    """
    if _scheme(url) in POSTGRES:
        async with _postgres().open_store(url, claim=claim, direct_url=direct_url, run_ttl_s=run_ttl_s, bounds=bounds) as store:
            yield store
        return
    _refuse_direct(direct_url)
    if run_ttl_s:
        raise DatabaseRefused("MIDDLE_CORE_RUN_TTL_DAYS is for Postgres, and MIDDLE_CORE_DATABASE_URL names a SQLite file. Unset one.")
    async with sqlite.open_store(url, claim=claim, bounds=bounds) as store:
        yield store


async def migrate(url: str, *, direct_url: str = "") -> tuple[int, int]:
    """Bring the database to this version's schema, as `open_store` does. Returns the versions before and after.

    Raises:
        DatabaseRefused: as `open_store`; also where a server has a SQLite file open.
    """
    if _scheme(url) in POSTGRES:
        before, after = await _postgres().migrate(url, direct_url=direct_url)
        return before, after
    _refuse_direct(direct_url)
    return await sqlite.migrate(url)


async def copy(source: str, target: str, *, direct_url: str = "", progress: Callable[[int, int], None]) -> Copied:
    """Copy all threads of a SQLite file into a Postgres; see `copying.copy`.

    Raises:
        DatabaseRefused: one of the URLs is of the other kind, a server has the file open, or a thread did not arrive as it was.
    """
    if _scheme(source) in POSTGRES or _scheme(target) not in POSTGRES:
        raise DatabaseRefused("A copy goes from sqlite:///... to postgresql://...")
    async with open_source(source) as have, _postgres("arrival").open_target(target, direct_url=direct_url) as get:
        return await copying.copy(have, get, progress=progress)


def _scheme(url: str) -> str:
    """The URL's scheme. Raises `DatabaseRefused` where no adapter has it."""
    scheme = url.partition("://")[0].lower()
    if scheme not in POSTGRES and scheme != "sqlite":
        raise DatabaseRefused(
            f"MIDDLE_CORE_DATABASE_URL begins with {scheme[:32]!r}. Write sqlite:///folder/file.db, or postgresql://user:password@host/database."
        )
    return scheme


def _postgres(module: str = "store") -> Any:
    """A module of the adapter, imported when a URL names it."""
    try:
        return importlib.import_module(f"middle_core.stores.postgres.{module}")
    except ModuleNotFoundError as missing:
        if missing.name is None or not any(missing.name == name or missing.name.startswith(f"{name}.") for name in POSTGRES_NEEDS):
            raise
        raise DatabaseRefused(
            "MIDDLE_CORE_DATABASE_URL names Postgres, which needs extra packages. Install them: pip install 'middle-core[postgres]'."
        ) from missing


def _refuse_direct(direct_url: str) -> None:
    if direct_url:
        raise DatabaseRefused(
            "MIDDLE_CORE_DATABASE_DIRECT_URL goes with a Postgres behind PgBouncer, and MIDDLE_CORE_DATABASE_URL names a SQLite file. Unset one."
        )
