"""Unique ids within one run, and which of the source's ids each stands for.

A browser keeps one list of messages: texts, reasoning, tool results, activities, and the messages that carry tool calls. An event that
names an id of this list changes the message that has the id. So all messages share one namespace, and tool calls and reasoning blocks have
one each. Pure. Its memory grows with the number of ids of a run.
"""

from __future__ import annotations

from collections import defaultdict

from middle_core.agui.grammar import CALL, STEP, TEXT, Kind

MESSAGE = TEXT.space


class Names:
    """Hands out ids.

    Args:
        limit: characters of an id. A longer one is cut, and made unique.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken: defaultdict[str, set[str]] = defaultdict(set)
        self._newest: dict[tuple[str, str], str] = {}
        self._carriers: set[str] = set()
        """Ids of assistant messages, which may carry tool calls."""
        self._announced: set[str] = set()
        """Those of them that only a tool call has named so far: their text may still begin."""

    def cut(self, source_id: str) -> str:
        """The id, no longer than the limit."""
        return source_id[: self._limit]

    def take(self, space: str, wanted: str) -> str:
        """`wanted`, or with a suffix where it is taken: `m~2`."""
        stem = self.cut(wanted)
        unique, n = stem, 1
        while unique in self._taken[space]:
            n += 1
            suffix = f"~{n}"
            unique = stem[: self._limit - len(suffix)] + suffix
        self._taken[space].add(unique)
        return unique

    def open(self, kind: Kind, source_id: str, *, carries_calls: bool = False) -> str:
        """The id for a thing that starts. The name of a step may come again; an id may not."""
        wanted = self.cut(source_id)
        if kind is STEP or (kind is TEXT and wanted in self._announced):
            self._announced.discard(wanted)
            our_id = wanted
        else:
            our_id = self.take(kind.space, source_id)
        self._newest[kind.name, source_id] = our_id
        if carries_calls:
            self._carriers.add(our_id)
        return our_id

    def newest(self, kind: Kind, source_id: str) -> str | None:
        """Our newest id for the source's, if there is one."""
        return self._newest.get((kind.name, source_id))

    def answered(self, source_id: str) -> str:
        """The id for a result whose call did not start here: one of an earlier run, answered after an approval.

        From then on it is taken, so that a call which starts later under the same id gets a result of its own.
        """
        known = self._newest.get((CALL.name, source_id))
        if known is None:
            known = self._newest[CALL.name, source_id] = self.cut(source_id)
            self._taken[CALL.space].add(known)
        return known

    def activity(self, source_id: str) -> str:
        """An activity's id stays the same: a later snapshot replaces it."""
        key = ("activity", source_id)
        if key not in self._newest:
            self._newest[key] = self.take(MESSAGE, source_id)
        return self._newest[key]

    def carrier(self, our_call: str, parent: str | None) -> str | None:
        """The `parentMessageId` for a tool call: the message that it names, or None where it needs none.

        A call without one makes the browser add a message under the call's own id, and so does a parent that
        is no assistant message. Where that id is taken the call gets a carrier of its own.
        """
        if parent:
            wanted = self._newest.get((TEXT.name, parent)) or self.cut(parent)
            if wanted not in self._carriers and wanted not in self._taken[MESSAGE]:
                self._announced.add(self.take(MESSAGE, wanted))
                self._carriers.add(wanted)
            if wanted in self._carriers:
                return wanted
        own = self.take(MESSAGE, our_call)
        self._carriers.add(own)
        return None if own == our_call else own
