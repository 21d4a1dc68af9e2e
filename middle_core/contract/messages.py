"""What of ours stands in an AG-UI message's `metadata`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from middle_core.contract.cards import MARK, DecidedCard
from middle_core.contract.outcomes import CallOutcome
from middle_core.contract.wire import Absent, Camel
from middle_core.events import OUTCOME


class MessageMetadata(Camel):
    """stopped: an answer that was cut short. interrupted: and nobody stopped it; the run failed, or its server went away.

    The other two stand at a tool call's result: what became of the call, and the card of an approval that is over.
    """

    stopped: Absent[Literal[True]] = None
    interrupted: Absent[Literal[True]] = None
    outcome: Absent[CallOutcome] = Field(default=None, alias=OUTCOME)
    card: Absent[DecidedCard] = Field(default=None, alias=MARK)
