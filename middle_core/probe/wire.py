"""One request for a stream, written down: when which bytes came, and when which events they completed.

Reads the raw bytes (`aiter_raw`) and decompresses them itself, piece by piece, so that a time is a piece's arrival and not a
decompressor's. HTTP/1.1 only: there closing the connection is what a browser's leaving is. It judges nothing.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
import zlib
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from middle_core.transports.sse.frames import Frame, FrameTooLong, SseParser

CONNECT_S: Final = 10.0
MAX_BYTES: Final = 16 * 1024 * 1024
MAX_FRAME_BYTES: Final = 1024 * 1024
MAX_BODY_BYTES: Final = 4096


class Unprobed(Exception):
    """The hop could not be probed; `words` say why and what to do."""

    def __init__(self, code: str, words: str) -> None:
        self.code, self.words = code, words
        super().__init__(words)


Decoder = Callable[[bytes], bytes]
"""Bytes in, as many bytes out as they make. Raises Undecodable."""


class Undecodable(Exception):
    """The bytes cannot be decompressed here; the text says why."""


@dataclass(slots=True)
class Taken:
    """A stream as it came. Times in ms since its request had been sent.

    end: how it ended. `ended` by the sender, `closed` or `reset` before its end, `left` by us, `patience` ours ran out.
    """

    status: int = 0
    http_version: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    asked_ms: float = 0.0
    """When its request had been sent, by this process's own clock."""
    connect_ms: float = 0.0
    headers_ms: float | None = None
    reads: list[tuple[float, int]] = field(default_factory=list)
    frames: list[tuple[float, Frame]] = field(default_factory=list)
    comments: list[float] = field(default_factory=list)
    body: str = ""
    """The beginning of an answer that is no event stream."""
    undecodable: str = ""
    """Why the events could not be read; the bytes were timed all the same."""
    end: str = ""
    end_ms: float = 0.0

    @property
    def streaming(self) -> bool:
        """Whether the answer is an event stream."""
        return self.status == 200 and "text/event-stream" in self.headers.get("content-type", "").lower()

    @property
    def last_ms(self) -> float:
        """When the last byte came; 0 if none did."""
        return self.reads[-1][0] if self.reads else self.headers_ms or 0.0


def encoding_of(taken: Taken) -> dict[str, str]:
    """The header that only a client who accepts compression gets."""
    return {name: value for name, value in taken.headers.items() if name == "content-encoding"}


