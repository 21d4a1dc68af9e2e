"""Server-sent events: frames to bytes, and bytes to frames (WHATWG HTML, section 9.2).

Pure, bytes in and bytes out. It knows no event vocabulary and never looks inside `data`: only CR and LF
end a line; U+0085, U+2028 and U+2029 are text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

MAX_FRAME_BYTES: Final = 16 * 1024 * 1024
_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_FORBIDDEN: Final = re.compile(r"[\r\n\0]")
_BOM: Final = b"\xef\xbb\xbf"


def encode_frame(data: bytes, *, id: str | None = None, event: str | None = None, retry: int | None = None) -> bytes:  # noqa: A002 - the field's name in the standard
    """One frame. retry: milliseconds.

    A line end of any kind in `data` becomes a further `data:` line, so it arrives as LF.
    Raises `ValueError` for CR, LF or NUL in `id` or `event`, and for a negative `retry`.
    """
    head = b""
    if event is not None:
        head += b"event: " + _one_line("event", event) + b"\n"
    if id is not None:
        head += b"id: " + _one_line("id", id) + b"\n"
    if retry is not None:
        if retry < 0:
            raise ValueError(f"retry is {retry}; it must be a number of milliseconds, 0 or more")
        head += b"retry: %d\n" % retry
    if b"\n" in data or b"\r" in data:
        data = b"\ndata: ".join(_LINE_END.split(data))
    return b"%bdata: %b\n\n" % (head, data)


def comment(text: str) -> bytes:
    """A comment. Clients ignore it, and it keeps an idle connection open. Each line of the text is one comment line."""
    return b": " + b"\n: ".join(_LINE_END.split(text.encode())) + b"\n\n"


def _one_line(name: str, value: str) -> bytes:
    if _FORBIDDEN.search(value):
        raise ValueError(f"the SSE field {name} may not hold CR, LF or NUL")
    return value.encode()


@dataclass(frozen=True, slots=True)
class Frame:
    """One event as it arrived.

    Args:
        id: None if the frame has none.
        event: `message` if the frame has none.
        retry: milliseconds; None if the frame has none.
    """

    data: bytes
    id: str | None = None
    event: str = "message"
    retry: int | None = None


class FrameTooLong(ValueError):
    """A frame grew beyond the parser's bound; the connection should be closed."""


class SseParser:
    """Makes frames of bytes that arrive in any pieces.

    Like a browser it drops a frame that the end of the stream cuts off; `pending` says whether there is one.
    A frame without `data` is not an event, but its `id` still moves `last_event_id`.
    """

    def __init__(self, *, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self.last_event_id = ""
        self.comments = 0
        """Number of comment lines so far; most of them are heartbeats."""
        self._max = max_frame_bytes
        self._begun = False
        self._after_cr = False
        self._line: list[bytes] = []
        self._size = 0
        self._reset()

    def _reset(self) -> None:
        self._data: list[bytes] = []
        self._event = ""
        self._id: str | None = None
        self._retry: int | None = None
        self._size = 0

    @property
    def pending(self) -> bool:
        """Whether a frame has begun and not ended."""
        return bool(self._line or self._data or self._event or self._id is not None or self._retry is not None)

    def feed(self, chunk: bytes) -> list[Frame]:
        """The frames that this chunk completes. Raises `FrameTooLong`."""
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_cr = False
        if not chunk:
            return []
        self._after_cr = chunk.endswith(b"\r")
        *lines, rest = _LINE_END.split(chunk)
        frames = []
        for line in lines:
            whole = b"".join([*self._line, line])
            self._line.clear()
            frame = self._take(whole, len(line))
            if frame is not None:
                frames.append(frame)
        if rest:
            self._grow(len(rest))
            self._line.append(rest)
        return frames

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > self._max:
            raise FrameTooLong(f"an SSE frame has more than {self._max} bytes")

    def _take(self, line: bytes, size: int) -> Frame | None:
        self._grow(size)
        if not self._begun:
            self._begun = True
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not name:
            self.comments += 1
        elif name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._event = value.decode(errors="replace")
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode(errors="replace")
        elif name == b"retry" and value.isdigit():
            self._retry = int(value)
        return None

    def _dispatch(self) -> Frame | None:
        if (
            self._id is not None
        ):  # only at the end of the frame: a client that sent the id of a frame that was cut off would never get that frame
            self.last_event_id = self._id
        frame = Frame(b"\n".join(self._data), self._id, self._event or "message", self._retry) if self._data else None
        self._reset()
        return frame
