"""The two URLs of a Postgres: what they become, and which variable a refusal names."""

from __future__ import annotations

import pytest

from middle_core.stores.postgres.address import POOL_SIZE, address_of
from middle_core.stores.store import DatabaseRefused

URL = "postgresql://u:canary@db:5432/middle_core?sslmode=require"


def test_a_url_alone_is_also_the_direct_way() -> None:
    address = address_of(URL)
    assert address.pooled == address.direct == address.for_schema == f"{URL}&connect_timeout=10"
    assert (address.pool_size, address.bouncer, address.schema_from) == (POOL_SIZE, False, "MIDDLE_CORE_DATABASE_URL")


def test_our_parameters_are_not_libpqs() -> None:
    address = address_of(f"{URL}&pool_size=3&pgbouncer=true&connect_timeout=2")
    assert address.pooled == f"{URL}&connect_timeout=2"
    assert (address.pool_size, address.bouncer, address.direct) == (3, True, None), "a PgBouncer carries no notification"
    assert address.for_schema == address.pooled


def test_the_schema_is_changed_past_the_pgbouncer() -> None:
    address = address_of(f"{URL}&pgbouncer=true", "postgres://u:canary@db:6432/middle_core")
    assert address.direct == address.for_schema == "postgres://u:canary@db:6432/middle_core?connect_timeout=10"
    assert address.schema_from == "MIDDLE_CORE_DATABASE_DIRECT_URL"


@pytest.mark.parametrize(
    ("url", "direct_url", "variable"),
    [
        ("postgresql://u:canary@db:port/x", "", "MIDDLE_CORE_DATABASE_URL"),
        ("u:canary@db/x", "", "MIDDLE_CORE_DATABASE_URL"),
        (f"{URL}&pool_size=0", "", "MIDDLE_CORE_DATABASE_URL"),
        (f"{URL}&pool_size=-1", "", "MIDDLE_CORE_DATABASE_URL"),
        (f"{URL}&pgbouncer=yes", "", "MIDDLE_CORE_DATABASE_URL"),
        (URL, "sqlite:///canary.db", "MIDDLE_CORE_DATABASE_DIRECT_URL"),
        (URL, f"{URL}&pool_size=3", "MIDDLE_CORE_DATABASE_DIRECT_URL"),
    ],
)
def test_a_refusal_names_the_variable_and_hides_its_value(url: str, direct_url: str, variable: str) -> None:
    with pytest.raises(DatabaseRefused) as refused:
        address_of(url, direct_url)
    assert str(refused.value).startswith(variable)
    assert "canary" not in str(refused.value)