async def gather(*work: Coroutine[Any, Any, Any]) -> list[Any]:
    """All of it side by side; the first failure cancels the rest and is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


def decoder(encoding: str | None) -> Decoder:
    """Raises Undecodable for an encoding that is not known here."""
    match (encoding or "identity").strip().lower():
        case "identity":
            return lambda data: data
        case "gzip" | "x-gzip":
            inflate = zlib.decompressobj(31)
            return _checked(lambda data: inflate.decompress(data, MAX_BYTES), zlib.error)
        case "deflate":
            inflate = zlib.decompressobj(15)
            return _checked(lambda data: inflate.decompress(data, MAX_BYTES), zlib.error)
        case "br":
            try:
                import brotli  # noqa: PLC0415 - an extra
            except ImportError:
                raise Undecodable("It is compressed with br, which takes the extra middle-core[probe] to read.") from None
            unpress = brotli.Decompressor()
            return _checked(lambda data: unpress.process(data, output_buffer_limit=MAX_BYTES), brotli.error)
        case other:
            raise Undecodable(f"It is compressed with {other[:20]!r}, which was not asked for.")


def _checked(decode: Decoder, error: type[Exception]) -> Decoder:
    def checked(data: bytes) -> bytes:
        try:
            return decode(data)
        except error as why:
            raise Undecodable("It is not compressed in the way that its Content-Encoding says.") from why

    return checked


async def take(
    client: httpx.AsyncClient,
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes | None = None,
    quiet_s: float,
    total_s: float,
    until: Callable[[Taken], bool] = lambda _: False,
) -> Taken:
    """The stream, to its end or `until` it holds what is wanted. quiet_s, total_s: our patience with a silence, and with all.

    Raises Unprobed where no answer came at all: refused, no such host, TLS, a timeout.
    """
    taken = Taken()
    begun = time.perf_counter()
    asked = begun

    async def trace(event: str, _info: Any) -> None:
        nonlocal asked
        if event == "connection.connect_tcp.complete":
            taken.connect_ms = (time.perf_counter() - begun) * 1000
        elif event == "http11.send_request_body.complete":
            asked = time.perf_counter()

    def now() -> float:
        return round((time.perf_counter() - asked) * 1000, 3)

    request = client.build_request(
        method,
        url,
        headers={**headers, "connection": "close"},
        content=body,
        timeout=httpx.Timeout(quiet_s, connect=CONNECT_S),
        extensions={"trace": trace},
    )
    response: httpx.Response | None = None
    try:
        async with asyncio.timeout(total_s):
            response = await client.send(request, stream=True)
            taken.headers_ms = now()
            taken.status, taken.http_version = response.status_code, response.http_version
            taken.headers = {name.lower(): value for name, value in response.headers.items()}
            await _read(response, taken, now, until)
            taken.end = taken.end or "ended"
    except (httpx.ReadTimeout, TimeoutError):
        taken.end = "patience"
    except httpx.RemoteProtocolError:
        taken.end = "closed"
    except (httpx.ReadError, httpx.WriteError):
        taken.end = "reset"
    except httpx.TransportError as error:
        raise Unprobed(*_why(error)) from error
    finally:
        taken.asked_ms, taken.end_ms = asked * 1000, now()
        if response is not None:
            await response.aclose()
    return taken


async def _read(response: httpx.Response, taken: Taken, now: Callable[[], float], until: Callable[[Taken], bool]) -> None:
    if not taken.streaming:
        raw = bytearray()
        async for piece in response.aiter_raw():
            raw += piece
            if len(raw) >= MAX_BODY_BYTES:
                break
        taken.body = bytes(raw[:MAX_BODY_BYTES]).decode(errors="replace")
        return
    size = 0
    reader = _Events(taken)
    async for piece in response.aiter_raw():
        at = now()
        taken.reads.append((at, len(piece)))
        size += reader.feed(at, piece)
        if size >= MAX_BYTES or until(taken):
            taken.end = "left"
            return


class _Events:
    """Puts events and comments into what is written down, each at the time of the piece that completes it."""

    def __init__(self, taken: Taken) -> None:
        self._taken = taken
        self._parser = SseParser(max_frame_bytes=MAX_FRAME_BYTES)
        try:
            self._decode = decoder(taken.headers.get("content-encoding"))
        except Undecodable as why:
            taken.undecodable = str(why)

    def feed(self, at: float, piece: bytes) -> int:
        """How many bytes it was, decompressed."""
        if self._taken.undecodable:
            return len(piece)
        comments = self._parser.comments
        try:
            text = self._decode(piece)
            self._taken.frames += [(at, frame) for frame in self._parser.feed(text)]
        except (Undecodable, FrameTooLong) as why:
            self._taken.undecodable = str(why)
            return len(piece)
        self._taken.comments += [at] * (self._parser.comments - comments)
        return len(text)


def _why(error: httpx.TransportError) -> tuple[str, str]:
    """Code and words. The chain of causes is asked, because httpx has one class for all of them."""
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in causes:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    if any(isinstance(one, ssl.SSLCertVerificationError) for one in causes):
        return "tls", "Its certificate is not trusted here. Name your own authority with --ca-file, or mend the certificate."
    if any(isinstance(one, ssl.SSLError) for one in causes):
        return "tls", "No TLS connection came about. Is it an https address, and that port's?"
    if any(isinstance(one, socket.gaierror) for one in causes):
        return "dns", "There is no host of that name. Look for a typing error; an internal name is known inside its network only."
    if isinstance(error, httpx.ConnectTimeout):
        return "connect", f"No connection within {CONNECT_S:.0f} s: a firewall, or a host that is down."
    if isinstance(error, httpx.ConnectError):
        return "connect", "The connection was refused: nothing listens there. Is the server up, and the port right?"
    return "transport", "The connection broke before an answer came."
