"""compose.yaml: valid by the specification, existing settings, no secrets inside, time for the drain, read-only containers."""

from __future__ import annotations

import subprocess
import sys
from typing import Any
from urllib.parse import urlsplit

import yaml

from infra.checks import apps
from middle_core.stores.postgres.address import address_of
from tests.fakes.dockerfile import ROOT, command, read

COMPOSE = ROOT / "compose.yaml"
SERVICES: dict[str, Any] = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]


def test_it_is_what_the_specification_knows() -> None:
    arguments = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(COMPOSE)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_settings_exist_and_suffice() -> None:
    env = SERVICES["api"]["environment"]
    given = {name: f"https://{name}" if str(value).startswith("${") else value for name, value in env.items()}
    assert set(env) <= set(apps.variables())
    settings = apps.settings_of(given)
    assert settings.verification_configured
    assert settings.env == "production"
    settings.require_production()
    assert set(SERVICES["web"]["environment"]) <= apps.page_variables()


def test_what_must_be_set_is_asked_for() -> None:
    """`${NAME:?words}` stops the start with those words, and no secret is in the file."""
    env = SERVICES["api"]["environment"]
    needed = {"MIDDLE_CORE_JWKS_URL", "MIDDLE_CORE_JWT_ISSUER", "MIDDLE_CORE_JWT_AUDIENCE", "MIDDLE_CORE_BACKEND_URL", "MIDDLE_CORE_MODEL"}
    assert {name for name, value in env.items() if value.startswith(f"${{{name}:?")} == needed
    assert env["MIDDLE_CORE_DATABASE_URL"].count("${POSTGRES_PASSWORD:?") == 1
    assert SERVICES["postgres"]["environment"]["POSTGRES_PASSWORD"].startswith("${POSTGRES_PASSWORD:?")


def test_the_stop_leaves_room_for_the_drain() -> None:
    grace, drain = SERVICES["api"]["stop_grace_period"], SERVICES["api"]["environment"]["MIDDLE_CORE_DRAIN_S"]
    assert float(grace.removesuffix("s")) > float(drain) + 7


def test_our_services_are_built_here_and_may_write_to_their_volumes_only() -> None:
    for name, image in {"api": "middle_core", "web": "frontend_core"}.items():
        service = SERVICES[name]
        file = ROOT / service["build"]["dockerfile"]
        assert file.name == f"{image}.Dockerfile"
        assert file.exists()
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
    final = read(ROOT / SERVICES["api"]["build"]["dockerfile"])[-1]
    assert "volumes" not in SERVICES["api"], "all that it keeps is in Postgres"
    assert SERVICES["web"]["environment"]["MIDDLE_CORE_URL"] == f"http://api:{command(final)[-1]}"


def test_two_replicas_share_a_postgres_and_only_the_page_can_be_reached() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["web"]
    assert SERVICES["api"]["deploy"] == {"replicas": 2}
    database, environment = SERVICES["postgres"]["environment"], SERVICES["api"]["environment"]
    parts = urlsplit(environment["MIDDLE_CORE_DATABASE_URL"].replace("${POSTGRES_PASSWORD:?a password of letters and digits}", "secret"))
    assert (parts.username, parts.path[1:]) == (database["POSTGRES_USER"], database["POSTGRES_DB"])
    assert parts.hostname == "postgres"
    assert address_of(parts.geturl()).direct is not None
