"""How an error leaves over HTTP: problem+json (RFC 9457), with a code that clients decide by."""

from __future__ import annotations

from middle_core.contract.wire import Absent, Plain
from middle_core.errors import ErrorCode


class Problem(Plain):
    """title and detail are for people, correlation_id is for the log. retry_after: seconds, where a retry makes sense then.

    RUN_ERROR says the same of an error in a stream: `code`, `message` (the detail), `correlationId` and `retryAfter`.
    """

    type: str = "about:blank"
    status: int
    code: ErrorCode
    title: str
    detail: str
    correlation_id: str
    retry_after: Absent[float] = None
