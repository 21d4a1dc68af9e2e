"""The documents of deployment: the table comes from the code, what is said to be missing is missing, and runnable blocks run."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from infra.checks.__main__ import INFRA, STAGES, plans
from infra.checks.timeouts import table
from tests.fakes.dockerfile import ROOT
from tests.fakes.process import serve

DOCS = ROOT / "docs"
RUNNABLE = re.compile(r"^```sh runnable\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def test_the_times_in_the_document_are_those_of_the_bicep_and_the_settings() -> None:
    """If not: `python -m infra.checks --table`."""
    known = plans()
    written = page("deployment.md").partition("<!-- times -->\n")[2].partition("\n<!-- /times -->")[0]
    assert written == table({stage: known[stage] for stage in STAGES})


def test_the_variables_to_set_are_those_that_the_parameters_read() -> None:
    told = set(re.findall(r"azd env set ([A-Z_]+)", page("deployment.md")))
    parameters = (INFRA / "main.dev.bicepparam").read_text(encoding="utf-8")
    needed = set(re.findall(r"readEnvironmentVariable\('([A-Z_]+)'\)", parameters))
    assert told == needed - {"AZURE_ENV_NAME"}, "azd itself sets its environment's name"


def test_every_module_is_described() -> None:
    text = page("deployment.md")
    assert [path.stem for path in (INFRA / "modules").glob("*.bicep") if path.stem not in text and path.stem != "identity"] == []


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_the_commands_of_the_runbook_run(tmp_path: Path) -> None:
    """All of them, in order, against a server. `migrate` gets a database of its own, because the server has the other one open."""
    blocks = RUNNABLE.findall(page("runbook.md"))
    assert len(blocks) >= 7
    outputs = []
    async with serve(tmp_path / "data") as server:
        token = tmp_path / "token.txt"
        token.write_text(server.token, encoding="utf-8")
        env = {
            "PATH": f"{Path(sys.executable).parent}:{os.defpath}",
            "URL": server.url,
            "TOKEN_FILE": str(token),
            "MIDDLE_CORE_DATA_DIR": str(tmp_path / "data"),
            "COLUMNS": "200",
        }
        for block in blocks:
            alone = {"MIDDLE_CORE_DATA_DIR": str(tmp_path / "alone")} if "middle_core migrate" in block else {}
            outputs.append(await run(block, env | alone))
    said = "\n".join(outputs)
    assert "schema version 0 -> " in said
    assert '{"status":"ready"}' in said
    assert "INCREMENTAL" in said
    assert "RUN_FINISHED" in said
    assert "\nok\n" in f"\n{said}\n", "the backup is whole"
    assert '{"stopped":' in said
    assert re.search(r"^run_events\t\d+$", said, re.MULTILINE)
    assert token.read_text(encoding="utf-8") not in said


async def run(block: str, env: dict[str, str]) -> str:
    """Run the block in a shell that stops at the first fault. Returns its output."""
    process = await asyncio.create_subprocess_exec(
        "/bin/sh", "-euc", block, cwd=ROOT, env=env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    async with asyncio.timeout(90):
        output, _ = await process.communicate()
    assert process.returncode == 0, f"{block}\n{output.decode()}"
    return output.decode()
