"""Play a case, ours and the SDK's, and write its stream so that two runs of it are equal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from ag_ui.core import RunAgentInput

from middle_core.events import ThreadId
from middle_core.runs.agui_source import AguiSource, SdkAgent
from middle_core.runs.turn import AgentRules, Resume, Turn
from tests.corpus.cases import Answer, Case
from tests.fakes.play import client, essence, play, says

GOLDEN: Final = Path(__file__).with_name("golden")

Stream = list[dict[str, Any]]

_IDS: Final = frozenset({"id", "messageId", "toolCallId", "parentMessageId", "entityId", "taskId", "interruptId"})
_TIMES: Final = frozenset({"startedAt", "latencyMs"})
_STARTS: Final = frozenset({"TEXT_MESSAGE_START", "TOOL_CALL_START"})
_DELTA: Final = {"TEXT_MESSAGE_CONTENT": "messageId", "TOOL_CALL_ARGS": "toolCallId", "REASONING_MESSAGE_CONTENT": "messageId"}


async def ours(case: Case) -> list[Stream]:
    """The events of each turn, with the open questions at its end."""
    source = AguiSource("case", case.graph(), AgentRules())
    streams: list[Stream] = []
    asked: list[dict[str, Any]] = []
    for at, said in enumerate(case.turns):
        answers = tuple(Resume(one["id"], said.payload) for one in asked) if isinstance(said, Answer) else ()
        played = await play(source, Turn(resume=answers) if answers else says(said, f"h{at}"), ThreadId("t"))
        asked = played.interrupts
        streams.append([*played.events, *({"type": "INTERRUPT", **one} for one in asked)])
    return streams


async def theirs(case: Case) -> list[Stream]:
    """The SDK's, with our flags, on the same graph."""
    agent = SdkAgent(name="case", graph=case.graph())
    streams: list[Stream] = []
    history: list[dict[str, Any]] = []
    asked: list[dict[str, Any]] = []
    for at, said in enumerate(case.turns):
        body: dict[str, Any] = {"threadId": "t", "runId": "r", "state": {}, "forwardedProps": {}}
        if isinstance(said, Answer):
            body["resume"] = [{"interruptId": one["id"], "status": "resolved", "payload": said.payload} for one in asked]
        else:
            history = [*history, {"id": f"h{at}", "role": "user", "content": said}]
        events: Any = agent.clone().run(RunAgentInput.model_validate(body | {"messages": history}))  # type: ignore[no-untyped-call]  # the SDK's
        stream = [one.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"raw_event"}) async for one in events]
        asked = stream[-1].get("outcome", {}).get("interrupts", [])
        streams.append([*stream, *({"type": "INTERRUPT", **one} for one in asked)])
    return streams


def normal(streams: Iterable[Stream]) -> list[Stream]:
    """Ids numbered in their order, times 0, deltas that follow one another joined, snapshots of the graph left out."""
    names: dict[str, str] = {}
    return [_joined(_plain(one, names) for one in stream if one.get("name") != "middle_core.topology") for stream in streams]


def spoken(streams: Iterable[Stream]) -> list[list[Any]]:
    """What can be compared with the SDK, turn by turn: what is said and called, in its order, under an id of its own or not,
    the results, the questions, how it ended, and the messages that the client has then."""
    seen: set[str] = set()
    shown: list[dict[str, Any]] = []
    found = []
    for at, stream in enumerate(streams):
        lines = [line for one in normal([stream])[0] for line in _line(one)]
        starts = [str(one.get("toolCallId") or one.get("messageId") or "") for one in stream if one["type"] in _STARTS]
        lines.append(["ids", [bool(one) and one not in seen for one in starts]])
        seen.update(starts)
        shown = client([*shown, {"id": f"h{at}", "role": "user", "content": "-"}], stream)
        lines.append(["client", [line[1:] for line in essence(shown) if line[1] not in ("user", "reasoning")]])
        lines.append(["failed", any(one["type"] == "RUN_ERROR" for one in stream)])
        found.append(lines)
    return found


def _line(one: dict[str, Any]) -> list[Any]:
    kind = one["type"]
    if kind.startswith(("TEXT_", "REASONING_", "TOOL_CALL_")) and not kind.endswith("END"):
        return [[kind, one.get("delta"), one.get("toolCallName"), one.get("content"), one.get("encryptedValue")]]
    if kind == "INTERRUPT":
        return [[kind, one.get("message"), one.get("reason")]]
    return []


def _plain(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _field(key, one, names) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one, names) for one in value]
    return value


def _field(key: str, value: Any, names: dict[str, str]) -> Any:
    if key in _TIMES:
        return 0
    if key in _IDS and isinstance(value, str):
        return names.setdefault(value, f"id-{len(names) + 1}")
    return _plain(value, names)


def _joined(events: Iterable[dict[str, Any]]) -> Stream:
    joined: Stream = []
    for one in events:
        key = _DELTA.get(one["type"])
        if key and joined and joined[-1]["type"] == one["type"] and joined[-1][key] == one[key]:
            joined[-1]["delta"] += one["delta"]
        else:
            joined.append(dict(one))
    return joined


def golden(name: str) -> list[Stream]:
    """The stream that the case must make."""
    found: list[Stream] = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    return found


def lines(streams: list[Stream]) -> str:
    """The streams as a golden file: one event on a line."""
    turns = [",\n".join(f"  {json.dumps(one, ensure_ascii=False, sort_keys=True)}" for one in stream) for stream in streams]
    return "[\n" + ",\n".join(f" [\n{one}\n ]" for one in turns) + "\n]\n"
