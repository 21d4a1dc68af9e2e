"""Asides: what a thread has shown and its checkpoint does not hold.

A subgraph says something and its next node asks: until the answer comes, the parent's checkpoint has none of it. A node emits a message
and does not return it: the checkpoint never has it. Both stay on the screen, in the place where they were shown. What a graph removes
from its messages, or shows as a draft and replaces by what it returns, is not kept.

Pure: values in, values out. `runs.graph.thread_state` stores asides, `runs.graph.graph_run` finds them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Final

import orjson
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from middle_core.agui.fold import REASONING
from middle_core.contract.outcomes import DONE
from middle_core.events import OUTCOME, Custom, Event, EventType
from middle_core.node_api.outcomes import ToolResult, of_json
from middle_core.runs.graph.history import STOPPED, Message, Shown
from middle_core.runs.graph.repair import tool_message


@dataclass(frozen=True, slots=True)
class Aside:
    """One message that was shown and that the thread does not hold.

    Args:
        message_id: the id under which it was shown.
        after: id of the message behind which it stands, which may be another aside; None at the beginning of the thread.
        shown: the message as AG-UI has it: its reasonings, then itself.
        pending: whether the graph may still take it over, because it waits for an answer. If the answer never comes, the message
            belongs to the thread, for the model as well.
    """

    message_id: str
    after: str | None
    shown: tuple[Message, ...]
    pending: bool = False


@dataclass(slots=True)
class Fates:
    """What became of the messages that one run of a graph has shown.

    Args:
        drafts: ids of messages that a model streamed inside a node which ended without returning them. What the node returned counts.
        over: ids of messages that node code emitted, and whose node has ended without returning them.
        held: ids of messages that the graph's own state has held at some time. Where one is missing now, the graph removed it.
        unkept: ids of emitted calls that the page would run anew if they stayed without a result.
    """

    drafts: set[str] = field(default_factory=set)
    over: set[str] = field(default_factory=set)
    held: set[str] = field(default_factory=set)
    unkept: set[str] = field(default_factory=set)


def owner_of(message: Mapping[str, Any]) -> str:
    """The id of the message that a shown message belongs to: a reasoning's is that of its answer."""
    return str(message["id"]).rpartition(REASONING)[0] if message["role"] == "reasoning" else str(message["id"])


def asides_after(
    earlier: Sequence[Aside],
    shown: Iterable[Message],
    thread: Sequence[Message],
    *,
    old: Collection[str],
    place: str | None,
    fates: Fates,
    waits: bool,
) -> tuple[Aside, ...]:
    """The thread's asides after a run.

    Args:
        earlier: the asides before it.
        shown: the messages that the run has shown, in the order in which they began, with the person's own in their place.
        thread: the thread's own messages after the run, as AG-UI has them.
        old: ids of the thread's messages before the run.
        place: id of the last message that the client had before the run showed anything.
        fates: what became of the run's messages.
        waits: whether the graph waits for an answer.
    """
    present = {owner_of(one) for one in thread}
    # A node may return the words of an inner graph, or its own, under another id: then they are shown already.
    said = [_words(one) for one in thread if one["id"] not in old]
    moved: dict[str, str | None] = {}
    kept: list[Aside] = []
    for one in earlier:
        after = moved.get(one.after, one.after) if one.after is not None else None
        if one.message_id in present:
            continue
        if one.pending and _words(one.shown[-1]) in said:
            moved[one.message_id] = after
            continue
        kept.append(replace(one, after=after, pending=one.pending and waits))
    if place is not None:
        place = moved.get(place, place)
    for message_id, group in groupby(shown, key=owner_of):
        parts = tuple(group)
        if message_id in present:
            place = message_id
        elif message_id not in fates.held | fates.drafts | fates.unkept and _words(parts[-1]) not in said:
            again = next((at for at, one in enumerate(kept) if one.message_id == message_id), None)
            if again is not None:  # interleaved with another message
                kept[again] = replace(kept[again], shown=(*kept[again].shown, *parts))
                continue
            kept.append(Aside(message_id, place, parts, pending=waits and message_id not in fates.over))
            place = message_id
    return tuple(kept)


