"""One turn of /chat with httpx: prints what happens, attaches again when the stream is cut, answers an approval if told how.

TOKEN=<JWT> python docs/examples/chat.py http://127.0.0.1:8000 "Delete the source called Streams." [approve|reject]
"""

from __future__ import annotations

import json
import os
import sys
import time
import uuid
from collections.abc import Iterator
from typing import Any

import httpx

TRIES = 20
RETRY_S = 1.0


def events(http: httpx.Client, path: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The turn's events, each once, from the first to `turn_completed`, however often the connection breaks."""
    key, cursor = str(uuid.uuid4()), ""
    for attempt in range(TRIES):
        if attempt:
            time.sleep(RETRY_S)
        headers = {"Accept": "text/event-stream", "Idempotency-Key": key}
        if cursor:
            headers["Last-Event-ID"] = cursor
            request = http.build_request("GET", f"/chat/runs/{cursor.partition(':')[0]}/events", headers=headers)
        else:
            request = http.build_request("POST", path, headers=headers, json=body)
        try:
            response = http.send(request, stream=True)
            try:
                if response.is_error:
                    raise SystemExit(f"{response.status_code}: {response.read().decode()}")
                waiting: list[dict[str, Any]] = []
                for frame in frames(response):
                    waiting.append(json.loads(frame["data"]))
                    if "id" in frame:  # what has come without an id comes again if the stream is cut here
                        cursor = frame["id"]
                        yield from waiting
                        if waiting[-1]["type"] == "turn_completed":
                            return
                        waiting.clear()
            finally:
                response.close()
        except httpx.TransportError:
            continue  # cut: attach again, at the cursor
    raise SystemExit(f"no end after {TRIES} attempts")


def frames(response: httpx.Response) -> Iterator[dict[str, str]]:
    """Server-sent events. Lines end with LF only: `iter_lines` would also split at characters inside the text."""
    rest = b""
    for chunk in response.iter_raw():
        *blocks, rest = (rest + chunk).split(b"\n\n")
        for block in blocks:
            fields = dict(line.split(": ", 1) for line in block.decode().split("\n") if not line.startswith(":"))
            if "data" in fields:
                yield fields


def show(event: dict[str, Any]) -> None:
    """A line for a person."""
    match event["type"]:
        case "node_completed":
            print(f"  {':'.join(event['path'])}: {event['outcome']}, {event['latency_ms']} ms")
        case "paused":
            print(*(f"? {one['title']}" for one in event["interrupts"]), sep="\n")
        case "error":
            print(f"! {event['code']}: {event['message']}")
        case "turn_completed":
            reply = event["response"]["reply"] or {"parts": []}
            print(*(part["text"] for part in reply["parts"] if part["type"] == "text"), sep="\n")
            print(f"= {event['response']['status']}")


def main(url: str, message: str, decision: str = "") -> None:
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {os.environ['TOKEN']}"}, timeout=30) as http:
        path = "/chat"
        body: dict[str, Any] = {"message": message}
        while True:
            last: dict[str, Any] = {}
            for last in events(http, path, body):
                show(last)
            response = last["response"]
            if response["status"] != "paused" or not decision:
                return
            answers = [{"interrupt_id": one["interrupt_id"], "decision": decision} for one in response["interrupts"]]
            path, body = "/chat/resume", {"thread_id": response["thread_id"], "answers": answers}


if __name__ == "__main__":
    main(*sys.argv[1:])
