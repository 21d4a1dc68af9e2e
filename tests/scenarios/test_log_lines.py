"""What the server's log says of a run and of a request: one line each, with facts and without a word of the conversation."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from middle_core.errors import ModelUnavailable
from middle_core.telemetry import JsonFormatter
from tests.fakes.graphs import chat
from tests.fakes.models import ScriptedModel, finish
from tests.fakes.stack import stack
from tests.fakes.until import until


class Lines(logging.Handler):
    """The lines as they are written in production."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(JsonFormatter())
        self.lines: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(json.loads(self.format(record)))

    def of(self, message: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["message"] == message]


@pytest.fixture
def log() -> Any:
    lines = Lines()
    root = logging.getLogger()
    level = root.level
    root.addHandler(lines)
    root.setLevel(logging.INFO)
    yield lines
    root.removeHandler(lines)
    root.setLevel(level)


async def test_a_run_and_its_request_are_a_line_each(tmp_path: Path, log: Lines) -> None:
    model = ScriptedModel(turns=[["a canary ", "answer", finish("length")]])
    async with stack(tmp_path, agents={"helper": chat(model)}) as server:
        reader = await server.ask("a canary question")
        await until(lambda: len(log.of("run ended")) == len(log.of("request")) == 1, 10)
        await server.http.get(server.url + "/healthz")
    [run] = log.of("run ended")
    assert {name: run[name] for name in ("run_id", "agent", "outcome", "input_tokens", "output_tokens", "cut_off")} == {
        "run_id": reader.run_id,
        "agent": "helper",
        "outcome": "finished",
        "input_tokens": 3,
        "output_tokens": 5,
        "cut_off": "length",
    }
    assert 0 <= run["first_token_ms"] <= run["ms"]
    [request] = log.of("request")
    assert {name: request[name] for name in ("method", "path", "status", "run_id")} == {
        "method": "POST",
        "path": "/copilotkit",
        "status": 200,
        "run_id": reader.run_id,
    }
    assert request["bytes"] == len(reader.raw)
    assert "canary" not in json.dumps(log.lines)


async def test_a_failed_a_stopped_and_a_refused_one(tmp_path: Path, log: Lines) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(turns=[[ModelUnavailable()], ["half", gate]])
    async with stack(tmp_path, agents={"helper": chat(model)}) as server:
        await server.ask("one")
        async with server.say("two", thread="t2") as reader:
            await reader.until_text("half")
            assert await server.stop(thread="t2")
            await reader.rest()
        response = await server.http.get(server.url + "/threads?canary=1")
        await until(lambda: len(log.of("run ended")) == 2 and len(log.of("request")) == 4, 10)
    assert [(one["outcome"], one.get("code")) for one in log.of("run ended")] == [("failed", "model_unavailable"), ("cancelled", None)]
    [refused] = [one for one in log.of("request") if one["status"] == 401]
    assert (refused["path"], refused["correlation_id"]) == ("/threads", response.headers["x-correlation-id"])
    assert "canary" not in json.dumps(refused)
