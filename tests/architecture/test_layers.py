"""Each rule of import-linter fails when it is broken: one import too many is added to the graph of the code, and the rule must see it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import grimp
import pytest
from importlinter import Contract
from importlinter.api import read_configuration
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.layers import LayersContract
from importlinter.contracts.protected import ProtectedContract

ROOT = Path(__file__).parents[2]
TYPES: dict[str, type[Contract]] = {"forbidden": ForbiddenContract, "layers": LayersContract, "protected": ProtectedContract}

BROKEN = {
    "Layers point one way": [
        (".auth.access", ".runs.service"),
        (".agui.gate", ".eventlog.records"),
        (".events", ".agui.gate"),
        (".runs.service", ".transports.threads"),
        (".runs.engine", ".agents.registry"),
        (".stores.urls", ".auth.access"),
        (".newcomer", ".events"),
    ],
    "Inside runs, layers point one way": [
        (".runs.engine", ".runs.supervisor"),
        (".runs.graph.source", ".runs.questions.answering"),
        (".runs.questions.answering", ".runs.graph.source"),
        (".runs.intake.turn", ".runs.graph.source"),
        (".runs.opening", ".runs.supervisor"),
        (".runs.newcomer", ".events"),
    ],
    "Transports know not one another; sse and http are their tools": [
        (".transports.chat.door", ".transports.agui.frames"),
        (".transports.sse.streams", ".transports.agui.frames"),
        (".transports.newcomer", ".events"),
    ],
    "Inside the log, values stand below the verbs": [(".eventlog.records", ".eventlog.port"), (".eventlog.newcomer", ".events")],
    "Adapters of the store know not one another": [(".stores.store", ".stores.sqlite.log"), (".stores.postgres", ".stores.sqlite.log")],
    "A store is opened by app alone": [(".runs.supervisor", ".stores.store"), (".transports.health", ".stores.urls")],
    "The log's verbs are for runs; others know its values": [
        (".transports.threads", ".eventlog.port"),
        (".transports.sse.streams", ".eventlog.follow"),
        (".agents.guard", ".eventlog.port"),
    ],
    "Runs are reached through runs.service": [(".transports.chat.door", ".runs.engine"), (".transports.threads", ".runs.graph.source")],
    "Wire modules know no runs": [(".transports.chat.events", ".runs.intake.request"), (".transports.agui.frames", ".runs.service")],
    "The protocol and the log's values are pure": [(".agui.gate", "asyncio"), (".eventlog.records", "time")],
    "LangGraph and LangChain live where graphs are made, run and saved": [
        (".runs.engine", "langgraph"),
        (".backend.client", "langchain_core"),
        (".stores.sqlite.log", "langgraph"),
        (".transports.agui.door", "langchain_core"),
    ],
    "One file knows the SDK": [(".runs.graph.source", "ag_ui_langgraph"), (".agents.registry", "copilotkit")],
    "A database driver lives in its adapter": [(".app", "sqlite3"), (".runs.service", "aiosqlite")],
    "Web frameworks live in transports, app, http_server and demo": [(".runs.service", "starlette"), (".auth.verify", "fastapi")],
    "Settings are read by app and __main__": [(".runs.service", ".settings"), (".transports.health", ".settings")],
    "Telemetry is set up by __main__": [(".runs.service", ".telemetry"), (".app", ".telemetry")],
    "The demo is started by __main__": [(".app", ".demo.issuer"), (".backend.client", ".demo.library")],
    "Settings and telemetry know nothing of the product": [(".settings", ".agents.registry"), (".telemetry", ".runs.service")],
}
"""For each rule the imports that it forbids: (who imports, what). A dot before a name stands for `middle_core.`."""


@pytest.fixture(scope="module")
def code() -> grimp.ImportGraph:
    return grimp.build_graph("middle_core", include_external_packages=True, cache_dir=None)


@pytest.fixture(scope="module")
def rules() -> dict[str, dict[str, Any]]:
    return {options["name"]: options for options in read_configuration(str(ROOT / "pyproject.toml"))["contracts_options"]}


def contract(options: dict[str, Any]) -> Contract:
    """As import-linter makes it."""
    session = {"root_packages": ["middle_core"], "include_external_packages": "True"}
    return TYPES[options["type"]](name=options["name"], session_options=session, contract_options=options)


def name_of(name: str) -> str:
    return f"middle_core{name}" if name.startswith(".") else name


def test_every_rule_is_broken_here(rules: dict[str, dict[str, Any]]) -> None:
    assert list(BROKEN) == list(rules)


@pytest.mark.parametrize("name", BROKEN)
def test_the_code_keeps_the_rule_and_one_import_too_many_breaks_it(
    name: str, code: grimp.ImportGraph, rules: dict[str, dict[str, Any]]
) -> None:
    rule = contract(rules[name])
    assert rule.check(copy.deepcopy(code), verbose=False).kept
    for importer, imported in BROKEN[name]:
        graph = copy.deepcopy(code)
        graph.add_import(importer=name_of(importer), imported=name_of(imported))
        assert not rule.check(graph, verbose=False).kept, f"nothing stops {importer} from importing {imported}"
