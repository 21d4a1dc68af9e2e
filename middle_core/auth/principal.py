"""Who is calling: the verified principal, and the credential that a run carries.

This module knows no HTTP. `auth.verify` makes a principal of a token, and `auth.access` decides what it may see.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from middle_core.events import Owner


@dataclass(frozen=True, slots=True)
class Principal:
    """A verified caller.

    Args:
        issuer: the token's `iss`.
        subject: the token's `sub`.
        name: a name for people.
        roles: the roles that the token names, or None if it has no claim for them; then backend-core decides.
        expires_at: when the token ends, in seconds since the epoch.
        claims: all claims of the token. They are not part of this object's `repr`.
        credential: the token itself, which is never logged.
    """

    issuer: str
    subject: str
    name: str
    roles: frozenset[str] | None
    expires_at: float
    claims: Mapping[str, Any] = field(repr=False)
    credential: Credential = field(repr=False)

    @property
    def owner(self) -> Owner:
        """Issuer and subject as one text. Two different pairs never give the same text."""
        return Owner(json.dumps([self.issuer, self.subject], ensure_ascii=False, separators=(",", ":")))


class Credential:
    """The caller's JWT, byte for byte, in memory only. A fresher token of the same owner may replace it."""

    __slots__ = ("_expires_at", "_token")

    def __init__(self, token: str, expires_at: float) -> None:
        self._token = token
        self._expires_at = expires_at

    @property
    def token(self) -> str:
        """The compact JWT exactly as it came in."""
        return self._token

    @property
    def expires_at(self) -> float:
        """Seconds since the epoch."""
        return self._expires_at

    def refresh(self, other: Credential) -> None:
        """Take the other's token if it lives longer. The caller has checked that the owner is the same."""
        if other.expires_at > self._expires_at:
            self._token, self._expires_at = other.token, other.expires_at

    def __repr__(self) -> str:
        return "Credential(***)"

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("A credential stays in this process: it is never pickled or stored.")
