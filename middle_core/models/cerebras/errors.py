"""Faults of the Cerebras SDK and of the HTTP stream, translated into the errors of `middle_core.errors`.

Pure. Every text that a person sees is written here. What the provider wrote stays in the chained cause, for the log.
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
    """The answer began with HTTP 200, but its body is cut off or is not JSON."""


class StreamedError(Exception):
    """The answer began with HTTP 200, and its stream then held an error object."""

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        super().__init__(f"{status}: {body}")
        self.status = status
        self.body = body


FAULTS = (CerebrasError, httpx.HTTPError, httpx.StreamError, StreamFault, StreamedError)
"""Every exception that a request to the provider may raise, except cancellation and faults of our own code."""


def translate(fault: Exception) -> ModelError:
    """The typed error for one of `FAULTS`, with `retry_after` if the provider named a time."""
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
"""Refusals that only the operator of this server can resolve, by status."""


def by_status(status: int, headers: Mapping[str, str], body: object) -> ModelError:
    """The typed error for an answer that is no success.

    Args:
        status: the HTTP status.
        headers: the answer's headers, by lower-case name.
        body: the parsed body; usually an object with `code` and `message`.
    """
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
    """Seconds until a retry makes sense, or None if the answer does not say.

    `Retry-After` counts first: seconds, or a date that is compared with the answer's own `Date`. Without it, the reset time of a
    limit that is used up counts. Every answer carries reset times, so they are read at status 429 only, and not when the
    provider's queue is full.

    Args:
        status: the HTTP status.
        headers: the answer's headers, by lower-case name.
        body: the error object of the answer.
    """
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    if after := headers.get("retry-after"):
        return _number(after) if _number(after) is not None else _until(after, headers.get("date"))
    if status != 429 or body.get("code") == "queue_exceeded":
        return None
    resets = {name: _number(headers.get(f"x-ratelimit-reset-{name}")) for name in ("tokens-minute", "requests-day")}
    used_up = [wait for name, wait in resets.items() if wait is not None and _number(headers.get(f"x-ratelimit-remaining-{name}")) == 0]
    # A request may need more tokens than the minute has left although no limit is at zero. Then the minute's reset counts.
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
