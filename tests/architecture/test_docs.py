"""What the documents say of settings, endpoints, events and error codes is true."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from middle_core import errors
from middle_core.events import QUESTION_ACTIVITY, Custom
from middle_core.settings import Settings
from middle_core.transports import dev_token, diag, graph_page, health, threads
from middle_core.transports.agui import door as copilotkit
from middle_core.transports.chat import door as chat
from middle_core.transports.http.caller import Caller

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def read(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def variables() -> set[str]:
    names = set()
    for name, field in Settings.model_fields.items():
        alias = field.validation_alias
        names.add(str(alias.choices[0]) if alias is not None and hasattr(alias, "choices") else f"MIDDLE_CORE_{name.upper()}")
    return names


def test_every_setting_is_documented_and_every_documented_one_exists() -> None:
    text = read("configuration.md")
    named = set(re.findall(r"`((?:MIDDLE_CORE|CEREBRAS|OPENAI)_[A-Z_]+)`", text))
    assert named - {"MIDDLE_CORE_URL"} <= variables()
    assert variables() - named == set()


def test_the_pages_variables_are_documented() -> None:
    config = (ROOT / "frontend_core" / "proxy" / "config.ts").read_text(encoding="utf-8")
    read_there = set(re.findall(r"FRONTEND_CORE_[A-Z_]+|MIDDLE_CORE_URL", config))
    assert read_there
    assert read_there - set(re.findall(r"`([A-Z_]+)`", read("configuration.md"))) == set()


def test_every_endpoint_is_documented() -> None:
    app = FastAPI()
    nothing: Any = None  # only the routes are needed
    caller = Caller(nothing)
    app.include_router(health.router(nothing))
    app.include_router(threads.router(nothing, caller))
    app.include_router(copilotkit.router(nothing, caller, nothing, default_agent="", info=nothing, max_body_bytes=1))
    app.include_router(chat.router(nothing, caller, nothing, default_agent="", max_body_bytes=1))
    app.include_router(graph_page.router(dev_sign_in=False))
    app.include_router(dev_token.router(nothing))
    app.include_router(diag.router(nothing, caller))
    text = read("http-api.md").replace(".../", "/copilotkit/").replace("{t}", "{thread_id}")
    text = re.sub(r"\?[a-z_]+(&[a-z_]+)*", "", text)
    known = set(re.findall(r"(/[a-z{][a-z_{}/.]*)", text))
    routes = set(app.openapi()["paths"])
    assert len(routes) > 8
    assert {path.replace("/copilotkit/{agent}/stop", "/copilotkit/stop") for path in routes} <= known


def test_every_custom_event_and_every_code_is_documented() -> None:
    text = read("http-api.md")
    assert set(re.findall(r"`(middle_core\.[a-z_]+)`", text)) == {*(name.value for name in Custom), QUESTION_ACTIVITY}
    codes = {kind.code for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.MiddleCoreError)}
    listed = set(re.findall(r"`([a-z_]+)`", text.split("## Error codes")[1]))
    assert listed == codes


def test_python_in_the_documents_is_python() -> None:
    blocks = [
        block
        for page in [*DOCS.glob("*.md"), ROOT / "README.md"]
        for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    ]
    assert blocks
    for block in blocks:
        tree = ast.parse(block)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("middle_core"):
                module = __import__(node.module, fromlist=[name.name for name in node.names])
                assert all(hasattr(module, name.name) for name in node.names), ast.unparse(node)
