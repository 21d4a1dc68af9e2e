"""MIDDLE_CORE_MODEL makes the model that it names, or an error that says what to set."""

from __future__ import annotations

import asyncio
import sys

import openai
import pytest

from middle_core.errors import ModelBadRequest, ModelRateLimited, ModelStreamCut, ModelUnavailable
from middle_core.models.cerebras.model import DEFAULT_MODEL, ChatCerebras
from middle_core.models.factory import build_model, close_model
from middle_core.models.offline.model import OfflineModel
from tests.fakes.cerebras_server import CerebrasServer, Reply


def cerebras(spec: str, base_url: str = "") -> ChatCerebras:
    model = build_model(spec, cerebras_api_key="k", cerebras_base_url=base_url)
    assert isinstance(model, ChatCerebras)
    return model


@pytest.mark.parametrize(
    ("spec", "name"), [("", DEFAULT_MODEL), ("cerebras", DEFAULT_MODEL), ("cerebras:", DEFAULT_MODEL), ("cerebras:x", "x")]
)
def test_cerebras_by_name_or_by_default_where_there_is_a_key(spec: str, name: str):
    assert cerebras(spec).model == name
    assert build_model(spec, cerebras_api_key="k").model_name == name  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "base_url", ["https://api.cerebras.ai", "https://api.cerebras.ai/", "https://api.cerebras.ai/v1", "https://api.cerebras.ai/v1/"]
)
def test_the_base_url_may_end_in_v1(base_url: str):
    assert cerebras("cerebras:x", base_url).base_url == "https://api.cerebras.ai"


@pytest.mark.parametrize(("spec", "key"), [("", ""), ("offline", ""), ("offline", "k"), (" offline ", "")])
def test_offline(spec: str, key: str):
    assert isinstance(build_model(spec, cerebras_api_key=key), OfflineModel)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("cerebras:x", "Set CEREBRAS_API_KEY"),
        ("gpt-oss-120b", "Use 'cerebras:<name>'"),
        ("offline:x", "Use 'cerebras:<name>'"),
        ("openai", "Use 'cerebras:<name>'"),
        ("openai:", "openai:<name>@<base url>"),
        ("openai:x", "Set OPENAI_API_KEY"),
        ("openai:x@localhost", "openai:<name>@<base url>"),
        ("openai:@http://localhost", "openai:<name>@<base url>"),
    ],
)
def test_an_error_says_what_to_set(spec: str, says: str):
    with pytest.raises(ValueError, match=says):
        build_model(spec)


@pytest.mark.slow
def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "langchain_openai", None)  # what an interpreter without the package does at import
    monkeypatch.delitem(sys.modules, "middle_core.models.openai_compatible", raising=False)
    with pytest.raises(ValueError, match=r"pip install 'middle-core\[openai\]'"):
        build_model("openai:x@http://127.0.0.1:1/v1")


async def test_an_openai_compatible_server_streams_merged():
    async with CerebrasServer(keep_alive=False) as server:
        model = build_model(f"openai:some/model@v1@{server.url}/v1", openai_api_key="secret")
        server.script(Reply([f"w{n} " for n in range(300)]))
        chunks = [chunk async for chunk in model.astream("hi")]
    assert "".join(chunk.text for chunk in chunks) == "".join(f"w{n} " for n in range(300))
    assert len(chunks) < 60
    (request,) = server.requests
    assert request.body["model"] == "some/model@v1"
    assert request.headers["authorization"] == "Bearer secret"
    await close_model(model)


async def test_a_server_without_a_key_is_sent_none_whatever_the_environment_holds(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "canary")
    async with CerebrasServer(keep_alive=False) as server:
        model = build_model(f"openai:m@{server.url}/v1")
        with pytest.raises(ModelBadRequest, match="key"):  # this server wants one
            await model.ainvoke("hi")
        with pytest.raises(openai.AuthenticationError):
            await asyncio.to_thread(model.invoke, "hi")
        await close_model(model)
    assert ["authorization" in request.headers for request in server.requests] == [False, False]


def test_an_address_without_http_is_named():
    with pytest.raises(ValueError, match="CEREBRAS_BASE_URL"):
        build_model("cerebras:x", cerebras_api_key="k", cerebras_base_url="api.cerebras.ai")


@pytest.mark.parametrize("done", [True, False])
async def test_a_stream_that_never_says_why_it_ended_was_cut(done: bool):
    async with CerebrasServer(keep_alive=False) as server:
        server.script(Reply("a b c", finish_reason=None, done=done))
        model = build_model(f"openai:m@{server.url}/v1", openai_api_key="k")
        with pytest.raises(ModelStreamCut):
            _ = [chunk async for chunk in model.astream("hi")]


@pytest.mark.parametrize("streaming", [True, False])
async def test_an_openai_compatible_server_may_send_reasoning_beside_the_answer(streaming: bool):
    async with CerebrasServer(keep_alive=False) as server:
        server.script(Reply("Yes.", reasoning="Let me see."))
        model = build_model(f"openai:m@{server.url}/v1", openai_api_key="k")
        chunks = [chunk async for chunk in model.astream("hi")] if streaming else [await model.ainvoke("hi")]
    assert "".join(chunk.text for chunk in chunks) == "Yes."
    assert "".join(chunk.additional_kwargs.get("reasoning_content", "") for chunk in chunks) == "Let me see."


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(status=429, headers={"retry-after": "7", "x-should-retry": "false"}), ModelRateLimited),
        (Reply(status=503, headers={"x-should-retry": "false"}), ModelUnavailable),
        (Reply(status=400), ModelBadRequest),
        (Reply("a b c", cut_after=2), ModelStreamCut),
        (Reply("a b c", error_after=2), ModelStreamCut),
    ],
)
@pytest.mark.parametrize("streaming", [True, False])
async def test_an_openai_compatible_server_fails_with_our_errors(reply: Reply, error: type[Exception], streaming: bool):
    if not streaming and reply.status == 200:
        reply = Reply(status=400, error={"message": "x"})
        error = ModelBadRequest
    async with CerebrasServer(keep_alive=False) as server:
        server.script(reply)
        model = build_model(f"openai:m@{server.url}/v1", openai_api_key="k")
        with pytest.raises(error) as caught:
            _ = [chunk async for chunk in model.astream("hi")] if streaming else await model.ainvoke("hi")
    assert caught.value.__cause__ is not None
    assert getattr(caught.value, "retry_after", None) == (7.0 if error is ModelRateLimited else None) or error is ModelUnavailable


async def test_closing_a_model_closes_its_connections_and_a_model_without_any_is_left_alone():
    async with CerebrasServer() as server:
        model = build_model("cerebras:", cerebras_api_key="k", cerebras_base_url=server.url)
        await model.ainvoke("hi")
        await close_model(model)
        await model.ainvoke("hi")
        assert server.connections == 2
        await close_model(model)
    await close_model(OfflineModel())
