"""The browser's own client and ag-ui-validate check every whole stream that a scenario reads, in one batch for each module.

In every stream, the server's own values are checked against the contract.

A module marked `both_stores` runs on SQLite and on Postgres; the others run on SQLite, or on the one that `--store` names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from middle_core.events import TERMINAL
from tests.fakes.agui_verify import decode, verify_streams
from tests.fakes.contract_rules import breaches
from tests.fakes.postgres import PostgresServer
from tests.fakes.stack import DATABASES, READ


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    chosen = metafunc.config.getoption("store")
    both = metafunc.definition.get_closest_marker("both_stores") is not None
    if "store" in metafunc.fixturenames and (chosen or both):
        metafunc.parametrize("store", [chosen] if chosen else ["sqlite", "postgres"], indirect=True)


@pytest.fixture(autouse=True)
def store(request: pytest.FixtureRequest) -> Iterator[str]:
    """On which store the servers of the test are."""
    name: str = getattr(request, "param", "sqlite")
    if name == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        DATABASES.append(server.of)
    yield name
    DATABASES.clear()


@pytest.fixture(scope="module")
def judged() -> Iterator[dict[bytes, str]]:
    """The module's streams so far, each with the test that read it first. They are checked after the module's last test."""
    streams: dict[bytes, str] = {}
    yield streams
    verdicts = asyncio.run(verify_streams(list(streams))) if streams else []
    refused = {test: verdict for test, verdict in zip(streams.values(), verdicts, strict=True) if not verdict.ok}
    assert not refused, "\n".join(f"{test} read a stream that is refused: {one.error or one.findings}" for test, one in refused.items())


@pytest.fixture(autouse=True)
def _each_whole_stream(request: pytest.FixtureRequest, judged: dict[bytes, str]) -> Iterator[None]:
    READ.clear()
    yield
    broken = [one for raw in READ for one in breaches(decode(bytes(raw)))]
    for raw in READ:
        if whole(bytes(raw)):
            judged.setdefault(bytes(raw), request.node.name)
    READ.clear()
    assert broken == []


def whole(wire: bytes) -> bool:
    """Whether a stream has its run from the beginning to the end. A stream that a reader left, or joined late, is not checked."""
    types = [event["type"] for event in decode(wire)]
    return types[:1] == ["RUN_STARTED"] and not TERMINAL.isdisjoint(types)
