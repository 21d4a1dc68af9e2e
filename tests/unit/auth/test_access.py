"""auth.access: an owner sees their own things, another's and absent things look the same, and a token never passes to another owner."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from middle_core.auth.access import clearly_lacks, may_see, refresh
from middle_core.auth.principal import Credential, Principal
from middle_core.errors import NotFound
from middle_core.events import Owner


def principal(
    subject: str = "alice", issuer: str = "https://a", *, roles: frozenset[str] | None = None, token: str = "t", exp: float = 1.0
) -> Principal:
    return Principal(issuer, subject, subject, roles, exp, {}, Credential(token, exp))


@dataclass(frozen=True)
class Thing:
    owner: Owner


def test_ones_own_is_given_back() -> None:
    thing = Thing(principal().owner)
    assert may_see(principal(), thing) is thing


@pytest.mark.parametrize(
    "thing",
    [
        None,
        Thing(principal("bob").owner),
        Thing(principal("alice", "https://b").owner),
        Thing(Owner("")),
        Thing(Owner("alice")),
    ],
    ids=["absent", "another subject", "another issuer", "nobody's", "a bare subject"],
)
def test_absent_and_foreign_are_the_same(thing: Thing | None) -> None:
    with pytest.raises(NotFound) as refused:
        may_see(principal(), thing)
    assert (refused.value.detail, refused.value.code, refused.value.__cause__) == (NotFound().detail, "not_found", None)


def test_no_two_pairs_of_issuer_and_subject_are_one_owner() -> None:
    pairs = [("a", "b"), ("a,b", ""), ("", "a,b"), ('a","b', ""), ("a", 'b"'), ('["a"', "b")]
    assert len({principal(subject, issuer).owner for issuer, subject in pairs}) == len(pairs)


def test_a_fresher_token_of_the_same_owner_replaces_the_runs() -> None:
    holder = principal(token="old", exp=10)
    refresh(holder, principal(token="new", exp=20))
    assert (holder.credential.token, holder.credential.expires_at) == ("new", 20)
    refresh(holder, principal(token="older", exp=15))
    assert holder.credential.token == "new"


@pytest.mark.parametrize("fresh", [principal("bob", token="b", exp=99), principal("alice", "https://b", token="b", exp=99)])
def test_another_owners_token_never_does(fresh: Principal) -> None:
    holder = principal(token="old", exp=10)
    with pytest.raises(NotFound):
        refresh(holder, fresh)
    assert holder.credential.token == "old"


@pytest.mark.parametrize(
    ("roles", "role", "lacks"),
    [
        (None, "admin", False),
        (frozenset(), "reader", True),
        (frozenset({"reader"}), "reader", False),
        (frozenset({"reader"}), "contributor", True),
        (frozenset({"reader"}), "admin", True),
        (frozenset({"contributor"}), "reader", False),
        (frozenset({"admin"}), "contributor", False),
        (frozenset({"Admin"}), "admin", False),
        (frozenset({"administrator"}), "admin", True),
        (frozenset({"reader", "billing"}), "admin", True),
        (frozenset({"billing"}), "billing", False),
        (frozenset({"admin"}), "billing", True),
    ],
)
def test_clearly_lacks(roles: frozenset[str] | None, role: str, lacks: bool) -> None:
    assert clearly_lacks(principal(roles=roles), role) is lacks
