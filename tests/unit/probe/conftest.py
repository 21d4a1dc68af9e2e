"""`/diag` alone behind a real uvicorn: all that the probe needs of middle-core."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from fastapi import FastAPI

from middle_core.auth.verify import secret_verifier
from middle_core.transports import diag, problems
from middle_core.transports.caller import Caller
from tests.fakes.http_server import serving
from tests.fakes.tokens import AUDIENCE, ISSUER, SECRET

KEY = "a-diag-key-for-tests"


@pytest.fixture
async def origin() -> AsyncIterator[str]:
    """Its URL."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    problems.install(app)
    timed = diag.Diag(heartbeat_s=0.2, draining=lambda: False)
    app.include_router(diag.router(timed, Caller(secret_verifier(SECRET, issuer=ISSUER, audience=AUDIENCE)), key=KEY))
    async with serving(app) as url:
        yield url
