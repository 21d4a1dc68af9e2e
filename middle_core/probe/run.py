"""Probes several hops side by side, within one bound, and puts what they found together."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Sequence

import httpx

from middle_core.probe.hop import DiagHop, gather
from middle_core.probe.options import Options, Target
from middle_core.probe.report import Hop, Problem, Report, report
from middle_core.probe.wire import Unprobed


async def probe(targets: Sequence[Target], options: Options) -> Report:
    """The hops in the order given, which should be from the inside to the outside. Raises nothing of the network: see `Hop.problem`."""
    begun = time.perf_counter()
    async with httpx.AsyncClient(
        verify=options.tls or ssl.create_default_context(),
        follow_redirects=False,
        trust_env=False,
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
    ) as client:
        hops = await gather(*(_hop(client, target, options) for target in targets))
    return report(hops, took_s=time.perf_counter() - begun, bound_s=options.bound_s)


async def _hop(client: httpx.AsyncClient, target: Target, options: Options) -> Hop:
    try:
        async with asyncio.timeout(options.bound_s):
            return await DiagHop(client, target, options).probe()
    except Unprobed as why:
        problem = Problem(code=why.code, words=why.words)
    except TimeoutError:
        problem = Problem(code="timeout", words=f"Not done within {options.bound_s:.0f} s. Give it more with --timeout, or look at less.")
    return Hop(url=target.url, door=target.door, problem=problem)
