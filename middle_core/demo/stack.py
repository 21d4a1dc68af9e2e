"""All parts on one machine, for `make run`: the stand-in backend-core, middle-core and the page.

It starts them, waits until they answer, prints one URL, starts a part that died again, and ends them all with itself.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx
import typer

READY_S: Final = 60.0
POLL_S: Final = 0.2
STOP_S: Final = 15.0
RESTARTS: Final = 20


@dataclass(slots=True)
class Part:
    """One child process."""

    name: str
    command: list[str]
    env: Mapping[str, str]
    probe: str
    process: subprocess.Popen[bytes] | None = None
    restarts: int = field(default=0)


class DevStack:
    """page_port: where the page is to be found; the other ports are taken as they are free."""

    def __init__(self, *, page_port: int, data_dir: Path) -> None:
        self._page_port = page_port
        self._data_dir = data_dir
        self._stopping = threading.Event()

    def run(self) -> int:
        """Run until a signal. Returns the exit status."""
        if not _free(self._page_port):
            typer.echo(f"Port {self._page_port} is taken. Choose another: PORT=3001 make run", err=True)
            return 2
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self._stopping.set())
        parts = self._parts()
        try:
            for part in parts:
                part.process = _spawn(part)
                if not self._answers(part):
                    return 1
            typer.echo(f"\n  middle-core is running:  http://127.0.0.1:{self._page_port}\n  Ctrl-C ends it.\n")
            return self._watch(parts)
        finally:
            _end(parts)

    def _parts(self) -> list[Part]:
        middle, backend = _port_near(8000, but=self._page_port), _port_near(8001, but=self._page_port)
        # Children inherit this process's environment: the one place besides settings.py that touches it.
        inherited = dict(os.environ)  # noqa: TID251 - passed on whole, nothing is read from it
        python = {
            "MIDDLE_CORE_DRAIN_S": "5",  # a person waits for it, and STOP_S must be longer
            **inherited,
            "MIDDLE_CORE_ENV": "dev",
            "MIDDLE_CORE_DATA_DIR": str(self._data_dir),
            "MIDDLE_CORE_BACKEND_URL": f"http://127.0.0.1:{backend}",
        }
        page = {
            **inherited,
            "MIDDLE_CORE_URL": f"http://127.0.0.1:{middle}",
            "PORT": str(self._page_port),
            "NEXT_TELEMETRY_DISABLED": "1",
            "FRONTEND_CORE_DIAG": "1",
        }
        module = [sys.executable, "-m", "middle_core"]
        node = shutil.which("node") or "node"
        return [
            Part(
                "backend-core (stand-in)", [*module, "demo-backend", "--port", str(backend)], python, f"http://127.0.0.1:{backend}/healthz"
            ),
            Part("middle-core", [*module, "serve", "--port", str(middle)], python, f"http://127.0.0.1:{middle}/readyz"),
            Part(
                "frontend-core",
                [
                    node,
                    "node_modules/next/dist/bin/next",
                    "start",
                    "frontend_core",
                    "--hostname",
                    "127.0.0.1",
                    "--port",
                    str(self._page_port),
                ],
                page,
                f"http://127.0.0.1:{self._page_port}/api/health",
            ),
        ]

    def _answers(self, part: Part) -> bool:
        """Wait until the part answers its probe. Says so if it does not."""

        def answered() -> bool:
            with contextlib.suppress(httpx.TransportError):
                return httpx.get(part.probe, timeout=5.0, trust_env=False).status_code < 500  # never by way of a proxy
            return False

        if _until(lambda: self._stopping.is_set() or _dead(part) or answered(), READY_S, self._stopping) and not _dead(part):
            return not self._stopping.is_set()
        typer.echo(f"{part.name} did not start. Its output is above.", err=True)
        return False

    def _watch(self, parts: list[Part]) -> int:
        """Until told to stop: a part that died is started again, so that its death can be tried out."""
        while not self._stopping.wait(POLL_S):
            for part in filter(_dead, parts):
                part.restarts += 1
                if part.restarts > RESTARTS:
                    typer.echo(f"{part.name} keeps dying; giving up. Its output is above.", err=True)
                    return 1
                typer.echo(f"{part.name} ended; starting it again.", err=True)
                part.process = _spawn(part)
        return 0


def _spawn(part: Part) -> subprocess.Popen[bytes]:
    # A session of its own: Ctrl-C at the terminal reaches this process alone, which then ends the parts in order.
    return subprocess.Popen(part.command, env=dict(part.env), start_new_session=True)  # noqa: S603 - our own commands


def _dead(part: Part) -> bool:
    return part.process is not None and part.process.poll() is not None


def _end(parts: list[Part]) -> None:
    """End the page first, so that no request meets a half-closed stack."""
    for part in reversed(parts):
        if part.process is None or part.process.poll() is not None:
            continue
        part.process.terminate()
        try:
            part.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            part.process.kill()
            part.process.wait()


def _until(condition: Callable[[], bool], within_s: float, tick: threading.Event) -> bool:
    for _ in range(int(within_s / POLL_S)):
        if condition():
            return True
        tick.wait(POLL_S)
    return condition()


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _port_near(wanted: int, *, but: int) -> int:
    """The wanted port, or any free one if it is taken. but: one that is meant for something else."""
    if wanted != but and _free(wanted):
        return wanted
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
