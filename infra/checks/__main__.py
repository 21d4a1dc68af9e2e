"""`python -m infra.checks` checks what would be deployed. `--table` prints the timeouts as docs/deployment.md shows them.

Exit status 1, and a line for each fault, if there is one.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from infra.checks import apps, azure, edge, timeouts
from infra.checks.bicep import Finding, NotBicep
from infra.checks.plan import Plan, idle, plan

INFRA: Final = Path(__file__).parents[1]
STAGES: Final = ("dev", "prod")
NOTHING_YET: Final = {"API_IMAGE": "", "WEB_IMAGE": "", "AZURE_PRINCIPAL_ID": ""}
"""The first of the two deployments has no images yet, so it makes no apps."""


def plans(folder: Path = INFRA) -> dict[str, Plan]:
    """What each stage deploys with its apps, and as `<stage>, ground` what it deploys before there are images."""
    found = {}
    for stage in STAGES:
        parameters = folder / f"main.{stage}.bicepparam"
        found[stage] = plan(parameters, apps.SAMPLE)
        found[f"{stage}, ground"] = plan(parameters, apps.SAMPLE | NOTHING_YET)
    return found


def findings(folder: Path = INFRA) -> list[Finding]:
    """Every fault of the files in the folder."""
    try:
        known = plans(folder)
    except NotBicep as error:
        return [Finding("bicep", str(error))]
    found: list[Finding] = []
    for one in known.values():
        # Each check needs the one before it to pass: `apps` reads bodies that Azure would take, `timeouts` reads settings that are valid.
        found += (
            [*one.findings, *(finding for resource in one.resources for finding in azure.check(resource))]
            or apps.check(one)
            or list(timeouts.check(one))
        )
    return list(dict.fromkeys([*found, *idle(list(known.values())), *edge.findings(folder / "edge")]))


def main() -> int:
    """Print and return the exit status."""
    if "--table" in sys.argv[1:]:
        known = plans()
        print(timeouts.table({stage: known[stage] for stage in STAGES}))
        return 0
    found = findings()
    for finding in found:
        print(finding, file=sys.stderr)
    print(f"infra: {len(found)} faults" if found else "infra: what would be deployed is right")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
