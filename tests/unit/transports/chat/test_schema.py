"""The published schema is the code's, and a published version never changes."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter

from middle_core.transports.chat import schema as chat_schema
from middle_core.transports.chat.events import ChatEvent
from middle_core.transports.chat.response import VERSION
from middle_core.transports.sse.frames import SseParser
from tests.unit.transports.chat.test_events import GOLDEN

SCHEMAS = Path(__file__).parents[4] / "docs" / "schema"
PUBLISHED = {
    "chat.v1.json": "4bc4d6d1f0f8f2e0f45fb3452ed246ab362ba32c4cafbd7c2b02d65c5f6c7c54",
    "chat.v1.openapi.json": "b490bddeccc6e61e721ecb18d25cafb74ee38d1050610f1f13201a5f05f704c4",
}
"""SHA-256 of each published file. A line is added with a version; once a release has carried a file, its line is never changed."""


def test_the_code_says_what_is_published() -> None:
    assert (SCHEMAS / chat_schema.FILE).read_bytes() == chat_schema.written(), "another schema is another VERSION; see `make schema`"


def test_what_was_published_stays_as_it_is() -> None:
    found = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in SCHEMAS.glob("chat.*.json")}
    assert found == PUBLISHED
    assert f"chat.v{VERSION}.json" in found


def test_the_schema_takes_every_event_and_refuses_others() -> None:
    validator = Draft202012Validator(chat_schema.schema())
    Draft202012Validator.check_schema(chat_schema.schema())
    events = [TypeAdapter[Any](dict).validate_json(frame.data) for frame in SseParser().feed((GOLDEN / "stream.v1.sse").read_bytes())]
    assert {event["type"] for event in events} >= {"graph_topology", "node_started", "node_completed", "paused", "token", "turn_completed"}
    for event in events:
        validator.validate(event)
        assert TypeAdapter[Any](ChatEvent).validate_python(event).model_dump(mode="json") == event
    for wrong in ({**events[0], "type": "other"}, {**events[0], "more": 1}, {key: events[0][key] for key in events[0] if key != "run_id"}):
        assert not validator.is_valid(wrong)


@pytest.mark.parametrize("name", ["ChatResponse", "ChatRequest", "ResumeRequest"])
def test_every_field_of_a_response_is_always_there(name: str) -> None:
    one = chat_schema.schema()["$defs"][name]
    if name == "ChatResponse":
        assert set(one["required"]) == set(one["properties"])
    assert one["additionalProperties"] is False
