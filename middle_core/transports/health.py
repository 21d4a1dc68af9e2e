"""`/healthz`: the process is alive. `/readyz`: it can take work. Both need no token and give no details."""

from __future__ import annotations

import logging

from fastapi import APIRouter
from starlette.responses import JSONResponse

from middle_core.runs.service import RunService

logger = logging.getLogger(__name__)


def router(service: RunService) -> APIRouter:
    """The routes, bound to the service."""
    routes = APIRouter(tags=["health"])

    @routes.get("/healthz")
    async def healthz() -> dict[str, str]:
        """The process is alive."""
        return {"status": "ok"}

    @routes.get("/readyz")
    async def readyz() -> JSONResponse:
        """The process can take work: it is not draining, and the log answers and takes writes."""
        if service.draining:
            return JSONResponse({"status": "draining"}, status_code=503)
        try:
            await service.ping()
        except Exception as error:
            logger.exception("not ready: the log does not answer, or takes no writes", exc_info=error)
            return JSONResponse({"status": "no database"}, status_code=503)
        return JSONResponse({"status": "ready"})

    return routes
