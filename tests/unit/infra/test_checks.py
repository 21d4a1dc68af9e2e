"""The checks find no fault in what would be deployed, and each check fails after one change to the Bicep."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.checks.__main__ import findings, plans
from infra.checks.azure import KINDS, shape_of
from infra.checks.plan import Later
from infra.checks.timeouts import ORDERS, REASONS, table, times
from tests.unit.infra.mutation import change, copy_of

API, WEB, ENVIRONMENT = "modules/api.bicep", "modules/web.bicep", "modules/environment.bicep"


def test_what_would_be_deployed_is_right() -> None:
    assert [str(finding) for finding in findings()] == []


def test_the_ground_is_laid_without_apps() -> None:
    known = plans()
    for stage in ("dev", "prod"):
        assert known[f"{stage}, ground"].of("Microsoft.App/containerApps") == []
        assert len(known[stage].of("Microsoft.App/containerApps")) == 2
    assert known["dev"].of("Microsoft.App/jobs") == []
    assert len(known["prod"].of("Microsoft.App/jobs")) == 1


def test_the_page_may_read_no_secret() -> None:
    roles = [
        (resource.module, resource.name) for resource in plans()["prod"].of("Microsoft.Authorization/roleAssignments") if resource.module
    ]
    assert ("apiIdentity", "read") in roles
    assert ("webIdentity", "read") not in roles
    [web] = [app for app in plans()["prod"].of("Microsoft.App/containerApps") if app.module == "web"]
    assert "secrets" not in web.body["properties"]["configuration"]
    assert list(web.body["identity"]["userAssignedIdentities"]) == ["webIdentity/identity.id"]


WRONG = {
    # Azure's models
    "an unknown property": (API, "targetPort: port", "targetPorts: port", "has no property targetPorts"),
    "a property of another level": (API, "minReplicas: withPostgres ? minReplicas : 1", "minReplica: 1", "has no property minReplica"),
    "a value that is not allowed": (API, "transport: 'http'", "transport: 'grpc'", "should be one of auto, http"),
    "text for a number": (API, "maxInactiveRevisions: 5", "maxInactiveRevisions: 'five'", "should be int"),
    "an object for a list": (API, "registries: [\n        { server: registryServer, identity: identityId }\n      ]", "registries: {}", "a list"),
    "what is Azure's to set": (ENVIRONMENT, "internal: false\n    }", "internal: false\n    }\n    defaultDomain: 'x'", "Azure's to set"),
    "another API version": (API, "containerApps@2025-07-01", "containerApps@2024-03-01", "is of 2024-03-01"),
    "a resource without a model": (ENVIRONMENT, "Microsoft.App/managedEnvironments@", "Microsoft.App/otherEnvironments@", "no model of"),
    "a missing property": ("modules/identity.bicep", "roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', acrPull)", "", "needs roleDefinitionId"),
    "a property only in a branch": (ENVIRONMENT, "requestIdleTimeout:", "requestIdleTimeOut:", "has no property requestIdleTimeOut"),
    # wiring
    "a parameter that the module lacks": ("main.bicep", "registryServer: registry.outputs.server", "registryHost: registry.outputs.server", "has no parameter registryHost"),
    "an output that is not there": ("main.bicep", "vault.outputs.uri", "vault.outputs.url", "vault has no output url"),
    "a name that is not there": (API, "value: jwtIssuer", "value: jwtIsuer", "there is no jwtIsuer"),
    "a stage that does not give all": ("main.dev.bicepparam", "param premiumIngress = false", "", "needs the parameter premiumIngress"),
    "a value out of bounds": ("main.prod.bicepparam", "param requestIdleMinutes = 10", "param requestIdleMinutes = 31", "outside of 4 to 30"),
    "a module that is not there": ("main.bicep", "modules/web.bicep", "modules/page.bicep", "there is no page.bicep"),
    # our apps
    "a setting that nothing reads": (API, "MIDDLE_CORE_DRAIN_S", "MIDDLE_CORE_DRAIN_SECONDS", "which nothing reads"),
    "a setting of the page that nothing reads": (WEB, "FRONTEND_CORE_SILENCE_S", "FRONTEND_CORE_QUIET_S", "which nothing reads"),
    "a setting that is refused": (API, "param heartbeatSeconds int = 10", "param heartbeatSeconds int = -1", "would refuse its settings"),
    "an issuer that is missing": (API, "{ name: 'MIDDLE_CORE_JWT_ISSUER', value: jwtIssuer }", "", "would refuse its settings"),
    "no verification": (API, "{ name: 'MIDDLE_CORE_JWKS_URL', value: jwksUrl }", "", "no way to verify tokens"),
    "no backend": (API, "{ name: 'MIDDLE_CORE_BACKEND_URL', value: backendUrl }", "", "Set MIDDLE_CORE_BACKEND_URL"),
    "dev in production": (API, "{ name: 'MIDDLE_CORE_MODEL', value: model }", "{ name: 'MIDDLE_CORE_ENV', value: 'dev' }", "must stay production"),
    "no address of the service": (WEB, "{ name: 'MIDDLE_CORE_URL', value: apiUrl }", "", "set MIDDLE_CORE_URL"),
    "a secret as a value": (API, "name: 'CEREBRAS_API_KEY', secretRef: 'cerebras-api-key'", "name: 'CEREBRAS_API_KEY', value: 'csk'", "must be a secretRef"),
    "a secret that is not declared": (API, "withPostgres ? [modelKey, databaseUrl, databaseDirectUrl] : [modelKey]", "[modelKey]", "does not have"),
    "a secret that is written down": (API, "keyVaultUrl: '${vaultUri}secrets/cerebras-api-key'", "value: 'csk'", "must be a reference to the vault"),
    "a password in an output": ("main.bicep", "output KEY_VAULT_NAME string = vault.outputs.name", "output KEY_VAULT_NAME string = databasePassword", "stands in an output"),
    "a password in a setting": ("main.bicep", "model: model", "model: databasePassword", "password stands in Microsoft.App/containerApps"),
    "a service for everybody": (API, "external: false", "external: true", "belongs to web alone"),
    "http2 to uvicorn": (API, "transport: 'http'", "transport: 'http2'", "502"),
    "a token without TLS": (WEB, "allowInsecure: false", "allowInsecure: true", "allowInsecure must be false"),
    "scaling to nothing": (API, "minReplicas: withPostgres ? minReplicas : 1", "minReplicas: 0", "minReplicas must be 1"),
    "two replicas on SQLite": (API, "maxReplicas: withPostgres ? maxReplicas : 1", "maxReplicas: 2", "maxReplicas must be 1 with SQLite"),
    "two replicas on SQLite asked for": ("main.dev.bicepparam", "param apiMaxReplicas = 1", "param apiMaxReplicas = 2", "apiMaxReplicas must be 1 with SQLite"),
    "SQLite on a share": (API, "storageType: 'EmptyDir'", "storageType: 'AzureFile'", "not on a network share"),
    "SQLite beside the volume": (API, "mountPath: dataDir", "mountPath: '/elsewhere'", "must be on a volume"),
    "no readiness probe": (API, "type: 'Readiness'", "type: 'Liveness'", "no Readiness probe"),
    "a probe of another path": (API, "path: '/readyz'", "path: '/ready'", "should ask /readyz"),
    "a pull with a password": (WEB, "{ server: registryServer, identity: identityId }", "{ server: registryServer, username: 'x', passwordSecretRef: 'y' }", "not with a password"),
    # the order of times
    "a heartbeat too slow for the page": (API, "param heartbeatSeconds int = 10", "param heartbeatSeconds int = 13", "must stay below page silence"),
    "a heartbeat too slow for the ingress": (WEB, "param heartbeatSeconds int = 10", "param heartbeatSeconds int = 120", "must stay below ingress idle, 240 s"),
    "a silence beyond the ingress": (WEB, "param silenceSeconds int = 25", "param silenceSeconds int = 240", "page silence is 240 s"),
    "a drain beyond the grace": (API, "param drainSeconds int = 20", "param drainSeconds int = 44", "must stay below service grace"),
    "a grace beyond the ingress's": (API, "param graceSeconds int = 45", "param graceSeconds int = 600", "service grace is 600 s"),
    "a page's grace beyond the ingress's": (WEB, "param graceSeconds int = 30", "param graceSeconds int = 480", "page grace is 480 s"),
    "an ingress that leaves first": (ENVIRONMENT, "param ingressGraceSeconds int = 600", "param ingressGraceSeconds int = 45", "must stay below ingress grace, 45 s"),
    "a readiness that is noticed too late": (API, "path: '/readyz', port: port }, periodSeconds: 5", "path: '/readyz', port: port }, periodSeconds: 10", "readiness is 20 s"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_each_check_can_fail(tmp_path: Path, name: str) -> None:
    file, old, new, words = WRONG[name]
    change(copy_of(tmp_path), file, old, new)
    found = [str(finding) for finding in findings(tmp_path)]
    assert any(words in text for text in found), found


def test_a_file_that_is_not_bicep_is_told_with_its_line(tmp_path: Path) -> None:
    change(copy_of(tmp_path), API, "tags: union(tags,", "tags: union(tags")
    [finding] = findings(tmp_path)
    assert "api.bicep:" in finding.text


def test_the_models_are_of_the_versions_that_we_pin() -> None:
    """A missing model, or a package of another API version, is found here and not by Azure."""
    import importlib  # noqa: PLC0415 - of packages by name
    import inspect  # noqa: PLC0415

    for kind in KINDS.values():
        package, _, model = kind.model.partition(":")
        assert shape_of(package, model).properties
        if package in {"here", "network"}:  # network's package serves several versions; the newest is the one that we pin
            continue
        configuration = importlib.import_module(f"azure.mgmt.{package}._configuration")
        assert f'"{kind.version}"' in inspect.getsource(configuration), package


def test_the_numbers_come_from_where_they_are_written(tmp_path: Path) -> None:
    folder = copy_of(tmp_path)
    change(folder, API, "param drainSeconds int = 20", "param drainSeconds int = 7")
    change(folder, WEB, "{ name: 'FRONTEND_CORE_SILENCE_S', value: string(silenceSeconds) }", "")
    known = times(plans(folder)["dev"])
    assert known["drain"].seconds == 7
    assert known["page silence"].seconds == 25, "the page's own default"
    assert (known["ingress idle"].seconds, times(plans()["prod"])["ingress idle"].seconds) == (240, 600)


def test_every_time_has_a_reason_and_an_order() -> None:
    known = times(plans()["prod"])
    assert set(REASONS) == set(known)
    assert {name for order in ORDERS for name in (*order.less, order.more)} == set(known)
    assert table({"prod": plans()["prod"]}).count("\n") == len(known) + 1


def test_the_vault_gets_urls_with_a_quoted_password_through_the_pgbouncer_and_past_it() -> None:
    secrets = plans()["prod"].of("Microsoft.KeyVault/vaults/secrets")
    urls = {secret.body["name"]: secret.body["properties"]["value"] for secret in secrets}
    assert len(urls) == 2
    for value in urls.values():
        assert isinstance(value, Later)
        assert "a%20canary%20%2F%20of%20a%20password@" in value
    assert [":6432/" in value and "pgbouncer=true" in value for _, value in sorted(urls.items())] == [False, True]


def test_production_has_two_replicas_and_a_try_has_one() -> None:
    scales = {
        stage: next(app for app in plans()[stage].of("Microsoft.App/containerApps") if app.module == "api") for stage in ("dev", "prod")
    }
    assert {stage: app.body["properties"]["template"]["scale"]["minReplicas"] for stage, app in scales.items()} == {"dev": 1, "prod": 2}
