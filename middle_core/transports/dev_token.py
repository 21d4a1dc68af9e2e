"""`POST /dev/token`: sign in without an identity provider. It exists only in dev, and serves only this machine."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from middle_core.errors import NotFound

Mint = Callable[[str], dict[str, Any]]
"""Subject -> {token, expiresAt, subject, name, roles}. Raises NotFound for a person who is not in the demo."""


class SignIn(BaseModel):
    """The person to sign in as."""

    sub: str = Field(min_length=1, max_length=64)


def router(mint: Mint) -> APIRouter:
    """The route, bound to the dev issuer."""
    routes = APIRouter(prefix="/dev", tags=["dev"])

    @routes.post("/token")
    async def token(request: Request, asked: SignIn) -> dict[str, Any]:
        """A short-lived dev token for one of the demo's people."""
        host = request.client.host if request.client else ""
        try:
            local = ipaddress.ip_address(host).is_loopback
        except ValueError:
            local = False
        if not local:
            raise NotFound("There is no such door here.")
        return mint(asked.sub)

    return routes
