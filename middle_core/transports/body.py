"""Read a request's JSON body, bounded: what is too large is refused before it is in memory."""

from __future__ import annotations

from starlette.requests import ClientDisconnect, Request

from middle_core.errors import InvalidRequest, TooLarge


async def read_json_bytes(request: Request, *, max_bytes: int) -> bytes:
    """The raw body. Raises TooLarge beyond `max_bytes`, InvalidRequest for another media type or a broken upload."""
    media_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if media_type != "application/json":
        raise InvalidRequest("Send the body as application/json.")
    too_large = TooLarge(f"The request is larger than the {max_bytes} bytes this server accepts.")
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > max_bytes:
        raise too_large
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > max_bytes:
                raise too_large
    except ClientDisconnect as cause:
        raise InvalidRequest("The upload broke off.") from cause
    return bytes(body)
