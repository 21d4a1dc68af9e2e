"""Read a request's JSON body within limits. A body that is too large is refused before it is in memory; a slow one is cut off."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import orjson
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from middle_core.errors import InvalidRequest, TooLarge
from middle_core.transports.http.problems import invalid

UPLOAD_S: Final = 60.0
"""Seconds for the whole body. uvicorn waits for ever, so each stalled upload would hold a connection."""


ModelT = TypeVar("ModelT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class JsonBody:
    """A body, parsed.

    Args:
        digest: SHA-256 of the JSON, as hex. It does not depend on the order of keys or on white space.
    """

    value: Any
    digest: str


async def read_model(request: Request, kind: type[ModelT], *, max_bytes: int) -> tuple[ModelT, str]:
    """The body as a model, and the digest of the JSON. Raises InvalidRequest naming the field, and as `read_json`."""
    body = await read_json(request, max_bytes=max_bytes)
    try:
        return kind.model_validate(body.value), body.digest
    except ValidationError as error:
        raise invalid(error) from error


async def read_json(request: Request, *, max_bytes: int, within_s: float = UPLOAD_S) -> JsonBody:
    """The body, as `parse_json` reads it.

    Raises:
        TooLarge: it has more than `max_bytes`.
        InvalidRequest: another media type, a broken upload, or one that takes longer than `within_s`.
    """
    media_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if media_type != "application/json":
        raise InvalidRequest("Send the body as application/json.")
    too_large = TooLarge(f"The request is larger than the {max_bytes} bytes this server accepts.")
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > max_bytes:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(within_s):
            async for chunk in request.stream():
                body += chunk
                if len(body) > max_bytes:
                    raise too_large
    except TimeoutError as cause:
        raise InvalidRequest(f"The body did not arrive within {within_s:g} s. Send it again.") from cause
    except ClientDisconnect as cause:
        raise InvalidRequest("The upload broke off.") from cause
    return parse_json(bytes(body))


def parse_json(body: bytes) -> JsonBody:
    """JSON that every reader takes alike, so that it can be logged and stored. Raises InvalidRequest.

    `NaN` and numbers beyond a double are no JSON, though some parsers take them. An integer beyond 64 bits becomes the
    double that a browser would read.
    """
    try:
        value = orjson.loads(body)
        return JsonBody(value, hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest())
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(f"The body is not valid JSON: {error}.") from error
    except orjson.JSONEncodeError as error:  # what is not written can be read: a deeper nesting
        raise InvalidRequest("The body is nested too deeply.") from error
