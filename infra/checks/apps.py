"""Checks of our two apps: their settings exist and suffice, secrets are references, probes ask existing paths, SQLite has one replica.

Reads the program's settings and the page's configuration; knows nothing of Azure's models (that is `azure`).
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from infra.checks.bicep import Finding, Value
from infra.checks.plan import Body, Plan, Resource
from middle_core import settings
from middle_core.settings import Settings

ROOT: Final = Path(__file__).parents[2]

SAMPLE: Final = {
    "AZURE_ENV_NAME": "sample",
    "AZURE_LOCATION": "westeurope",
    "AZURE_PRINCIPAL_ID": "00000000-0000-0000-0000-000000000000",
    "API_IMAGE": "registry.example.com/middle-core:1",
    "WEB_IMAGE": "registry.example.com/frontend-core:1",
    "DATABASE_PASSWORD": "a canary / of a password",
    "MIDDLE_CORE_JWKS_URL": "https://issuer.example.com/keys",
    "MIDDLE_CORE_JWT_ISSUER": "https://issuer.example.com",
    "MIDDLE_CORE_JWT_AUDIENCE": "middle-core",
    "MIDDLE_CORE_BACKEND_URL": "https://backend.example.com",
}
"""What a person has in the environment when deploying."""

SECRETS: Final = {
    "CEREBRAS_API_KEY",
    "MIDDLE_CORE_DATABASE_DIRECT_URL",
    "MIDDLE_CORE_DATABASE_URL",
    "MIDDLE_CORE_DIAG_KEY",
    "MIDDLE_CORE_JWT_SECRET",
    "OPENAI_API_KEY",
}
"""Settings that may hold a secret. They must come from the vault, or be absent."""

DATABASE_URL: Final = "postgresql://somebody@database.example.com/middle_core"
"""Stands for a secret of the vault."""

NEXT_READS: Final = {"PORT", "HOSTNAME", "NODE_ENV", "NEXT_TELEMETRY_DISABLED", "COPILOTKIT_TELEMETRY_DISABLED", "DO_NOT_TRACK"}

PROBES: Final = {
    "api": {"Startup": "/healthz", "Liveness": "/healthz", "Readiness": "/readyz"},
    "web": {"Startup": "/", "Liveness": "/", "Readiness": "/"},
}
"""The path that each probe asks. The page's probe does not ask the service: the page must stay up when the service is down."""

PASSWORD_MAY_STAND_IN: Final = {
    ("Microsoft.DBforPostgreSQL/flexibleServers", "administratorLoginPassword"),
    ("Microsoft.KeyVault/vaults/secrets", "value"),
}


class Written(Settings):
    """The program's settings, read only from the variables in the Bicep."""

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource, *_: object, **__: object
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


def variables() -> dict[str, str]:
    """Environment variable to field of `Settings`."""
    return {variable: field for field, variable in settings.variables().items()}


def page_variables() -> set[str]:
    """The variables that the page's configuration and Next read."""
    config = (ROOT / "frontend_core" / "proxy" / "config.ts").read_text(encoding="utf-8")
    return set(re.findall(r"FRONTEND_CORE_[A-Z_]+|MIDDLE_CORE_URL", config)) | NEXT_READS


def app_of(plan: Plan, role: str) -> Resource | None:
    """The `api` or the `web` app, by its tag."""
    return next((app for app in plan.of("Microsoft.App/containerApps") if app.body.get("tags", {}).get("azd-service-name") == role), None)


def env_of(container: Mapping[str, Value]) -> dict[str, Value]:
    """Name to value. A reference to a secret is `{"secretRef": name}`."""
    return {
        entry["name"]: {"secretRef": entry["secretRef"]} if "secretRef" in entry else entry.get("value")
        for entry in container.get("env", [])
    }


def settings_of(env: Mapping[str, Value]) -> Settings:
    """The settings from these variables, with a placeholder for each secret. Raises pydantic's ValidationError."""
    known = variables()
    given: dict[str, Any] = {}
    for name, value in env.items():
        if name in known:
            given[known[name]] = (
                (DATABASE_URL if name.startswith("MIDDLE_CORE_DATABASE_") else "stands-for-a-secret")
                if isinstance(value, Mapping)
                else value
            )
    return Written(**given)


def check(plan: Plan) -> list[Finding]:
    """The faults of both apps and of the migration job."""
    findings: list[Finding] = []
    if plan.given.get("database") == "sqlite" and plan.given.get("apiMaxReplicas") != 1:
        findings.append(Finding("parameters", "apiMaxReplicas must be 1 with SQLite: it would be, whatever is asked for."))
    for role in PROBES:
        if (app := app_of(plan, role)) is not None:
            findings += [*_check_app(app, role), *_check_secrets(app)]
    for job in plan.of("Microsoft.App/jobs"):
        findings += [*_check_names(job, set(variables())), *_check_secrets(job)]
    if (api := app_of(plan, "api")) is not None:
        findings += [*_check_names(api, set(variables())), *_check_settings(api)]
    if (web := app_of(plan, "web")) is not None:
        findings += _check_names(web, page_variables())
        if "MIDDLE_CORE_URL" not in env_of(_container(web)):
            findings.append(Finding(web.body.where, "the page is not told where middle_core is: set MIDDLE_CORE_URL."))
    return [*findings, *_check_password(plan)]


