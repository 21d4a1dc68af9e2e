"""Every fault of the SDK and of the HTTP client has a translation, and the waits are read as documented."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from cerebras.cloud import sdk

from middle_core.errors import ModelError, ModelStreamCut, ModelUnavailable
from middle_core.models.cerebras.errors import FAULTS, StreamFault, is_transient, translate, wait_of

REQUEST = httpx.Request("POST", "https://api.cerebras.ai/v1/chat/completions")


def tree(root: type[BaseException]) -> Iterator[type[BaseException]]:
    yield root
    for kind in root.__subclasses__():
        yield from tree(kind)


SDK_FAULTS = sorted(set(tree(sdk.CerebrasError)), key=lambda kind: kind.__name__)
HTTP_KINDS = {kind for root in (httpx.HTTPError, httpx.StreamError) for kind in tree(root) if kind.__module__.startswith("httpx")}
HTTP_FAULTS = sorted(HTTP_KINDS, key=lambda kind: kind.__name__)


def make(kind: type[BaseException]) -> Exception:
    """An instance, by the constructor of its family."""
    response = httpx.Response(getattr(kind, "status_code", 418), request=REQUEST, json={"message": "secret"})
    anything: Any = kind
    if issubclass(kind, sdk.APIStatusError):
        made = anything("secret", response=response, body={"message": "secret"})
    elif issubclass(kind, sdk.APIResponseValidationError):
        made = anything(response, None)
    elif issubclass(kind, sdk.APITimeoutError):
        made = anything(REQUEST)
    elif issubclass(kind, sdk.APIConnectionError):
        made = anything(request=REQUEST)
    elif kind is sdk.APIError:
        made = anything("secret", REQUEST, body=None)
    elif issubclass(kind, httpx.HTTPStatusError):
        made = anything("secret", request=REQUEST, response=response)
    elif kind.__init__ not in {Exception.__init__, httpx.HTTPError.__init__, httpx.RequestError.__init__, httpx.StreamError.__init__}:
        made = anything()
    else:
        made = anything("secret")
    assert isinstance(made, Exception)
    return made


def test_the_trees_are_as_large_as_we_think():
    assert {name for name in sdk.__all__ if name.endswith("Error")} <= {kind.__name__ for kind in SDK_FAULTS}
    assert {httpx.ReadError, httpx.RemoteProtocolError, httpx.ReadTimeout, httpx.PoolTimeout} <= set(HTTP_FAULTS)


@pytest.mark.parametrize("kind", [*SDK_FAULTS, *HTTP_FAULTS, StreamFault])
def test_every_fault_is_caught_and_translated_without_its_text(kind: type[BaseException]):
    fault = make(kind)
    assert isinstance(fault, FAULTS)
    error = translate(fault)
    assert isinstance(error, ModelError)
    assert type(error) is not ModelError
    assert "secret" not in f"{error} {error.detail}"


@pytest.mark.parametrize("kind", [sdk.APIConnectionError, sdk.APITimeoutError])
def test_no_connection_is_unavailable(kind: type[BaseException]):
    assert isinstance(translate(make(kind)), ModelUnavailable)


@pytest.mark.parametrize("kind", HTTP_FAULTS)
def test_a_broken_body_is_a_cut_that_may_be_tried_again(kind: type[BaseException]):
    assert isinstance(translate(make(kind)), ModelStreamCut)
    assert is_transient(make(kind))


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 529])
def test_what_may_pass(status: int):
    response = httpx.Response(status, request=REQUEST)
    fault = sdk.APIStatusError("x", response=response, body=None)
    assert is_transient(fault) == (status in {408, 429, 500, 502, 503, 529})


@pytest.mark.parametrize(
    "body", [None, "text", ["list"], {"code": None, "message": None}, {"code": {"a": 1}, "message": ["x"]}, {"error": "x"}]
)
def test_any_error_body_is_survived(body: object):
    response = httpx.Response(400, request=REQUEST)
    assert translate(sdk.APIStatusError("x", response=response, body=body)).code == "model_bad_request"


DATE = "Wed, 21 Oct 2026 07:28:00 GMT"
LATER = "Wed, 21 Oct 2026 07:28:30 GMT"
SPENT = {"x-ratelimit-remaining-tokens-minute": "0", "x-ratelimit-reset-tokens-minute": "7.5"}
FRESH = {"x-ratelimit-remaining-tokens-minute": "100", "x-ratelimit-reset-tokens-minute": "7.5"}
DAY = {"x-ratelimit-remaining-requests-day": "0", "x-ratelimit-reset-requests-day": "33011.4"}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": LATER, "date": DATE}, 30.0),
        ({"retry-after": DATE, "date": LATER}, 0.0),
        ({"retry-after": LATER}, None),
        ({"retry-after": "soon", "date": DATE}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "3", **SPENT}, 3.0),
        (SPENT, 7.5),
        (FRESH, 7.5),
        ({**FRESH, **DAY}, 33011.4),
        ({**SPENT, **DAY}, 33011.4),
        ({"x-ratelimit-remaining-requests-day": "5", "x-ratelimit-reset-requests-day": "33011.4"}, None),
        ({}, None),
    ],
)
def test_how_long_to_wait_at_a_limit(headers: dict[str, str], seconds: float | None):
    assert wait_of(429, httpx.Headers(headers), {}) == seconds


def test_resets_say_nothing_about_other_troubles():
    assert wait_of(503, SPENT, {}) is None
    assert wait_of(429, SPENT, {"code": "queue_exceeded"}) is None
    assert wait_of(503, {"retry-after": "2"}, {}) == 2.0
