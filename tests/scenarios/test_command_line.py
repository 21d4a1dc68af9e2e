"""What the command line says when it cannot start: plain words, an exit status, and no secret."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from pathlib import Path

import pytest

from middle_core import __version__
from tests.fakes.process import ROOT, serve
from tests.fakes.tokens import ISSUER

SERVE = ["serve", "--port", "0"]
VERIFIED = {"MIDDLE_CORE_JWT_ISSUER": "i", "MIDDLE_CORE_JWT_AUDIENCE": "a"}
GOOD = {**VERIFIED, "MIDDLE_CORE_JWT_SECRET": "canary-secret-that-is-long-enough-for-it", "MIDDLE_CORE_BACKEND_URL": "none"}
NEEDED = {**VERIFIED, "MIDDLE_CORE_BACKEND_URL": "none"}
CLOSED = "postgresql://u:canary@127.0.0.1:1/db"
HERE = "tests.unit.agents.sample_graphs"

REFUSED = {
    "no verification": (SERVE, {}, 2, "MIDDLE_CORE_JWKS_URL"),
    "no model": (SERVE, {**GOOD, "MIDDLE_CORE_MODEL": ""}, 2, "CEREBRAS_API_KEY"),
    "no backend": (SERVE, {**GOOD, "MIDDLE_CORE_BACKEND_URL": ""}, 2, "MIDDLE_CORE_BACKEND_URL"),
    "a backend that is no address": (SERVE, {**GOOD, "MIDDLE_CORE_BACKEND_URL": "backend:8001"}, 3, "MIDDLE_CORE_BACKEND_URL: "),
    "a model that is none": (SERVE, {**GOOD, "MIDDLE_CORE_MODEL": "gpt"}, 3, "MIDDLE_CORE_MODEL is 'gpt'"),
    "a model without its key": (SERVE, {**GOOD, "MIDDLE_CORE_MODEL": "openai:x"}, 3, "OPENAI_API_KEY"),
    "a time that is no number": (SERVE, {**GOOD, "MIDDLE_CORE_HEARTBEAT_S": "abc"}, 2, "MIDDLE_CORE_HEARTBEAT_S: "),
    "a short secret": (SERVE, {**NEEDED, "MIDDLE_CORE_JWT_SECRET": "canary-short"}, 2, "MIDDLE_CORE_JWT_SECRET: "),
    "a key that is none": (SERVE, {**NEEDED, "MIDDLE_CORE_JWT_PUBLIC_KEY": "-----BEGIN canary"}, 2, "MIDDLE_CORE_JWT_PUBLIC_KEY: "),
    "a key set without TLS": (SERVE, {**NEEDED, "MIDDLE_CORE_JWKS_URL": "http://example.com/canary"}, 2, "MIDDLE_CORE_JWKS_URL: "),
    "a factory that fails": (SERVE, {**GOOD, "MIDDLE_CORE_AGENTS": f"crm={HERE}:lacks_a_setting"}, 3, "ValueError: MY_CRM_URL is not set"),
    "a factory that fails with a secret": (
        SERVE,
        {**GOOD, "MIDDLE_CORE_AGENTS": f"crm={HERE}:fails"},
        3,
        "RuntimeError: postgres://***@db",
    ),
    "a host that is not here": (["serve", "--host", "host.invalid", "--port", "0"], GOOD, 2, "--host"),
    "a dev server for the world": (["serve", "--host", "0.0.0.0"], {"MIDDLE_CORE_ENV": "dev"}, 2, "this machine only"),
    "a token without a folder": (["token", "--sub", "x"], {"MIDDLE_CORE_DATA_DIR": "/dev/null/x"}, 2, "MIDDLE_CORE_DATA_DIR"),
    "a folder that cannot be made": (SERVE, {**GOOD, "MIDDLE_CORE_DATA_DIR": "/dev/null/x"}, 3, "MIDDLE_CORE_DATA_DIR"),
    "another database": (SERVE, {**GOOD, "MIDDLE_CORE_DATABASE_URL": "mysql://u:canary@h/db"}, 3, "sqlite:///"),
    "a Postgres that is away": (
        SERVE,
        {**GOOD, "MIDDLE_CORE_DATABASE_URL": CLOSED},
        3,
        "The database of MIDDLE_CORE_DATABASE_URL cannot be",
    ),
    "a migration without its Postgres": (
        ["migrate"],
        {"MIDDLE_CORE_DATABASE_URL": CLOSED},
        2,
        "The database of MIDDLE_CORE_DATABASE_URL cannot",
    ),
    "a direct way that is none": (
        SERVE,
        {**GOOD, "MIDDLE_CORE_DATABASE_URL": CLOSED, "MIDDLE_CORE_DATABASE_DIRECT_URL": "u:canary@h"},
        3,
        "MIDDLE_CORE_DATABASE_DIRECT_URL is not",
    ),
    "a port that is none": (["serve", "--port", "99999"], GOOD, 2, "--port"),
    "a token for ever": (["token", "--sub", "x", "--ttl", "inf"], {}, 2, "--ttl"),
}


async def run(arguments: list[str], env: dict[str, str], folder: Path) -> tuple[int, str]:
    """The command's exit status and what it wrote."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "middle_core",
        *arguments,
        cwd=ROOT,
        env={"MIDDLE_CORE_DATA_DIR": str(folder), "MIDDLE_CORE_MODEL": "offline", "COLUMNS": "200", **env},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(60):
        output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode()


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
async def test_a_start_that_is_refused(tmp_path: Path, name: str) -> None:
    arguments, env, refused, words = REFUSED[name]
    status, output = await run(arguments, env, tmp_path)
    assert (status, "Traceback" in output) == (refused, False), output
    assert words in output
    assert "canary" not in output
    assert "hunter2" not in output


@pytest.mark.slow
async def test_a_port_in_use_is_told_before_the_database_is_touched(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        status, output = await run(["serve", "--port", str(port)], GOOD, tmp_path)
    assert (status, "Traceback" in output) == (2, False), output
    assert f"port {port} of 127.0.0.1 is in use" in output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
async def test_a_start_says_what_serves_and_which_variable_has_no_effect(tmp_path: Path) -> None:
    async with serve(tmp_path, env={"MIDDLE_CORE_HEARBEAT_S": "1"}) as server:
        lines = [json.loads(line) for line in server.output.splitlines()]
    assert any("Do you mean MIDDLE_CORE_HEARTBEAT_S?" in line["message"] for line in lines)
    [started] = [line for line in lines if line["message"] == "started"]
    told = {name: started[name] for name in ("version", "agents", "model", "store", "auth", "backend")}
    assert told == {
        "version": __version__,
        "agents": "knowledge_copilot (default)",
        "model": "offline",
        "store": f"sqlite:///{tmp_path}/middle-core.db",
        "auth": f"a shared secret, issuer {ISSUER}",
        "backend": "none",
    }
