"""What goes around a tool's function: arguments checked before it, the ledger asked before and told after.

A guarded tool never lets an error of its function out, except those that are meant for the run. What a call
began before and never ended is told to the model, not run again. This module knows one call of one tool;
how calls become tasks is `agents.dispatch`.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Final

from langchain_core.messages import ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool, Tool, ToolException
from langgraph.errors import GraphBubbleUp, is_invalid_resume
from langgraph.prebuilt import ToolNode
from langgraph.types import Command
from pydantic import BaseModel, ValidationError

from middle_core.agents.calls import REFUSED, Call
from middle_core.agents.sync_tools import SyncToolPool
from middle_core.agents.tool_text import as_text, bounded, storable
from middle_core.contract.outcomes import DONE, OutcomeCode
from middle_core.errors import MiddleCoreError, Superseded
from middle_core.eventlog.records import ToolCallStatus
from middle_core.events import ToolOutcome
from middle_core.node_api.context import run_context
from middle_core.node_api.outcomes import ToolResult, failure, metadata, outcome_of, result
from middle_core.node_api.tool_ledger import LedgerLine

logger = logging.getLogger(__name__)

UNKNOWN_OUTCOME: Final = result(
    "This call was started before and the server stopped before it ended: whether it took effect is unknown. "
    "It was not started again. Say so, and look at how things stand before anything like it is tried again.",
    ToolOutcome.UNKNOWN,
    OutcomeCode.CUT_OFF,
    "The server stopped while this ran. It may have taken effect: check before repeating it.",
)
"""What answers a call that a crash cut off."""

NOT_VALID: Final = "The assistant’s arguments were not valid, so nothing was run."
MAX_FAULTS: Final = 20
MAX_TOOL_EXCEPTION_CHARS: Final = 2_000

_ANY_OBJECT: Final[dict[str, Any]] = {"type": "object", "properties": {}}

_CALL: ContextVar[Call] = ContextVar("middle_core_tool_call")


def current_call() -> Call:
    """The call that is being run. Raises LookupError outside of `agents.dispatch`."""
    return _CALL.get()


class FailRun(MiddleCoreError):
    """A tool could not do its work, and the answer makes no sense without it."""


def repeatable(tool: BaseTool) -> BaseTool:
    """The tool, declared to be safe to run again after a crash because it only reads or is idempotent.

    The hints `readOnlyHint` and `idempotentHint` of an MCP tool mean the same.
    """
    return tool.model_copy(update={"metadata": {**(tool.metadata or {}), "idempotentHint": True}})


class GuardedTool:
    """A tool with everything that goes around its function."""

    def __init__(self, tool: BaseTool, max_result_chars: int, pool: SyncToolPool) -> None:
        self._tool = tool
        self._max_chars = max_result_chars
        hints = tool.metadata or {}
        self.repeatable = bool(hints.get("idempotentHint") or hints.get("readOnlyHint"))
        self._with_artifact = isinstance(tool, StructuredTool) and tool.response_format == "content_and_artifact"
        schema = _ANY_OBJECT if _takes_one_text(tool) else tool.tool_call_schema
        self._schema = schema if isinstance(schema, type) and issubclass(schema, BaseModel) else None
        # A ToolNode of one tool, for one call at a time: it injects state, store and runtime, and lets no model forge them.
        self._node = ToolNode([self._guarded(tool, pool)], handle_tool_errors=False)

    def fault(self, call: Call) -> ToolResult | None:
        """What answers the call without running it; None if it may run."""
        if call.refused:
            return REFUSED[call.refused]
        if call.args is None:
            text = f"{_not_valid(call)} They are not a complete JSON object.{self._expected()}"
            return result(text, ToolOutcome.NOT_RUN, OutcomeCode.INVALID_ARGUMENTS, NOT_VALID)
        if self._schema is None:  # a JSON schema: the tool checks it itself
            return None
        try:
            self._schema.model_validate(call.args)
        except ValidationError as error:
            return invalid_arguments(call, error)
        return None

    async def run(self, call: Call, config: RunnableConfig) -> Any:
        token = _CALL.set(call)
        try:
            return await self._node.ainvoke([ToolCall(id=call.id, name=call.name, args=call.args or {}, type="tool_call")], config)
        finally:
            _CALL.reset(token)

    def _expected(self) -> str:
        if self._schema is None:
            return ""
        fields = [f"{name}{'' if f.is_required() else ' (optional)'}" for name, f in self._schema.model_fields.items()]
        return f" Its fields are: {', '.join(fields)}." if fields else " It takes no arguments: send {}."

    def _guarded(self, tool: BaseTool, pool: SyncToolPool) -> StructuredTool:
        """The tool with its function in the guard. What the function returns is the finished message, so that
        LangChain's tool events, the thread and the stream all carry the same one, under the same id.
        """
        function, synchronous = _function_of(tool)

        @functools.wraps(function)
        async def guarded(*args: Any, **kwargs: Any) -> Any:
            if synchronous:
                return await self._once(lambda: pool.run(lambda: function(*args, **kwargs)))
            return await self._once(lambda: function(*args, **kwargs))

        changes = {
            "func": None,
            "coroutine": guarded,
            "response_format": "content",
            "handle_tool_error": False,
            "handle_validation_error": False,
        }
        if isinstance(tool, StructuredTool):
            return tool.model_copy(update=changes)
        return StructuredTool(
            name=tool.name,
            description=tool.description,
            args_schema=_ANY_OBJECT if _takes_one_text(tool) else tool.args_schema or tool.get_input_schema(),
            coroutine=guarded,
            metadata=tool.metadata,
            tags=tool.tags,
        )

    async def _once(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """The result that the ledger has of this call, or that of the work, written to the ledger."""
        call, ledger = _CALL.get(), run_context().ledger
        line = await ledger.begin(call.key, call.name) if ledger else None
        if line and (earlier := self._earlier(call, line)):
            return earlier
        try:
            outcome = self._outcome(call, await work())
        except Superseded:
            raise  # nothing of this attempt may be written any more
        except Exception as error:
            if isinstance(error, GraphBubbleUp) or is_invalid_resume(error):  # it asked, or the answer was none it can use: it stays open
                if ledger:
                    await ledger.end(call.key, None)
                raise
            answer = _failed(call, self._tool, error)
            if ledger:
                await ledger.end(call.key, answer)
            if isinstance(error, FailRun):
                raise
            return tool_result(call, answer)
        if ledger:
            await ledger.end(call.key, _for_ledger(call, outcome))
        return outcome

    def _earlier(self, call: Call, line: LedgerLine) -> ToolMessage | None:
        match line.status:
            case ToolCallStatus.DONE | ToolCallStatus.FAILED:
                return tool_result(call, line.result or ToolResult(""))
            case ToolCallStatus.RUNNING if not self.repeatable:
                logger.warning("The tool call %s of %s began before and never ended; it is not run again.", call.key, call.name)
                return tool_result(call, UNKNOWN_OUTCOME)
            case _:  # paused at a question, or safe to run again
                return None

    def _outcome(self, call: Call, value: Any) -> ToolMessage | Command[Any]:
        """What the tool returned, as the message (or the Command with the message) that the thread keeps."""
        artifact = None
        if self._with_artifact and isinstance(value, tuple) and len(value) == 2:
            value, artifact = value
        if isinstance(value, Command):
            return _command(call, value, self._max_chars)
        if isinstance(value, ToolMessage):
            return _ours(call, value, self._max_chars)
        return tool_result(call, ToolResult(as_text(value, self._max_chars)), artifact=artifact)


def _function_of(tool: BaseTool) -> tuple[Callable[..., Any], bool]:
    """The function that does the tool's work, and whether it is synchronous."""
    if isinstance(tool, StructuredTool):
        if tool.coroutine is not None:
            return tool.coroutine, False
        if tool.func is not None:
            return tool.func, True
        raise ValueError(f"The tool {tool.name!r} has neither a function nor a coroutine.")
    synchronous = type(tool)._arun is BaseTool._arun or getattr(tool, "coroutine", tool) is None  # noqa: SLF001 - the one way to tell

    def call_sync(**arguments: Any) -> Any:
        return tool.invoke(arguments)

    async def call(**arguments: Any) -> Any:
        return await tool.ainvoke(arguments)

    return (call_sync, True) if synchronous else (call, False)


