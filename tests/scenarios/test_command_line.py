"""What the command line says when it cannot start: plain words, an exit status, and no secret."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.fakes.process import ROOT

SERVE = ["serve", "--port", "0"]
VERIFIED = {"MIDDLE_CORE_JWT_ISSUER": "i", "MIDDLE_CORE_JWT_AUDIENCE": "a"}
GOOD = {**VERIFIED, "MIDDLE_CORE_JWT_SECRET": "canary-secret-that-is-long-enough-for-it"}

REFUSED = {
    "no verification": (SERVE, {}, 2, "MIDDLE_CORE_JWKS_URL"),
    "a short secret": (SERVE, {**VERIFIED, "MIDDLE_CORE_JWT_SECRET": "canary-short"}, 2, "32 bytes"),
    "a key that is none": (SERVE, {**VERIFIED, "MIDDLE_CORE_JWT_PUBLIC_KEY": "-----BEGIN canary"}, 2, "PEM"),
    "a key set without TLS": (SERVE, {**VERIFIED, "MIDDLE_CORE_JWKS_URL": "http://example.com/canary"}, 2, "https"),
    "a folder that cannot be made": (SERVE, {**GOOD, "MIDDLE_CORE_DATA_DIR": "/dev/null/x"}, 3, "MIDDLE_CORE_DATA_DIR"),
    "another database": (SERVE, {**GOOD, "MIDDLE_CORE_DATABASE_URL": "mysql://u:canary@h/db"}, 3, "sqlite:///"),
    "a port that is none": (["serve", "--port", "99999"], GOOD, 2, "--port"),
    "a token for ever": (["token", "--sub", "x", "--ttl", "inf"], {}, 2, "--ttl"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
async def test_a_start_that_is_refused(tmp_path: Path, name: str) -> None:
    arguments, env, status, words = REFUSED[name]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "middle_core",
        *arguments,
        cwd=ROOT,
        env={"MIDDLE_CORE_DATA_DIR": str(tmp_path), "MIDDLE_CORE_MODEL": "offline", "COLUMNS": "200", **env},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(60):
        output, _ = await process.communicate()
    assert (process.returncode, "Traceback" in output.decode()) == (status, False), output.decode()
    assert words in output.decode()
    assert "canary" not in output.decode()
