"""kill -9, again and again, around approved actions. `make kills` does the same with fifty kills at each point."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenarios.kills import kill_again_and_again

EACH = 5

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.mark.parametrize(("window", "kills"), [("approve and execute", 10), ("execute and record", 10), ("any instant", 5)])
async def test_no_action_is_done_twice_and_what_is_told_is_true(window: str, kills: int, tmp_path: Path) -> None:
    told = await kill_again_and_again(tmp_path, window, kills, each=EACH)
    assert (told.kills, told.times.total()) == (kills, kills * EACH)
    assert set(told.times) <= {0, 1}
    if window == "execute and record":
        assert told.times == {1: kills * EACH}
