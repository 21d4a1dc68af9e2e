"""What merging deltas in the model saves: CPU per token with and without it, through the same graph, from the simulator.

    .venv/bin/python -m benchmarks.coalesce [--tokens 2000] [--rate 2000] [--json FILE]

The simulator runs in a process of its own, so its CPU is not counted. `model` measures the model alone, `graph` the model inside LangGraph's
`astream_events`. Compare the ratios; absolute numbers depend on the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from middle_core.models.cerebras.model import ChatCerebras
from middle_core.models.coalesce import Coalesce

ROUNDS = 3


@dataclass(frozen=True)
class Row:
    what: str
    chunks: int
    cpu_us_per_token: float
    first_ms: float
    """From the call to the first text."""


@asynccontextmanager
async def simulator(tokens: int, rate: float) -> AsyncIterator[str]:
    options = ["--tokens", str(tokens), "--rate", str(rate)]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.fakes.cerebras_server", *options, stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[1]
    )
    assert process.stdout is not None
    try:
        yield (await process.stdout.readline()).decode().strip()
    finally:
        process.terminate()
        await process.wait()


def graph_of(model: BaseChatModel) -> Any:
    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    return graph.compile()


async def from_model(model: BaseChatModel) -> AsyncIterator[str]:
    async for chunk in model.astream("hi"):
        if chunk.content:
            yield chunk.text


async def from_graph(model: BaseChatModel) -> AsyncIterator[str]:
    async for event in graph_of(model).astream_events({"messages": [HumanMessage("hi")]}, version="v2"):
        if event["event"] == "on_chat_model_stream" and (text := event["data"]["chunk"].text):
            yield text


async def measure(what: str, run: Any, model: BaseChatModel, tokens: int) -> Row:
    rows = []
    for _ in range(ROUNDS + 1):  # the first round warms up
        start, cpu, first, texts = time.perf_counter(), time.process_time(), 0.0, []
        async for text in run(model):
            first = first or time.perf_counter() - start
            texts.append(text)
        spent = time.process_time() - cpu
        assert "".join(texts) == "".join(f"word{n} " for n in range(tokens)), "text was lost"
        rows.append(Row(what, len(texts), spent / tokens * 1e6, first * 1e3))
    best = min(rows[1:], key=lambda row: row.cpu_us_per_token)
    return Row(what, best.chunks, best.cpu_us_per_token, statistics.median(row.first_ms for row in rows[1:]))


async def main(tokens: int, rate: float) -> list[Row]:
    rows = []
    async with simulator(tokens, rate) as url:
        plain = ChatCerebras(api_key="k", base_url=url, frame_s=0)
        merging = Coalesce(inner=ChatCerebras(api_key="k", base_url=url))
        for name, run in (("model", from_model), ("graph", from_graph)):
            one, other = await measure(name, run, plain, tokens), await measure(f"{name}, merged", run, merging, tokens)
            rows += [one, other]
            print(
                f"{name:6} {one.cpu_us_per_token:7.1f} us/token in {one.chunks} chunks -> {other.cpu_us_per_token:6.1f} in {other.chunks}",
                end="",
            )
            print(
                f"  = {one.cpu_us_per_token / other.cpu_us_per_token:.1f} times less; first text {one.first_ms:.1f} -> {other.first_ms:.1f} ms"
            )
        await plain.aclose()
        await merging.aclose()
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--rate", type=float, default=2000.0, help="tokens a second; 0 is as fast as possible")
    parser.add_argument("--json", type=Path, default=None)
    arguments = parser.parse_args()
    measured = asyncio.run(main(arguments.tokens, arguments.rate))
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(row) for row in measured], indent=2) + "\n")
