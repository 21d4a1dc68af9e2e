"""A real PgBouncer in transaction mode before the tests' Postgres, on a socket, with fewer server connections than it has clients."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import parse_qs, urlsplit

import psycopg

from tests.fakes.ports import free_port
from tests.fakes.postgres import PostgresServer
from tests.fakes.until import until_asked
from tests.integration.hops import environment, program

SERVER_CONNECTIONS = 3
CONFIG = """
[databases]
{name} = host={host} dbname={name} user=postgres
[pgbouncer]
listen_addr =
listen_port = {port}
unix_socket_dir = {folder}
auth_type = any
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 200
"""


@asynccontextmanager
async def pgbouncer(server: PostgresServer, url: str) -> AsyncIterator[str]:
    """The URL of the database behind a PgBouncer. The test is skipped where there is none."""
    path = program("pgbouncer")
    parts = urlsplit(url)
    folder, port = Path(mkdtemp(prefix="pgb")), free_port()  # a socket's path is short
    folder.chmod(0o777)
    config = folder / "pgbouncer.ini"
    host = parse_qs(parts.query)["host"][0]
    config.write_text(CONFIG.format(name=parts.path[1:], host=host, port=port, folder=folder, size=SERVER_CONNECTIONS), encoding="utf-8")
    process = await asyncio.create_subprocess_exec(path, "-q", str(config), env=environment(), user=server.user)
    through = f"postgresql://postgres@/{parts.path[1:]}?host={folder}&port={port}&pgbouncer=true"

    async def answers() -> bool:
        assert process.returncode is None, "PgBouncer did not start"
        try:
            async with await psycopg.AsyncConnection.connect(through.removesuffix("&pgbouncer=true"), prepare_threshold=None):
                return True
        except psycopg.OperationalError:
            return False

    try:
        await until_asked(answers, 10)
        yield through
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
        shutil.rmtree(folder)
