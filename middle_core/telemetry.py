"""Logs, configured once by `__main__`: one JSON object a line in production, plain lines in dev.

Whatever looks like a compact JWT, a provider key or the password in a URL is masked on its way out. That is the last net, not the
rule: nothing in this code base logs one.
"""

from __future__ import annotations

import logging
import re
import sys
import traceback
from typing import Any, Final

import orjson

SECRET: Final = re.compile(r"eyJ[\w-]{8,}\.[\w-]+\.[\w-]*|\b(?:csk|sk)-[\w-]{8,}|(?<=://)[^\s/:@]*:[^\s/@]+(?=@)")
_KNOWN: Final = frozenset(logging.LogRecord("", 0, "", 0, "", (), None).__dict__) | {"message", "asctime", "color_message", "taskName"}


def mask(text: str) -> str:
    """The text with every token-like part replaced by `***`."""
    return SECRET.sub("***", text)


class JsonFormatter(logging.Formatter):
    """A record as one JSON object: time, level, logger, message, the `extra` fields, and the exception if any."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": self.formatTime(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{key: value for key, value in record.__dict__.items() if key not in _KNOWN},
        }
        if record.exc_info:
            line["exception"] = "".join(traceback.format_exception(*record.exc_info))
        return mask(orjson.dumps(line, default=str).decode())


class PlainFormatter(logging.Formatter):
    """For a person at a terminal: the same facts on one line, the exception below."""

    def format(self, record: logging.LogRecord) -> str:
        extra = " ".join(f"{key}={value}" for key, value in record.__dict__.items() if key not in _KNOWN)
        return mask(f"{super().format(record)} {extra}".rstrip())


def configure(*, plain: bool, level: int = logging.INFO) -> None:
    """Send every log line to stderr in one form. httpx is quietened: it would log each request's URL."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PlainFormatter("%(levelname)-7s %(name)s: %(message)s") if plain else JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in ("httpx", "httpcore", "cerebras.cloud.sdk"):
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        chatty = logging.getLogger(name)
        chatty.handlers[:] = []
        chatty.propagate = True
    logging.getLogger("uvicorn.access").setLevel(logging.WARNING)
