"""The timeouts between the browser and the model, and the order in which they must stand.

Each number is read from the file that sets it: the Bicep, the program's settings, the page's configuration. `table` makes the table
of docs/deployment.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from infra.checks.apps import ROOT, app_of, env_of, settings_of
from infra.checks.bicep import Finding
from infra.checks.plan import Plan
from middle_core.http_server.draining import CLOSING_S

INGRESS_IDLE_S: Final = 240.0
"""Container Apps' ingress cuts a request that is silent for so long. Only premium ingress can change it."""
INGRESS_GRACE_S: Final = 480.0
"""The default of `ingressConfiguration.terminationGracePeriodSeconds` (Azure's API reference, 2025-07-01)."""
EXIT_S: Final = 2.0
"""The process exits within this time after its drain and `closing`; a test checks it."""

REASONS: Final = {
    "heartbeat": "No stream is silent for longer, so no hop takes a slow model for a dead one. If one heartbeat is lost, the next is in time.",
    "page heartbeat": "The same towards the browser. The page's proxy sends its own, because a hop may drop comments.",
    "page silence": "After two missing heartbeats the stream is dead, whatever TCP says, and the proxy attaches again.",
    "ingress idle": "The ingress answers 504 when a stream is silent for so long. Only premium ingress can change it.",
    "drain": "Most answers end within this time. The other runs are let go, and go on at another replica, to which their streams attach.",
    "closing": "uvicorn waits this long for connections whose client does not close them.",
    "service grace": "SIGKILL comes after this time, so it is longer than drain and closing.",
    "page grace": "The page's replicas hold no state. Their streams are attached again at another replica.",
    "ingress grace": "An ingress node lives longer than the replicas behind it, so that their last events still reach the browser.",
    "readiness": "Until then a draining replica may get new requests. It ends within the drain, while the server still answers 503.",
    "lease": "A run whose replica does not extend its lease for so long may be taken over.",
    "beat": "How often the lease is extended. One late beat must not lose a run.",
}


@dataclass(frozen=True, slots=True)
class Time:
    """Seconds, and where they are written."""

    seconds: float
    source: str


@dataclass(frozen=True, slots=True)
class Order:
    """The sum of `less` (`factor` times) must stay below `more`."""

    less: tuple[str, ...]
    more: str
    factor: int = 1


ORDERS: Final = (
    Order(("heartbeat",), "page silence", 2),
    Order(("heartbeat",), "ingress idle", 2),
    Order(("page heartbeat",), "ingress idle", 2),
    Order(("page silence",), "ingress idle"),
    Order(("readiness",), "drain"),
    Order(("drain", "closing"), "service grace"),
    Order(("service grace",), "ingress grace"),
    Order(("page grace",), "ingress grace"),
    Order(("beat",), "lease", 2),
)


def times(plan: Plan) -> dict[str, Time]:
    """Every time by its name. Empty where no apps are deployed."""
    api, web = app_of(plan, "api"), app_of(plan, "web")
    if api is None or web is None:
        return {}
    template, page = api.body["properties"]["template"], web.body["properties"]["template"]
    settings = settings_of(env_of(template["containers"][0]))
    page_env = env_of(page["containers"][0])
    [environment] = plan.of("Microsoft.App/managedEnvironments")
    ingress = environment.body["properties"].get("ingressConfiguration") or {}
    premium, platform = "`modules/environment.bicep`", "the platform's"
    probes: list[dict[str, Any]] = template["containers"][0].get("probes", [])
    readiness = next((probe for probe in probes if probe["type"] == "Readiness"), {})
    return {
        "heartbeat": Time(settings.heartbeat_s, "`MIDDLE_CORE_HEARTBEAT_S`"),
        "page heartbeat": Time(_page(page_env, "FRONTEND_CORE_HEARTBEAT_S", "heartbeatMs"), "`FRONTEND_CORE_HEARTBEAT_S`"),
        "page silence": Time(_page(page_env, "FRONTEND_CORE_SILENCE_S", "silenceMs"), "`FRONTEND_CORE_SILENCE_S`"),
        "ingress idle": Time(
            ingress.get("requestIdleTimeout", INGRESS_IDLE_S / 60) * 60, premium if "requestIdleTimeout" in ingress else platform
        ),
        "readiness": Time(readiness.get("periodSeconds", 10) * readiness.get("failureThreshold", 3), "`modules/api.bicep`, the probe"),
        "drain": Time(settings.drain_s, "`MIDDLE_CORE_DRAIN_S`"),
        "closing": Time(float(CLOSING_S) + EXIT_S, "`serve`, and 2 s for the exit"),
        "service grace": Time(template.get("terminationGracePeriodSeconds", 30), "`modules/api.bicep`"),
        "page grace": Time(page.get("terminationGracePeriodSeconds", 30), "`modules/web.bicep`"),
        "ingress grace": Time(
            ingress.get("terminationGracePeriodSeconds", INGRESS_GRACE_S),
            premium if "terminationGracePeriodSeconds" in ingress else platform,
        ),
        "lease": Time(settings.lease_s, "`MIDDLE_CORE_LEASE_S`"),
        "beat": Time(settings.beat_s, "`MIDDLE_CORE_BEAT_S`"),
    }


def check(plan: Plan) -> Iterator[Finding]:
    """Times that stand in the wrong order."""
    if not (known := times(plan)):
        return
    for order in ORDERS:
        less, more = sum(known[name].seconds for name in order.less) * order.factor, known[order.more].seconds
        # A beat may be exactly half of the lease; the settings allow the same.
        if less > more or (less == more and order.more != "lease"):
            left = f"{order.factor} x " * (order.factor > 1) + " + ".join(order.less)
            sources = ", ".join(known[name].source for name in (*order.less, order.more))
            yield Finding("timeouts", f"{left} is {less:g} s and must stay below {order.more}, {more:g} s ({sources}).")


def table(plans: dict[str, Plan]) -> str:
    """The table of docs/deployment.md: name, seconds for each plan, where it is written, why."""
    columns = {name: times(plan) for name, plan in plans.items()}
    first = next(iter(columns.values()))
    lines = [
        "| time | " + " | ".join(columns) + " | written in | reason |",
        "|---|" + "---|" * (len(columns) + 2),
    ]
    for name in first:
        seconds = " | ".join(f"{known[name].seconds:g} s" for known in columns.values())
        sources = "; ".join(dict.fromkeys(known[name].source for known in columns.values()))
        lines.append(f"| {name} | {seconds} | {sources} | {REASONS[name]} |")
    return "\n".join(lines)


def _page(env: dict[str, Any], name: str, default: str) -> float:
    if name in env:
        return float(env[name])
    config = (ROOT / "frontend_core" / "proxy" / "config.ts").read_text(encoding="utf-8")
    found = re.search(rf"{default}: ([\d_]+),", config)
    if found is None:
        raise LookupError(f"frontend_core/proxy/config.ts has no default {default}.")
    return int(found[1]) / 1000
