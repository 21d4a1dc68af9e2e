"""compose.yaml: valid by the specification, existing settings, no secrets inside, time for the drain, read-only containers."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import yaml

from infra.checks import apps
from middle_core.settings import Settings
from tests.fakes.dockerfile import ROOT, command, environment, read

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
    assert list(SERVICES["postgres"]["environment"]) == ["POSTGRES_USER", "POSTGRES_DB", "POSTGRES_PASSWORD_FILE"]


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
    [volume] = SERVICES["api"]["volumes"]
    assert volume.partition(":")[2] == environment(final)["MIDDLE_CORE_DATA_DIR"]
    assert SERVICES["web"]["environment"]["MIDDLE_CORE_URL"] == f"http://api:{command(final)[-1]}"


def test_one_replica_and_only_the_page_can_be_reached() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["web"]
    assert "deploy" not in SERVICES["api"]
    assert Settings.model_fields["database_url"].default == "", "without a URL it is the file in the volume"


def test_postgres_is_for_later() -> None:
    assert SERVICES["postgres"]["profiles"] == ["postgres"]
