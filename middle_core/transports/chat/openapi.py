"""How the routes of `/chat` stand in an OpenAPI document: both representations, the requests, the errors.

`make schema` writes what `openapi` makes into docs/schema, beside the JSON Schema. The stream is told with OpenAPI 3.2's `itemSchema`,
in the form that FastAPI gives its own event streams: the fields of a server-sent event, with the schema of what `data` holds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from fastapi import APIRouter, FastAPI

from middle_core.contract.problems import Problem
from middle_core.transports.chat import schema as chat_schema
from middle_core.transports.chat.response import VERSION
from middle_core.transports.http.negotiation import JSON, STREAM
from middle_core.transports.http.problems import MEDIA_TYPE

FILE: Final = f"chat.v{VERSION}.openapi.json"
_SCHEMAS: Final = "#/components/schemas/{model}"


def _ref(name: str) -> dict[str, str]:
    return {"$ref": _SCHEMAS.format(model=name)}


def _body(name: str) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {JSON: {"schema": _ref(name)}}}}


MESSAGE_BODY: Final = _body("ChatRequest")
RESUME_BODY: Final = _body("ResumeRequest")

_STREAM: Final = {
    STREAM: {
        "itemSchema": {
            "type": "object",
            "required": ["event", "data"],
            "properties": {
                "event": {"type": "string", "description": "The type of what `data` holds."},
                "id": {"type": "string", "description": "The cursor, `<run id>:<seq>`: what to send as Last-Event-ID."},
                "retry": {"type": "integer", "minimum": 0},
                "data": {"type": "string", "contentMediaType": JSON, "contentSchema": _ref("ChatEvent")},
            },
        }
    }
}
_PROBLEM: Final = {
    "description": "What hindered the turn before it began: the same in both representations.",
    "content": {MEDIA_TYPE: {"schema": _ref("Problem")}},
}

TURN: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "The turn, as `Accept` says.", "content": {JSON: {"schema": _ref("ChatResponse")}, **_STREAM}},
    "4XX": _PROBLEM,
    "5XX": _PROBLEM,
}
EVENTS: Final[dict[int | str, dict[str, Any]]] = {**TURN, 200: {"description": "The turn from the cursor on.", "content": _STREAM}}


def openapi(routes: APIRouter) -> dict[str, Any]:
    """The document of these routes alone, whole in itself."""
    app = FastAPI(title="middle-core: /chat", version=VERSION)
    app.include_router(routes)
    document = app.openapi()
    event = chat_schema.schema(_SCHEMAS)
    problem = Problem.model_json_schema(mode="serialization", ref_template=_SCHEMAS)
    schemas = {**problem.pop("$defs"), **event.pop("$defs"), "Problem": problem}
    schemas["ChatEvent"] = {key: event[key] for key in event if not key.startswith("$")}
    kept = {name: one for name, one in document.get("components", {}).get("schemas", {}).items() if "Validation" not in name}
    for operation in (one for path in document["paths"].values() for one in path.values()):
        operation["responses"].pop("422", None)  # FastAPI's own, which is never sent: `problems` renders it
        operation["security"] = [{"jwt": []}]
    security = {"jwt": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}}
    return {**document, "openapi": "3.2.0", "components": {"schemas": {**kept, **schemas}, "securitySchemes": security}}


def write(folder: Path, routes: APIRouter) -> None:
    """Both files, for docs/schema."""
    (folder / chat_schema.FILE).write_bytes(chat_schema.written())
    (folder / FILE).write_bytes(chat_schema.pretty(openapi(routes)))
