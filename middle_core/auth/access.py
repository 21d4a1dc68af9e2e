"""The one place of authorisation: may this caller see or steer this run or thread?

Every read, attach, stop, answer and subscription asks here. A thing of another owner and a thing that does not exist get the same
answer, so that an id reveals nothing. backend-core decides what a person may do in the knowledge base; `clearly_lacks` only saves
a call that would certainly be refused.

This module knows no database and no HTTP: its callers fetch what it judges.
"""

from __future__ import annotations

from typing import Final, Protocol, TypeVar

from middle_core.auth.principal import Principal
from middle_core.errors import NotFound
from middle_core.events import Owner

ROLES: Final = ("reader", "contributor", "admin")
"""The roles of backend-core. Each includes those before it."""


class Owned(Protocol):
    """A run, a thread, or anything else that belongs to one owner."""

    @property
    def owner(self) -> Owner: ...


OwnedT = TypeVar("OwnedT", bound=Owned)


def may_see(principal: Principal, thing: OwnedT | None) -> OwnedT:
    """The thing, if it exists and belongs to the caller, who may then read, attach, stop, answer or delete it.

    Raises:
        NotFound: it does not exist, or it belongs to another owner.
    """
    if thing is None or thing.owner != principal.owner:
        raise NotFound
    return thing


def refresh(holder: Principal, fresh: Principal) -> None:
    """Give a run that works for `holder` the fresher token of the same owner.

    Raises:
        NotFound: `fresh` is another owner.
    """
    if fresh.owner != holder.owner:
        raise NotFound
    holder.credential.refresh(fresh.credential)


def clearly_lacks(principal: Principal, role: str) -> bool:
    """Whether the token names roles and none of them includes `role`. False if it names no roles: then backend-core decides."""
    if principal.roles is None:
        return False
    enough = ROLES[ROLES.index(role) :] if role in ROLES else (role,)
    return not any(held.casefold() in enough for held in principal.roles)
