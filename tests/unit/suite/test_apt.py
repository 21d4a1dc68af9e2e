"""apt-get beside another apt: what is installed waits for dpkg's lock, and nothing else is shared."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import shutil
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

import pytest

from tests.apt import apt_get
from tests.integration.report import NOT_TESTED


@pytest.fixture
def repository(tmp_path: Path) -> dict[str, object]:
    """Settings for a repository with one package, on a system where nothing is installed."""
    if shutil.which("apt-get") is None:
        pytest.skip(f"{NOT_TESTED}apt-get, because this machine has none: nothing here will use it.")
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "x.deb").write_bytes(b"only fetched, never read")
    digest = hashlib.sha256((folder / "x.deb").read_bytes()).hexdigest()
    fields = {"Package": "x", "Version": "1", "Architecture": "all", "Filename": "./x.deb", "Size": "24", "SHA256": digest}
    (folder / "Packages").write_text("".join(f"{name}: {value}\n" for name, value in fields.items()), encoding="utf-8")
    (tmp_path / "sources.list").write_text(f"deb [trusted=yes] copy:{folder} ./\n", encoding="utf-8")
    (tmp_path / "dpkg").mkdir()
    (tmp_path / "dpkg" / "status").touch()
    return {
        "Dir::Etc::sourcelist": tmp_path / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::status": tmp_path / "dpkg" / "status",  # dpkg's locks lie beside it
    }


async def test_it_waits_while_another_holds_dpkgs_lock(tmp_path: Path, repository: dict[str, object]) -> None:
    apt = apt_get(tmp_path / "own", {**repository, "quiet": 0})  # quiet: apt tells that it waits
    with (tmp_path / "dpkg" / "lock-frontend").open("w") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        update = await asyncio.create_subprocess_exec(*apt, "update", stdout=PIPE, stderr=STDOUT)
        told, _ = await update.communicate()
        assert update.returncode == 0, told
        install = await asyncio.create_subprocess_exec(*apt, "install", "--download-only", "x", stdout=PIPE, stderr=STDOUT)
        assert install.stdout is not None
        assert b"Waiting for cache lock" in await install.stdout.readuntil(b"...")
    told, _ = await install.communicate()
    assert install.returncode == 0, told
    assert [one.name for one in (tmp_path / "own" / "archives").glob("*.deb")] == ["x_1_all.deb"]
