"""The checker of the contract finds what is wrong, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from middle_core.events import Custom, custom
from tests.fakes.contract_rules import breaches

GOOD = custom(Custom.PROGRESS, label="Indexing", fraction=0.5, toolCallId=None)


def test_what_keeps_the_contract_passes() -> None:
    assert (
        breaches([GOOD, {"type": "CUSTOM", "name": "a_teams_own", "value": 7}, {"type": "RUN_ERROR", "message": "", "code": "internal"}])
        == []
    )


@pytest.mark.parametrize(
    "event",
    [
        custom(Custom.PROGRESS, label="Indexing", fraction="half", toolCallId=None),
        custom(Custom.PROGRESS, label="Indexing", fraction=0.5),
        custom(Custom.RUN_CANCELLED, by="user", reason="", more=1),
        {"type": "RUN_ERROR", "message": "", "code": "brand_new"},
        {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "m", "role": "assistant", "metadata": {"stopped": "yes"}}]},
        {"type": "ACTIVITY_SNAPSHOT", "activityType": "middle_core.question", "content": {"interruptId": "i"}},
        {"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": [{"id": "i", "metadata": {"middleCore": {}}}]}},
    ],
    ids=lambda event: event.get("name", event["type"]),
)
def test_what_breaks_it_is_found(event: dict[str, Any]) -> None:
    assert len(breaches([GOOD, event])) == 1
