"""Why a model's answer ended, in the words of every provider, as one of ours.

LangChain keeps a provider's own word in the message's `response_metadata`, under the provider's own key. Pure. A word that is not listed
is an ordinary end.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final


class Ending(StrEnum):
    """How an answer of a model ended."""

    DONE = "done"
    """The model came to its end, or asks for tools."""
    LENGTH = "length"
    """It reached the most tokens that an answer may have."""
    CONTEXT = "context"
    """The conversation fills the model's context."""
    FILTERED = "filtered"
    """A filter of the provider cut it."""
    DECLINED = "declined"
    """The model would not answer, and said so."""
    PAUSED = "paused"
    """The provider paused a long turn, which can be continued."""
    FAILED = "failed"
    """The provider broke it off."""


CUT: Final = frozenset({Ending.LENGTH, Ending.CONTEXT, Ending.FILTERED, Ending.PAUSED, Ending.FAILED})
"""Ends of an answer that is not whole."""

_KEYS: Final = ("finish_reason", "stop_reason", "stopReason", "done_reason", "finishReason")

_WORDS: Final[Mapping[Ending, str]] = {
    # OpenAI, Cerebras, Ollama; Anthropic, Bedrock; Google, Cohere; OpenAI's Responses; Mistral; TGI, watsonx
    Ending.LENGTH: "length max_tokens max_output_tokens model_length max_length max_new_tokens token_limit",
    # Anthropic, Bedrock; others
    Ending.CONTEXT: "model_context_window_exceeded context_length context_length_exceeded context_window_exceeded",
    # OpenAI, Azure; Bedrock; Google; Cohere; Zhipu
    Ending.FILTERED: (
        "content_filter content_filtered guardrail_intervened safety recitation blocklist prohibited_content spii image_safety "
        "language error_toxic sensitive"
    ),
    # Anthropic
    Ending.DECLINED: "refusal",
    Ending.PAUSED: "pause_turn",
    # Mistral, Cohere; DeepSeek; Google; Zhipu; vLLM
    Ending.FAILED: (
        "error error_limit insufficient_system_resource malformed_function_call unexpected_tool_call malformed_model_output "
        "malformed_tool_use other network_error abort incomplete failed"
    ),
}
_BY_WORD: Final = {word: ending for ending, words in _WORDS.items() for word in words.split()}


def ending_of(metadata: Mapping[str, Any]) -> Ending:
    """How the answer with this `response_metadata` ended."""
    details = metadata.get("incomplete_details")  # OpenAI's Responses
    if isinstance(details, Mapping) and details.get("reason"):
        return _BY_WORD.get(_word(details["reason"]), Ending.FAILED)
    said = next((metadata[key] for key in _KEYS if metadata.get(key)), None) or metadata.get("status")
    return _BY_WORD.get(_word(said), Ending.DONE)


def _word(said: object) -> str:
    """`FinishReason.MAX_TOKENS`, `FINISH_REASON_MAX_TOKENS` and `max-tokens` as `max_tokens`."""
    return str(said or "").rpartition(".")[2].lower().replace("-", "_").removeprefix("finish_reason_")
