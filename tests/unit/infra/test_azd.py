"""azure.yaml names files that exist, and its hook works in the right order. The commands are stand-ins that write down their calls."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.checks.__main__ import INFRA, plans
from tests.fakes.dockerfile import ROOT

AZURE: dict[str, Any] = yaml.safe_load((ROOT / "azure.yaml").read_text(encoding="utf-8"))
HOOK = ROOT / AZURE["hooks"]["preprovision"]["run"]

COMMAND = """#!/bin/sh
echo "$(basename "$0") $*" >> {calls}
case "$*" in
  "status --porcelain") printf '%s' "{dirty}" ;;
  "rev-parse"*) echo abc123 ;;
  "keyvault secret show"*) exit {no_key} ;;
  "acr build"*) exit {no_build} ;;
  "containerapp job start"*) echo run-1 ;;
  "containerapp job execution show"*) {status} ;;
esac
"""
ONCE_RUNNING = "if [ -e {calls}.seen ]; then echo {end}; else touch {calls}.seen; echo Running; fi"


def run(folder: Path, env: dict[str, str], **answers: object) -> tuple[int, list[str], str]:
    """The hook's exit status, the calls that it made, and what it wrote."""
    calls = folder / "calls"
    status = ONCE_RUNNING.format(calls=calls, end=answers.pop("end", "Succeeded"))
    source = COMMAND.format(**{"calls": calls, "dirty": "", "no_key": 0, "no_build": 0, "status": status, **answers})
    for name in ("az", "azd", "git"):
        command = folder / name
        command.write_text(source, encoding="utf-8")
        command.chmod(0o755)
    done = subprocess.run(
        [HOOK], cwd=ROOT, env={"PATH": f"{folder}:{os.defpath}", "POLL_SECONDS": "0", **env}, capture_output=True, text=True, check=False
    )
    return done.returncode, calls.read_text(encoding="utf-8").splitlines() if calls.exists() else [], done.stdout + done.stderr


GROUND = {
    "AZURE_CONTAINER_REGISTRY_NAME": "cr",
    "AZURE_CONTAINER_REGISTRY_ENDPOINT": "cr.example.com",
    "KEY_VAULT_NAME": "kv",
    "AZURE_RESOURCE_GROUP": "rg",
}
LATER = {**GROUND, "MIGRATION_JOB": "migrate", "API_IMAGE": "cr.example.com/middle-core/api:old"}


def test_azure_yaml_leads_to_files_that_are_there() -> None:
    assert (INFRA / f"{AZURE['infra']['module']}.bicepparam").exists()
    assert os.access(HOOK, os.X_OK)


def test_the_hook_reads_what_the_deployment_puts_out_and_sets_what_it_takes_in() -> None:
    source = HOOK.read_text(encoding="utf-8")
    outputs = plans()["prod"].outputs
    assert {"AZURE_CONTAINER_REGISTRY_NAME", "AZURE_CONTAINER_REGISTRY_ENDPOINT", "KEY_VAULT_NAME", "MIGRATION_JOB"} <= set(outputs)
    for stage in ("dev", "prod"):
        parameters = (INFRA / f"main.{stage}.bicepparam").read_text(encoding="utf-8")
        for name in ("API_IMAGE", "WEB_IMAGE"):
            assert f"readEnvironmentVariable('{name}'" in parameters
            assert f"azd env set {name} " in source


def test_the_first_time_only_the_ground_is_laid(tmp_path: Path) -> None:
    status, calls, words = run(tmp_path, {})
    assert (status, calls) == (0, [])
    assert "lays the ground" in words


def test_the_second_time_the_images_are_built_and_named(tmp_path: Path) -> None:
    status, calls, _ = run(tmp_path, GROUND)
    assert status == 0
    assert [call.split(" --")[0] for call in calls if not call.startswith("git")] == [
        "az keyvault secret show",
        "az acr build",
        "az acr build",
        "azd env set API_IMAGE cr.example.com/middle-core/api:abc123",
        "azd env set WEB_IMAGE cr.example.com/middle-core/web:abc123",
    ]
    files = [call.rpartition("--file ")[2].split()[0] for call in calls if "acr build" in call]
    assert all((ROOT / file).exists() for file in files)


def test_a_later_time_the_schema_is_migrated_before_the_apps_change(tmp_path: Path) -> None:
    status, calls, _ = run(tmp_path, LATER)
    assert status == 0
    short = [call.split(" --")[0].removeprefix("az ") for call in calls]
    assert short[-7:] == [
        "acr build",
        "containerapp job update",
        "containerapp job start",
        "containerapp job execution show",
        "containerapp job execution show",
        "azd env set API_IMAGE cr.example.com/middle-core/api:abc123",
        "azd env set WEB_IMAGE cr.example.com/middle-core/web:abc123",
    ]
    assert "--image cr.example.com/middle-core/api:abc123" in next(call for call in calls if "job update" in call)


@pytest.mark.parametrize(
    ("env", "answers", "words"),
    [
        (GROUND, {"no_key": 1}, "no secret cerebras-api-key"),
        (GROUND, {"dirty": "M README.md"}, "not committed"),
        (GROUND, {"no_build": 1}, ""),
        (LATER, {"end": "Failed"}, "is Failed. Nothing is deployed"),
    ],
)
def test_what_stops_a_deployment_leaves_the_running_version_alone(
    tmp_path: Path, env: dict[str, str], answers: dict[str, object], words: str
) -> None:
    status, calls, output = run(tmp_path, env, **answers)
    assert status != 0
    assert words in output
    assert [call for call in calls if call.startswith("azd env set")] == []
