"""The caller of a request: a verified principal from the Authorization header. Nothing else in a request names a person."""

from __future__ import annotations

from starlette.requests import Request

from middle_core.auth.principal import Principal
from middle_core.auth.verify import Verifier
from middle_core.errors import Unauthorized


class Caller:
    """A FastAPI dependency: the principal of this request. Raises Unauthorized before anything starts."""

    def __init__(self, verify: Verifier) -> None:
        self._verify = verify

    async def __call__(self, request: Request) -> Principal:
        values = request.headers.getlist("authorization")
        if len(values) != 1:
            raise Unauthorized("Send one Authorization header with a Bearer token.")
        scheme, _, token = values[0].partition(" ")
        if scheme.lower() != "bearer" or not token or token != token.strip():
            raise Unauthorized("Send the token as 'Authorization: Bearer <token>'.")
        return await self._verify(token)
