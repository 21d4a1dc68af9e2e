"""All parts on one machine, for `make run`: the stand-in backend-core, middle-core and the page.

It starts them, waits until they answer, says where they are, starts a part that died again, and ends them all with itself.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
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

from middle_core.demo.page import page_command, page_env

ROOT: Final = Path(__file__).parents[2]
READY_S: Final = 60.0
POLL_S: Final = 0.2
DRAIN_S: Final = 5
"""Seconds that a running answer gets at the end: a person waits for it."""
STOP_S: Final = 10.0
"""Seconds that a part gets at the end, the drain among them, before it is killed."""
PAGE_STOP_S: Final = 1.0
"""The page keeps nothing, and its server would wait for each open stream."""
RESTARTS: Final = 20
ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, a supervisor's stop, and a terminal that is closed."""
PR_SET_PDEATHSIG: Final = 1


@dataclass(slots=True)
class Part:
    """One child process."""

    name: str
    command: list[str]
    env: Mapping[str, str]
    probe: str
    stop_s: float = STOP_S
    process: subprocess.Popen[bytes] | None = None
    restarts: int = field(default=0)


class DevStack:
    """page_port: where the page is to be found; the other ports are taken as they are free."""

    def __init__(self, *, page_port: int, data_dir: Path) -> None:
        self._page_port = page_port
        self._data_dir = data_dir
        self._stopping = threading.Event()
        self._hurry = threading.Event()

    def run(self) -> int:
        """Run until a signal. Returns the exit status."""
        if not _free(self._page_port):
            typer.echo(f"Port {self._page_port} is taken. Choose another: PORT=3001 make run", err=True)
            return 2
        try:
            page = page_command(ROOT)
        except FileNotFoundError as error:
            typer.echo(str(error), err=True)
            return 2
        for number in ENDING:
            signal.signal(number, self._end)
        middle, backend = (_port_near(wanted, but=self._page_port) for wanted in (8000, 8001))
        parts = self._parts(page, middle, backend)
        try:
            for part in parts:
                part.process = _spawn(part)
            if not all(map(self._answers, parts)):
                return 0 if self._stopping.is_set() else 1
            typer.echo(_where(self._page_port, middle))
            return self._watch(parts)
        finally:
            _end(parts, self._hurry)

    def _end(self, *_: object) -> None:
        """A signal. The second one ends the waiting."""
        (self._hurry if self._stopping.is_set() else self._stopping).set()

    def _parts(self, page: list[str], middle: int, backend: int) -> list[Part]:
        # Children inherit this process's environment: the one place besides settings.py that touches it.
        inherited = dict(os.environ)  # noqa: TID251 - passed on whole, nothing is read from it
        python = {
            "MIDDLE_CORE_DRAIN_S": str(DRAIN_S),
            **inherited,
            "MIDDLE_CORE_ENV": "dev",
            "MIDDLE_CORE_DATA_DIR": str(self._data_dir),
            "MIDDLE_CORE_BACKEND_URL": f"http://127.0.0.1:{backend}",
        }
        web = {**inherited, **page_env(port=self._page_port, middle_core=f"http://127.0.0.1:{middle}"), "FRONTEND_CORE_DIAG": "1"}
        module = [sys.executable, "-m", "middle_core"]
        return [
            Part(
                "backend-core (stand-in)", [*module, "demo-backend", "--port", str(backend)], python, f"http://127.0.0.1:{backend}/healthz"
            ),
            Part("middle-core", [*module, "serve", "--port", str(middle)], python, f"http://127.0.0.1:{middle}/readyz"),
            Part("frontend-core", page, web, f"http://127.0.0.1:{self._page_port}/api/health", PAGE_STOP_S),
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


def _where(page: int, middle: int) -> str:
    """What a person has to know, in one block."""
    return f"""
  middle-core is running.

    The chat             http://127.0.0.1:{page}
    A turn, as a graph   http://127.0.0.1:{middle}/graph
    To stop it           Ctrl-C
"""


def _spawn(part: Part) -> subprocess.Popen[bytes]:
    # A session of its own: Ctrl-C at the terminal reaches this process alone, which then ends the parts in order.
    return subprocess.Popen(  # noqa: S603 - our own commands
        part.command,
        env=dict(part.env),
        start_new_session=True,
        preexec_fn=_die_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509 - no thread of this process holds a lock
    )


def _die_with_parent() -> None:
    """Let the kernel end the child should this process be killed, so that no part is left. Only Linux can."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _dead(part: Part) -> bool:
    return part.process is not None and part.process.poll() is not None


def _end(parts: list[Part], hurry: threading.Event) -> None:
    """End the page first, so that no request meets a half-closed stack. hurry: wait no longer."""
    for part in reversed(parts):
        if part.process is None:
            continue
        if not _dead(part):
            part.process.terminate()
            _until(lambda part=part: hurry.is_set() or _dead(part), part.stop_s, hurry)  # type: ignore[misc]  # mypy cannot type the default
        with contextlib.suppress(ProcessLookupError, PermissionError):  # nothing is left of it
            os.killpg(part.process.pid, signal.SIGKILL)  # its whole session, with what it started
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
