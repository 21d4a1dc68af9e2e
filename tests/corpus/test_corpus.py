"""Every case produces its golden streams, here and over HTTP; its claim about the SDK is true; outside validators accept every stream."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.corpus import golden
from tests.corpus.browser import folded
from tests.corpus.case import all_cases
from tests.corpus.normal import stable
from tests.corpus.playing import THREAD, ours, over_http, theirs
from tests.fakes.agui_rules import violations
from tests.fakes.agui_verify import verify_streams
from tests.fakes.contract_rules import breaches
from tests.fakes.play import essence
from tests.fakes.stack import READ

CASES = all_cases()


@pytest.mark.parametrize("key", CASES)
async def test_streams_are_the_golden_ones_and_the_claim_about_the_sdk_is_true(key: str) -> None:
    case = CASES[key]
    expected = golden.read(case)
    played = await ours(case)
    assert [bad for events in played.streams for bad in breaches(events)] == []
    found = golden.made(case, played, await theirs(case))
    how = f"If that is right, review and run: python -m tests.corpus.regold {key}"
    for part in ("saw", "did", "streams"):
        assert found[part] == expected[part], how
    if case.why:
        assert found["sdk"], f"the SDK tells the same as we do now. Has it repaired this? {case.why}"
    assert found == expected, f"the SDK tells something else than it did. {how}"


async def test_the_server_sends_the_same_streams(tmp_path: Path) -> None:
    cases = [one for one in CASES.values() if one.http]
    assert len(cases) >= 8
    READ.clear()
    sent = await over_http(cases, tmp_path)
    told = {key: golden.plain(stable(one).streams) for key, one in sent.items()}
    assert told == {one.key: in_thread(golden.read(one)["streams"], one.name) for one in cases}
    assert [one for one in await verify_streams([bytes(raw) for raw in READ]) if not one.ok] == []


def in_thread(streams: list[list[dict[str, Any]]], thread: str) -> list[list[dict[str, Any]]]:
    """The streams, as of that thread: in one server each case has its own."""
    text = json.dumps(streams).replace(f'"threadId": "{THREAD}"', f'"threadId": "{thread}"')
    found: list[list[dict[str, Any]]] = json.loads(text)
    return found


async def test_every_stream_is_accepted_by_the_browsers_client_and_by_the_validator() -> None:
    streams = {f"{key}, turn {at}": events for key, case in CASES.items() for at, events in enumerate(golden.read(case)["streams"], 1)}
    verdicts = await verify_streams(list(streams.values()))
    assert {name: one for name, one in zip(streams, verdicts, strict=True) if not one.ok} == {}
    assert {name: bad for name, events in streams.items() if (bad := violations(events))} == {}
    # The browser of these cases makes the same of a stream as the real client.
    shown = {name: essence(one.messages) for name, one in zip(streams, verdicts, strict=True)}
    assert shown == {name: essence(folded([], events)) for name, events in streams.items()}


def test_the_corpus_is_large_and_whole() -> None:
    assert len(CASES) >= 40
    assert golden.orphans() == []
