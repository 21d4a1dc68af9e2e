"""`make sbom` lists what the images hold, and nothing that is only for development."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests.fakes.dockerfile import ROOT


@pytest.mark.slow
def test_the_bills_name_what_is_shipped() -> None:
    done = subprocess.run(["make", "--silent", "sbom"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    bills: dict[str, dict[str, Any]] = {
        name: json.loads((ROOT / ".sbom" / f"{name}.cdx.json").read_text(encoding="utf-8")) for name in ("middle_core", "frontend_core")
    }
    assert {bill["bomFormat"] for bill in bills.values()} == {"CycloneDX"}
    service, page = ({component["name"]: component for component in bill["components"]} for bill in bills.values())
    assert {"fastapi", "langgraph", "copilotkit"} <= service.keys()
    assert service.keys().isdisjoint({"pytest", "mypy", "azure-mgmt-appcontainers"})
    assert [name for name in ("next", "react", "react-dom", "eslint") if is_for_development(page[name])] == ["eslint"]
    assert all(component["version"] for bill in bills.values() for component in bill["components"])


def is_for_development(component: dict[str, Any]) -> bool:
    return {"name": "cdx:npm:package:development", "value": "true"} in component.get("properties", [])
