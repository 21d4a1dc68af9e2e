"""Reads a Dockerfile into stages, and builds them in folders, without a daemon.

`COPY` copies, and `RUN` runs with the image's paths replaced by folders of ours. The test that builds names the steps to leave out
because they need another system (`useradd`). There is no registry: each `FROM` is the interpreter of this machine.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUN_S = 300


@dataclass(slots=True)
class Stage:
    """base: the image that it starts from. steps: instruction and its text, in order."""

    name: str
    base: str
    steps: list[tuple[str, str]] = field(default_factory=list)

    def all(self, instruction: str) -> list[str]:
        """The texts of one instruction."""
        return [text for name, text in self.steps if name == instruction]


def read(path: Path) -> list[Stage]:
    """The stages, lines joined, comments gone."""
    text = re.sub(r"^#.*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    stages: list[Stage] = []
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        if not line.strip():
            continue
        instruction, _, rest = line.strip().partition(" ")
        if instruction == "FROM":
            base, _, name = rest.partition(" AS ")
            stages.append(Stage(name or "final", base))
        else:
            stages[-1].steps.append((instruction, rest))
    return stages


def copies(stage: Stage) -> list[tuple[str, list[str], str]]:
    """Each COPY: the stage that it takes from (empty: the context), its sources, its target."""
    found = []
    for text in stage.all("COPY"):
        words = text.split()
        source = ""
        if words[0].startswith("--from="):
            source = words.pop(0).removeprefix("--from=")
        found.append((source, words[:-1], words[-1]))
    return found


def environment(stage: Stage) -> dict[str, str]:
    """What ENV sets."""
    return dict(pair.split("=", 1) for text in stage.all("ENV") for pair in text.split())


def command(stage: Stage) -> list[str]:
    """CMD in its exec form."""
    [text] = stage.all("CMD")
    words: list[str] = json.loads(text)
    return words


def health(stage: Stage) -> list[str]:
    """The command of HEALTHCHECK in its exec form."""
    [text] = stage.all("HEALTHCHECK")
    words: list[str] = json.loads(text.partition(" CMD ")[2])
    return words


class Builder:
    """Builds stages into folders below `place`, each of which stands for `/` of its image.

    made: files of this machine that replace what a stage makes, by the stage's path (`/build/x`). If `made` has everything that others
    copy from a stage, the stage need not be built.
    """

    def __init__(self, place: Path, made: Mapping[str, Path] | None = None) -> None:
        self._place = place
        self._made = made or {}

    def root(self, stage: Stage) -> Path:
        """The folder that is the stage's `/`."""
        return self._place / stage.name

    def build(self, stage: Stage, *, without: str = "") -> Path:
        """Build the stage. without: leave out each RUN that contains this word."""
        root, work = self.root(stage), "/"
        for instruction, text in stage.steps:
            if instruction == "WORKDIR":
                work = text
                (root / work.lstrip("/")).mkdir(parents=True, exist_ok=True)
            elif instruction == "RUN" and not (without and without in text):
                self._run(root, work, text)
            elif instruction == "COPY":
                [(source, names, target)] = copies(Stage("", "", [(instruction, text)]))
                for name in names:
                    self._copy(
                        self._source(source, name),
                        root / os.path.normpath(f"{work}/{target}" if target[0] != "/" else target).lstrip("/"),
                        names,
                    )
        return root

    def _source(self, stage: str, name: str) -> Path:
        if name in self._made:
            return self._made[name]
        return self._place / stage / name.lstrip("/") if stage else ROOT / name

    def _copy(self, source: Path, target: Path, names: list[str]) -> None:
        if source.is_dir():
            skipped = shutil.ignore_patterns("__pycache__", "*.pyc")
            shutil.copytree(source, target, dirs_exist_ok=True, symlinks=True, ignore=skipped)
        else:
            file = target / source.name if target.is_dir() or len(names) > 1 else target
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, file)

    def _run(self, root: Path, work: str, text: str) -> None:
        script = re.sub(r"(?<![\w./-])/(?=(?:venv|tools|build|app)\b)", f"{root}/", text)
        folder = root / work.lstrip("/")
        done = subprocess.run(["/bin/sh", "-ec", script], cwd=folder, capture_output=True, text=True, timeout=RUN_S, check=False)
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
