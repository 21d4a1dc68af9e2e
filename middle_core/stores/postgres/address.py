"""Where a Postgres is: the two URLs that a person sets, as connection strings, and the bounds of the pool.

Pure. Its refusals name the variable that is wrong and never repeat its value: it may hold a password.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from middle_core.stores.store import DatabaseRefused

URL: Final = "MIDDLE_CORE_DATABASE_URL"
DIRECT_URL: Final = "MIDDLE_CORE_DATABASE_DIRECT_URL"
POOL_SIZE: Final = 8
"""Connections of one replica, where the URL does not say. Measured: four carry what one Python process can do."""
CONNECT_S: Final = 10
"""Seconds after which a host that is silent counts as away, where the URL does not say."""

_OWN_PARAMETERS: Final = {"pool_size", "pgbouncer"}


@dataclass(frozen=True, slots=True)
class Address:
    """One database.

    Args:
        pooled: psycopg's connection string of everything that is asked.
        direct: the one past a PgBouncer, which carries no notification. None where there is no such way.
        pool_size: the most connections that this replica opens, beside the one that listens.
        bouncer: whether a PgBouncer in transaction mode stands between.
        schema_from: the variable of the URL through which the schema is changed.
    """

    pooled: str
    direct: str | None
    pool_size: int
    bouncer: bool
    schema_from: str

    @property
    def for_schema(self) -> str:
        """The connection string through which the schema is read and changed."""
        return self.pooled if self.direct is None else self.direct


def address_of(url: str, direct_url: str = "") -> Address:
    """The address that the two settings name.

    Args:
        url: `postgresql://user:password@host:port/database`, with libpq's parameters and two of ours: `pool_size`, and
            `pgbouncer=true` where a PgBouncer in transaction mode stands between.
        direct_url: the same database past its PgBouncer, or empty.

    Raises:
        DatabaseRefused: one of them is no URL, or a parameter of ours has no value of its kind.
    """
    pooled, ours = _split(url, URL)
    size = ours.get("pool_size", str(POOL_SIZE))
    if not (size.isascii() and size.isdigit() and int(size) >= 1):
        raise DatabaseRefused(f"{URL}: pool_size is a number from 1, for example ?pool_size=8.")
    if ours.get("pgbouncer", "false") not in {"true", "false"}:
        raise DatabaseRefused(f"{URL}: pgbouncer is true or false, for example ?pgbouncer=true.")
    bouncer = ours.get("pgbouncer") == "true"
    if direct_url:
        direct, theirs = _split(direct_url, DIRECT_URL)
        if theirs:
            raise DatabaseRefused(f"{DIRECT_URL}: {' and '.join(sorted(theirs))} belong to {URL}.")
        return Address(pooled, direct, int(size), bouncer, DIRECT_URL)
    return Address(pooled, None if bouncer else pooled, int(size), bouncer, URL)


def _split(url: str, variable: str) -> tuple[str, dict[str, str]]:
    """psycopg's connection string, and the parameters of ours."""
    try:
        parts = urlsplit(url)
        known = parts.scheme in {"postgresql", "postgres"} and (parts.port is None or parts.port > 0)
    except ValueError:  # a port that is no number
        known = False
    if not known:
        raise DatabaseRefused(f"{variable} is not the URL of a Postgres. Write postgresql://user:password@host:5432/database.")
    parameters = parse_qsl(parts.query, keep_blank_values=True)
    theirs = [(name, value) for name, value in parameters if name not in _OWN_PARAMETERS]
    if "connect_timeout" not in dict(theirs):
        theirs.append(("connect_timeout", str(CONNECT_S)))
    return urlunsplit(parts._replace(query=urlencode(theirs))), {name: value for name, value in parameters if name in _OWN_PARAMETERS}