def of_ended_nodes(events: Iterable[Event]) -> tuple[list[Message], set[str]]:
    """What an attempt that died has shown, and the ids of those messages in it whose node had ended.

    Such a node does not run again, so nobody says its messages anew, whether or not the checkpoint of its parent graph has them. A
    message belongs to one of the innermost nodes that were at work when it began; where one of these was still at work at the end, the
    message may be its, and is not counted.

    Args:
        events: of the run, from its first one. Of several attempts the last counts.
    """
    shown = Shown()
    working: dict[str, tuple[str, ...]] = {}
    ended: set[str] = set()
    authors: dict[str, set[str]] = {}
    for event in events:
        if event["type"] == EventType.CUSTOM.value:
            value = event["value"]
            if event["name"] == Custom.ATTEMPT:
                shown, authors = Shown(), {}
            elif event["name"] == Custom.NODE_STARTED:
                working[value["taskId"]] = tuple(value["path"])
            elif event["name"] == Custom.NODE_COMPLETED:
                working.pop(value["taskId"], None)
                if value["outcome"] == "ok":
                    ended.add(value["taskId"])
        elif event["type"] in _BEGINS:
            within = {path[:at] for path in working.values() for at in range(1, len(path))}
            message_id = str(event.get("parentMessageId") or event.get("messageId") or event["toolCallId"]).partition(REASONING)[0]
            authors.setdefault(message_id, {task for task, path in working.items() if path not in within})
        shown.feed(event)
    return shown.messages(), {message_id for message_id, tasks in authors.items() if tasks and tasks <= ended}


def merged(thread: Sequence[Message], asides: Sequence[Aside]) -> list[Message]:
    """The thread's messages as AG-UI has them, with the asides at their places. An aside whose place is gone is left out."""
    if not asides:
        return list(thread)
    present = {owner_of(one) for one in thread}
    followers = _followers(asides)
    found = list(_shown(None, followers, present))
    for message_id, group in groupby(thread, key=owner_of):
        found.extend(group)
        found.extend(_shown(message_id, followers, present))
    return found


def taken_over(messages: Sequence[BaseMessage], asides: Sequence[Aside]) -> tuple[list[BaseMessage], tuple[Aside, ...]]:
    """The thread with its pending asides as messages of its own, and the asides that are left, for a thread that waits no longer."""
    present = {str(one.id) for one in messages}
    names = {call["id"]: call["function"]["name"] for one in asides for part in one.shown for call in part.get("toolCalls") or ()}
    names |= {str(call["id"]): str(call["name"]) for one in messages if isinstance(one, AIMessage) for call in one.tool_calls}
    followers = _followers(asides)
    answered = {one.tool_call_id for one in messages if isinstance(one, ToolMessage)}
    taken: set[str] = set()

    def behind(place: str | None) -> Iterator[BaseMessage]:
        for one in followers.get(place, ()):
            message = _as_message(one, names) if one.pending and one.message_id not in present else None
            if isinstance(message, ToolMessage) and message.tool_call_id in answered:
                taken.add(one.message_id)
            elif message is not None:
                taken.add(one.message_id)
                yield message
            yield from behind(one.message_id) if one.message_id not in present else ()

    whole = list(behind(None))
    for one in messages:
        whole.append(one)
        whole.extend(behind(str(one.id)))
    left = tuple(replace(one, pending=False) for one in asides if one.message_id not in taken | present)
    return whole, left


def before(messages: Sequence[Message], asides: Sequence[Aside], message_id: str | None) -> tuple[Aside, ...]:
    """The asides that stand before a message; all of them where it is None.

    Args:
        messages: the thread as it is shown, with its asides.
        asides: its asides.
        message_id: of the message.
    """
    if message_id is None:
        return tuple(asides)
    ids = [owner_of(one) for one in messages]
    first = set(ids[: ids.index(message_id)]) if message_id in ids else set(ids)
    return tuple(one for one in asides if one.message_id in first)