def _takes_one_text(tool: BaseTool) -> bool:
    """LangChain's oldest kind: one unnamed text argument and no schema."""
    return isinstance(tool, Tool) and tool.args_schema is None


def _failed(call: Call, tool: BaseTool, error: Exception) -> ToolResult:
    """What answers a call whose tool raised: words made for that, never the text of a foreign exception."""
    match error:
        case MiddleCoreError():
            words = error.detail
        case ToolException():  # LangChain's way for a tool to tell the model something
            words = as_text(_of_handler(tool, error), MAX_TOOL_EXCEPTION_CHARS)
        case _:
            logger.error("The tool call %s of %s failed.", call.key, call.name, exc_info=error)
            where = f"The operator of this server can look up the reason under {call.id}."
            return failure(error, f"The tool {call.name} failed. {where}", where)
    logger.warning("The tool call %s of %s failed: %s", call.key, call.name, type(error).__name__)
    return failure(error, f"The tool {call.name} could not do this. {words}", words)


def _of_handler(tool: BaseTool, error: ToolException) -> Any:
    """The text of the exception, or what the tool's own `handle_tool_error` makes of it."""
    handler = tool.handle_tool_error
    if callable(handler):
        return handler(error)
    return handler if isinstance(handler, str) else str(error)


def invalid_arguments(call: Call, error: ValidationError) -> ToolResult:
    """What answers a call with wrong arguments: what is wrong, field by field, without the values."""
    faults = [f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}." for e in error.errors(include_url=False, include_input=False)]
    told = " ".join(faults[:MAX_FAULTS])
    text = bounded(storable(f"{_not_valid(call)} {told}"))
    return result(text, ToolOutcome.NOT_RUN, OutcomeCode.INVALID_ARGUMENTS, f"{NOT_VALID} {told}")


