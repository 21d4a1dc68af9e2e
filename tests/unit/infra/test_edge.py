"""Other fronts let a stream pass, and each check of them can fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.checks.__main__ import INFRA
from infra.checks.edge import SAMPLES, findings
from tests.unit.infra.mutation import change, copy_of

GATEWAY, DOOR, GROUP, POLICY = "application-gateway.bicep", "front-door.bicep", "container-instances.bicep", "api-management.xml"

WRONG = {
    "a gateway that collects": (GATEWAY, "enableResponseBuffering: false", "enableResponseBuffering: true", "must be false"),
    "a gateway as it is by default": (GATEWAY, "      enableResponseBuffering: false\n", "", "must be false"),
    "a gateway without patience": (GATEWAY, "param requestTimeoutSeconds int = 60", "param requestTimeoutSeconds int = 20", "above two heartbeats"),
    "a gateway with an unknown setting": (GATEWAY, "requestTimeout:", "requestTimeOut:", "has no property requestTimeOut"),
    "a door that caches": (DOOR, "linkToDefaultDomain:", "cacheConfiguration: { queryStringCachingBehavior: 'UseQueryString' }\n    linkToDefaultDomain:", "no cacheConfiguration"),
    "a door without patience": (DOOR, "param originTimeoutSeconds int = 240", "param originTimeoutSeconds int = 16", "above two heartbeats"),
    "a door of another version": (DOOR, "Microsoft.Cdn/profiles@2026-10-01", "Microsoft.Cdn/profiles@2023-05-01", "is of 2023-05-01"),
    "a sidecar with another file": (GROUP, "base64(loadTextContent('nginx/middle-core.conf.template'))", "base64('server {}')", "must get nginx/middle-core.conf.template"),
    "a sidecar whose file is not there": (GROUP, "nginx/middle-core.conf.template'", "nginx/other.template'", "cannot be worked out"),
    "a key that can be read": (GROUP, "secureValue: cerebrasApiKey", "value: cerebrasApiKey", "must be a secureValue"),
    "a setting that nothing reads": (GROUP, "name: 'NGINX_LISTEN'", "name: 'NGINX_PORT'", "which nothing reads"),
    "a setting left out": (GROUP, "{ name: 'MIDDLE_CORE_JWKS_URL', value: jwksUrl }", "", "jwksUrl is declared and not used"),
    "a public address without TLS": (GROUP, "type: 'Private'", "type: 'Public'", "must be private"),
    "a policy that collects": (POLICY, 'buffer-request-body="false" buffer-response="false"', "", 'needs buffer-response="false"'),
    "a policy beyond the network": (POLICY, 'timeout="240"', 'timeout="300"', "at most 240 s"),
    "a policy that reads the body": (POLICY, "<outbound>\n    <base />", "<outbound>\n    <base />\n    <set-body>x</set-body>", "set-body collects"),
    "a policy without a backend": (POLICY, "forward-request", "forward-requests", "no forward-request"),
    "a policy that is not XML": (POLICY, "</policies>", "", "is not XML"),
}  # fmt: skip


def test_the_fronts_let_a_stream_pass() -> None:
    assert [str(finding) for finding in findings(INFRA / "edge")] == []


def test_every_front_is_checked_and_described() -> None:
    folder = INFRA / "edge"
    assert {path.name for path in folder.glob("*.bicep")} == set(SAMPLES)
    readme = (folder / "README.md").read_text(encoding="utf-8")
    names = [path.name for path in folder.iterdir() if path.name != "README.md"]
    assert [name for name in names if f"]({name})" not in readme] == []


@pytest.mark.parametrize("name", WRONG)
def test_each_check_can_fail(tmp_path: Path, name: str) -> None:
    file, old, new, words = WRONG[name]
    folder = copy_of(tmp_path) / "edge"
    change(folder, file, old, new)
    found = [str(finding) for finding in findings(folder)]
    assert any(words in text for text in found), found
    assert all(text.startswith(file) for text in found)
