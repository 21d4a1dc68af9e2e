"""After whole conversations, the user's token and the model's key are nowhere except in memory and in requests to their own services."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import pytest

from middle_core.agents.knowledge_copilot.graph import build
from middle_core.auth.principal import Credential
from middle_core.auth.verify import secret_verifier
from middle_core.demo import backend_core
from middle_core.events import RunId
from middle_core.masking import mask
from middle_core.node_api.context import run_context
from middle_core.telemetry import JsonFormatter, PlainFormatter
from tests.fakes.graphs import one_node
from tests.fakes.http_server import serving
from tests.fakes.stack import Reader, stack
from tests.fakes.tokens import AUDIENCE, ISSUER, SECRET, mint
from tests.fakes.until import until


def where(needle: str, folder: Path) -> list[str]:
    """Files of the folder that hold the text, or any third of a JWT (header and all claims are secret enough)."""
    parts = [part.encode() for part in needle.split(".") if len(part) > 20]
    return [path.name for path in folder.rglob("*") if path.is_file() and any(part in path.read_bytes() for part in parts)]


async def test_the_token_reaches_backend_core_byte_for_byte_and_rests_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    data, backend_data = tmp_path / "data", tmp_path / "backend"
    backend_data.mkdir()
    backend = backend_core.create_app(database=backend_data / "b.db", verify=secret_verifier(SECRET, issuer=ISSUER, audience=AUDIENCE))
    token = mint(sub="alice", name="Alice", exp=int(time.time()) + 600)
    async with serving(backend) as backend_url, stack(data, agents={"copilot": build}, backend_url=backend_url) as server:
        reader = await server.ask("How does stop work?", token=token)
        assert "TOOL_CALL_RESULT" in reader.types, "the agent asked backend-core"
        assert len(reader.text) > 50
        assert set(backend.state.authorizations) == {f"Bearer {token}".encode()}
        async with server.say("Write a long answer about streams.", token=token, thread="t2") as stopped:
            await stopped.until_type("TEXT_MESSAGE_CONTENT")
            await server.stop(token=token, thread="t2")
            await stopped.rest()
        assert where(token, data) == []
        seen = b"".join(bytes(stream.raw) for stream in (reader, stopped)) + repr(reader.response.headers).encode()
        assert not any(part.encode() in seen for part in token.split("."))
    assert where(token, data) == [], "nor after the database was closed"
    assert where(token, backend_data) == []
    assert not any(part in caplog.text for part in token.split(".") if len(part) > 20)
    (data / "canary").write_text(f"planted {token}", encoding="utf-8")
    assert where(token, data) == ["canary"], "the search finds what is there"


async def test_an_agent_that_fails_with_secrets_in_its_words_tells_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """ag-ui-langgraph 0.0.47 sends str(exc) to the browser; a DSN reached it that way."""

    password = "correct-horse-battery-staple"

    async def node(_state: object) -> None:
        raise ValueError(f"cannot connect to postgres://user:{password}@db.internal/prod")

    async with stack(tmp_path, agents={"default": lambda: one_node(node)}) as server:
        reader = await server.ask("hi")
    assert reader.events[-1]["type"] == "RUN_ERROR"
    assert reader.events[-1]["code"] == "internal"
    correlation_id = reader.events[-1]["correlationId"]
    assert password.encode() not in reader.raw
    assert b"db.internal" not in reader.raw
    assert where(password, tmp_path) == [], "LangGraph writes a failed task's exception down: of it the type only"
    [logged] = [record for record in caplog.records if getattr(record, "correlation_id", "") == correlation_id]
    assert logged.exc_info is not None, "the cause is in the log, under the id that the person was told"
    line = JsonFormatter().format(logged)
    assert "cannot connect to postgres://***@db.internal/prod" in line
    assert password not in line


def test_logs_mask_what_looks_like_a_token_or_a_key() -> None:
    token = mint()
    record = logging.LogRecord("x", logging.ERROR, "f", 1, "sent %s with csk-abcdefgh12345678", (token,), None)
    record.detail = token
    for formatter in (JsonFormatter(), PlainFormatter("%(message)s")):
        line = formatter.format(record)
        assert token not in line
        assert "csk-abcdefgh" not in line
        assert "***" in line
    assert mask("nothing here") == "nothing here"


async def test_a_token_stays_with_its_run_and_goes_with_it(tmp_path: Path) -> None:
    held: list[Credential] = []

    async def node(_state: object) -> dict[str, object]:
        caller = run_context().caller
        assert caller is not None
        held.append(caller.credential)
        return {}

    async with stack(tmp_path, agents={"default": lambda: one_node(node)}) as server:
        token = mint(sub="dora")
        reader: Reader = await server.ask("hi", token=token)
        assert reader.types[-1] == "RUN_FINISHED"
        assert held[0].token == token
        assert token not in repr(held[0])
        await until(lambda: server.parts.supervisor.live == 0)
        assert server.parts.supervisor.principal(RunId(reader.run_id)) is None
