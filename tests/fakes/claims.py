"""Under which claim a test writes checkpoints: it sets `CLAIM` and opens its store with `claim=CLAIM.get`."""

from __future__ import annotations

from contextvars import ContextVar

from middle_core.eventlog.records import Claim

CLAIM: ContextVar[Claim | None] = ContextVar("test_claim", default=None)
