"""The socket that the server will listen on, taken before anything else is opened."""

from __future__ import annotations

import errno
import socket


def bound(host: str, port: int) -> socket.socket:
    """A socket at this address, which does not listen yet. A second server on the port is so refused before it opens the database.

    Args:
        host: a name or an address of this machine.
        port: 0 takes any that is free.

    Raises:
        ValueError: the text says what is wrong with the address, by the option's name.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        taken = socket.socket(family, kind, protocol)
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(address)
    except socket.gaierror as error:
        raise ValueError(f"--host: {host} is not an address of this machine ({error.strerror}).") from error
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ValueError(f"--port: port {port} of {host} is in use by another program. Stop it, or choose another port.") from error
        raise ValueError(f"--host, --port: cannot listen on {host}, port {port}: {error.strerror}.") from error
    return taken
