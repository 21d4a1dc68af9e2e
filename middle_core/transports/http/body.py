"""Read a request's JSON body within limits. A body that is too large is refused before it is in memory; a slow one is cut off."""

from __future__ import annotations

import asyncio
from typing import Final

import orjson
from starlette.requests import ClientDisconnect, Request

from middle_core.errors import InvalidRequest, TooLarge

UPLOAD_S: Final = 60.0
"""Seconds for the whole body. uvicorn waits for ever, so each stalled upload would hold a connection."""


async def read_json_bytes(request: Request, *, max_bytes: int, within_s: float = UPLOAD_S) -> bytes:
    """The body, as `plain_json` writes it.

    Raises:
        TooLarge: the body has more than `max_bytes`.
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
    return plain_json(bytes(body))


def plain_json(body: bytes) -> bytes:
    """The same JSON, in a form that every parser reads in the same way. Raises InvalidRequest.

    `NaN` and numbers beyond a double are not JSON, although some parsers accept them. An integer beyond 64 bits becomes the
    double that a browser would read. The result can be logged, digested and stored.
    """
    try:
        return orjson.dumps(orjson.loads(body))
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(f"The body is not valid JSON: {error}.") from error
    except orjson.JSONEncodeError as error:
        raise InvalidRequest("The body is nested too deeply.") from error
