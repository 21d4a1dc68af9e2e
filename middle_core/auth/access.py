"""The one door for authorisation: may this caller see or steer this run or thread, and with which token?

Every read, attach, stop, answer and subscription asks here. What is another's and what does not exist get
the same answer, so that ids tell nothing. What a person may do in the knowledge base is backend-core's to
decide; `clearly_lacks` only spares a call that must fail.

Knows no database and no HTTP: callers fetch, this module judges.
"""

from __future__ import annotations

from typing import Final, Protocol, TypeVar

from middle_core.auth.principal import Principal
from middle_core.errors import NotFound
from middle_core.events import Owner

ROLES: Final = ("reader", "contributor", "admin")
"""backend-core's roles; each includes those before it."""


class Owned(Protocol):
    """A run, a thread, or anything else that belongs to one owner."""

    @property
    def owner(self) -> Owner: ...


OwnedT = TypeVar("OwnedT", bound=Owned)


def may_see(principal: Principal, thing: OwnedT | None) -> OwnedT:
    """The thing, if it exists and is the caller's: to read, attach, stop, answer, delete. Else `NotFound`, the same for both."""
    if thing is None or thing.owner != principal.owner:
        raise NotFound
    return thing


def refresh(holder: Principal, fresh: Principal) -> None:
    """Let a run that works for `holder` go on with the fresher token of the same owner. Raises `NotFound` for another owner."""
    if fresh.owner != holder.owner:
        raise NotFound
    holder.credential.refresh(fresh.credential)


def clearly_lacks(principal: Principal, role: str) -> bool:
    """Whether the token names roles and none of them reaches `role`. False where it names none: then backend-core decides."""
    if principal.roles is None:
        return False
    enough = ROLES[ROLES.index(role) :] if role in ROLES else (role,)
    return not any(held.casefold() in enough for held in principal.roles)
