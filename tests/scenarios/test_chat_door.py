"""/chat from a client's view: one endpoint with two forms, the same errors in both, exact sequences."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk
from langgraph.graph import END, START, StateGraph

from middle_core.agents.knowledge_copilot.state import State
from middle_core.agents.registry import AgentSpec
from middle_core.node_api.emit import refuse
from tests.fakes.graphs import ask_two, chat, fails, nested, one_node, parallel
from tests.fakes.graphs import sequence as nodes
from tests.fakes.models import ScriptedModel, finish
from tests.fakes.stack import stack
from tests.fakes.tokens import mint
from tests.fakes.until import until
from tests.scenarios.chat_door import ACCEPT, Chat, plain, response, sequence, text
from tests.scenarios.slow_agent import PACE_S, Counting


def says(*words: str, turns: int = 50) -> ScriptedModel:
    return ScriptedModel(turns=[[*words, finish()]] * turns)


def guarded() -> Any:
    """guard -> agent, or out."""
    model = says("hello")

    async def guard(state: Any) -> Any:
        if "secret" in str(state["messages"][-1].content):
            await refuse("Not\u202e about secrets.")
        return {}

    async def agent(state: Any) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(State)
    graph.add_node("guard", guard)
    graph.add_node("agent", agent)
    graph.add_edge(START, "guard")
    graph.add_conditional_edges("guard", lambda s: END if "secret" in str(s["messages"][-1].content) else "agent", ["agent", END])
    return graph


async def test_one_turn_in_both_representations_is_the_same_to_the_byte(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": lambda: chat(says("hel", "lo"))}) as server:
        key = {"Idempotency-Key": "k1"}
        first = await server.post("/chat", {"message": "hi"}, headers=key)
        again = await server.post("/chat", {"message": "hi"}, headers=key)
        assert first.headers["content-type"] == "application/json"
        assert again.content == first.content, "the repeated request found its turn"
        async with server.stream("POST", "/chat", body={"message": "hi"}, headers={**ACCEPT, **key}) as reader:
            await reader.rest()
        assert reader.response.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert {reader.run_id, again.headers["x-run-id"]} == {first.headers["x-run-id"]}
        assert b'"response":' + first.content + b"}" in reader.frames[-1].data
        assert {first.headers["vary"], reader.response.headers["vary"]} == {"Accept"}
        assert text(first.json()) == "hello"


@pytest.mark.parametrize(
    ("accept", "streams"),
    [
        ("text/event-stream", True),
        ("TEXT/Event-Stream; charset=UTF-8", True),
        ("application/json;q=0.9, text/event-stream", True),
        ("text/event-stream;q=0.5, application/json", False),
        ("text/event-stream;q=0", False),
        ("*/*", False),
        ("application/json", False),
        ("text/html, text/*;q=0.9", False),
        ("", False),
    ],
)
async def test_accept_decides_and_nothing_else(tmp_path: Path, accept: str, streams: bool) -> None:
    async with stack(tmp_path, agents={"default": lambda: chat(says("hello"))}) as server:
        answer = await server.post("/chat", {"message": "hi"}, headers={"accept": accept})
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream" if streams else "application/json")
        split = await server.http.post(
            server.url + "/chat", headers=[*server.headers().items(), ("accept", "text/html"), ("accept", accept)], json={"message": "hi"}
        )
        assert split.headers["content-type"].startswith("text/event-stream" if streams else "application/json"), "two lines are one list"


async def test_a_stream_begins_at_once_and_is_not_to_be_buffered(tmp_path: Path) -> None:
    never = asyncio.Event()
    async with stack(tmp_path, agents={"default": lambda: chat(ScriptedModel(turns=[[never]]))}, heartbeat_s=0.05) as server:
        async with Chat(server).stream("hi") as reader:
            await reader.until_type("node_started")
            assert bytes(reader.raw).startswith(b": middle-core\n\nretry: 1000\n\n")
            await reader.comments(3)
        headers = reader.response.headers
        assert headers["cache-control"] == "no-cache, no-transform"
        assert headers["x-accel-buffering"] == "no"


async def test_heartbeats_come_while_a_model_talks_and_nobody_wants_its_tokens(tmp_path: Path) -> None:
    """Records without frames send no bytes, so the connection would be silent and would be cut."""
    assert PACE_S * 2 < 0.1
    async with (
        stack(tmp_path, agents={"default": lambda: chat(Counting())}, heartbeat_s=0.1, disconnect_grace_s=0) as server,
        Chat(server).stream("count 1000") as reader,
    ):
        await reader.until_type("node_started")
        await reader.comments(5)
        assert sequence(reader) == ["graph_topology", "node_started model"]


# errors ------------------------------------------------------------------------------------------------

BAD: list[tuple[str, Any, int, str, str]] = [
    ("/chat", {"message": "hi", "thread_id": "../x"}, 422, "invalid_request", "thread_id"),
    ("/chat", {"message": ""}, 422, "invalid_request", "message"),
    ("/chat", {"message": "hi", "on_disconnect": "perhaps"}, 422, "invalid_request", "on_disconnect"),
    ("/chat", {"message": "hi", "stream": True}, 422, "invalid_request", "stream"),
    ("/chat?hold=perhaps", {"message": "hi"}, 422, "invalid_request", "hold"),
    ("/chat", {"message": "hi", "agent": "nobody"}, 404, "not_found", "nobody"),
    ("/chat/nobody", {"message": "hi"}, 404, "not_found", "nobody"),
    ("/chat/default", {"message": "hi", "agent": "other"}, 422, "invalid_request", "agent"),
    ("/chat/resume", {"thread_id": "t1", "answers": []}, 422, "invalid_request", "answers"),
    (
        "/chat/resume",
        {"thread_id": "t1", "answers": [{"interrupt_id": "q", "decision": "yes"}]},
        422,
        "invalid_request",
        "answers.0.decision",
    ),
    ("/chat/resume", {"thread_id": "nowhere", "answers": [{"interrupt_id": "q", "decision": "approve"}]}, 404, "not_found", ""),
    ("/chat/resume", {"thread_id": "known", "answers": [{"interrupt_id": "q", "decision": "approve"}]}, 404, "interrupt_unknown", ""),
    ("/chat/resume", {"thread_id": "foreign", "answers": [{"interrupt_id": "q", "decision": "approve"}]}, 404, "not_found", ""),
    ("/chat", {"message": "x" * 5000}, 413, "too_large", ""),
]


async def test_what_hinders_a_turn_is_the_same_in_both_representations(tmp_path: Path) -> None:
    agents = {"default": lambda: chat(says("hello")), "other": lambda: chat(says("hello"))}
    async with stack(tmp_path, agents=agents, max_body_bytes=4096) as server:
        await Chat(server, thread="known").ask("hi")
        await Chat(server, thread="foreign", token=mint(sub="bob")).ask("hi")
        for path, body, status, code, words in BAD:
            answers = [await server.post(path, body, headers=headers) for headers in ({}, ACCEPT)]
            for answer in answers:
                assert (answer.status_code, answer.json()["code"]) == (status, code), (path, answer.text)
                assert answer.headers["content-type"] == "application/problem+json"
                assert words in answer.json()["detail"]
            first, second = ({**answer.json(), "correlation_id": ""} for answer in answers)
            assert first == second
        runs = [(await server.get(f"/threads/{thread}")).json()["lastRun"] for thread in ("known",)]
        assert runs[0]["status"] == "finished"
        assert len((await server.get("/threads")).json()["threads"]) == 1, "nothing was started"


async def test_without_a_token_nothing_begins(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": lambda: chat(says("hello"))}) as server:
        for method, path in [("POST", "/chat"), ("POST", "/chat/default"), ("POST", "/chat/resume"), ("GET", "/chat/runs/x/events")]:
            for headers in ({}, ACCEPT, {"authorization": "Bearer nonsense"}):
                answer = await server.http.request(method, server.url + path, headers=headers, content=b"{not json")
                assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
        assert (await server.get("/threads")).json()["threads"] == []


async def test_anothers_turn_and_one_that_is_not_there_are_the_same(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": lambda: chat(says("hello"))}) as server:
        mine = await Chat(server).ask("hi")
        answers = [
            await server.get(f"/chat/runs/{run}/events", token=token)
            for run, token in [(mine["run_id"], mint(sub="bob")), ("01900000-0000-7000-8000-000000000000", None), ("x", None)]
        ]
        assert {(answer.status_code, answer.json()["detail"]) for answer in answers} == {(404, answers[0].json()["detail"])}
        assert (await Chat(server, token=mint(sub="bob")).ask("hi"))["run_id"] != mine["run_id"], "a thread's name is its owner's"


@pytest.mark.parametrize("cursor", ["garbage", "999", "{run}:999", "01900000-0000-7000-8000-000000000000:1", "1:2:3"])
async def test_a_cursor_that_is_no_place_is_refused(tmp_path: Path, cursor: str) -> None:
    async with stack(tmp_path, agents={"default": lambda: chat(says("hello"))}) as server:
        run_id = (await Chat(server).ask("hi"))["run_id"]
        for query in ("", "?hold=1"):
            answer = await server.get(f"/chat/runs/{run_id}/events{query}", headers={"last-event-id": cursor.replace("{run}", run_id)})
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


async def test_a_busy_thread_is_refused_or_interrupted(tmp_path: Path) -> None:
    model = ScriptedModel(turns=[["slow", asyncio.Event()], ["fast", finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server, Chat(server).stream("one", query="?tokens=1") as first:
        await first.until_type("token")
        for headers in ({}, ACCEPT):
            busy = await server.post("/chat", {"message": "two", "thread_id": "t1"}, headers=headers)
            assert (busy.status_code, busy.json()["code"]) == (409, "thread_busy")
        assert text(await Chat(server).ask("two", multitask_strategy="interrupt")) == "fast"
        await first.rest()
        assert sequence(first)[-2:] == ["node_completed model cancelled", "turn_completed cancelled"]
        assert response(first)["reason"] == "a new message came"


async def test_a_turn_is_found_again_by_its_name_and_a_name_means_one_input(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": lambda: chat(says("hello"))}) as server:
        one = await Chat(server).ask("hi", run_id="mine")
        assert await Chat(server).ask("hi", run_id="mine") == one
        conflict = await server.post("/chat", {"message": "other", "thread_id": "t1", "run_id": "mine"})
        assert (conflict.status_code, conflict.json()["code"]) == (409, "invalid_request")
        assert len(await server.history()) == 2


async def test_hold_is_for_streams(tmp_path: Path) -> None:
    async with stack(tmp_path, agents={"default": lambda: chat(says("hello"))}) as server:
        answer = await server.post("/chat?hold=1", {"message": "hi"})
        assert answer.status_code == 422
        assert answer.json()["detail"].startswith("hold:")


# sequences ---------------------------------------------------------------------------------------------


async def turn_of(tmp_path: Path, graph: Any, message: str = "hi", query: str = "") -> tuple[list[str], dict[str, Any], Any]:
    async with stack(tmp_path, agents={"default": lambda: graph}) as server:
        reader = await Chat(server).turn(message, query=query)
        whole = await Chat(server, thread="other").ask(message)
        assert plain({**response(reader), "thread_id": ""}) == plain({**whole, "thread_id": ""}), "JSON says the same"
    return sequence(reader), response(reader), reader


async def test_plain(tmp_path: Path) -> None:
    found, answer, reader = await turn_of(tmp_path, chat(says("hel", "lo")), query="?tokens=1")
    assert found == [
        "graph_topology",
        "node_started model",
        "token",
        "token",
        "node_completed model ok",
        "turn_completed completed",
    ]
    assert reader.events[0]["edges"] == [
        {"source": "__start__", "target": "model", "conditional": False, "label": None},
        {"source": "model", "target": "__end__", "conditional": False, "label": None},
    ]
    assert answer["usage"] == [
        {
            "provider": "scriptedmodel",
            "model": None,
            "input_tokens": 3,
            "output_tokens": 5,
            "total_tokens": 8,
            "reasoning_tokens": None,
            "cached_input_tokens": None,
        }
    ]
    assert "human_wait_ms" not in reader.events[-1]


async def test_a_skipped_node(tmp_path: Path) -> None:
    async def first(_state: Any) -> Any:
        return {}

    graph: Any = StateGraph(State)
    for name in ("first", "left", "right"):
        graph.add_node(name, first)
    graph.add_edge(START, "first")
    graph.add_conditional_edges("first", lambda _: "left", ["left", "right"])
    found, answer, reader = await turn_of(tmp_path, graph)
    assert found[-2:] == ["node_completed right skipped", "turn_completed completed"]
    assert [one["node"] for one in answer["latency"]] == ["first", "left", "right"]
    assert {(one["target"], one["conditional"]) for one in reader.events[0]["edges"] if one["source"] == "first"} == {
        ("left", True),
        ("right", True),
    }


async def test_refused_by_a_node(tmp_path: Path) -> None:
    found, answer, _ = await turn_of(tmp_path, guarded(), "tell me a secret")
    assert found == [
        "graph_topology",
        "node_started guard",
        "node_completed guard ok",
        "node_completed agent skipped",
        "turn_completed refused",
    ]
    assert (answer["reason"], answer["reply"]) == ("Not about secrets.", None)


DECLINED = "The model declined to answer this."


@pytest.mark.parametrize(
    ("chunk", "status", "reason"),
    [
        (finish("content_filter"), "refused", DECLINED),
        (AIMessageChunk(content="", additional_kwargs={"refusal": "I will not."}), "refused", DECLINED),
        (AIMessageChunk(content="", response_metadata={"stop_reason": "refusal"}), "refused", DECLINED),
        (finish("length"), "completed", "The answer was cut off at its length limit."),
    ],
)
async def test_the_models_own_end_is_told(tmp_path: Path, chunk: AIMessageChunk, status: str, reason: str) -> None:
    found, answer, _ = await turn_of(tmp_path, chat(ScriptedModel(turns=[["well", chunk]] * 2)))
    assert (found[-1], answer["reason"]) == (f"turn_completed {status}", reason)


async def test_failed_midway(tmp_path: Path) -> None:
    model = ScriptedModel(turns=[["half ", ValueError("password=hunter2")]] * 2)
    found, answer, reader = await turn_of(tmp_path, nodes(first=_nothing, second=_calls(model), third=_nothing))
    assert found == [
        "graph_topology",
        "node_started first",
        "node_completed first ok",
        "node_started second",
        "node_completed second error",
        "error",
        "turn_completed failed",
    ]
    assert (answer["error"]["code"], text(answer)) == ("internal", "half ")
    assert reader.events[-2]["correlation_id"] == answer["error"]["correlation_id"]
    assert b"hunter2" not in reader.raw


async def test_failed_beside_one_that_works(tmp_path: Path) -> None:
    """Both nodes get an end: the one that failed, and the one that was cut off with it."""
    never = asyncio.Event()
    found, answer, _ = await turn_of(tmp_path, fails(ValueError("x"), beside=never))
    assert {one["node"]: one["outcome"] for one in answer["latency"]} == {"broken": "error", "waiting": "cancelled"}
    assert sorted(found[1:5]) == [
        "node_completed broken error",
        "node_completed waiting cancelled",
        "node_started broken",
        "node_started waiting",
    ]
    assert found[5:] == ["error", "turn_completed failed"]


async def test_cancelled(tmp_path: Path) -> None:
    model = ScriptedModel(turns=[["half", asyncio.Event()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}) as server, Chat(server).stream("hi", query="?tokens=1") as reader:
        await reader.until_type("token")
        assert await server.stop()
        await reader.rest()
        assert sequence(reader)[-2:] == ["node_completed model cancelled", "turn_completed cancelled"]
        assert (response(reader)["reason"], text(response(reader))) == ("stopped by the user", "half")


async def test_parallel_nodes_have_their_own_true_times(tmp_path: Path) -> None:
    gates = {"quick": asyncio.Event(), "slow": asyncio.Event()}
    models = {name: ScriptedModel(turns=[[name, gate, finish()]]) for name, gate in gates.items()}
    async with (
        stack(tmp_path, agents={"default": lambda: parallel(models)}, heartbeat_s=0.05) as server,
        Chat(server).stream("hi") as reader,
    ):
        await reader.until(lambda r: sequence(r).count("node_started quick") + sequence(r).count("node_started slow") == 2)
        gates["quick"].set()
        await reader.until_type("node_completed")
        assert sequence(reader)[-1] == "node_completed quick ok", "it does not wait for its sibling"
        await reader.comments(reader.parser.comments + 4)
        gates["slow"].set()
        await reader.rest()
        took = {one["node"]: one["latency_ms"] for one in response(reader)["latency"]}
        assert took["slow"] >= took["quick"] + 90
        begun = {one["node"]: one["started_at"] for one in response(reader)["latency"]}
        assert abs(begun["slow"] - begun["quick"]) < 50


async def test_a_subgraph_is_drawn_and_told_with_its_path(tmp_path: Path) -> None:
    found, _, reader = await turn_of(tmp_path, nested(says("hello")))
    assert found[1:5] == [
        "node_started outer",
        "node_started outer:speak",
        "node_completed outer:speak ok",
        "node_completed outer ok",
    ]
    ids = {one["id"]: one["parent"] for one in reader.events[0]["nodes"]}
    assert ids == {"__start__": None, "outer": None, "outer:speak": "outer", "__end__": None}


async def test_two_questions_are_answered_one_after_the_other(tmp_path: Path) -> None:
    told: dict[str, Any] = {}
    async with stack(tmp_path, agents={"default": lambda: ask_two(answers=told)}) as server:
        first = await Chat(server).ask("hi")
        assert (first["status"], {one["title"] for one in first["interrupts"]}) == ("paused", {"left?", "right?"})
        left, right = sorted(first["interrupts"], key=lambda one: str(one["title"]))
        then = await Chat(server).answer({"interrupt_id": left["interrupt_id"], "decision": "answer", "value": False})
        assert (then["status"], [one["title"] for one in then["interrupts"]]) == ("paused", ["right?"])
        end = await Chat(server).answer({"interrupt_id": right["interrupt_id"], "decision": "answer", "value": None})
        assert end["status"] == "completed"
        assert told == {"left": False, "right": None}


async def test_a_message_with_the_state_that_the_agent_takes(tmp_path: Path) -> None:
    seen: list[Any] = []

    async def node(state: Any) -> Any:
        seen.append(state.get("selected_sources"))
        return {"messages": [AIMessage("ok")]}

    def writable() -> AgentSpec:
        return AgentSpec(graph=one_node(node, state=State), description="", client_writable=frozenset({"selected_sources"}))

    async with stack(tmp_path, agents={"default": lambda: one_node(node, state=State), "open": writable}) as server:
        await Chat(server).ask("hi", state={"selected_sources": ["a"], "messages": []})
        await Chat(server, agent="open", thread="t2").ask("hi", state={"selected_sources": ["a"], "messages": []})
    assert seen == [[], ["a"]], "the first agent lets clients write nothing"


async def test_a_drain_closes_streams_and_answers_without_ending_their_turns(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(turns=[["a", gate, "b", finish()]] * 2)
    async with stack(tmp_path, agents={"default": lambda: chat(model)}, disconnect_grace_s=0) as server:
        async with Chat(server).stream("hi") as reader, asyncio.TaskGroup() as group:
            await reader.until_type("node_started")
            waiting = group.create_task(server.post("/chat", {"message": "hi", "thread_id": "t2"}))
            await until(lambda: server.parts.supervisor.live == 2)
            server.parts.supervisor.begin_drain()
            await reader.rest()
        assert sequence(reader) == ["graph_topology", "node_started model"]
        assert bytes(reader.raw).endswith(b"retry: 1000\n: attach again: drain\n\n")
        assert (waiting.result().status_code, waiting.result().json()["code"]) == (503, "draining")
        assert waiting.result().headers["retry-after"] == "1"
        assert server.parts.supervisor.live == 2, "nobody follows, and they go on"
        gate.set()
        await until(lambda: server.parts.supervisor.live == 0)
        async with Chat(server).attach(reader.run_id, reader.last_id) as rest:
            await rest.rest()
        assert text(response(rest)) == "ab"


async def test_a_stream_of_planned_age_can_be_attached_again_whatever_the_grace(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(turns=[["a", gate, "b", finish()]])
    async with stack(tmp_path, agents={"default": lambda: chat(model)}, max_stream_s=0.2, disconnect_grace_s=0) as server:
        reader = await Chat(server).turn("hi")
        assert bytes(reader.raw).endswith(b"retry: 0\n: attach again: max_age\n\n")
        gate.set()
        async with Chat(server).attach(reader.run_id, reader.last_id) as rest:
            await rest.rest()
        assert response(rest)["status"] == "completed"


async def test_a_token_that_ends_midway_ends_the_stream_and_not_the_turn(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(turns=[["a", gate, "b", finish()]] * 2)
    async with stack(tmp_path, agents={"default": lambda: chat(model)}, disconnect_grace_s=0) as server:
        short = mint(exp=int(time.time()) + 3)
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(server.post("/chat", {"message": "hi", "thread_id": "t2"}, token=short))
            reader = await Chat(server, token=short).turn("hi")
        assert sequence(reader) == ["graph_topology", "node_started model"]
        assert bytes(reader.raw).endswith(b"retry: 0\n: attach again: token_expired\n\n")
        assert (asking.result().status_code, asking.result().json()["code"]) == (401, "unauthorized")
        assert server.parts.supervisor.live == 2
        gate.set()
        async with Chat(server).attach(reader.run_id, reader.last_id) as rest:
            await rest.rest()
        assert text(response(rest)) == "ab"


async def test_the_token_is_sent_and_kept_nowhere_and_what_a_graph_raises_is_not_told(tmp_path: Path) -> None:
    async def node(_state: Any) -> Any:
        raise ValueError("cannot connect to postgres://user:hunter2@db.internal/prod")

    async with stack(tmp_path, agents={"default": lambda: chat(says("hello")), "broken": lambda: one_node(node)}) as server:
        answers = [
            await server.post(f"/chat{path}", {"message": "hi"}, headers=headers) for path in ("", "/broken") for headers in ({}, ACCEPT)
        ]
    sent = b"".join(repr(answer.headers).encode() + answer.content for answer in answers)
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert len(kept) > 10_000
    for part in server.token.split(".")[1:]:
        assert part.encode() not in sent
        assert part.encode() not in kept
    assert b"hunter2" not in sent
    assert b"db.internal" not in sent


async def _nothing(_state: Any) -> Any:
    return {}


def _calls(model: ScriptedModel) -> Any:
    async def call(state: Any) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return call
