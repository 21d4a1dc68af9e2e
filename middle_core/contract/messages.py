"""What of ours stands in an AG-UI message's `metadata`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from middle_core.contract.cards import MARK, DecidedCard
from middle_core.contract.outcomes import CallOutcome
from middle_core.contract.wire import Absent, Camel
from middle_core.events import OUTCOME

CutOffReason = TypeAliasType("CutOffReason", Literal["length", "context", "filtered", "paused", "failed", "empty"])
"""Why an answer of a model is not whole.

length: the most tokens that an answer may have. context: the conversation fills the model's context. filtered: a filter of the model's
provider. paused: the provider paused a long turn. failed: the provider broke it off. empty: the model ended without an answer.
"""


class MessageMetadata(Camel):
    """stopped: an answer that was cut short. interrupted: and nobody stopped it; the run failed, or its server went away.
    cut_off: an answer that the model itself, or its provider, did not end; see `CutOffReason`.

    The other two stand at a tool call's result: what became of the call, and the card of an approval that is over.
    """

    stopped: Absent[Literal[True]] = None
    interrupted: Absent[Literal[True]] = None
    cut_off: Absent[CutOffReason] = None
    outcome: Absent[CallOutcome] = Field(default=None, alias=OUTCOME)
    card: Absent[DecidedCard] = Field(default=None, alias=MARK)
