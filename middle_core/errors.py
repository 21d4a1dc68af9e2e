"""The error tree. Each leaf has a stable code, an HTTP status and words for people.

    MiddleCoreError                    500 internal
    ├── Unauthorized                   401 unauthorized
    ├── Forbidden                      403 forbidden
    ├── NotFound                       404 not_found
    ├── ThreadBusy                     409 thread_busy
    ├── InvalidRequest                 422 invalid_request
    │   ├── InvalidCursor              400 invalid_request
    │   └── RunIdConflict              409 invalid_request
    ├── TooLarge                       413 too_large
    ├── RateLimited                    429 rate_limited
    ├── InterruptUnknown               404 interrupt_unknown
    ├── ModelError
    │   ├── ModelRateLimited           429 model_rate_limited
    │   ├── ModelUnavailable           503 model_unavailable
    │   ├── ModelContextTooLong        422 model_context_too_long
    │   ├── ModelBadRequest            502 model_bad_request
    │   └── ModelStreamCut             502 model_stream_cut
    ├── BackendUnavailable             503 backend_unavailable
    ├── RunLost                        503 run_lost
    ├── Draining                       503 draining
    ├── StoreUnavailable               503 internal
    ├── Superseded                     500 internal (never leaves the engine)
    └── Unclaimed                      500 internal (never leaves the engine)

`detail` is for people and for clients: it never carries an exception's text, a secret or a path.
The cause goes to the log through `raise ... from`. This module renders nothing: `transports.http.problems`
makes problem+json of it, `agui.gate` makes RUN_ERROR of it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar


class ErrorCode(StrEnum):
    """Every `code` that an answer or RUN_ERROR may carry. Clients decide by it, so none is ever renamed."""

    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    THREAD_BUSY = "thread_busy"
    INVALID_REQUEST = "invalid_request"
    TOO_LARGE = "too_large"
    RATE_LIMITED = "rate_limited"
    INTERRUPT_UNKNOWN = "interrupt_unknown"
    MODEL_RATE_LIMITED = "model_rate_limited"
    MODEL_UNAVAILABLE = "model_unavailable"
    MODEL_CONTEXT_TOO_LONG = "model_context_too_long"
    MODEL_BAD_REQUEST = "model_bad_request"
    MODEL_STREAM_CUT = "model_stream_cut"
    BACKEND_UNAVAILABLE = "backend_unavailable"
    RUN_LOST = "run_lost"
    DRAINING = "draining"
    INTERNAL = "internal"


class MiddleCoreError(Exception):
    """Something went wrong here; the details are in the log under the correlation id."""

    code: ClassVar[ErrorCode] = ErrorCode.INTERNAL
    status: ClassVar[int] = 500
    title: ClassVar[str] = "Something went wrong"

    def __init__(self, detail: str | None = None, *, retry_after: float | None = None) -> None:
        self.detail = detail if detail is not None else (type(self).__doc__ or "").strip()
        self.retry_after = retry_after
        """Seconds after which a retry makes sense, where that is known."""
        super().__init__(self.detail)


class Unauthorized(MiddleCoreError):
    """Sign in again: the token is missing, expired or not valid here."""

    code = ErrorCode.UNAUTHORIZED
    status = 401
    title = "Not signed in"


class Forbidden(MiddleCoreError):
    """Your role does not allow this."""

    code = ErrorCode.FORBIDDEN
    status = 403
    title = "Not allowed"


class NotFound(MiddleCoreError):
    """There is no such thing, or it is not yours."""

    code = ErrorCode.NOT_FOUND
    status = 404
    title = "Not found"


class ThreadBusy(MiddleCoreError):
    """This conversation is still answering. Wait for the answer or stop it first."""

    code = ErrorCode.THREAD_BUSY
    status = 409
    title = "Still answering"


class InvalidRequest(MiddleCoreError):
    """The request is not valid."""

    code = ErrorCode.INVALID_REQUEST
    status = 422
    title = "Invalid request"


class InvalidCursor(InvalidRequest):
    """Last-Event-ID is not a place in this run. Attach again without it to start from the beginning."""

    status = 400


class RunIdConflict(InvalidRequest):
    """This runId was used with another input. Use a fresh runId for each new turn."""

    status = 409


class TooLarge(MiddleCoreError):
    """The request is larger than this server accepts."""

    code = ErrorCode.TOO_LARGE
    status = 413
    title = "Too large"


class RateLimited(MiddleCoreError):
    """Too many requests. Try again in a moment."""

    code = ErrorCode.RATE_LIMITED
    status = 429
    title = "Too many requests"


class InterruptUnknown(MiddleCoreError):
    """There is no such open question in this conversation."""

    code = ErrorCode.INTERRUPT_UNKNOWN
    status = 404
    title = "Unknown question"


class ModelError(MiddleCoreError):
    """The language model failed."""

    code = ErrorCode.MODEL_UNAVAILABLE
    status = 503
    title = "The model failed"


class ModelRateLimited(ModelError):
    """The language model is at its limit. Try again in a moment."""

    code = ErrorCode.MODEL_RATE_LIMITED
    status = 429


class ModelUnavailable(ModelError):
    """The language model cannot be reached right now. Try again in a moment."""

    code = ErrorCode.MODEL_UNAVAILABLE
    status = 503


class ModelContextTooLong(ModelError):
    """This conversation is too long for the model. Start a new one."""

    code = ErrorCode.MODEL_CONTEXT_TOO_LONG
    status = 422


class ModelBadRequest(ModelError):
    """The language model refused the request. This is a fault of the server, not yours."""

    code = ErrorCode.MODEL_BAD_REQUEST
    status = 502


class ModelStreamCut(ModelError):
    """The answer broke off on its way from the model. Ask again."""

    code = ErrorCode.MODEL_STREAM_CUT
    status = 502


class BackendUnavailable(MiddleCoreError):
    """The knowledge service cannot be reached right now. Try again in a moment."""

    code = ErrorCode.BACKEND_UNAVAILABLE
    status = 503
    title = "Service unavailable"


class RunLost(MiddleCoreError):
    """The server was restarted during this answer. What was written is kept; ask again to go on."""

    code = ErrorCode.RUN_LOST
    status = 503
    title = "Answer interrupted"


class Draining(MiddleCoreError):
    """The server is restarting. Try again in a moment."""

    code = ErrorCode.DRAINING
    status = 503
    title = "Restarting"


class StoreUnavailable(MiddleCoreError):
    """The server cannot use its database right now. Try again in a moment."""

    status = 503
    title = "Service unavailable"


class Superseded(MiddleCoreError):
    """Another attempt owns this run now, or it is over; nothing of this one may be written any more."""


class Unclaimed(MiddleCoreError):
    """A checkpoint may be written by the run that holds its thread's claim only; this code runs outside of it."""
