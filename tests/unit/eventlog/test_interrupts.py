"""What a row of a question says of itself."""

from __future__ import annotations

import pytest

from middle_core.eventlog.interrupts import Channel, Interrupt, InterruptKind, InterruptStatus
from middle_core.events import RunId, ThreadId


def row(status: InterruptStatus = InterruptStatus.PENDING, root_id: str = "") -> Interrupt:
    return Interrupt(
        thread_id=ThreadId("t"),
        interrupt_id="i",
        run_id=RunId("r"),
        kind=InterruptKind.APPROVAL,
        channel=Channel.INTERRUPT,
        tool_call_id="c",
        call_key="c",
        tool="delete",
        payload={},
        args_digest="",
        roles=(),
        root_id=root_id,
        status=status,
        created_at=0,
        expires_at=None,
        answer=None,
        answer_digest="",
        answered_by=None,
        answered_at=None,
        answer_run_id=None,
        outcome=None,
        ended_at=None,
        late=False,
        run_number=1,
        answer_run_number=None,
    )


@pytest.mark.parametrize("status", InterruptStatus)
def test_only_one_status_waits_for_an_answer(status: InterruptStatus) -> None:
    assert row(status).pending is (status is InterruptStatus.PENDING)


def test_an_action_that_is_asked_for_again_keeps_the_key_of_the_first_time() -> None:
    assert (row().idempotency_key, row(root_id="first").idempotency_key) == ("approval-i", "approval-first")
