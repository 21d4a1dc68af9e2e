"""Logs, configured once by `__main__`: one JSON object a line in production, plain lines in dev.

Every line passes `masking.mask`, exceptions included.
"""

from __future__ import annotations

import logging
import sys
import traceback
from typing import Any, Final

import orjson

from middle_core.masking import mask

_KNOWN: Final = frozenset(logging.LogRecord("", 0, "", 0, "", (), None).__dict__) | {"message", "asctime", "color_message", "taskName"}


class JsonFormatter(logging.Formatter):
    """A record as one JSON object: time, level, logger, message, the `extra` fields, and the exception if there is one."""

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
    """The same facts on one line for a person at a terminal, with the exception below."""

    def format(self, record: logging.LogRecord) -> str:
        extra = " ".join(f"{key}={value}" for key, value in record.__dict__.items() if key not in _KNOWN)
        return mask(f"{super().format(record)} {extra}".rstrip())


def configure(*, plain: bool, level: int = logging.INFO) -> None:
    """Send every log line to stderr in one form.

    httpx logs from `WARNING` on only, because it would log the URL of each request.

    Args:
        plain: lines for a terminal instead of JSON.
        level: the least level that is logged.
    """
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
