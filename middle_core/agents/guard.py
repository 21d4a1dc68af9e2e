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

from middle_core.agents.calls import Call
from middle_core.agents.sync_tools import SyncToolPool
from middle_core.agents.tool_text import as_text
from middle_core.errors import MiddleCoreError, Superseded
from middle_core.node_api.tool_ledger import LEDGER, LedgerLine

logger = logging.getLogger(__name__)

UNKNOWN_OUTCOME: Final = (
    "This call was started before and the server stopped before it ended: whether it took effect is unknown. "
    "It was not started again. Say so, and look at how things stand before anything like it is tried again."
)
"""What the model is told of a call that a crash cut off."""

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
        self._repeatable = bool(hints.get("idempotentHint") or hints.get("readOnlyHint"))
        self._with_artifact = isinstance(tool, StructuredTool) and tool.response_format == "content_and_artifact"
        schema = _ANY_OBJECT if _takes_one_text(tool) else tool.tool_call_schema
        self._schema = schema if isinstance(schema, type) and issubclass(schema, BaseModel) else None
        # A ToolNode of one tool, for one call at a time: it injects state, store and runtime, and lets no model forge them.
        self._node = ToolNode([self._guarded(tool, pool)], handle_tool_errors=False)

    def fault(self, call: Call) -> str | None:
        """Why the call is not to be run, in words for the model; None if it may run."""
        if call.refused:
            return call.refused
        if call.args is None:
            return f"{_not_run(call)} They are not a complete JSON object.{self._expected()}"
        if self._schema is None:  # a JSON schema: the tool checks it itself
            return None
        try:
            self._schema.model_validate(call.args)
        except ValidationError as error:
            return fault_words(call, error)
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
        call, ledger = _CALL.get(), LEDGER.get()
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
                    await ledger.end(call.key, status="paused", result="")
                raise
            message = tool_result(call, _words(call, self._tool, error), error=True)
            if ledger:
                await ledger.end(call.key, status="failed", result=message.text)
            if isinstance(error, FailRun):
                raise
            return message
        if ledger:
            failed, text = _for_ledger(call, outcome)
            await ledger.end(call.key, status="failed" if failed else "done", result=text)
        return outcome

    def _earlier(self, call: Call, line: LedgerLine) -> ToolMessage | None:
        match line.status:
            case "done" | "failed":
                return tool_result(call, line.result or "", error=line.status == "failed")
            case "running" if not self._repeatable:
                logger.warning("The tool call %s of %s began before and never ended; it is not run again.", call.key, call.name)
                return tool_result(call, UNKNOWN_OUTCOME, error=True)
            case _:  # paused at an interrupt, or safe to run again
                return None

    def _outcome(self, call: Call, value: Any) -> ToolMessage | Command[Any]:
        """What the tool returned, as the message (or the Command with the message) that the thread keeps."""
        artifact = None
        if self._with_artifact and isinstance(value, tuple) and len(value) == 2:
            value, artifact = value
        if isinstance(value, Command):
            return _command(call, value, self._max_chars)
        if isinstance(value, ToolMessage):
            return tool_result(call, as_text(value.content, self._max_chars), error=value.status == "error", artifact=value.artifact)
        return tool_result(call, as_text(value, self._max_chars), artifact=artifact)


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


def _words(call: Call, tool: BaseTool, error: Exception) -> str:
    """What the model is told of an error: words made for that, never the text of a foreign exception."""
    match error:
        case MiddleCoreError():
            words = error.detail
        case ToolException():  # LangChain's way for a tool to tell the model something
            words = as_text(_of_handler(tool, error), MAX_TOOL_EXCEPTION_CHARS)
        case _:
            logger.error("The tool call %s of %s failed.", call.key, call.name, exc_info=error)
            return f"The tool {call.name} failed. The operator of this server can look up the reason under {call.id}."
    logger.warning("The tool call %s of %s failed: %s", call.key, call.name, type(error).__name__)
    return f"The tool {call.name} could not do this. {words}"


def _of_handler(tool: BaseTool, error: ToolException) -> Any:
    """The text of the exception, or what the tool's own `handle_tool_error` makes of it."""
    handler = tool.handle_tool_error
    if callable(handler):
        return handler(error)
    return handler if isinstance(handler, str) else str(error)


def _not_run(call: Call) -> str:
    return f"The arguments of {call.name} are not valid, so nothing was run."


def fault_words(call: Call, error: ValidationError) -> str:
    """What is wrong with the arguments, field by field, without their values."""
    faults = [f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}." for e in error.errors(include_url=False, include_input=False)]
    return " ".join([_not_run(call), *faults[:MAX_FAULTS]])


def tool_result(call: Call, text: str, *, error: bool = False, artifact: Any = None) -> ToolMessage:
    """The tool message of the call. Its id follows from the call, so that a second one replaces the first."""
    return ToolMessage(
        content=text,
        id=f"{call.key}-result",
        tool_call_id=call.id,
        name=call.name,
        status="error" if error else "success",
        artifact=artifact,
    )


def _command(call: Call, command: Command[Any], max_chars: int) -> Command[Any]:
    """The Command with this call's tool message in our form, and with one if it has none: a call needs its result."""
    update = command.update or {}
    if not isinstance(update, dict):
        raise TypeError("A tool's Command updates the state with a dict.")
    messages = [
        tool_result(call, as_text(m.content, max_chars), error=m.status == "error", artifact=m.artifact) if _answers(m, call) else m
        for m in update.get("messages", [])
    ]
    if command.graph is None and not any(_answers(m, call) for m in messages):
        messages.append(tool_result(call, "Done."))
    return replace(command, update={**update, "messages": messages})


def _answers(message: Any, call: Call) -> bool:
    return isinstance(message, ToolMessage) and message.tool_call_id == call.id


def _for_ledger(call: Call, outcome: ToolMessage | Command[Any]) -> tuple[bool, str]:
    """Whether it failed, and its text. Of a Command the ledger keeps the message only: a replay does not repeat its update."""
    messages = (outcome.update or {})["messages"] if isinstance(outcome, Command) else [outcome]
    message = next((m for m in messages if _answers(m, call)), None)
    return (message.status == "error", message.text) if message else (False, "")
