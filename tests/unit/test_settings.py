"""Settings that make no sense are refused before anything starts."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from middle_core.settings import Settings


@pytest.mark.parametrize("name", ["connect", "stop", "info", "runs", "a b", "a/b", "", "ä", "x" * 65, "-x"])
def test_an_agent_that_no_door_could_reach_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="MIDDLE_CORE_AGENTS"):
        Settings.model_validate({"agents": f"{name}=some.module:build"})


@pytest.mark.parametrize("value", ["inf", "nan", "-1", "soon"])
@pytest.mark.parametrize("name", ["heartbeat_s", "drain_s", "max_stream_s", "stop_wait_s"])
def test_a_time_is_a_number_of_seconds(name: str, value: str) -> None:
    with pytest.raises(ValidationError, match=name):
        Settings.model_validate({name: value})
