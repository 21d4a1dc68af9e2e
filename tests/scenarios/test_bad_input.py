"""Bad input gets a clear typed error, loses nothing, leaks nothing, and the server goes on."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.fakes.graphs import chat
from tests.fakes.models import ScriptedModel, finish
from tests.fakes.stack import Stack, run_input, stack, user
from tests.fakes.tokens import SECRET, forgeries, mint, rsa_key

MAX_BODY = 200_000


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """One server for all tests, because no input may harm it."""
    model = ScriptedModel(turns=[["still here", finish()]])
    async with stack(tmp_path_factory.mktemp("data"), agents={"default": lambda: chat(model)}, max_body_bytes=MAX_BODY) as running:
        yield running
        reader = await running.ask("are you there?", thread="after")
        assert reader.text == "still here", "whatever was sent, the server goes on"


def problem(response: Any, status: int, code: str) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    assert body["code"] == code
    assert body["title"]
    assert body["detail"]
    assert body["correlation_id"] == response.headers["x-correlation-id"]
    assert "Traceback" not in response.text
    return body


BODIES = {
    "no JSON": (b"{", "invalid_request"),
    "empty": (b"", "invalid_request"),
    "not UTF-8": (b'{"threadId": "\xff"}', "invalid_request"),
    "a list": (b"[]", "invalid_request"),
    "null": (b"null", "invalid_request"),
    "a field missing": (b'{"threadId": "t"}', "invalid_request"),
    "nested deeply": (b'{"threadId":' + b"[" * 50_000, "invalid_request"),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("path", ["/copilotkit", "/copilotkit/connect", "/copilotkit/stop"])
async def test_a_body_that_is_no_input(server: Stack, name: str, path: str) -> None:
    content, code = BODIES[name]
    if name == "a field missing" and path.endswith("stop"):
        content = b'{"runId": "x"}'
    response = await server.post(path, content=content, headers={"content-type": "application/json"})
    problem(response, 422, code)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400"])
async def test_a_number_that_json_does_not_have(server: Stack, number: str) -> None:
    content = json.dumps(run_input(user("hi"), state={"x": 0})).replace('"x": 0', f'"x": {number}')
    problem(await server.post("/copilotkit", content=content, headers={"content-type": "application/json"}), 422, "invalid_request")


async def test_the_complaint_names_the_field(server: Stack) -> None:
    body = run_input(user("hi"))
    body["messages"][0]["content"] = 7
    detail = problem(await server.post("/copilotkit", body), 422, "invalid_request")["detail"]
    assert "messages.0" in detail


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
async def test_only_json_is_taken(server: Stack, media_type: str) -> None:
    content = json.dumps(run_input(user("hi"))).encode()
    problem(await server.post("/copilotkit", content=content, headers={"content-type": media_type}), 422, "invalid_request")


async def test_a_large_body_is_refused_whether_it_says_its_length_or_not(server: Stack) -> None:
    large = json.dumps(run_input(user("x" * 10_000_000))).encode()
    problem(await server.post("/copilotkit", content=large, headers={"content-type": "application/json"}), 413, "too_large")

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, 2 * MAX_BODY, 10_000):
            yield large[start : start + 10_000]

    problem(await server.post("/copilotkit", content=pieces(), headers={"content-type": "application/json"}), 413, "too_large")


IDS = [
    "../../etc/passwd",
    "a/../b",
    "nul\0",
    "x" * 10_000,
    "",
    " ",
    "-starts-with-a-dash",
    "new\nline",
    "ünïcode",
    "a b",
    "%00",
    "<script>",
]


@pytest.mark.parametrize("bad", IDS)
@pytest.mark.parametrize("field", ["threadId", "runId"])
async def test_an_id_that_is_none(server: Stack, bad: str, field: str) -> None:
    body = {**run_input(user("hi")), field: bad}
    detail = problem(await server.post("/copilotkit", body), 422, "invalid_request")["detail"]
    assert field in detail
    if bad.strip():
        assert bad not in detail
    if field == "threadId":
        problem(await server.post("/copilotkit/connect", body), 422, "invalid_request")
        problem(await server.post("/copilotkit/stop", {"threadId": bad}), 422, "invalid_request")


async def test_an_agent_that_is_not_there(server: Stack) -> None:
    for path in ("/copilotkit/nobody", "/copilotkit/nobody/connect", "/copilotkit/nobody/stop"):
        problem(await server.post(path, run_input(user("hi"))), 404, "not_found")


@pytest.mark.parametrize("option", [{"multitask_strategy": "enqueue"}, {"on_disconnect": "maybe"}, {"multitask_strategy": None}])
async def test_an_option_that_is_not_kept_is_refused(server: Stack, option: dict[str, Any]) -> None:
    body = run_input(user("hi"), forwardedProps={"middleCore": option})
    detail = problem(await server.post("/copilotkit", body), 422, "invalid_request")["detail"]
    assert next(iter(option)) in detail


TOKENS = {
    **{
        f"by secret: {name}": token
        for name, token in {"expired": mint(exp=1), "other secret": mint("y" * 40), "wrong aud": mint(aud="x")}.items()
    },
    **{f"forged: {name}": token for name, token in forgeries(rsa_key()).items()},
}


@pytest.mark.parametrize("name", TOKENS)
async def test_a_token_that_is_not_good_starts_nothing(server: Stack, name: str) -> None:
    token = TOKENS[name]
    header = f"Bearer {token}".replace("\n", "").strip()
    response = await server.http.post(server.url + "/copilotkit", headers={"authorization": header}, json=run_input(user("hi")))
    body = problem(response, 401, "unauthorized")
    assert response.headers["www-authenticate"].startswith("Bearer")
    if token:
        assert token not in json.dumps(body)
    assert (await server.get("/threads")).json()["threads"] == []


@pytest.mark.parametrize(
    "headers", [[], [("authorization", "Basic YWxpY2U6eA==")], [("authorization", "Bearer")], [("authorization", "Bearer  x")]]
)
@pytest.mark.parametrize(
    "door", ["GET /threads", "GET /threads/t1", "DELETE /threads/t1", "GET /copilotkit/info", "GET /copilotkit/runs/x/events"]
)
async def test_every_door_wants_a_token(server: Stack, headers: list[tuple[str, str]], door: str) -> None:
    method, path = door.split()
    problem(await server.http.request(method, server.url + path, headers=headers), 401, "unauthorized")


async def test_two_authorization_headers_are_no_identity(server: Stack) -> None:
    twice = [("authorization", f"Bearer {mint(sub='alice')}"), ("authorization", f"Bearer {mint(sub='bob')}")]
    problem(await server.http.get(server.url + "/threads", headers=twice), 401, "unauthorized")


async def test_a_door_that_does_not_exist(server: Stack) -> None:
    problem(await server.get("/nothing/here"), 404, "not_found")
    wrong_method = await server.http.get(server.url + "/copilotkit")
    assert problem(wrong_method, 405, "invalid_request")["status"] == 405
    problem(await server.get("/threads/"), 404, "not_found")
    problem(await server.post("/dev/token", {"sub": "alice"}), 404, "not_found")


@pytest.mark.parametrize("cursor", ["x", "1:", ":x", "-1:a", "1" * 200, "9" * 100 + ":x"])
async def test_a_page_cursor_that_is_none(server: Stack, cursor: str) -> None:
    problem(await server.get(f"/threads?cursor={cursor}"), 422, "invalid_request")


async def test_the_secret_is_what_signs(server: Stack) -> None:
    assert server.settings.jwt_secret.get_secret_value() == SECRET
    assert SECRET not in repr(server.settings)
