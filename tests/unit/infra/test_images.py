"""The images: they copy existing files, are pinned, do not run as root, are healthy, and serve from a read-only folder."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.fakes.dockerfile import ROOT, Builder, Stage, command, copies, environment, health, read
from tests.fakes.ports import free_port
from tests.fakes.tokens import AUDIENCE, ISSUER, SECRET
from tests.fakes.until import until_asked

IMAGES = ROOT / "infra" / "images"
FILES = sorted(IMAGES.glob("*.Dockerfile"))
STANDALONE = ROOT / "frontend_core" / ".next" / "standalone"
START_S = 30.0


def stages_of(name: str) -> list[Stage]:
    return read(IMAGES / f"{name}.Dockerfile")


def test_there_are_two_images() -> None:
    assert [path.name for path in FILES] == ["frontend_core.Dockerfile", "middle_core.Dockerfile"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_hadolint_finds_nothing(path: Path) -> None:
    done = subprocess.run([Path(sys.executable).with_name("hadolint"), path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_image_is_pinned_slim_and_not_root(path: Path) -> None:
    build, final = read(path)
    assert build.base == final.base
    assert re.fullmatch(r"[a-z]+:\d+\.\d+\.\d+-[a-z-]+", final.base), "a version to the patch, and the system"
    assert final.all("USER") == ["10001"]
    assert final.all("RUN") == [] or "useradd --uid 10001" in final.all("RUN")[0]
    assert command(final)
    assert health(final)
    assert "VOLUME" not in {name for name, _ in final.steps}, "a volume that nobody asked for hides that the data is not kept"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_copied_is_there_and_gets_into_the_build(path: Path) -> None:
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line.startswith("!")]
    taken = [name for stage in read(path) for source, names, _ in copies(stage) if not source for name in names]
    assert taken
    assert [name for name in taken if not (ROOT / name).exists()] == []
    assert [name for name in taken if not any(Path(name).is_relative_to(one) for one in allowed)] == []


def test_the_tool_that_reads_the_lock_file_is_the_makefiles() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    [version] = re.findall(r"^UV_VERSION := (.+)$", makefile, re.MULTILINE)
    assert f"uv=={version} " in stages_of("middle_core")[0].all("RUN")[0]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder that is removed afterwards, because it holds a whole environment."""
    yield tmp_path
    subprocess.run(["chmod", "-R", "u+w", tmp_path], check=True)
    shutil.rmtree(tmp_path)


def seal(root: Path) -> None:
    """Make the folders read-only for everybody. Files stay as they are, because they are links to a cache; no file can be added."""
    for folder, _, _ in os.walk(root):
        Path(folder).chmod(0o555)


def without_rights() -> list[str]:
    """The beginning of a command that drops root's capability to write to read-only folders."""
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []


def test_a_sealed_folder_cannot_be_written_to(place: Path) -> None:
    """Otherwise the tests below would prove nothing."""
    seal(place)
    touch = [*without_rights(), "touch", str(place / "file")]
    assert subprocess.run(touch, stderr=subprocess.DEVNULL, check=False).returncode != 0


@asynccontextmanager
async def started(arguments: Sequence[str], folder: Path, env: Mapping[str, str], url: str) -> AsyncIterator[httpx.AsyncClient]:
    """Run the command without rights and end it as a container is ended. It must exit with 0, or with Next's status for the signal."""
    process = await asyncio.create_subprocess_exec(
        *without_rights(), *arguments, cwd=folder, env=dict(env), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    assert process.stdout is not None
    try:
        async with httpx.AsyncClient(base_url=url, timeout=5) as http:
            output = process.stdout

            async def ready() -> bool:
                assert process.returncode is None, (await output.read()).decode()
                return await answers(http)

            await until_asked(ready, START_S)
            yield http
        process.terminate()
        async with asyncio.timeout(15):
            said = await output.read()
            assert await process.wait() in {0, 143}, said.decode()
        assert b"EROFS" not in said
        assert b"Traceback" not in said
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def answers(http: httpx.AsyncClient) -> bool:
    try:
        return (await http.get("/")).status_code < 500
    except httpx.TransportError:
        return False


async def healthy(arguments: Sequence[str], env: Mapping[str, str], *, port: int, instead_of: int) -> int:
    """The exit status of the image's health check, asked at our port."""
    ours = [argument.replace(f":{instead_of}/", f":{port}/") for argument in arguments]
    check = await asyncio.create_subprocess_exec(*ours, env=dict(env), stderr=asyncio.subprocess.DEVNULL)
    async with asyncio.timeout(20):
        return await check.wait()


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_the_service_starts_as_its_image_says(place: Path) -> None:
    """With only the lock file's packages, only the copied sources, and one writable folder."""
    build, final = stages_of("middle_core")
    builder = Builder(place)
    builder.build(build)
    root = builder.build(final, without="useradd")
    data = place / "data"
    data.mkdir()
    seal(root)
    port = free_port()
    env = {
        **environment(final),
        "PATH": f"{root}/venv/bin:{os.defpath}",
        "HOME": "/nonexistent",
        "MIDDLE_CORE_DATA_DIR": str(data),
        "MIDDLE_CORE_JWT_SECRET": SECRET,
        "MIDDLE_CORE_JWT_ISSUER": ISSUER,
        "MIDDLE_CORE_JWT_AUDIENCE": AUDIENCE,
        "MIDDLE_CORE_MODEL": "offline",
        "MIDDLE_CORE_BACKEND_URL": "none",
    }
    python = f"{root}/venv/bin/python"
    words = [python if word == "python" else word for word in command(final)]
    assert words[-4:] == ["--host", "0.0.0.0", "--port", "8000"]
    async with started([*words[:-3], "127.0.0.1", "--port", str(port)], root / "app", env, f"http://127.0.0.1:{port}") as http:
        assert (await http.get("/readyz")).json() == {"status": "ready"}
        checks = [python if word == "python" else word for word in health(final)]
        assert await healthy(checks, env, port=port, instead_of=8000) == 0
    assert await healthy(checks, env, port=port, instead_of=8000) != 0, "it tells a dead server, too"
    assert (data / "middle-core.db").exists()


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_the_page_starts_as_its_image_says(place: Path) -> None:
    """With only the files that Next says the server needs, without node_modules."""
    assert STANDALONE.exists(), "The page is not built, or not as next.config.ts says now: run `make frontend_core/.next/.done`."
    _, final = stages_of("frontend_core")
    root = Builder(place, {"/build/frontend_core/.next/standalone": STANDALONE}).build(final)
    seal(root)
    node = shutil.which("node")
    assert node is not None
    port = free_port()
    nobody = f"http://127.0.0.1:{free_port()}"  # the default port may be in use by a running product
    env = {
        **environment(final),
        "PATH": os.defpath,
        "HOME": "/nonexistent",
        "PORT": str(port),
        "HOSTNAME": "127.0.0.1",
        "MIDDLE_CORE_URL": nobody,
    }
    arguments = [node if word == "node" else word for word in command(final)]
    async with started(arguments, root / "app", env, f"http://127.0.0.1:{port}") as http:
        page = await http.get("/")
        assert page.status_code == 200
        scripts = re.findall(r'"(/_next/static/[^"]+\.js)"', page.text)
        assert scripts
        assert (await http.get(scripts[0])).status_code == 200, "the static files are where the server looks"
        away = await http.get("/api/health")
        assert away.status_code >= 500, "there is no middle_core, and the proxy says so"
        checks = [node if word == "node" else word for word in health(final)]
        assert await healthy(checks, env, port=port, instead_of=port) == 0
    assert await healthy(checks, env, port=port, instead_of=port) != 0
