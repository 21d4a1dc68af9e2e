"""The command as a person or a pipeline runs it: words, JSON, exit statuses, and no secret anywhere."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from middle_core.__main__ import cli
from middle_core.probe import Report
from tests.fakes import hops
from tests.fakes.hops import Hop
from tests.fakes.http_server import HttpServer, Request, answer, closed_port, serving
from tests.fakes.tokens import mint
from tests.unit.probe.conftest import KEY

ROOT = Path(__file__).parents[3]
QUICK = ["--quick", "--events", "12", "--gap-ms", "50"]
SCHEMA = ROOT / "docs" / "schema" / "probe.v1.json"
CANARY = "canary-token-0123456789"


async def run(*arguments: str, **env: str) -> Result:
    """In a thread of its own, because the servers are in this one."""
    sent = {"MIDDLE_CORE_PROBE_TOKEN": "", "MIDDLE_CORE_DIAG_KEY": "", "COLUMNS": "200", **env}
    return await asyncio.to_thread(CliRunner().invoke, cli, ["probe", *arguments], env=sent)


@pytest.mark.slow
async def test_good_is_0_and_its_text_says_what_was_seen(origin: str) -> None:
    result = await run(origin, *QUICK, MIDDLE_CORE_DIAG_KEY=KEY)
    assert result.exit_code == 0, result.output
    assert "INCREMENTAL" in result.stdout
    assert "leave silent" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("Good: ")
    assert "it takes at most" in result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 120


@pytest.mark.slow
async def test_bad_is_1_and_names_the_hop(origin: str) -> None:
    async with serving(Hop(origin, hops.buffered)) as url:
        result = await run(origin, url, *QUICK, MIDDLE_CORE_DIAG_KEY=KEY)
    assert result.exit_code == 1
    assert f"verdict with identity: at hop 2, {url}: INCREMENTAL -> BUFFERED" in " ".join(result.stdout.split())


@pytest.mark.slow
async def test_json_is_the_documented_schema(origin: str) -> None:
    result = await run(origin, *QUICK, "--json", "--silence", "0.5", MIDDLE_CORE_DIAG_KEY=KEY)
    told = json.loads(result.stdout)
    assert told["version"] == "1"
    assert told["exit_code"] == result.exit_code == 0
    assert Report.model_validate(told).hops[0].silences


def test_the_schema_in_the_documents_is_the_codes() -> None:
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == Report.model_json_schema(mode="serialization")


async def test_a_token_file_and_a_key_file(origin: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(mint() + "\n", encoding="utf-8")
    (tmp_path / "key").write_text(KEY, encoding="utf-8")
    too_short = ["--quick", "--events", "5", "--gap-ms", "20"]
    for option in ("token", "key"):
        result = await run(origin, *too_short, f"--{option}-file", str(tmp_path / option))
        assert "UNCLEAR" in result.stdout, "it was let in"
        assert result.exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Say what to probe"),
        (["ftp://x"], "That is no address"),
        (["chat.example"], "That is no address"),
        (["http://"], "That is no address"),
        (["http://x:99999"], "That is no address"),
        (["http://[::1"], "That is no address"),
        ([f"http://u:{CANARY}@127.0.0.1"], "A token goes into a file"),
        ([f"http://127.0.0.1/?token={CANARY}"], "A token goes into a file"),
        (["--agui", f"http://127.0.0.1/#{CANARY}"], "A token goes into a file"),
        (["http://127.0.0.1", "--token-file", "/nowhere/token"], "/nowhere/token cannot be read"),
        (["http://127.0.0.1", "--ca-file", __file__], "--ca-file"),
        (["http://127.0.0.1", "--token-file", __file__], "one word of ASCII"),
        (["http://127.0.0.1", "--key-file", "/dev/null"], "/dev/null is empty"),
        (["http://127.0.0.1", "--events", "1000", "--gap-ms", "10000"], "Ask for less"),
    ],
)
async def test_what_cannot_be_probed_is_2_with_words(arguments: Sequence[str], words: str) -> None:
    result = await run(*arguments)
    assert result.exit_code == 2
    assert words in result.output
    assert CANARY not in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("text", [f"{CANARY} more", f"{CANARY}\nmore", f"{CANARY}ü", "x" * 20_000])
async def test_a_secret_that_is_none_is_not_shown(text: str) -> None:
    result = await run("http://127.0.0.1", MIDDLE_CORE_PROBE_TOKEN=text)
    assert result.exit_code == 2
    assert "one word of ASCII" in result.output
    assert CANARY not in result.output


async def test_nobody_listens() -> None:
    result = await run(closed_port())
    assert result.exit_code == 2
    assert "nothing listens there" in " ".join(result.stdout.split())


async def test_no_such_host() -> None:
    result = await run("http://no-such-host.invalid")
    assert result.exit_code == 2
    assert "no host of that name" in " ".join(result.stdout.split())


async def test_a_certificate_that_is_not_trusted_and_then_is(origin: str, certificate: tuple[Path, ssl.SSLContext]) -> None:
    file, context = certificate
    reader_of = await tls_in_front_of(origin, context)
    async with reader_of as server:
        url = f"https://localhost:{server.sockets[0].getsockname()[1]}"
        refused = await run(url)
        assert (refused.exit_code, "not trusted" in " ".join(refused.stdout.split())) == (2, True), refused.stdout
        trusted = await run(url, "--ca-file", str(file), "--quick", "--events", "5", "--gap-ms", "20", MIDDLE_CORE_DIAG_KEY=KEY)
        assert "UNCLEAR" in trusted.stdout, trusted.stdout
        plain = await run(url.replace("https", "http"))
        assert plain.exit_code == 2
        assert (await run(origin.replace("http:", "https:"))).exit_code == 2


async def test_a_token_that_is_not_good(origin: str) -> None:
    for env in ({"MIDDLE_CORE_PROBE_TOKEN": CANARY}, {"MIDDLE_CORE_DIAG_KEY": CANARY}, {}):
        result = await run(origin, **env)
        assert result.exit_code == 2
        assert "--token-file" in result.stdout
        assert CANARY not in result.output


@pytest.mark.parametrize("kind", ["text/event-stream", "text/plain"])
async def test_a_server_that_gives_our_secrets_back_is_not_quoted(kind: str) -> None:
    async def echo(request: Request) -> bytes:
        said = b"; ".join(name + b"=" + value for name, value in request.headers)
        event = b'data: {"type": "RUN_ERROR", "code": "x", "message": "' + said.replace(b'"', b"") + b'"}\n\n'
        return answer(504 if kind == "text/plain" else 200, event, {"content-type": kind, "cache-control": said.decode()})

    async with HttpServer(echo) as server:
        for arguments in ([server.url], ["--agui", server.url], ["--agui", server.url, "--json"]):
            result = await run(*arguments, "--quick", MIDDLE_CORE_PROBE_TOKEN=CANARY, MIDDLE_CORE_DIAG_KEY=CANARY)
            assert result.exit_code == 2
            assert CANARY not in result.output


async def tls_in_front_of(origin: str, context: ssl.SSLContext) -> Any:
    """TLS ended by a relay."""
    port = int(origin.rsplit(":", 1)[1])

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass  # a client that hangs up is part of the test
        finally:
            writer.close()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.TaskGroup() as group:
            group.create_task(copy(reader, forth))
            group.create_task(copy(back, writer))

    return await asyncio.start_server(relay, "localhost", 0, ssl=context)
