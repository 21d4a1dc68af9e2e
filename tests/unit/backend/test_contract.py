"""The contract of backend-core: its models are generated from it, and the stand-in serves what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from middle_core.demo.backend_core import create_app
from middle_core.demo.issuer import DevIssuer

ROOT = Path(__file__).parents[3]
CONTRACT: dict[str, Any] = json.loads((ROOT / "middle_core/backend/contract/openapi.json").read_text())
DECORATION = {"title", "description", "summary", "examples"}


@pytest.mark.slow
def test_the_models_are_made_from_the_contract(tmp_path: Path) -> None:
    made = tmp_path / "models.py"
    subprocess.run([sys.executable, "-m", "datamodel_code_generator", "--output", str(made)], cwd=ROOT, check=True, timeout=60)
    assert made.read_text() == (ROOT / "middle_core/backend/contract/models.py").read_text(), "Run .venv/bin/datamodel-codegen"


def plain(schema: object) -> object:
    """A schema without descriptions, and with `type: [x, null]` as FastAPI writes it."""
    if isinstance(schema, list):
        return [plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key not in DECORATION or not isinstance(value, str | list)}
    if isinstance(kept.get("type"), list):
        default = {"default": kept.pop("default")} if "default" in kept else {}
        inner = {**kept, "type": kept["type"][0]}
        return {"anyOf": [plain(inner), {"type": "null"}], **default}
    if "properties" in kept:
        kept["required"] = sorted(kept.get("required", []))
    return {key: plain(value) for key, value in kept.items()}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("contract")
    return create_app(database=folder / "b.db", verify=DevIssuer.open(folder).verifier(), seeds=[]).openapi()


def test_the_stand_in_serves_exactly_these_paths(served: dict[str, Any]) -> None:
    assert {path: sorted(operations) for path, operations in served["paths"].items()} == {
        path: sorted(operations) for path, operations in CONTRACT["paths"].items()
    }


OPERATIONS = [(path, method) for path, operations in CONTRACT["paths"].items() for method in operations]


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_each_operation_is_as_the_contract_says(served: dict[str, Any], path: str, method: str) -> None:
    wanted, got = CONTRACT["paths"][path][method], served["paths"][path][method]
    assert got["operationId"] == wanted["operationId"]
    assert got["security"] == CONTRACT["security"]
    assert by_name(got) == by_name(wanted)
    assert plain(got.get("requestBody")) == plain(wanted.get("requestBody"))
    assert plain(answers(got)) == plain(answers(wanted))


def by_name(operation: dict[str, Any]) -> dict[str, object]:
    return {parameter["name"]: plain(parameter) for parameter in operation.get("parameters", [])}


def answers(operation: dict[str, Any]) -> dict[str, Any]:
    return {status: answer["content"] for status, answer in operation["responses"].items()}


@pytest.mark.parametrize("name", sorted(CONTRACT["components"]["schemas"]))
def test_each_schema_is_as_the_contract_says(served: dict[str, Any], name: str) -> None:
    assert plain(served["components"]["schemas"][name]) == plain(CONTRACT["components"]["schemas"][name])