def encoded(asides: Sequence[Aside]) -> str:
    """The asides as ASCII JSON, for a store."""
    rows = [{"id": one.message_id, "after": one.after, "shown": one.shown, "pending": one.pending} for one in asides]
    return json.dumps(rows, default=str)


def decoded(stored: str) -> tuple[Aside, ...]:
    """The reverse of `encoded`."""
    return tuple(Aside(one["id"], one["after"], tuple(one["shown"]), one["pending"]) for one in json.loads(stored))


def assistant_message(
    message_id: str, text: str, calls: Iterable[tuple[str, str, str]], *, reasoning: str = "", marks: Mapping[str, Any] | None = None
) -> AIMessage:
    """An assistant message for the thread, made of what was shown.

    Args:
        message_id: its id.
        text: its text.
        calls: id, name and arguments of each call. Arguments that are no JSON object make it an invalid call, which is never run.
        reasoning: what the model thought.
        marks: `response_metadata`.
    """
    sound, broken = [], []
    for call_id, name, arguments in calls:
        parsed = _json_object(arguments)
        if parsed is not None:
            sound.append({"name": name, "args": parsed, "id": call_id, "type": "tool_call"})
        else:
            broken.append({"name": name, "args": arguments, "id": call_id, "error": None, "type": "invalid_tool_call"})
    extra = {"reasoning_content": reasoning} if reasoning else {}
    return AIMessage(
        text, id=message_id, tool_calls=sound, invalid_tool_calls=broken, additional_kwargs=extra, response_metadata=dict(marks or {})
    )


_BEGINS: Final = frozenset(
    {
        EventType.TEXT_MESSAGE_START.value,
        EventType.REASONING_MESSAGE_START.value,
        EventType.TOOL_CALL_START.value,
        EventType.TOOL_CALL_RESULT.value,
    }
)
_NOTHING: Final = ("", ())


def _words(message: Message) -> tuple[Any, ...]:
    """What a message says, without its id. Of messages that say nothing each is like no other."""
    if message["role"] == "tool":
        return (message["toolCallId"],)  # a call has one result, whatever it says
    calls = tuple((call["function"]["name"], call["function"]["arguments"]) for call in message.get("toolCalls") or ())
    content = message.get("content")
    words = (content.strip() if isinstance(content, str) else "", calls)
    return words if words != _NOTHING else (message["id"],)


def _followers(asides: Sequence[Aside]) -> dict[str | None, list[Aside]]:
    found: dict[str | None, list[Aside]] = {}
    for one in asides:
        found.setdefault(one.after, []).append(one)
    return found


def _shown(place: str | None, followers: Mapping[str | None, Sequence[Aside]], present: Collection[str]) -> Iterator[Message]:
    """The asides behind a place, and those behind them. What the thread has meanwhile stands in the thread."""
    for one in followers.get(place, ()):
        if one.message_id not in present:
            yield from one.shown
            yield from _shown(one.message_id, followers, present)


def _as_message(aside: Aside, names: Mapping[str, str]) -> BaseMessage | None:
    """The message for the thread; None where it has nothing that a model could be given."""
    shown = aside.shown[-1]
    if shown["role"] == "tool":
        call_id = str(shown["toolCallId"])
        outcome = of_json((shown.get("metadata") or {}).get(OUTCOME)) or DONE
        return tool_message(
            ToolResult(str(shown["content"]), outcome), call_id=call_id, name=names.get(call_id, "tool"), message_id=aside.message_id
        )
    if shown["role"] != "assistant":
        return None
    reasoning = "\n\n".join(one["content"] for one in aside.shown if one["role"] == "reasoning" and one.get("content"))
    calls = [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in shown.get("toolCalls") or ()]
    marks = {key: value for key, value in (shown.get("metadata") or {}).items() if key == STOPPED}
    return assistant_message(aside.message_id, str(shown.get("content") or ""), calls, reasoning=reasoning, marks=marks)


def _json_object(arguments: str) -> dict[str, Any] | None:
    try:
        parsed = orjson.loads(arguments or "{}")
    except orjson.JSONDecodeError:
        return None
    return parsed if isinstance(parsed, dict) else None
