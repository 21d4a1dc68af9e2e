"""Checks that a stream keeps the contract: each value of ours in it is validated by its model in `middle_core.contract`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from middle_core.contract.cards import CARD_TOOL, MARK, Card, QuestionOver, Verdict
from middle_core.contract.custom import VALUES
from middle_core.contract.messages import MessageMetadata
from middle_core.errors import ErrorCode
from middle_core.events import QUESTION_ACTIVITY, Custom, Event


def breaches(events: Sequence[Event]) -> list[str]:
    """Where a stream, or a part of one, differs from the models, in words."""
    cards = {one["toolCallId"] for one in events if one["type"] == "TOOL_CALL_START" and one["toolCallName"] == CARD_TOOL}
    broken: list[str] = []
    for at, event in enumerate(events):
        for model, value in _values(event, cards):
            try:
                model.model_validate_json(json.dumps(value), strict=True)
            except ValidationError as error:
                broken.append(f"{at} {event.get('name', event['type'])}: {error}")
    return broken


def _values(event: Event, cards: set[str]) -> Iterator[tuple[type[BaseModel], Any]]:
    match event["type"]:
        case "CUSTOM" if event["name"].startswith("middle_core."):
            yield VALUES[Custom(event["name"])], event["value"]
        case "RUN_ERROR":
            yield _Coded, {"code": event["code"]}
        case "RUN_FINISHED":
            for asked in (event.get("outcome") or {}).get("interrupts", ()):
                if MARK in asked.get("metadata", {}):
                    yield Card, asked["metadata"][MARK]
        case "ACTIVITY_SNAPSHOT" if event["activityType"] == QUESTION_ACTIVITY:
            yield QuestionOver, event["content"]
        case "TOOL_CALL_ARGS" if event["toolCallId"] in cards:
            yield Card, json.loads(event["delta"])
        case "TOOL_CALL_RESULT":
            yield MessageMetadata, event.get("metadata", {})
            if event["toolCallId"] in cards:
                yield Verdict, json.loads(event["content"])
        case "MESSAGES_SNAPSHOT":
            for message in event["messages"]:
                yield from _of_message(message)


def _of_message(message: Event) -> Iterator[tuple[type[BaseModel], Any]]:
    yield MessageMetadata, message.get("metadata", {})
    if message["role"] == "activity" and message["activityType"] == QUESTION_ACTIVITY:
        yield QuestionOver, message["content"]
    for call in message.get("toolCalls", ()):
        if call["function"]["name"] == CARD_TOOL:
            yield Card, json.loads(call["function"]["arguments"])


class _Coded(BaseModel):
    code: ErrorCode