def _container(app: Resource) -> Body:
    container: Body = app.body["properties"]["template"]["containers"][0]
    return container


def _check_app(app: Resource, role: str) -> Iterator[Finding]:
    properties = app.body["properties"]
    ingress, template = properties["configuration"]["ingress"], properties["template"]
    if ingress.get("external") is not (role == "web"):
        yield Finding(ingress.where, "the page is what the internet reaches, and nothing else: external belongs to web alone.")
    if ingress.get("transport") not in {"http", "auto"}:
        yield Finding(
            ingress.where, f"transport is {ingress.get('transport')!r}: the servers speak HTTP/1.1, so each request would be a 502."
        )
    if ingress.get("allowInsecure") is not False:
        yield Finding(ingress.where, "allowInsecure must be false: a token travels in each request.")
    if template["scale"].get("minReplicas", 0) < 1:
        yield Finding(
            template["scale"].where, "minReplicas must be 1 or more: open streams are under-counted, and a cold start shows a bare 504."
        )
    probes = {probe["type"]: probe for probe in _container(app).get("probes", [])}
    for kind, path in PROBES[role].items():
        probe = probes.get(kind)
        if probe is None:
            yield Finding(_container(app).where, f"{role} has no {kind} probe.")
        elif probe["httpGet"] != {"path": path, "port": ingress["targetPort"]}:
            yield Finding(probe.where, f"the {kind} probe should ask {path} on port {ingress['targetPort']}.")
    for registry in properties["configuration"].get("registries", []):
        if "identity" not in registry or "passwordSecretRef" in registry:
            yield Finding(registry.where, "images are pulled with the app's identity, not with a password.")


def _check_names(app: Resource, known: set[str]) -> Iterator[Finding]:
    for name in env_of(_container(app)):
        if name not in known:
            yield Finding(_container(app).where, f"{app.name} is given {name}, which nothing reads.")


def _check_secrets(app: Resource) -> Iterator[Finding]:
    secrets = {secret["name"]: secret for secret in app.body["properties"]["configuration"].get("secrets", [])}
    for secret in secrets.values():
        if "value" in secret or not secret.get("keyVaultUrl") or not secret.get("identity"):
            yield Finding(secret.where, f"the secret {secret['name']} must be a reference to the vault, read with an identity.")
    for name, value in env_of(_container(app)).items():
        if isinstance(value, Mapping):
            if value["secretRef"] not in secrets:
                yield Finding(_container(app).where, f"{name} refers to the secret {value['secretRef']}, which the app does not have.")
        elif name in SECRETS:
            yield Finding(_container(app).where, f"{name} holds a secret: it must be a secretRef, not a value.")


def _check_settings(api: Resource) -> Iterator[Finding]:
    container, scale = _container(api), api.body["properties"]["template"]["scale"]
    env = env_of(container)
    try:
        given = settings_of(env)
        given.require_production()
    except ValidationError as error:
        yield from (Finding(container.where, f"middle_core would refuse its settings: {line}") for line in settings.explained(error))
        return
    except ValueError as error:
        yield Finding(container.where, f"middle_core would not start: {error}")
        return
    if given.env != "production":
        yield Finding(container.where, "MIDDLE_CORE_ENV must stay production: dev signs in anybody.")
    if "MIDDLE_CORE_DATABASE_URL" not in env:
        if scale.get("maxReplicas") != 1:
            yield Finding(
                scale.where, "maxReplicas must be 1 with SQLite: each replica would have a log of its own, and answers would be lost."
            )
        mounts = [mount["mountPath"] for mount in container.get("volumeMounts", [])]
        if env.get("MIDDLE_CORE_DATA_DIR") not in mounts:
            yield Finding(container.where, "MIDDLE_CORE_DATA_DIR must be on a volume: the image's own file system may be read-only.")
        for volume in api.body["properties"]["template"].get("volumes", []):
            if volume.get("storageType") in {"AzureFile", "NfsAzureFile", "Smb"}:
                yield Finding(volume.where, "SQLite's write-ahead log needs a local disk: not on a network share.")


def _check_password(plan: Plan) -> Iterator[Finding]:
    """The database's password may be only in the server and in the vault."""
    forms = {SAMPLE["DATABASE_PASSWORD"], urllib.parse.quote(SAMPLE["DATABASE_PASSWORD"], safe="")}
    for resource in plan.resources:
        for name, text in _texts(resource.body):
            if any(form in text for form in forms) and (resource.type, name) not in PASSWORD_MAY_STAND_IN:
                yield Finding(resource.body.where, f"the database's password stands in {resource.type}, in {name}.")
    for output, value in plan.outputs.items():
        if any(form in str(value) for form in forms):
            yield Finding(output, "the database's password stands in an output.")


def _texts(value: Value, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, name)
    elif isinstance(value, str):
        yield name, value
