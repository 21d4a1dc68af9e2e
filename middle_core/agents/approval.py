"""`@needs_approval`: a tool that a person must approve, with what exactly will be done before their eyes.

    @needs_approval(describe=describe_source, roles=("admin",), idempotent=True)
    @tool
    async def delete_source(source_id: str) -> str: ...

The first run of a call looks whether the caller may do it at all, lets `describe` look the object up as it is now, and stops
the graph with the card. The run that brings the answer runs the call again, and the row behind the card decides: what a resume
carries is not even looked at. The function runs at most once for each yes:

    approved        begun (a compare-and-set with the digest of the arguments), run, its outcome recorded
    edited          the same with the changed arguments, if they and the tool's schema agree; else the person is asked again
    rejected, withdrawn, expired    not run; the model is told in words
    executed        not run; the recorded outcome is the result
    indeterminate   begun before and cut off: tried again under the same Idempotency-Key where the tool is `idempotent`,
                    else the person is asked whether to try again

Works inside `agents.dispatch` only: another tool node has no ledger, and would run finished neighbours again.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, NoReturn

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langchain_core.tools import tool as as_tool
from langgraph.errors import GraphBubbleUp
from langgraph.types import interrupt
from pydantic import BaseModel, ValidationError

from middle_core.agents.approval_results import CHANGED, EXPIRED, LEFT_ALONE, NO_CARD, NOBODY, TOO_LARGE, invalid, settled, unknown
from middle_core.agents.calls import Call
from middle_core.agents.editable import Editable
from middle_core.agents.guard import current_call, invalid_arguments, repeatable
from middle_core.agents.tool_text import as_text
from middle_core.auth.access import clearly_lacks
from middle_core.contract.cards import MARK
from middle_core.contract.outcomes import DONE, OutcomeCode
from middle_core.errors import BackendUnavailable, Forbidden, MiddleCoreError, Superseded
from middle_core.eventlog.interrupts import InterruptStatus
from middle_core.node_api.approvals import (
    MAX_CARD_CHARS,
    Approval,
    Approvals,
    digest,
    edits_of,
    missing_role,
    plain,
)
from middle_core.node_api.context import run_context, within
from middle_core.node_api.outcomes import ToolResult, failure, metadata, outcome_of

logger = logging.getLogger(__name__)

EXAMPLES: Final = {"title": "Delete “Streams” permanently?", "confirm": "Delete permanently", "cancel": "Cancel", "kind": "action"}

RETRY_AFTER_S: Final = (0.2, 1.0)
"""Pauses before an idempotent action whose outcome is unknown is tried again, within one run."""

CUT_OFF: Final = "This was approved and begun, and cut off. Whether it took effect is not known. You can try it again, or leave it."


@dataclass(frozen=True, slots=True)
class Card:
    """What a person is shown, as the system knows it and never in the model's words.

        Card("Delete “Streams” permanently?", {"Name": "Streams", "Objects": 12}, confirm="Delete permanently", danger=True)

    Args:
        title: the question.
        facts: values by label, as they are now; numbers, texts, lists and other JSON.
        confirm: the word on the button that says yes.
        cancel: the word on the button that says no.
        danger: whether the action cannot be undone.
        kind: how the page draws it; `action` is drawn from the fields above.

    Raises:
        TypeError: a field is of another type. The text says which, and what it should be.
    """

    title: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    confirm: str = "Approve"
    cancel: str = "Cancel"
    danger: bool = False
    kind: str = "action"

    def __post_init__(self) -> None:
        for name in ("title", "confirm", "cancel", "kind"):
            if not (isinstance(value := getattr(self, name), str) and value.strip()):
                raise TypeError(f"Card({name}=...) is a text for people, such as {EXAMPLES[name]!r}; it was given {value!r:.80}.")
        facts: object = self.facts
        if not isinstance(facts, Mapping) or not all(isinstance(label, str) for label in facts):
            raise TypeError(
                "Card(facts=...) holds values by label, such as {'Name': 'Streams', 'Objects': 12}; "
                f"it was given a {type(facts).__name__}."
            )
        if not isinstance(self.danger, bool):
            raise TypeError(f"Card(danger=...) is True or False; it was given {self.danger!r:.80}.")


Describe = Callable[[Mapping[str, Any]], Awaitable[Card]]


def needs_approval(
    *,
    describe: Describe,
    roles: Sequence[str] = (),
    doing: str = "This",
    expires: float | None = None,
    editable: Sequence[str] = (),
    idempotent: bool = False,
) -> Callable[[BaseTool | Callable[..., Awaitable[Any]]], BaseTool]:
    """Guard a tool. Returns the tool; the name, the schema and the description stay.

    Args:
        describe: from the checked arguments to the card. What it raises is told to the model, and nobody is asked.
        roles: any of them may do this, so the others are not even asked. Empty: backend-core decides alone.
        doing: the action as the subject of a sentence, for people: "Deleting" makes "Deleting needs the role admin."
        expires: seconds, instead of the server's default.
        editable: arguments that the person may change: see `agents.editable`.
        idempotent: the function sends `node_api.approvals.idempotency_key()` along to a service that honours it.
    """

    def guard(made: BaseTool | Callable[..., Awaitable[Any]]) -> BaseTool:
        tool = made if isinstance(made, BaseTool) else as_tool(made)
        if not isinstance(tool, StructuredTool) or tool.coroutine is None:
            raise TypeError(f"@needs_approval guards tools with an async function; {tool.name} has none.")
        schema = tool.tool_call_schema
        if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
            raise TypeError(f"@needs_approval needs a tool with a pydantic schema; {tool.name} has a JSON schema.")
        if absent := set(editable) - schema.model_fields.keys():
            raise ValueError(f"@needs_approval: {tool.name} has no argument {', '.join(sorted(absent))}.")
        properties = schema.model_json_schema()
        try:
            changeable = tuple(Editable.of(name, properties) for name in editable)
        except ValueError as error:
            raise ValueError(f"@needs_approval: {tool.name}: {error}") from error
        action = _Action(tool, schema, tool.coroutine, describe, tuple(roles), doing, expires, changeable, idempotent)

        @functools.wraps(tool.coroutine)
        async def asked(*args: Any, **kwargs: Any) -> Any:
            return await action.run(args, kwargs)

        # The row, not the ledger, keeps a call from being done twice; the ledger must let it look at its row again.
        return repeatable(tool.model_copy(update={"coroutine": asked}))

    return guard


async def _described(made: object) -> Card:
    """What `describe` returned, if that is a card."""
    card = await made if inspect.isawaitable(made) else made
    if not isinstance(card, Card):
        raise TypeError(f"describe has to return a Card (middle_core.agents.approval); it returned a {type(card).__name__}.")
    return card


@dataclass(frozen=True, slots=True)
class _Action:
    tool: BaseTool
    schema: type[BaseModel]
    function: Callable[..., Awaitable[Any]]
    describe: Describe
    roles: tuple[str, ...]
    doing: str
    expires: float | None
    editable: tuple[Editable, ...]
    idempotent: bool

    async def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        approvals = run_context().approvals
        if approvals is None:
            return _message(NOBODY)
        call = current_call()
        given = plain(call.args or {})
        asked = await approvals.of_call(call.key)
        if asked is None:
            return await self._first(call, given)
        if asked.status is InterruptStatus.PENDING:
            _stop(asked.question)
        if (answer := settled(asked)) is not None:
            return _message(answer)
        if asked.stale and asked.status is not InterruptStatus.INDETERMINATE:
            await approvals.drop(asked, EXPIRED)
            return _message(EXPIRED if asked.root_id == asked.interrupt_id else LEFT_ALONE)
        if asked.status in {InterruptStatus.APPROVED, InterruptStatus.EDITED} or (
            asked.status is InterruptStatus.INDETERMINATE and self.idempotent and not asked.stale
        ):
            return await self._carry_out(approvals, asked, call, given, lambda changes: self.function(*args, **{**kwargs, **changes}))
        card = {**asked.question[MARK]["card"], "state": "unknown", "problem": CUT_OFF, "confirm": "Try again", "cancel": "Leave it"}
        edits = {**asked.question[MARK].get("edits", {}), **edits_of(asked.answer)}
        return _stop(self._question(call, given, card, root_id=asked.root_id, edits=edits))

    async def _first(self, call: Call, given: dict[str, Any]) -> Any:
        if refusal := self._refusal():
            return _message(refusal)
        if len(json.dumps(given, ensure_ascii=False)) > MAX_CARD_CHARS:
            return _message(TOO_LARGE)
        try:
            checked = self.schema.model_validate(given)
        except ValidationError as error:  # without its invisible characters it is not what the schema wants
            return _message(invalid_arguments(call, error))
        try:
            described = await _described(self.describe(checked.model_dump(mode="json")))
        except (MiddleCoreError, ToolException, GraphBubbleUp):
            raise  # words for the model
        except Exception as error:
            logger.exception("The card of %s cannot be made, so nobody is asked.", self.tool.name, exc_info=error)
            return _message(NO_CARD)
        card = {
            "kind": described.kind,
            "title": described.title,
            "facts": [{"label": label, "value": value} for label, value in described.facts.items()],
            "confirm": described.confirm,
            "cancel": described.cancel,
            "danger": described.danger,
            "state": "new",
        }
        return _stop(self._question(call, given, plain(card)))

    def _refusal(self) -> ToolResult | None:
        principal = run_context().caller
        if principal is None or not self.roles or not all(clearly_lacks(principal, role) for role in self.roles):
            return None
        return missing_role(self.roles, self.doing)

    def _question(
        self,
        call: Call,
        given: dict[str, Any],
        card: Mapping[str, Any],
        *,
        root_id: str = "",
        edits: Mapping[str, Any] = MappingProxyType({}),
    ) -> dict[str, Any]:
        """What the graph asks: an AG-UI interrupt's fields, and under `MARK` what the row needs.

        root_id, edits: of the question whose action this one would go on with, as it was approved; nothing of it is changed then.
        """
        editable = () if root_id else self.editable
        shown = {**given, **edits}
        properties = self.schema.model_json_schema()
        changes = {one.name: properties["properties"][one.name] for one in editable}
        answer: dict[str, Any] = {
            "type": "object",
            "properties": {"approved": {"type": "boolean"}, "comment": {"type": "string"}},
            "required": ["approved"],
        }
        if changes:
            answer["properties"]["edits"] = {"type": "object", "properties": changes, "additionalProperties": False}
            if "$defs" in properties:
                answer["$defs"] = properties["$defs"]
        about = {
            "tool": call.name,
            "fromModel": shown,
            "editable": [one.name for one in editable],
            "fields": [one.form for one in editable],
        }
        return {
            "reason": "middle_core:approval",
            "message": card["title"],
            "toolCallId": call.id,
            "responseSchema": answer,
            MARK: {
                "callKey": call.key,
                "tool": call.name,
                "argsDigest": digest(shown),
                "roles": list(self.roles),
                "doing": self.doing,
                "ttlS": self.expires,
                "rootId": root_id,
                "edits": dict(edits),
                "card": {**card, **about},
            },
        }

    async def _carry_out(
        self, approvals: Approvals, asked: Approval, call: Call, given: dict[str, Any], work: Callable[[dict[str, Any]], Awaitable[Any]]
    ) -> Any:
        about, edits = asked.question[MARK], edits_of(asked.answer)
        before = about.get("edits", {})
        final = {**given, **before, **edits}
        problem = self._problem(call, edits, final, editable=about["card"]["editable"])
        if problem is not None:
            await approvals.drop(asked, invalid(problem))
            card = {**about["card"], "state": "invalid", "problem": problem}
            _stop(self._question(call, given, card, root_id=about["rootId"], edits=before))
        if not await approvals.begin(asked, digest=digest(final)):
            if asked.status in {InterruptStatus.APPROVED, InterruptStatus.EDITED}:
                await approvals.drop(asked, CHANGED)
            return _message(CHANGED)
        checked = self.schema.model_validate(final)
        changes = {name: getattr(checked, name) for name in self.schema.model_fields}
        with within(idempotency_key=asked.idempotency_key):
            return await self._once(approvals, asked, lambda: work(changes))

    def _problem(self, call: Call, edits: Mapping[str, Any], final: Mapping[str, Any], *, editable: Sequence[str]) -> str | None:
        """Why the person's changes cannot be used, in words for them; None if they can. editable: on the card that they answered."""
        if foreign := sorted(edits.keys() - set(editable)):
            return f"This cannot be changed: {', '.join(foreign)}."
        if faults := [fault for one in self.editable if one.name in edits and (fault := one.fault(edits[one.name]))]:
            return " ".join(faults)
        if len(json.dumps(final, ensure_ascii=False)) > MAX_CARD_CHARS:
            return "The changes are too large."
        try:
            self.schema.model_validate(final)
        except ValidationError as error:
            return invalid_arguments(call, error).text
        return None

    async def _once(self, approvals: Approvals, asked: Approval, work: Callable[[], Awaitable[Any]]) -> Any:
        """Do it, and record what came of it. A cancellation in between leaves the row for the engine, which settles it."""
        pauses = list(RETRY_AFTER_S) if self.idempotent else []
        while True:
            try:
                value = await work()
                break
            except Superseded:
                raise  # nothing of this attempt may be written any more
            except BackendUnavailable as error:
                if pauses:
                    await asyncio.sleep(pauses.pop(0))
                    continue
                logger.warning("An approved action has no known outcome.", extra={"interrupt_id": asked.interrupt_id}, exc_info=error)
                answer = unknown(error.code, error.detail)
                await approvals.end(asked, answer)
                return _message(answer)
            except (MiddleCoreError, ToolException) as error:  # refused: nothing was done
                answer = self._refused(error)
                await approvals.end(asked, answer)
                return _message(answer)
            except Exception as error:
                answer = unknown(OutcomeCode.TOOL_ERROR)
                await approvals.end(asked, answer)
                if isinstance(error, GraphBubbleUp):
                    raise
                logger.exception("An approved action failed.", extra={"interrupt_id": asked.interrupt_id}, exc_info=error)
                return _message(answer)
        text = as_text(value.content if isinstance(value, ToolMessage) else value)
        await approvals.end(asked, ToolResult(text, outcome_of(value) if isinstance(value, ToolMessage) else DONE))
        return value

    def _refused(self, error: MiddleCoreError | ToolException) -> ToolResult:
        """Of an action that the service refused. It knows the role; what the role is called is known here."""
        text = error.detail if isinstance(error, MiddleCoreError) else as_text(str(error))
        if isinstance(error, Forbidden) and self.roles:
            return ToolResult(f"permission denied: {text}", missing_role(self.roles, self.doing).outcome)
        return failure(error, text, text)


def _stop(question: Mapping[str, Any]) -> NoReturn:
    """Stop the graph with the question. Answers to earlier questions of the same call are passed over: rows decide, not these."""
    while True:
        interrupt(dict(question))


def _message(answer: ToolResult) -> ToolMessage:
    """What answers the call, as the tool's message. The dispatch fills in the id of the call."""
    status: Literal["success", "error"] = "success" if answer.outcome == DONE else "error"
    return ToolMessage(answer.text, tool_call_id="", status=status, response_metadata=metadata(answer.outcome))
