"""The composition root: Settings in, a running application out. Every object is made here and passed on.

Nothing else chooses an implementation, and nothing is made at import.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import httpx
import uuid_utils
from fastapi import FastAPI

from middle_core import __version__
from middle_core.agents import registry
from middle_core.agents.registry import AgentDeps, AgentNotLoaded
from middle_core.auth.verify import Verifier
from middle_core.backend.client import BackendClient
from middle_core.contract.info import AgentInfo, Info
from middle_core.masking import mask
from middle_core.models.cerebras.model import Waiting
from middle_core.models.factory import build_model, close_model
from middle_core.node_api.context import current_claim
from middle_core.node_api.emit import progress
from middle_core.runs.adoption import Adoption
from middle_core.runs.engine import Engine
from middle_core.runs.graph.source import GraphSource
from middle_core.runs.intake.turn import AgentRules
from middle_core.runs.service import RunService
from middle_core.runs.supervisor import Supervisor
from middle_core.settings import NO_BACKEND, Settings, naming
from middle_core.stores import urls
from middle_core.stores.copying import Copied
from middle_core.stores.store import DatabaseRefused
from middle_core.transports import dev_token, diag, graph_page, health, threads
from middle_core.transports.agui import door as copilotkit
from middle_core.transports.chat import door as chat
from middle_core.transports.http import problems
from middle_core.transports.http.caller import Caller
from middle_core.transports.http.correlation import CorrelationMiddleware
from middle_core.transports.http.request_log import RequestLog
from middle_core.transports.sse.streams import StreamPolicy

logger = logging.getLogger(__name__)


REFUSALS: Final = (DatabaseRefused, AgentNotLoaded, ValueError)
"""What stops a start for a reason that the operator can mend; their texts say how. `app.state.refused` then holds it."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a running application is made of; `app.state.parts` for tests and for the drain."""

    service: RunService
    supervisor: Supervisor
    default_agent: str
    info: Info
    drain_s: float


@asynccontextmanager
async def open_parts(settings: Settings, specs: Mapping[str, Any]) -> AsyncIterator[Parts]:
    """Open everything below the doors, and close in order."""
    async with (
        AsyncExitStack() as stack,
        urls.open_store(
            settings.resolved_database_url,
            claim=current_claim,
            direct_url=settings.database_direct_url,
            run_ttl_s=settings.run_ttl_days * 86_400,
        ) as store,
        httpx.AsyncClient(timeout=httpx.Timeout(15.0, connect=5.0), follow_redirects=False, trust_env=False) as http,
    ):
        model = build_model(
            settings.model,
            cerebras_api_key=settings.cerebras_api_key.get_secret_value(),
            cerebras_base_url=settings.cerebras_base_url,
            openai_api_key=settings.openai_api_key.get_secret_value(),
            on_wait=_say_waiting,
        )
        stack.push_async_callback(close_model, model)
        with naming("MIDDLE_CORE_BACKEND_URL"):
            backend = BackendClient(settings.resolved_backend_url, http)
        deps = AgentDeps(checkpointer=store.saver, model=model, backend=backend)
        agents = await registry.load(specs, deps, client_writable=settings.client_writable)
        sources = {name: GraphSource(name, agent.graph, rules_of(agent), drawn=agent.drawn) for name, agent in agents.items()}
        engine = Engine(
            store.log, store.questions, sources, max_event_bytes=settings.max_event_bytes, approval_ttl_s=settings.approval_ttl_s
        )
        replica = f"{socket.gethostname()}-{uuid_utils.uuid4().hex[:8]}"
        async with Supervisor(
            store.log,
            store.questions,
            store.replicas,
            engine,
            replica=replica,
            beat_s=settings.beat_s,
            lease_s=settings.lease_s,
            orphan_timeout_s=settings.orphan_timeout_s,
            grace_s=settings.disconnect_grace_s,
        ) as supervisor:
            service = RunService(
                store.log,
                store.questions,
                supervisor,
                Adoption(store.log, engine, supervisor),
                sources,
                stop_wait_s=settings.stop_wait_s,
            )
            default = settings.default_agent or next(iter(agents))
            info = Info(
                version=__version__,
                agents=[AgentInfo(name=name, description=agent.description, default=name == default) for name, agent in agents.items()],
                model=str(getattr(model, "model_name", None) or type(model).__name__),
            )
            yield Parts(service, supervisor, default, info, settings.drain_s)
            await supervisor.drain(within_s=settings.drain_s)


