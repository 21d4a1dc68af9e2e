"""What other versions of the SDK change: `python -m tests.corpus.drift [package==version ...]`, or `make drift`.

Each version gets a throw-away environment under `.drift/`: what our lock file says, with that one package replaced. The
corpus is played there, and what differs from the golden files is printed. See docs/drift.md.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import logging
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".drift"
LOCKED = ROOT / ".venv" / "requirements.txt"
UV = ROOT / ".venv" / "bin" / "uv"
PACKAGES = ("ag-ui-langgraph", "copilotkit")
ASIDE = 2
"""How many newer versions, the newest, and how many before the pinned one are looked at for each package."""
INSTALL_S, PLAY_S = 600, 300


def chosen(known: Sequence[str], pinned: str) -> list[str]:
    """Choose the versions to look at. versions: all versions of a package, newest first."""
    at = known.index(pinned)
    return [*known[:at][:ASIDE], *known[at + 1 :][:ASIDE]]


def versions(package: str) -> list[str]:
    """The released versions of a package, newest first."""
    command = [sys.executable, "-m", "pip", "index", "versions", package, "--disable-pip-version-check"]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=INSTALL_S).stdout
    found = re.search(r"^Available versions: (.+)$", said, re.MULTILINE)
    assert found is not None, f"pip said nothing of the versions of {package}: {said}"
    return found[1].split(", ")


def requirements(locked: str, package: str, version: str) -> str:
    """The lock file's packages without their hashes, one of them in another version."""
    lines = [line.rstrip(" \\") for line in locked.splitlines() if line and line[0] not in " #"]
    name = re.compile(rf"{re.escape(package)}==\S+")
    assert any(name.match(line) for line in lines), f"{package} is not in the lock file"
    return "".join(f"{name.sub(f'{package}=={version}', line)}\n" for line in lines)


def environment(package: str, version: str) -> Path:
    """The Python of an environment with that version. Raises CalledProcessError where it cannot be installed."""
    place = FOLDER / f"{package}-{version}"
    python, done = place / "bin" / "python", place / "done.txt"
    wanted = requirements(LOCKED.read_text(encoding="utf-8"), package, version)
    if done.exists() and done.read_text(encoding="utf-8") == wanted:
        return python
    FOLDER.mkdir(exist_ok=True)
    listed = FOLDER / f"{package}-{version}.txt"
    listed.write_text(wanted, encoding="utf-8")
    _run(UV, "venv", "--quiet", "--clear", "--python", sys.executable, place)
    # The list is also an override: further packages of the other version are installed, but they change no version of ours.
    _run(UV, "pip", "install", "--quiet", "--python", python, "--requirements", listed, "--override", listed)
    done.write_text(wanted, encoding="utf-8")
    return python


def _run(*command: str | Path) -> None:
    subprocess.run(list(map(str, command)), cwd=ROOT, capture_output=True, text=True, check=True, timeout=INSTALL_S)


async def played() -> dict[str, Any]:
    """How each case differs from its golden file, with the packages of this Python."""
    from tests.corpus import golden  # noqa: PLC0415 - imports the SDK, which may not import at all in this version
    from tests.corpus.case import all_cases  # noqa: PLC0415
    from tests.corpus.playing import ours, theirs  # noqa: PLC0415

    changed: dict[str, Any] = {}
    for key, case in all_cases().items():
        before = golden.read(case)
        try:
            mine, sdks = await ours(case), await theirs(case)
            now, sdk = golden.made(case, mine, sdks), golden.difference(case, mine, sdks)
        except Exception as error:  # noqa: BLE001 - another version may fail in any way; which cases do is the result
            changed[key] = {"failed": f"{type(error).__name__}: {error}"}
            continue
        found: dict[str, Any] = {"ours": [part for part in ("streams", "saw", "did") if now[part] != before[part]]}
        found["sdk"] = {
            aspect: [before.get("sdk", {}).get(aspect, "as ours"), sdk.get(aspect, "as ours")]
            for aspect in sorted({*before.get("sdk", {}), *sdk})
            if before.get("sdk", {}).get(aspect) != sdk.get(aspect)
        }
        if any(found.values()):
            changed[key] = found
    return {"cases": len(all_cases()), "changed": changed}


def report(package: str, version: str) -> list[str]:
    """What that version changes, in lines for people."""
    try:
        python = environment(package, version)
    except subprocess.CalledProcessError as error:
        return [f"does not install beside our pins: {_last_line(error.stderr)}"]
    command = [str(python), "-W", "ignore", "-m", "tests.corpus.drift", "--play"]
    play = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=PLAY_S)
    if play.returncode:
        return [f"does not import: {_last_line(play.stderr)}"]
    return lines(json.loads(play.stdout.splitlines()[-1]))


def lines(result: Mapping[str, Any]) -> list[str]:
    """The result of `played`, in words."""
    changed = result["changed"]
    ours = {key: one.get("failed") or f"other {', '.join(one['ours'])}" for key, one in changed.items() if one.get("failed") or one["ours"]}
    sdks = {key: one["sdk"] for key, one in changed.items() if one.get("sdk")}
    count = result["cases"]
    told = [f"our streams: {len(ours)} of {count} cases differ" if ours else f"our streams: the same in all {count} cases"]
    told += [f"  {key}: {what}" for key, what in ours.items()]
    told.append(
        f"the SDK's streams: {len(sdks)} cases differ from the pinned version" if sdks else "the SDK's streams: as with the pinned version"
    )
    for key, aspects in sdks.items():
        repaired = all(now == "as ours" for _, now in aspects.values())
        told.append(f"  {key}{': tells what we tell, in these aspects' if repaired else ''}")
        told += [f"    {aspect}: {_short(before)} -> {_short(now)}" for aspect, (before, now) in aspects.items()]
    return told


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:157]}..."


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1]


def main(wanted: Sequence[str]) -> None:
    """Look at each version and print what it changes."""
    pairs = [(package, version) for package, _, version in (one.partition("==") for one in wanted)]
    for package in PACKAGES if not pairs else ():
        pinned = importlib.metadata.version(package)
        pairs += [(package, version) for version in chosen(versions(package), pinned)]
    for package, version in pairs:
        print(f"{package} {version} (pinned: {importlib.metadata.version(package)})", flush=True)
        print(*(f"  {line}" for line in report(package, version)), sep="\n", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--play"]:
        logging.disable()  # what a graph raises in a case is part of the case
        print(json.dumps(asyncio.run(played())))
    else:
        main(sys.argv[1:])
