"""Two outside opinions on an AG-UI stream: the browser's own client, and the validator `ag-ui-validate`.

`verify_streams` takes many streams and starts one Node process for all of them: call it once per module or
test, not once per stream. A stream is what went over the wire (bytes), or log events, which are first
projected as the wire would do it.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ag_ui_validate import ValidatorOptions, create_validator

from middle_core.events import Event
from middle_core.transports.agui import frames as agui
from middle_core.transports.sse.frames import SseParser

SCRIPT = Path(__file__).with_suffix(".mjs")
TIMEOUT_S = 50.0

Stream = Sequence[Event] | bytes

ALLOWED = frozenset(
    {
        "AGUI204",  # arguments that are not JSON: a model wrote them, or a stop cut them off; the stream is still legal
        "AGUI207",  # a result for a call of an earlier run: a run after an approval begins with one
    }
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What both said, and what the browser shows after the stream.

    error: why the browser's client gave up. findings: what the validator calls an error. warnings: what the
    client dropped without giving up. run_error: the RUN_ERROR event that it was told.
    """

    error: str | None
    findings: list[str]
    warnings: list[str]
    types: list[str]
    messages: list[dict[str, Any]]
    state: Any
    pending_interrupts: list[dict[str, Any]]
    run_error: dict[str, Any] | None
    events: list[Event] = field(repr=False)

    @property
    def ok(self) -> bool:
        """Whether both accept the stream."""
        return self.error is None and not self.findings

    @property
    def texts(self) -> dict[str, Any]:
        """The content of each message in the browser, by id."""
        return {message["id"]: message.get("content") for message in self.messages}


async def verify_streams(
    streams: Sequence[Stream], *, messages: Sequence[dict[str, Any]] = (), allowed: frozenset[str] = ALLOWED
) -> list[Verdict]:
    """One verdict per stream, in order. messages: what the browser has before the run.

    allowed: rules of ag-ui-validate that do not count. Raises `AssertionError` where Node or its modules are missing.
    """
    wires = [stream if isinstance(stream, bytes) else b"".join(map(agui.synthetic, stream)) for stream in streams]
    lines = [json.dumps({"sse": wire.decode(), "messages": list(messages)}) for wire in wires]
    _, *answers = await _node("\n".join(lines))
    assert len(answers) == len(wires), f"{len(wires)} streams went in, {len(answers)} verdicts came out"
    return [_verdict(json.loads(answer), decode(wire), allowed) for answer, wire in zip(answers, wires, strict=True)]


async def known_event_types() -> set[str]:
    """Every event type that the browser's client can parse."""
    (first, *_) = await _node("")
    return set(json.loads(first)["eventTypes"])


def decode(wire: bytes) -> list[Event]:
    """The events in a stream's bytes."""
    return [json.loads(frame.data) for frame in SseParser().feed(wire)]


def _verdict(answer: dict[str, Any], events: list[Event], allowed: frozenset[str]) -> Verdict:
    return Verdict(
        error=answer["error"],
        findings=findings(events, allowed=allowed),
        warnings=answer["warnings"],
        types=answer["types"],
        messages=answer["messages"],
        state=answer.get("state"),
        pending_interrupts=answer["pendingInterrupts"],
        run_error=answer["runError"],
        events=events,
    )


def findings(events: Sequence[Event], *, allowed: frozenset[str] = ALLOWED) -> list[str]:
    """What ag-ui-validate calls an error, one line each."""
    validator = create_validator(ValidatorOptions())
    for event in events:
        validator.feed(event)
    validator.finalize()
    report = validator.report()
    assert not report.internal_errors, report.internal_errors
    return [
        f"{one.rule} at {one.event_index}: {one.message}"
        for one in report.diagnostics
        if one.severity == "error" and one.rule not in allowed
    ]


async def _node(lines: str) -> list[str]:
    node = shutil.which("node")
    assert node is not None, "Node is not on the PATH; install Node 20 or newer"
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(node, str(SCRIPT), stdin=pipe, stdout=pipe, stderr=pipe)
    try:
        async with asyncio.timeout(TIMEOUT_S):
            out, err = await process.communicate((lines + "\n" if lines else "").encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, f"{SCRIPT.name} failed; is `npm ci` done? It said: {err.decode()[-2000:]}"
    return [line for line in out.decode().split("\n") if line]
