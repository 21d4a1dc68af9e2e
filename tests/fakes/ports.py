"""Free ports for servers of tests that run in other processes."""

from __future__ import annotations

import random
import socket
from contextlib import suppress
from typing import Final

PORTS: Final = range(20_000, 32_000)
"""Below those that the kernel gives to outgoing connections, so that none of these takes a port before its server listens."""

_given: set[int] = set()


def free_port() -> int:
    """A port that is free, and that this process has not been given before.

    Raises:
        RuntimeError: a hundred ports, chosen at random, are all taken.
    """
    for port in random.sample(PORTS, 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            if port not in _given:
                _given.add(port)
                return port
    raise RuntimeError(f"no free port between {PORTS.start} and {PORTS.stop}")
