"""Faults of the Cerebras SDK and of the HTTP stream, translated once into our error tree.

Pure. Texts are for people and ours: nothing the provider wrote is shown; it stays in the chained cause, for the log.
Status codes: https://inference-docs.cerebras.ai/support/error, rate-limit headers: https://inference-docs.cerebras.ai/support/rate-limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
from cerebras.cloud.sdk import APIError, APIStatusError, CerebrasError

from middle_core.errors import ModelBadRequest, ModelContextTooLong, ModelError, ModelRateLimited, ModelStreamCut, ModelUnavailable


class StreamFault(Exception):
    """The body of an answer that began with HTTP 200 is not what it should be: cut off, or not JSON."""


class StreamedError(Exception):
    """The provider put an error object into a stream that began with HTTP 200."""

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        super().__init__(f"{status}: {body}")
        self.status = status
        self.body = body


FAULTS = (CerebrasError, httpx.HTTPError, httpx.StreamError, StreamFault, StreamedError)
"""Everything that talking to the provider may raise, apart from cancellation and our own mistakes."""


def translate(fault: Exception) -> ModelError:
    """The typed error for one of `FAULTS`; `retry_after` is set where the provider said it."""
    match fault:
        case APIStatusError():
            return by_status(fault.status_code, fault.response.headers, fault.body)
        case StreamedError():
            return by_status(fault.status, {}, fault.body)
        case APIError() | CerebrasError():
            return ModelUnavailable()
    return ModelStreamCut()


def is_transient(fault: Exception) -> bool:
    """Whether the same request may succeed a moment later."""
    match fault:
        case APIStatusError():
            return fault.response.headers.get("x-should-retry") != "false" and _may_pass(fault.status_code)
        case StreamedError():
            return _may_pass(fault.status)
    return True


def _may_pass(status: int) -> bool:
    return status in {408, 429} or status >= 500


KEY_REFUSED = "The language model refuses this server's key. Its operator has to set a valid one."
OPERATOR: Mapping[int, str] = {
    401: KEY_REFUSED,
    402: "This server's account with the language model is used up. Its operator has to top it up.",
    403: KEY_REFUSED,
    404: "The language model this server asks for does not exist. Its operator has to choose another.",
}
"""Refusals that only the operator can mend."""


def by_status(status: int, headers: Mapping[str, str], body: object) -> ModelError:
    """The typed error for an HTTP status, its headers and an error body that has `code` and `message` where all is well."""
    body = body if isinstance(body, Mapping) else {}
    code, message = str(body.get("code") or ""), str(body.get("message") or "").lower()
    wait = wait_of(status, headers, body)
    if status == 429:
        return ModelRateLimited(retry_after=wait)
    if _may_pass(status):
        return ModelUnavailable(retry_after=wait)
    if status == 413 or code == "context_length_exceeded" or "reduce the length" in message:
        return ModelContextTooLong()
    if "failed to generate" in message:
        return ModelBadRequest("The language model could not form a valid tool call. Ask again, perhaps in other words.")
    return ModelBadRequest(OPERATOR.get(status))


def wait_of(status: int, headers: Mapping[str, str], body: Mapping[str, Any]) -> float | None:
    """Seconds until a retry makes sense: Retry-After (seconds, or a date against the response's own Date); for a limit that is used up,
    else its reset. Every response carries the resets, so they mean something beside 429 only, and not when the queue is full.
    `headers` looks names up in lower case.
    """
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    if after := headers.get("retry-after"):
        return _number(after) if _number(after) is not None else _until(after, headers.get("date"))
    if status != 429 or body.get("code") == "queue_exceeded":
        return None
    resets = {name: _number(headers.get(f"x-ratelimit-reset-{name}")) for name in ("tokens-minute", "requests-day")}
    used_up = [wait for name, wait in resets.items() if wait is not None and _number(headers.get(f"x-ratelimit-remaining-{name}")) == 0]
    # A request can ask for more tokens than are left without any limit being at zero: then the minute's reset is the answer.
    return max(used_up, default=resets["tokens-minute"])


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _until(then: str, now: str | None) -> float | None:
    try:
        return max(0.0, (parsedate_to_datetime(then) - parsedate_to_datetime(now or "")).total_seconds())
    except (ValueError, TypeError):
        return None
