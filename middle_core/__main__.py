"""The command line: serve, migrate, copy, dev, token, demo-backend, probe.

Only this module knows the demo. It reads the settings once and passes them on.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer
from pydantic import ValidationError

from middle_core import telemetry
from middle_core.app import REFUSALS, create_app
from middle_core.app import copy as copy_everything
from middle_core.app import migrate as migrate_database
from middle_core.auth.verify import Verifier, build_verifier
from middle_core.demo import backend_core
from middle_core.demo.issuer import PEOPLE, DevIssuer
from middle_core.demo.stack import DevStack
from middle_core.errors import NotFound
from middle_core.http_server.config import config_of
from middle_core.http_server.draining import DrainingServer, end_now
from middle_core.http_server.listening import bound
from middle_core.probe import DEEP_S, PROMPT, SILENCES_S, command
from middle_core.settings import ProbeSettings, Settings, explained, naming, unknown_variables

logger = logging.getLogger(__name__)

cli = typer.Typer(no_args_is_help=True, add_completion=False, help="A durable middle tier for CopilotKit chats on LangGraph agents.")

LOOPBACK = {"127.0.0.1", "localhost", "::1"}
DEV_TOKEN_TTL_S = 3600.0
MAX_TTL_S = 366 * 86_400.0
SWITCH_INTERVAL_S = 0.0001
"""The log's writer thread needs the interpreter a few times for each commit. With Python's default of 5 ms, a busy event loop lets the
thread wait that long each time, and the first token waits with it. `benchmarks/eventlog.py` shows the difference."""

Host = Annotated[str, typer.Option(help="The address to listen on.")]


def fail(text: str) -> typer.Exit:
    """Say what happened and what to do, and end with status 2."""
    typer.echo(f"middle-core: {text}", err=True)
    return typer.Exit(2)


@contextlib.contextmanager
def settings_or_exit() -> Iterator[Settings]:
    """The settings, or the end of the program with words that name the variable that is wrong, but never its value.

    A ValueError of what is made of the settings (keys, addresses) ends the program in the same way: its text says what to set.
    """
    try:
        yield Settings()
    except ValidationError as error:
        raise fail("the settings are not valid.\n  " + "\n  ".join(explained(error))) from None
    except ValueError as error:
        raise fail(str(error)) from None


def verifier_of(settings: Settings, issuer: DevIssuer | None, http: httpx.AsyncClient) -> Verifier:
    """Tokens of the configured issuer, or of the dev issuer."""
    if issuer is not None:
        return issuer.verifier()
    secret = settings.jwt_secret.get_secret_value()
    with naming("MIDDLE_CORE_JWKS_URL" if settings.jwks_url else "MIDDLE_CORE_JWT_SECRET" if secret else "MIDDLE_CORE_JWT_PUBLIC_KEY"):
        return build_verifier(
            issuer=settings.jwt_issuer,
            audience=settings.jwt_audience,
            public_key=settings.jwt_public_key,
            secret=secret,
            jwks_url=settings.jwks_url,
            http=http,
        )


def dev_issuer_of(settings: Settings, host: str) -> DevIssuer | None:
    """The dev issuer, or None if a real issuer is configured. Raises ValueError if neither may be used."""
    if settings.verification_configured:
        return None
    if settings.env != "dev":
        settings.require_production()
    if host not in LOOPBACK:
        raise ValueError(f"the dev issuer signs in anybody, so it serves this machine only: use --host 127.0.0.1 instead of {host}.")
    return DevIssuer.open(settings.data_dir)


def mint_with(issuer: DevIssuer) -> Any:
    """What `POST /dev/token` answers: a token for one of the people of the demo."""

    def mint(subject: str) -> dict[str, Any]:
        person = next((person for person in PEOPLE if person.sub == subject), None)
        if person is None:
            raise NotFound(f"There is nobody called {subject!r} in the demo. There are {', '.join(person.sub for person in PEOPLE)}.")
        return {
            "token": issuer.token(person.sub, [person.role], DEV_TOKEN_TTL_S, name=person.name),
            "expiresAt": time.time() + DEV_TOKEN_TTL_S,
            "subject": person.sub,
            "name": person.name,
            "roles": [person.role],
        }

    return mint


@cli.command()
def serve(host: Host = "127.0.0.1", port: Annotated[int, typer.Option(help="The port to listen on.", min=0, max=65_535)] = 8000) -> None:
    """Run one replica."""
    with settings_or_exit() as settings:
        telemetry.configure(plain=settings.env == "dev")
        for sentence in unknown_variables():
            logger.warning(sentence)
        if settings.env != "dev":
            settings.require_production()
        issuer = dev_issuer_of(settings, host)
        verify = verifier_of(settings, issuer, httpx.AsyncClient(timeout=5.0, follow_redirects=False, trust_env=False))
        app = create_app(settings, verify, mint_dev_token=mint_with(issuer) if issuer is not None else None)
        server = DrainingServer(config_of(app, host, port))
        listening = bound(host, port)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end_now)
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        server.run([listening])
        if not server.started:
            raise typer.Exit(3)


@cli.command()
def migrate() -> None:
    """Bring the database to this version's schema. Safe to repeat, and of several at once one works; a server does the same at its start."""
    with settings_or_exit() as settings:
        try:
            before, after = asyncio.run(migrate_database(settings))
        except REFUSALS as error:
            raise fail(str(error)) from None
        typer.echo(f"schema version {before} -> {after}" if before != after else f"schema version {after}: nothing to do")


