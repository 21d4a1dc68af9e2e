"""The OpenAPI document of /chat: the published file is what the code makes, and it is complete."""

from __future__ import annotations

import json
import re
from typing import Any

from middle_core.transports.chat import openapi as chat_openapi
from middle_core.transports.chat.schema import pretty
from tests.schema import SCHEMAS, routes


def document() -> dict[str, Any]:
    return chat_openapi.openapi(routes())


def test_the_published_document_is_the_codes() -> None:
    assert (SCHEMAS / chat_openapi.FILE).read_bytes() == pretty(document()), "another document is another VERSION; see `make schema`"


def test_both_representations_are_told() -> None:
    paths = document()["paths"]
    assert set(paths) == {"/chat", "/chat/{agent}", "/chat/resume", "/chat/runs/{run_id}/events"}
    for path in ("/chat", "/chat/{agent}", "/chat/resume"):
        operation = paths[path]["post"]
        content = operation["responses"]["200"]["content"]
        assert set(content) == {"application/json", "text/event-stream"}
        assert content["application/json"]["schema"] == {"$ref": "#/components/schemas/ChatResponse"}
        data = content["text/event-stream"]["itemSchema"]["properties"]["data"]
        assert data["contentSchema"] == {"$ref": "#/components/schemas/ChatEvent"}
        assert "requestBody" in operation
    assert set(paths["/chat/runs/{run_id}/events"]["get"]["responses"]["200"]["content"]) == {"text/event-stream"}


def test_every_reference_leads_somewhere() -> None:
    found = document()
    names = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(found)))
    assert names <= set(found["components"]["schemas"])
    assert "$defs" not in json.dumps(found)
