"""What a text of the repository names is there: files, links, headings, make targets, modules, names of code, commands, variables."""

from __future__ import annotations

import importlib
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest
import typer.main

from middle_core.__main__ import cli
from middle_core.events import QUESTION_ACTIVITY, Custom
from middle_core.settings import ProbeSettings, Settings

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(
    r"[\w.@\[\]-]+(/[\w.@\[\]-]+)*\.(py|tsx?|m?js|css|html|svg|md|sql|json|toml|lock|ya?ml|bicep|bicepparam|sh|cfg|xml|template|Dockerfile)"
)
EXAMPLES = {"my_agent.py", "tls.conf.template"}
"""Files that a reader makes, so they are not in the repository."""
OF_OTHERS = {"CEREBRAS_CUSTOM_HEADERS", "MIDDLE_CORE_SERVICE_HOST"}
"""What the SDK of Cerebras reads and our code must ignore, and what Kubernetes sets for a service of this name."""


def tracked(*patterns: str) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


FILES = tracked()
FOLDERS = {str(folder) for name in FILES for folder in PurePosixPath(name).parents if folder.name}
PAGES = [name for name in FILES if name.endswith(".md")]
TEXTS = [*PAGES, *tracked("*.py", "*.ts", "*.tsx", "*.mjs", "*.js", "*.bicep", "*.yaml", "*.sh", "Makefile", ".ci/run", "*.toml")]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def is_there(path: str) -> bool:
    """Whether a file or folder of the repository has this path, or a path that ends so: `proxy/runner.ts` is enough."""
    wanted = path.rstrip("/")
    return any(name == wanted or name.endswith(f"/{wanted}") for name in (*FILES, *FOLDERS))


def anchors(name: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text_of(name)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def named_files(name: str) -> Iterator[str]:
    """The files and folders that a page names in backticks."""
    tops = {folder for folder in FOLDERS if "/" not in folder}
    for token in re.findall(r"`([^`\n]+)`", FENCE.sub("", text_of(name))):
        top = token.partition("/")[0]
        if (FILE.fullmatch(token) or (top != token and top in tops and " " not in token)) and token not in EXAMPLES:
            yield token


@pytest.mark.parametrize("page", [page for page in PAGES if page != "CHANGELOG.md"])  # it also names files that are gone
def test_every_file_that_a_page_names_is_there(page: str) -> None:
    assert [path for path in named_files(page) if not is_there(path)] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", text_of(page))):
        path, _, anchor = link.partition("#")
        if ":" in path:
            continue
        target = (ROOT / page).parent / path if path else ROOT / page
        if not target.exists() or (anchor and anchor not in anchors(str(target.resolve().relative_to(ROOT.resolve())))):
            broken.append(link)
    assert broken == []


def test_the_checks_see_the_pages() -> None:
    assert len(PAGES) > 40
    assert sum(1 for page in PAGES for _ in named_files(page)) > 150
    assert is_there("proxy/runner.ts")
    assert not is_there("proxy/gone.ts")


def test_every_make_target_that_a_text_names_is_one() -> None:
    targets = set(re.findall(r"^([a-z-]+):", text_of("Makefile"), re.MULTILINE))
    named = {(name, target) for name in TEXTS for target in re.findall(r"(?:`|^)make ([a-z-]+)(?![\w/])", text_of(name), re.MULTILINE)}
    assert len(named) > 20
    assert {(name, target) for name, target in named if target not in targets} == set()


def test_every_module_that_a_text_runs_is_one() -> None:
    modules = [
        (name, module)
        for name in TEXTS
        for module in re.findall(r"python -m ((?:middle_core|infra|tests|benchmarks)[\w.]*\w)", text_of(name))
    ]
    assert len(modules) > 10
    gone = [
        (name, module)
        for name, module in modules
        if not {f"{module.replace('.', '/')}.py", f"{module.replace('.', '/')}/__main__.py"} & set(FILES)
    ]
    assert gone == []


def exists(name: str) -> bool:
    """Whether a dotted name of middle_core is that of a module, or of something in one: `runs.service.RunService`."""
    parts = ["middle_core", *name.removeprefix("middle_core.").split(".")]
    for length in range(len(parts), 1, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[length:]:
            if attribute in getattr(found, "__annotations__", {}):
                return True
            if not hasattr(found, attribute):
                return False
            found = getattr(found, attribute)
        return True
    return False


def test_every_name_of_our_code_that_a_text_names_is_there() -> None:
    """A name in backticks that begins with a package or module of middle_core, as `agui.gate`; events have names like it."""
    tops = {PurePosixPath(name).parts[1].removesuffix(".py") for name in FILES if re.fullmatch(r"middle_core/\w+(/.*|\.py)", name)}
    events = {*(name.value for name in Custom), QUESTION_ACTIVITY}
    named = {
        (name, dotted)
        for name in TEXTS
        if name != "CHANGELOG.md"
        for dotted in re.findall(r"`((?:middle_core\.)?[a-z_]+(?:\.[A-Za-z_]+)+)(?:\(\))?`", text_of(name))
        if dotted.removeprefix("middle_core.").split(".")[0] in tops and not dotted.startswith("app.state.") and not FILE.fullmatch(dotted)
    }
    assert len(named) > 50
    assert exists("runs.service.RunService.start")
    assert not exists("runs.service.gone")
    assert {(name, dotted) for name, dotted in named if dotted not in events and not exists(dotted)} == set()


def test_every_command_that_a_text_names_is_one() -> None:
    commands = set(getattr(typer.main.get_command(cli), "commands", ()))
    named = {(name, command) for name in TEXTS for command in re.findall(r"python -m middle_core ([a-z-]+)", text_of(name))}
    assert len(named) > 5
    assert {(name, command) for name, command in named if command not in commands} == set()


def test_every_variable_that_a_text_names_is_read() -> None:
    read = {
        str(getattr(field.validation_alias, "choices", [f"MIDDLE_CORE_{name.upper()}"])[0])
        for settings in (Settings, ProbeSettings)
        for name, field in settings.model_fields.items()
    }
    read |= set(re.findall(r"\b(?:FRONTEND_CORE_[A-Z_]+|MIDDLE_CORE_URL)\b", text_of("frontend_core/proxy/config.ts")))
    texts = [name for name in TEXTS if not name.startswith("tests/")]
    named = {
        (name, variable)
        for name in texts
        for variable in re.findall(r"\b((?:MIDDLE_CORE|FRONTEND_CORE|CEREBRAS|OPENAI)_[A-Z_]*[A-Z])\b", text_of(name))
    }
    assert len(named) > 50
    assert {(name, variable) for name, variable in named if variable not in read | OF_OTHERS} == set()
