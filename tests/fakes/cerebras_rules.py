"""Requests that the Cerebras service refuses, as documented and as reported by users. The fake server checks with these rules.

Pure. Sources: https://inference-docs.cerebras.ai/api-reference/chat-completions, agno-agi/agno#4508,
langchain-ai/langchainjs#8643, anomalyco/opencode#33413.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]

TOP_LEVEL = {
    "clear_thinking", "frequency_penalty", "logit_bias", "logprobs", "max_completion_tokens", "max_tokens", "messages", "min_tokens",
    "model", "parallel_tool_calls", "presence_penalty", "reasoning_effort", "reasoning_format", "response_format", "seed",
    "service_tier", "stop", "stream", "stream_options", "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user",
}  # fmt: skip
UNSUPPORTED = {"frequency_penalty", "logit_bias", "presence_penalty"}
MESSAGE_KEYS = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "reasoning", "tool_calls"},
    "tool": {"role", "content", "name", "tool_call_id"},
}
EFFORTS = {"gpt-oss-120b": {"low", "medium", "high"}, "qwen-3.8-27b": {"none", "low", "medium", "high"}}
STRICT_TOOLS = {"gpt-oss-120b"}
IMAGES = {"gemma-4-31b"}


class Refusal(Exception):
    """An HTTP error answer."""

    def __init__(self, status: int, body: Json, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(body.get("message"))
        self.status = status
        self.body = body
        self.headers = headers or {}


def _refuse(message: str, *, param: str = "validation_error", code: str = "wrong_api_format") -> Refusal:
    return Refusal(400, {"message": message, "type": "invalid_request_error", "param": param, "code": code})


def check(headers: Mapping[str, str], body: Json) -> None:
    """Raise `Refusal` for a request that the real service would not take."""
    if not headers.get("authorization", "").startswith("Bearer ") or headers["authorization"] == "Bearer wrong":
        raise Refusal(401, {"message": "Wrong API Key", "type": "invalid_request_error", "param": "api_key", "code": "wrong_api_key"})
    for key in body:
        if key not in TOP_LEVEL:
            raise _refuse(f"body.{key}: property 'body.{key}' is unsupported")
        if key in UNSUPPORTED:
            raise _refuse(f"{key} is not supported by this model.", param=key)
        if body[key] is None:
            raise _refuse(f"body.{key}: must not be null")
    model = body.get("model")
    if not isinstance(model, str) or model == "no-such-model":
        raise Refusal(
            404, {"message": f"Model {model} does not exist.", "type": "not_found_error", "param": "model", "code": "model_not_found"}
        )
    if body.get("parallel_tool_calls") is False:
        raise _refuse("parallel_tool_calls=False is not supported by this model.", param="parallel_tool_calls")
    if "reasoning_effort" in body and body["reasoning_effort"] not in EFFORTS.get(model, ()):
        raise _refuse("reasoning_effort is not supported by this model.", param="reasoning_effort")
    stop = body.get("stop", [])
    if isinstance(stop, list) and len(stop) > 4:
        raise _refuse("At most 4 stop sequences.", param="stop")
    _check_tools(body, model)
    _check_messages(body.get("messages"), model)


def _check_tools(body: Json, model: str) -> None:
    tools = body.get("tools", [])
    if "tools" in body and not tools:
        raise _refuse("tools must not be empty.", param="tools")
    for tool in tools:
        if set(tool) != {"type", "function"} or set(tool["function"]) - {"name", "description", "parameters", "strict"}:
            raise _refuse("tools: unsupported property", param="tools")
    stricts = {bool(tool["function"].get("strict")) for tool in tools}
    if len(stricts) > 1:
        raise _refuse("Tools with mixed values for 'strict' are not allowed.", param="tools")
    if True in stricts and model not in STRICT_TOOLS:
        raise _refuse("Tools with strict=True are not supported by this model.", param="tools")
    choice = body.get("tool_choice")
    names = {tool["function"]["name"] for tool in tools}
    if isinstance(choice, dict) and choice.get("function", {}).get("name") not in names:
        raise _refuse("tool_choice names no tool.", param="tool_choice")
    if isinstance(choice, str) and choice not in {"none", "auto", "required"}:
        raise _refuse(f"Unsupported tool_choice: {choice}.", param="tool_choice")


def _check_messages(messages: object, model: str) -> None:
    if not isinstance(messages, list) or not messages:
        raise _refuse("messages: at least one message is required", param="messages")
    open_calls: set[str] = set()
    for position, message in enumerate(messages):
        role = message.get("role")
        where = f"messages.{position}.{role}"
        if role not in MESSAGE_KEYS:
            raise _refuse(f"{where}: unknown role", param="messages")
        for key, value in message.items():
            if key not in MESSAGE_KEYS[role]:
                raise _refuse(f"{where}.{key}: property '{where}.{key}' is unsupported")
            if value is None:
                raise _refuse(f"{where}.{key}: must not be null")
        if open_calls and role != "tool":
            raise _refuse(
                "An assistant message with 'tool_calls' must be followed by a tool message for each 'tool_call_id'.", param="messages"
            )
        _check_content(message, where, model)
        if role == "assistant":
            for call in message.get("tool_calls", []):
                _check_call(call, where)
            open_calls = {call["id"] for call in message.get("tool_calls", [])}
        elif role == "tool":
            if message.get("tool_call_id") not in open_calls:
                raise _refuse("A tool message must answer a preceding message with 'tool_calls'.", param="messages")
            open_calls.discard(message["tool_call_id"])
    if open_calls:
        raise _refuse("Tool calls without an answer at the end of the history.", param="messages")


def _check_content(message: Json, where: str, model: str) -> None:
    role, content = message["role"], message.get("content")
    if role == "assistant":
        if content is None and not message.get("tool_calls"):
            raise _refuse(f"{where}: either content or tool_calls is required")
        if content == "":
            raise _refuse(f"{where}.content: must not be empty")
        return
    if content is None:
        raise _refuse(f"{where}.content: is required")
    if isinstance(content, str):
        return
    if role in {"system", "tool"}:
        raise _refuse(f"{where}.content: must be a string")
    for part in content:
        if part.get("type") == "image_url" and model not in IMAGES:
            raise _refuse(f"{where}.content: this model does not support images")
        if part.get("type") not in {"text", "image_url"}:
            raise _refuse(f"{where}.content: unsupported part {part.get('type')}")


def _check_call(call: Json, where: str) -> None:
    if set(call) - {"id", "type", "function", "index"} or not call.get("id") or not call.get("function", {}).get("name"):
        raise _refuse(f"{where}.tool_calls: invalid call")
    try:
        arguments = json.loads(call["function"]["arguments"])
    except json.JSONDecodeError as broken:
        raise _refuse(f"{where}.tool_calls: arguments are not JSON") from broken
    if not isinstance(arguments, dict):
        raise _refuse(f"{where}.tool_calls: arguments are not an object")
