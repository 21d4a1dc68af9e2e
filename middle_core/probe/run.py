"""Probes several hops side by side, within one bound, and puts what they found together."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from collections.abc import Sequence
from typing import Final

import httpx

from middle_core.probe.door import DoorHop
from middle_core.probe.hop import DiagHop
from middle_core.probe.options import Door, Options, Target
from middle_core.probe.report import Hop, Problem, Report, report
from middle_core.probe.wire import Unprobed, gather

TIDY_S: Final = 10.0
REAL_DOORS: Final[tuple[tuple[str, Door], ...]] = (
    ("/copilotkit", "agui"),
    ("/api/copilotkit/agent/default/run", "agui"),
    ("/chat", "chat"),
)
"""Below an address of middle-core or of its Next site; those that are there."""


async def probe(targets: Sequence[Target], options: Options) -> Report:
    """The hops in the order given, which should be from the inside to the outside; their real doors, if asked for, after them.

    Raises nothing of the network: see `Hop.problem`.
    """
    begun = time.perf_counter()
    bound_s = options.bound_s(targets)
    deadline = asyncio.get_running_loop().time() + bound_s
    async with httpx.AsyncClient(
        verify=options.tls or ssl.create_default_context(),
        follow_redirects=False,
        trust_env=False,
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
    ) as client:
        hops: list[Hop] = await gather(*(_probed(prober(client, target, options), deadline) for target in targets))
        if options.real_doors:
            bases = [hop.url for hop in hops if hop.door == "diag" and hop.problem is None]
            for doors in await gather(*(_real_doors(client, base, options, deadline) for base in bases)):
                hops += doors
    return report(hops, took_s=time.perf_counter() - begun, bound_s=bound_s)


def prober(client: httpx.AsyncClient, target: Target, options: Options) -> DiagHop | DoorHop:
    """What probes that kind of door."""
    return DiagHop(client, target, options) if target.door == "diag" else DoorHop(client, target, options)


async def _probed(one: DiagHop | DoorHop, deadline: float) -> Hop:
    try:
        async with asyncio.timeout_at(deadline):
            return await one.probe()
    except Unprobed as why:
        problem = Problem(code=why.code, words=why.words)
    except TimeoutError:
        problem = Problem(code="timeout", words="Not done in time. Give it more with --timeout, or look at less.")
    return Hop(url=one.target.url, door=one.target.door, problem=problem)


async def _real_doors(client: httpx.AsyncClient, base: str, options: Options, deadline: float) -> list[Hop]:
    """Those that are there, one after the other. The threads that this begins are deleted again."""
    hops = []
    for path, door in REAL_DOORS:
        one = DoorHop(client, Target(base + path, door), options)
        hop = await _probed(one, deadline)
        if hop.problem is None or hop.problem.code != "not_found":
            hops.append(hop)
        for thread in one.threads if hop.problem is None else ():
            with contextlib.suppress(httpx.TransportError):  # then the thread stays, under its owner's name, as any does
                api = "/api" if path.startswith("/api/") else ""
                await client.delete(f"{base}{api}/threads/{thread}", headers=options.headers(diag=False), timeout=TIDY_S)
    return hops
