"""Errors over HTTP: the one place that renders problem+json (RFC 9457).

Every error leaves with a stable `code`, words for people and a correlation id; never with an exception's text.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from middle_core.contract.problems import Problem
from middle_core.errors import InvalidRequest, MiddleCoreError, NotFound, Unauthorized
from middle_core.transports.http.correlation import correlation_id

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"


def problem(error: MiddleCoreError, *, status: int | None = None) -> Response:
    """The response for an error of ours. status: replaces the error's own status."""
    body = Problem(
        status=status or error.status,
        code=error.code,
        title=error.title,
        detail=error.detail,
        correlation_id=correlation_id(),
        retry_after=error.retry_after,
    )
    headers: dict[str, str] = {"Cache-Control": "no-store"}
    if error.retry_after is not None:
        headers["Retry-After"] = str(math.ceil(error.retry_after))
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = 'Bearer error="invalid_token"'
    return Response(body.model_dump_json(), status_code=body.status, headers=headers, media_type=MEDIA_TYPE)


def invalid(error: ValidationError) -> InvalidRequest:
    """Pydantic's complaint as ours: it names the field and the rule, and never repeats the value."""
    return InvalidRequest(_first_complaint(error.errors(include_url=False, include_context=False, include_input=False)))


def install(app: FastAPI) -> None:
    """Render every error of the app here."""

    async def ours(_request: Request, error: Exception) -> Response:
        if not isinstance(error, MiddleCoreError):
            raise TypeError("registered for MiddleCoreError only") from error
        if error.status >= 500:
            logger.warning("request failed", extra={"code": error.code}, exc_info=error)
        return problem(error)

    async def validation(_request: Request, error: Exception) -> Response:
        if not isinstance(error, RequestValidationError):
            raise TypeError("registered for RequestValidationError only") from error
        return problem(InvalidRequest(_first_complaint(error.errors())))

    async def http(_request: Request, error: Exception) -> Response:
        if not isinstance(error, HTTPException):
            raise TypeError("registered for HTTPException only") from error
        if error.status_code == 404:
            return problem(NotFound("There is no such door here."))
        response = problem(InvalidRequest(str(error.detail)), status=error.status_code)
        for name, value in (error.headers or {}).items():
            response.headers[name] = value
        return response

    app.add_exception_handler(MiddleCoreError, ours)
    app.add_exception_handler(RequestValidationError, validation)
    app.add_exception_handler(HTTPException, http)


def _first_complaint(errors: Sequence[Any]) -> str:
    first = errors[0]
    where = ".".join(str(part) for part in first["loc"] if part not in {"body", "query", "path"}) or "the body"
    more = f" ({len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{where}: {first['msg']}{more}."