def rules_of(agent: registry.Agent) -> AgentRules:
    """What the runs of an agent have to know of it."""
    return AgentRules(
        client_writable=agent.client_writable,
        server_tools=agent.server_tools,
        legacy_interrupts=agent.legacy_interrupts,
        recorded_tools=agent.recorded_tools,
        repeatable_tools=agent.repeatable_tools,
    )


def _say_started(settings: Settings, parts: Parts) -> None:
    """One line that says what serves: for whoever asks later what this server was."""
    names = [agent.name + (" (default)" if agent.default else "") for agent in parts.info.agents]
    facts = {
        "version": __version__,
        "agents": ", ".join(names),
        "model": parts.info.model,
        "store": mask(settings.resolved_database_url),
        "auth": settings.verification,
        "backend": settings.resolved_backend_url or NO_BACKEND,
    }
    logger.info("started", extra=facts)


async def migrate(settings: Settings) -> tuple[int, int]:
    """Bring the database to this version's schema, as a start does. Returns the versions before and after.

    Raises one of `REFUSALS`.
    """
    return await urls.migrate(settings.resolved_database_url, direct_url=settings.database_direct_url)


async def copy(source: str, target: str, *, direct_url: str, progress: Callable[[int, int], None]) -> Copied:
    """Copy a SQLite file into a Postgres. Raises one of `REFUSALS`."""
    return await urls.copy(source, target, direct_url=direct_url, progress=progress)


async def _say_waiting(waiting: Waiting) -> None:
    """Show the person that the model has no capacity now, instead of a silence."""
    await progress(f"Waiting for the model: it has no capacity, trying again in {waiting.seconds:.0f} s.")


def create_app(
    settings: Settings, verify: Verifier, *, mint_dev_token: dev_token.Mint | None = None, agents: Mapping[str, Any] | None = None
) -> FastAPI:
    """The application. Everything it is made of is opened by its lifespan.

    verify: from `auth.verify`. agents: names to import paths, graphs or factories, instead of the settings'. mint_dev_token: given in dev only; without it `/dev/token` does not exist.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            try:
                parts = await stack.enter_async_context(open_parts(settings, agents or settings.agents))
            except REFUSALS as error:
                app.state.refused = str(error)
                raise
            app.state.parts = parts
            _say_started(settings, parts)
            caller = Caller(verify)
            policy = StreamPolicy(heartbeat_s=settings.heartbeat_s, max_stream_s=settings.max_stream_s)
            app.include_router(health.router(parts.service))
            app.include_router(threads.router(parts.service, caller))
            app.include_router(
                copilotkit.router(
                    parts.service,
                    caller,
                    policy,
                    default_agent=parts.default_agent,
                    info=parts.info,
                    max_body_bytes=settings.max_body_bytes,
                )
            )
            app.include_router(
                chat.router(parts.service, caller, policy, default_agent=parts.default_agent, max_body_bytes=settings.max_body_bytes)
            )
            timed = diag.Diag(heartbeat_s=settings.heartbeat_s, draining=lambda: parts.service.draining)
            app.include_router(diag.router(timed, caller, key=settings.diag_key.get_secret_value()))
            app.include_router(graph_page.router(dev_sign_in=mint_dev_token is not None))
            if mint_dev_token is not None:
                app.include_router(dev_token.router(mint_dev_token))
            # What was made until now lives as long as the process: keep it out of every later collection.
            await asyncio.to_thread(gc.collect)
            gc.freeze()
            yield

    app = FastAPI(
        title="middle-core", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False
    )
    problems.install(app)
    app.add_middleware(RequestLog)
    app.add_middleware(CorrelationMiddleware)
    return app