def _not_valid(call: Call) -> str:
    return f"The arguments of {call.name} are not valid, so nothing was run."


def tool_result(call: Call, answer: ToolResult, *, artifact: Any = None) -> ToolMessage:
    """The tool message of the call. Its id follows from the call, so that a second one replaces the first."""
    return ToolMessage(
        content=answer.text,
        id=f"{call.key}-result",
        tool_call_id=call.id,
        name=call.name,
        status="success" if answer.outcome == DONE else "error",
        artifact=artifact,
        response_metadata=metadata(answer.outcome),
    )


def _ours(call: Call, message: ToolMessage, max_chars: int) -> ToolMessage:
    """A tool's own message in our form. Its outcome stays."""
    return tool_result(call, ToolResult(as_text(message.content, max_chars), outcome_of(message)), artifact=message.artifact)


def _command(call: Call, command: Command[Any], max_chars: int) -> Command[Any]:
    """The Command with this call's tool message in our form, and with one if it has none: a call needs its result."""
    update = command.update or {}
    if not isinstance(update, dict):
        raise TypeError("A tool's Command updates the state with a dict.")
    messages = [_ours(call, m, max_chars) if _answers(m, call) else m for m in update.get("messages", [])]
    if command.graph is None and not any(_answers(m, call) for m in messages):
        messages.append(tool_result(call, ToolResult("Done.")))
    return replace(command, update={**update, "messages": messages})


def _answers(message: Any, call: Call) -> bool:
    return isinstance(message, ToolMessage) and message.tool_call_id == call.id


def _for_ledger(call: Call, outcome: ToolMessage | Command[Any]) -> ToolResult:
    """What answered it. Of a Command the ledger keeps the message only: a replay does not repeat its update."""
    messages = (outcome.update or {})["messages"] if isinstance(outcome, Command) else [outcome]
    message = next((m for m in messages if _answers(m, call)), None)
    return ToolResult(message.text, outcome_of(message)) if message else ToolResult("")
