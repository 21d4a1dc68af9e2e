"""The `probe` command: files to credentials, addresses to hops, a report to text or JSON, and the exit status.

Secrets come from files or from the caller, who read them from the environment; never from the command line, which others see.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from middle_core.probe.options import Door, Options, Target
from middle_core.probe.report import Exit
from middle_core.probe.run import probe
from middle_core.probe.text import render

MAX_SECRET_CHARS = 32 * 1024


def run(
    *,
    targets: Sequence[tuple[str, Door]],
    token_file: Path | None,
    key_file: Path | None,
    ca_file: Path | None,
    token: str,
    diag_key: str,
    as_json: bool,
    **looks: Any,
) -> int:
    """Probe and print. targets: (address, door). looks: the rest of `Options`. Returns an `Exit`."""
    try:
        hops = hops_of(targets)
        options = Options(
            token=secret(token_file) if token_file else token,
            diag_key=secret(key_file) if key_file else diag_key,
            tls=ssl.create_default_context(cafile=ca_file),
            **looks,
        )
    except (ValueError, OSError) as error:
        typer.echo(f"middle-core: {plain(error)}", err=True)
        return Exit.NOT_PROBED
    typer.echo(f"Probing {len(hops)} {'hop' if len(hops) == 1 else 'hops'}; it takes at most {options.bound_s(hops):.0f} s.", err=True)
    report = asyncio.run(probe(hops, options))
    typer.echo(report.model_dump_json(indent=2) if as_json else render(report))
    return report.exit_code


def hops_of(targets: Sequence[tuple[str, Door]]) -> list[Target]:
    """Raises ValueError for an address that is none, and for none at all."""
    if not targets:
        raise ValueError("Say what to probe: one address or several, from the inside to the outside.")
    return [Target(url, door) for url, door in targets]


def secret(file: Path) -> str:
    """What is in a file, without the line end. Raises OSError or ValueError, which do not show it."""
    with file.open(encoding="utf-8", errors="replace") as opened:
        text = opened.read(MAX_SECRET_CHARS).strip()
    if not text:
        raise ValueError(f"{file} is empty.")
    return text


def plain(error: Exception) -> str:
    """An error in one sentence."""
    if isinstance(error, ssl.SSLError):
        return "The file of --ca-file holds no certificates in PEM form."
    if isinstance(error, OSError):
        return f"{error.filename} cannot be read: {error.strerror}."
    return str(error)
