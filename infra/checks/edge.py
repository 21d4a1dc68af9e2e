"""Checks that each front of infra/edge lets a stream pass: bytes leave as they come, and two heartbeats of silence are tolerated.

The ingress lab tests nginx's settings by running them. Here we only check that the sidecar gets the same file.
"""

from __future__ import annotations

import base64
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from infra.checks import apps, azure
from infra.checks.bicep import Finding, NotBicep
from infra.checks.plan import Plan, idle, plan

HEARTBEAT_S: Final = 10.0
"""Seconds between heartbeats, of the page (`FRONTEND_CORE_HEARTBEAT_S`) and of the service."""

COLLECTS: Final = frozenset(
    {
        "cache-lookup",
        "cache-store",
        "find-and-replace",
        "json-to-xml",
        "log-to-eventhub",
        "mock-response",
        "set-body",
        "validate-content",
        "xml-to-json",
        "xsl-transform",
    }
)
"""Policies of API Management that read or replace a body."""

SAMPLES: Final[Mapping[str, Mapping[str, Any]]] = {
    "application-gateway.bicep": {
        "name": "gateway",
        "subnetId": "a subnet",
        "webHost": "web.example.com",
        "certificateSecretId": "https://vault.example.com/secrets/page",
        "identityId": "an identity",
    },
    "front-door.bicep": {"name": "door", "webHost": "web.example.com"},
    "container-instances.bicep": {
        "name": "group",
        "subnetId": "a subnet",
        "registryServer": "registry.example.com",
        "identityId": "an identity",
        "apiImage": apps.SAMPLE["API_IMAGE"],
        "webImage": apps.SAMPLE["WEB_IMAGE"],
        "jwksUrl": apps.SAMPLE["MIDDLE_CORE_JWKS_URL"],
        "jwtIssuer": apps.SAMPLE["MIDDLE_CORE_JWT_ISSUER"],
        "jwtAudience": apps.SAMPLE["MIDDLE_CORE_JWT_AUDIENCE"],
        "backendUrl": apps.SAMPLE["MIDDLE_CORE_BACKEND_URL"],
        "cerebrasApiKey": "a canary of a key",
    },
}


def findings(folder: Path) -> list[Finding]:
    """Every fault of the fronts in `folder`."""
    found = list(_policy(folder / "api-management.xml"))
    for name, given in SAMPLES.items():
        try:
            one = plan(folder / name, {}, given)
        except NotBicep as error:
            found.append(Finding(name, str(error)))
            continue
        wrong = [*one.findings, *(finding for resource in one.resources for finding in azure.check(resource)), *idle([one])]
        found += wrong or list(_RULES[name](one, folder))
    return found


def _policy(path: Path) -> Iterator[Finding]:
    try:
        root = ET.parse(path).getroot()  # noqa: S314 - our own file
    except ET.ParseError as error:
        yield Finding(path.name, f"is not XML: {error}.")
        return
    forward = root.find("backend/forward-request")
    if forward is None:
        yield Finding(path.name, "there is no forward-request in backend.")
        return
    if forward.get("buffer-response") != "false":
        yield Finding(path.name, 'forward-request needs buffer-response="false", or the whole answer is collected first.')
    if not 2 * HEARTBEAT_S < float(forward.get("timeout", "300")) <= 240:
        yield Finding(path.name, "timeout must be above two heartbeats and at most 240 s, where the network cuts.")
    for element in root.iter():
        if element.tag in COLLECTS:
            yield Finding(path.name, f"{element.tag} collects the body, however buffering is set.")


def _application_gateway(one: Plan, _folder: Path) -> Iterator[Finding]:
    [gateway] = one.of("Microsoft.Network/applicationGateways")
    properties = gateway.body["properties"]
    if properties.get("globalConfiguration", {}).get("enableResponseBuffering") is not False:
        yield Finding(gateway.body.where, "enableResponseBuffering must be false: it is on by default.")
    for settings in properties["backendHttpSettingsCollection"]:
        if settings["properties"].get("requestTimeout", 30) <= 2 * HEARTBEAT_S:
            yield Finding(settings.where, "requestTimeout must be above two heartbeats, 20 s.")


def _front_door(one: Plan, _folder: Path) -> Iterator[Finding]:
    [profile] = one.of("Microsoft.Cdn/profiles")
    if profile.body["properties"].get("originResponseTimeoutSeconds", 0) <= 2 * HEARTBEAT_S:
        yield Finding(profile.body.where, "originResponseTimeoutSeconds must be above two heartbeats, 20 s.")
    for route in one.of("Microsoft.Cdn/profiles/afdEndpoints/routes"):
        if route.body["properties"].get("cacheConfiguration") is not None:
            yield Finding(route.body.where, "a route that caches collects, and compresses: no cacheConfiguration.")


def _container_instances(one: Plan, folder: Path) -> Iterator[Finding]:
    [group] = one.of("Microsoft.ContainerInstance/containerGroups")
    properties = group.body["properties"]
    environments = {
        container["name"]: {entry["name"]: entry for entry in container["properties"]["environmentVariables"]}
        for container in properties["containers"]
    }
    known = {"nginx": {"NGINX_LISTEN", "NGINX_UPSTREAM"}, "web": apps.page_variables(), "api": set(apps.variables())}
    for name, environment in environments.items():
        for variable in environment.keys() - known[name]:
            yield Finding(group.body.where, f"{name} is given {variable}, which nothing reads.")
        for variable in environment.keys() & apps.SECRETS:
            if "secureValue" not in environment[variable]:
                yield Finding(group.body.where, f"{variable} must be a secureValue: others can be read in the portal.")
    settings = apps.settings_of({name: entry.get("value", {}) for name, entry in environments["api"].items()})
    if not settings.verification_configured:
        yield Finding(group.body.where, "middle_core would not start: no way to verify tokens is set.")
    template = (folder / "nginx" / "middle-core.conf.template").read_bytes()
    files = [file for volume in properties["volumes"] for file in volume.get("secret", {}).values()]
    if files != [base64.b64encode(template).decode()]:
        yield Finding(group.body.where, "the sidecar must get nginx/middle-core.conf.template.")
    if properties["ipAddress"]["type"] != "Private":
        yield Finding(group.body.where, "the address must be private: nginx speaks no TLS here.")


_RULES: Final[Mapping[str, Callable[[Plan, Path], Iterator[Finding]]]] = {
    "application-gateway.bicep": _application_gateway,
    "front-door.bicep": _front_door,
    "container-instances.bicep": _container_instances,
}
