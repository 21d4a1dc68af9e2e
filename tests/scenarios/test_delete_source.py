"""The copilot deletes a source of the real stand-in: denied, confirmed, cancelled, and with a backend that fails."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from middle_core.auth.verify import secret_verifier
from middle_core.demo.backend_core import create_app
from tests.fakes.http_server import closed_port, serving
from tests.fakes.stack import Reader, Stack, stack
from tests.fakes.tokens import AUDIENCE, ISSUER, SECRET, mint
from tests.scenarios.hitl import CHANNELS, Person, cards, resolved, results

both = pytest.mark.parametrize("channel", CHANNELS)


@asynccontextmanager
async def copilot(folder: Path) -> AsyncIterator[tuple[Stack, Any]]:
    """The server with its own agent, the offline model, and backend-core over HTTP; with backend-core's app."""
    backend = create_app(database=folder / "backend.db", verify=secret_verifier(SECRET, issuer=ISSUER, audience=AUDIENCE))
    async with serving(backend) as url, stack(folder, backend_url=url, model="offline") as server:
        yield server, backend


def sources(backend: Any) -> dict[str, str]:
    """Ids by name, as backend-core holds them."""
    return {source.name: source.id for source in backend.state.library.list_sources()}


def deletions(backend: Any) -> int:
    """Number of deletions that took effect, by Idempotency-Key."""
    with backend.state.library._transaction() as db:
        count: int = db.execute("SELECT count(*) FROM deletions").fetchone()[0]
    return count


def admin(server: Stack, channel: str) -> Person:
    return Person(server, channel, token=mint(roles=["admin"]))


def one_card(asked: Reader) -> dict[str, Any]:
    [card] = cards(asked)
    return card


@both
async def test_confirmed_it_is_deleted_once_under_the_approvers_token(channel: str, tmp_path: Path) -> None:
    async with copilot(tmp_path) as (server, backend):
        name, source_id = next(iter(sources(backend).items()))
        person = admin(server, channel)
        card = one_card(await person.say(f"delete the source {name}"))
        assert card["title"] == f"Delete “{name}” permanently?"
        facts = {fact["label"]: fact["value"] for fact in card["facts"]}
        assert (facts["Name"], facts["Id"], facts["Objects"]) == (name, source_id, backend.state.library.get_source(source_id).object_count)
        assert (card["confirm"], card["cancel"], card["kind"]) == ("Delete permanently", "Cancel", "delete_source")
        assert card["fromModel"]["reason"] == "You asked for it."
        fresh = Person(server, channel, token=mint(roles=["admin"], jti="a fresher one"), history=person.history)
        done = await fresh.approve(card)
        assert done.text == f"**{name}** is deleted."
        assert backend.state.authorizations[-1] == f"Bearer {fresh.token}".encode()
        assert name not in sources(backend)
        assert deletions(backend) == 1


@both
async def test_cancelled_it_stays(channel: str, tmp_path: Path) -> None:
    async with copilot(tmp_path) as (server, backend):
        before = sources(backend)
        person = admin(server, channel)
        card = one_card(await person.say(f"delete the source {next(iter(before))}"))
        done = await person.reject(card)
        assert done.text == "The user said no. Nothing was done."
        assert resolved(done) == [(card["interruptId"], "rejected")]
        assert sources(backend) == before


@both
async def test_denied_backend_core_is_not_called(channel: str, tmp_path: Path) -> None:
    async with copilot(tmp_path) as (server, backend):
        before = sources(backend)
        person = Person(server, channel, token=mint(roles=["reader"]))
        asked = await person.say(f"delete the source {next(iter(before))}")
        assert cards(asked) == []
        assert asked.text == "permission denied: admin role required"
        assert len(backend.state.authorizations) == 1, "for the list of sources"
        assert sources(backend) == before


@both
async def test_an_unclear_role_is_backend_cores_to_judge(channel: str, tmp_path: Path) -> None:
    """The token names no roles, so the person is asked; backend-core says no."""
    async with copilot(tmp_path) as (server, backend):
        before = sources(backend)
        person = admin(server, channel)
        card = one_card(await person.say(f"delete the source {next(iter(before))}"))
        unclear = Person(server, channel, token=mint(roles=None), history=person.history)
        done = await unclear.approve(card)
        assert done.text.startswith("permission denied: ")
        assert sources(backend) == before


async def test_what_was_deleted_meanwhile_is_told_in_plain_words(tmp_path: Path) -> None:
    async with copilot(tmp_path) as (server, backend):
        name, source_id = next(iter(sources(backend).items()))
        person = admin(server, "interrupt")
        card = one_card(await person.say(f"delete the source {name}"))
        backend.state.library.delete_source(source_id, owner="somebody else", key=None)
        done = await person.approve(card)
        assert done.text == "There is no such thing, or it is not yours."
        assert resolved(done)[-1] == (card["interruptId"], "executed")


async def test_a_backend_that_is_gone_leaves_a_doubt_that_is_told(tmp_path: Path) -> None:
    async with copilot(tmp_path) as (server, backend):
        name = next(iter(sources(backend)))
        card = one_card(await admin(server, "interrupt").say(f"delete the source {name}"))
    async with stack(tmp_path, backend_url=closed_port(), model="offline") as server:
        person = admin(server, "interrupt")
        done = await person.approve(card)
        assert "cannot be reached" in done.text
        assert "unknown" in done.text
        assert resolved(done) == [(card["interruptId"], "approved"), (card["interruptId"], "indeterminate")]
        assert [result for result in results(await server.history(token=person.token)).values() if "unknown" in result]


async def test_a_plan_comes_back_as_the_person_changed_it(tmp_path: Path) -> None:
    async with copilot(tmp_path) as (server, _):
        person = Person(server, "client_tool", token=mint(roles=["reader"]))
        card = one_card(await person.say("make a plan to tidy up"))
        assert (card["kind"], card["editable"]) == ("confirm_plan", ["steps"])
        done = await person.approve(card, edits={"steps": ["only look"]})
        assert done.text == "This is the plan that we agreed on:\n\n1. only look"