@cli.command("copy")
def copy_database(
    source: Annotated[str, typer.Option("--from", help="sqlite:///file.db, which no server has open.")],
    target: Annotated[
        str, typer.Option("--to", help="postgresql://... Empty: MIDDLE_CORE_DATABASE_URL, so that no password is typed.")
    ] = "",
) -> None:
    """Copy every conversation of a SQLite file into a Postgres, and compare them. Safe to repeat: it goes on where it stopped."""
    with settings_or_exit() as settings:
        try:
            with typer.progressbar(length=1, label="conversations", file=sys.stderr) as bar:

                def progress(done: int, of: int) -> None:
                    bar.length = of
                    bar.update(done - bar.pos)

                copied = asyncio.run(
                    copy_everything(source, target or settings.database_url, direct_url=settings.database_direct_url, progress=progress)
                )
        except REFUSALS as error:
            raise fail(str(error)) from None
        typer.echo(f"{copied.counts['threads']} conversations are the same in both, {copied.there} of them from before:")
        for name, count in sorted(copied.counts.items()):
            typer.echo(f"  {name}: {count}")


@cli.command("demo-backend")
def demo_backend(
    host: Host = "127.0.0.1", port: Annotated[int, typer.Option(help="The port to listen on.", min=0, max=65_535)] = 8001
) -> None:
    """Run the stand-in backend-core alone."""
    with settings_or_exit() as settings:
        telemetry.configure(plain=True)
        issuer = dev_issuer_of(settings, host)
        verify = verifier_of(settings, issuer, httpx.AsyncClient(timeout=5.0, follow_redirects=False, trust_env=False))
        backend_core.serve(verify, data_dir=settings.data_dir, host=host, port=port)


@cli.command()
def token(
    sub: Annotated[str, typer.Option(help="The subject: who it is.")],
    roles: Annotated[str, typer.Option(help="Comma-separated roles.")] = "reader",
    ttl: Annotated[float, typer.Option(help="Seconds until it expires.", max=MAX_TTL_S)] = DEV_TOKEN_TTL_S,
) -> None:
    """Print a dev token. It is good for a server in dev with the same data folder, and for nothing else."""
    with settings_or_exit() as settings:
        issuer = DevIssuer.open(settings.data_dir)
        typer.echo(issuer.token(sub, [role for role in roles.split(",") if role], ttl))


@cli.command("probe")
def probe_hops(  # noqa: PLR0917 - options, all of them named
    urls: Annotated[
        list[str] | None, typer.Argument(help="Addresses of middle-core or of its Next site, from the inside to the outside.")
    ] = None,
    agui: Annotated[list[str] | None, typer.Option(help="Any AG-UI endpoint, whole. Starts two short runs. Repeat it.")] = None,
    chat: Annotated[list[str] | None, typer.Option(help="A /chat endpoint, whole. Starts two short runs. Repeat it.")] = None,
    doors: Annotated[bool, typer.Option("--doors", help="Also the real doors of each address. Starts two short runs at each.")] = False,
    prompt: Annotated[str, typer.Option(help="What runs are asked.")] = PROMPT,
    token_file: Annotated[Path | None, typer.Option(help="A file with a JWT. Or set MIDDLE_CORE_PROBE_TOKEN.")] = None,
    key_file: Annotated[Path | None, typer.Option(help="A file with the server's diag key. Or set MIDDLE_CORE_DIAG_KEY.")] = None,
    ca_file: Annotated[Path | None, typer.Option(help="Certificates of your own authority, PEM.")] = None,
    deep: Annotated[bool, typer.Option("--deep", help="Longer silences, up to 310 s.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="No silences.")] = False,
    silence: Annotated[
        list[float] | None, typer.Option(help="Seconds; instead of the usual silences. Repeat it.", min=0.1, max=600)
    ] = None,
    events: Annotated[int, typer.Option(help="Events of a stream that is judged.", min=5, max=1000)] = 20,
    gap_ms: Annotated[int, typer.Option(help="Between two of them.", min=20, max=10_000)] = 100,
    timeout: Annotated[float | None, typer.Option(help="Seconds that all may take.", min=1)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs: see docs/probe.md.")] = False,
) -> None:
    """Tell for each hop whether streams arrive as they are sent. Status: 0 good, 1 a verdict is bad, 2 could not probe."""
    env = ProbeSettings()
    status = command.run(
        targets=[
            *((url, "diag") for url in urls or []),
            *((url, "agui") for url in agui or []),
            *((url, "chat") for url in chat or []),
        ],
        real_doors=doors,
        prompt=prompt,
        token_file=token_file,
        key_file=key_file,
        ca_file=ca_file,
        token=env.probe_token.get_secret_value(),
        diag_key=env.diag_key.get_secret_value(),
        silences_s=silence or (() if quick else (*SILENCES_S, *DEEP_S) if deep else SILENCES_S),
        events=events,
        gap_ms=gap_ms,
        timeout_s=timeout,
        as_json=as_json,
    )
    raise typer.Exit(status)


@cli.command()
def dev(port: Annotated[int, typer.Option(envvar="PORT", help="The page's port.")] = 3000) -> None:
    """Run all parts on this machine, and say where they are. What `make run` ends in."""
    telemetry.configure(plain=True)
    with settings_or_exit() as settings:
        sys.exit(DevStack(page_port=port, data_dir=settings.data_dir).run())


if __name__ == "__main__":
    cli()
