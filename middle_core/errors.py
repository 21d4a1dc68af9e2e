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
    ├── InterruptClosed                409 interrupt_closed
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

from typing import ClassVar


class MiddleCoreError(Exception):
    """Something went wrong here; the details are in the log under the correlation id."""

    code: ClassVar[str] = "internal"
    status: ClassVar[int] = 500
    title: ClassVar[str] = "Something went wrong"

    def __init__(self, detail: str | None = None, *, retry_after: float | None = None) -> None:
        self.detail = detail if detail is not None else (type(self).__doc__ or "").strip()
        self.retry_after = retry_after
        """Seconds after which a retry makes sense, where that is known."""
        super().__init__(self.detail)


class Unauthorized(MiddleCoreError):
    """Sign in again: the token is missing, expired or not valid here."""

    code = "unauthorized"
    status = 401
    title = "Not signed in"


class Forbidden(MiddleCoreError):
    """Your role does not allow this."""

    code = "forbidden"
    status = 403
    title = "Not allowed"


class NotFound(MiddleCoreError):
    """There is no such thing, or it is not yours."""

    code = "not_found"
    status = 404
    title = "Not found"


class ThreadBusy(MiddleCoreError):
    """This conversation is still answering. Wait for the answer or stop it first."""

    code = "thread_busy"
    status = 409
    title = "Still answering"


class InvalidRequest(MiddleCoreError):
    """The request is not valid."""

    code = "invalid_request"
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

    code = "too_large"
    status = 413
    title = "Too large"


class RateLimited(MiddleCoreError):
    """Too many requests. Try again in a moment."""

    code = "rate_limited"
    status = 429
    title = "Too many requests"


class InterruptUnknown(MiddleCoreError):
    """There is no such open question in this conversation."""

    code = "interrupt_unknown"
    status = 404
    title = "Unknown question"


class InterruptClosed(MiddleCoreError):
    """This question was already answered, withdrawn, or has expired."""

    code = "interrupt_closed"
    status = 409
    title = "Already decided"


class ModelError(MiddleCoreError):
    """The language model failed."""

    code = "model_unavailable"
    status = 503
    title = "The model failed"


class ModelRateLimited(ModelError):
    """The language model is at its limit. Try again in a moment."""

    code = "model_rate_limited"
    status = 429


class ModelUnavailable(ModelError):
    """The language model cannot be reached right now. Try again in a moment."""

    code = "model_unavailable"
    status = 503


class ModelContextTooLong(ModelError):
    """This conversation is too long for the model. Start a new one."""

    code = "model_context_too_long"
    status = 422


class ModelBadRequest(ModelError):
    """The language model refused the request. This is a fault of the server, not yours."""

    code = "model_bad_request"
    status = 502


class ModelStreamCut(ModelError):
    """The answer broke off on its way from the model. Ask again."""

    code = "model_stream_cut"
    status = 502


class BackendUnavailable(MiddleCoreError):
    """The knowledge service cannot be reached right now. Try again in a moment."""

    code = "backend_unavailable"
    status = 503
    title = "Service unavailable"


class RunLost(MiddleCoreError):
    """The server was restarted during this answer. What was written is kept; ask again to go on."""

    code = "run_lost"
    status = 503
    title = "Answer interrupted"


class Draining(MiddleCoreError):
    """The server is restarting. Try again in a moment."""

    code = "draining"
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
