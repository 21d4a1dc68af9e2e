"""The JSON Schema of `/chat`, made from the code: its events, its response, its requests.

A published version never changes: another schema needs another `VERSION`, and so another file.
"""

from __future__ import annotations

from typing import Any, Final

import orjson
from pydantic import TypeAdapter
from pydantic.json_schema import models_json_schema

from middle_core.transports.chat.events import ChatEvent
from middle_core.transports.chat.requests import ChatRequest, ResumeRequest
from middle_core.transports.chat.response import VERSION, ChatResponse

FILE: Final = f"chat.v{VERSION}.json"


def schema(ref_template: str = "#/$defs/{model}") -> dict[str, Any]:
    """A schema of an event's `data`; `$defs` has ChatResponse and every event and part by its name, and the two requests."""
    events = TypeAdapter[Any](ChatEvent).json_schema(mode="serialization", ref_template=ref_template)
    kinds = [(ChatResponse, "serialization"), (ChatRequest, "validation"), (ResumeRequest, "validation")]
    _, more = models_json_schema(kinds, ref_template=ref_template)  # type: ignore[arg-type]  # a list of literals is inferred as str
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:middle-core:chat:v{VERSION}",
        "title": "An event of /chat",
        **{key: value for key, value in events.items() if key != "$defs"},
        "$defs": {**events["$defs"], **more["$defs"]},
    }


def written() -> bytes:
    """The published file's bytes."""
    return pretty(schema())


def pretty(document: dict[str, Any]) -> bytes:
    """JSON that a person can read and a diff shows line by line."""
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
