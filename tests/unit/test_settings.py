"""Settings that make no sense are refused before anything starts."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from middle_core.settings import Settings, explained, naming, unknown_variables, variables

VERIFIED = {"jwt_secret": "x" * 32, "jwt_issuer": "i", "jwt_audience": "a"}


@pytest.mark.parametrize("name", ["connect", "stop", "info", "runs", "a b", "a/b", "", "ä", "x" * 65, "-x"])
def test_an_agent_that_no_door_could_reach_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="MIDDLE_CORE_AGENTS"):
        Settings.model_validate({"agents": f"{name}=some.module:build"})


@pytest.mark.parametrize("value", ["inf", "nan", "-1", "soon"])
@pytest.mark.parametrize("name", ["heartbeat_s", "drain_s", "max_stream_s", "stop_wait_s"])
def test_a_time_is_a_number_of_seconds(name: str, value: str) -> None:
    with pytest.raises(ValidationError, match=name):
        Settings.model_validate({name: value})


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"heartbeat_s": "abc"}, "MIDDLE_CORE_HEARTBEAT_S: Input should be a valid number"),
        ({"env": "prod"}, "MIDDLE_CORE_ENV: Input should be 'production' or 'dev'"),
        ({"agents": "x"}, "MIDDLE_CORE_AGENTS: 'x' is not of the form"),
        ({"client_writable": "x="}, "MIDDLE_CORE_CLIENT_WRITABLE: 'x=' is not of the form name=key key"),
        ({"beat_s": 10}, "MIDDLE_CORE_BEAT_S must be at most half of"),
        ({"jwt_secret": "hunter2"}, "Set MIDDLE_CORE_JWT_ISSUER and"),
        ({"cerebras_api_key": 5}, "CEREBRAS_API_KEY: Input should be a valid string"),
        ({"diag_key": "hunter2"}, "MIDDLE_CORE_DIAG_KEY must have"),
    ],
)
def test_a_wrong_value_is_told_by_the_variables_name(given: dict[str, object], line: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate(given)
    [said] = explained(caught.value)
    assert said.startswith(line)
    assert "hunter2" not in said


def test_the_keys_that_a_browser_may_write_are_named_by_agent() -> None:
    settings = Settings.model_validate({"client_writable": "a=plan steps, b=notes"})
    assert settings.client_writable == {"a": {"plan", "steps"}, "b": {"notes"}}


def test_every_setting_is_read_from_the_variable_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for field, variable in variables().items():
        with monkeypatch.context() as patch:
            patch.setenv(variable, "hunter2" if Settings.model_fields[field].annotation in (float, int) else "")
            try:
                Settings()
            except ValidationError as error:
                [said] = explained(error)
                assert said.startswith(variable)
            else:
                assert Settings.model_fields[field].annotation not in (float, int)


def test_a_variable_that_is_no_setting_is_named_with_the_one_that_was_meant() -> None:
    names = ["PATH", "MIDDLE_CORE_URL", "MIDDLE_CORE_PROBE_TOKEN", "MIDDLE_CORE_HEARBEAT_S", "MIDDLE_CORE_SERVICE_HOST", "MIDDLE_CORE_ENV"]
    assert unknown_variables(names) == [
        "MIDDLE_CORE_HEARBEAT_S is not a setting and has no effect. Do you mean MIDDLE_CORE_HEARTBEAT_S?",
        "MIDDLE_CORE_SERVICE_HOST is not a setting and has no effect.",
    ]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, ["MIDDLE_CORE_JWKS_URL", "CEREBRAS_API_KEY", "MIDDLE_CORE_BACKEND_URL"]),
        ({**VERIFIED, "backend_url": "https://b"}, ["CEREBRAS_API_KEY"]),
        ({**VERIFIED, "model": "offline"}, ["MIDDLE_CORE_BACKEND_URL"]),
    ],
)
def test_a_server_for_real_users_is_told_what_it_lacks(given: dict[str, object], words: list[str]) -> None:
    with pytest.raises(ValueError, match="MIDDLE_CORE_ENV=dev") as caught:
        Settings.model_validate(given).require_production()
    told = str(caught.value)
    assert [word for word in ("MIDDLE_CORE_JWKS_URL", "CEREBRAS_API_KEY", "MIDDLE_CORE_BACKEND_URL") if word in told] == words


@pytest.mark.parametrize("model", [{"cerebras_api_key": "k"}, {"model": "offline"}])
@pytest.mark.parametrize("backend", ["none", "https://backend.example.com"])
def test_a_server_that_was_told_everything_may_start(model: dict[str, object], backend: str) -> None:
    settings = Settings.model_validate({**VERIFIED, **model, "backend_url": backend})
    settings.require_production()
    assert settings.resolved_backend_url == (None if backend == "none" else backend)


def test_a_value_error_gets_the_variables_name() -> None:
    with pytest.raises(ValueError, match=r"^MIDDLE_CORE_X: int\(\)|^MIDDLE_CORE_X: invalid literal"), naming("MIDDLE_CORE_X"):
        int("x")
