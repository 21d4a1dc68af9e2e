"""What a probe is told: addresses, credentials, and how long to look. Checks them; reads no file and no environment."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import urlsplit

SILENCES_S: Final = (5.0, 15.0, 35.0)
DEEP_S: Final = (65.0, 125.0, 250.0, 310.0)
"""nginx and many load balancers cut at 60 s, others at 120; Envoy on Azure Container Apps at 240; undici at 300."""
MAX_STREAM_S: Final = 600.0
PROMPT: Final = "Count slowly from 1 to 200, one number on each line, and nothing else."

Door = Literal["diag", "agui", "chat"]


@dataclass(frozen=True, slots=True)
class Target:
    """One hop to probe. Raises ValueError, in words, for an address that is none or that carries a secret."""

    url: str
    door: Door = "diag"

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            bad = parts.scheme not in {"http", "https"} or not parts.hostname or (parts.port or 1) < 1
        except ValueError:
            bad = True
        if bad:
            raise ValueError("That is no address. Give one like https://chat.example or http://127.0.0.1:8000.")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("Give the address without user, password, query and fragment: they end up in logs. A token goes into a file.")


@dataclass(frozen=True, slots=True)
class Options:
    """token: a JWT, sent as Authorization. diag_key: sent as X-Diag-Key to `/diag` only. Both stay out of every text.

    events, gap_ms: of the streams that are judged. silences_s: the ladder; empty: none. cancel_s: how long a cancel may take.
    timeout_s: the most that all may take; None: what the rest adds up to.
    """

    token: str = field(default="", repr=False)
    diag_key: str = field(default="", repr=False)
    events: int = 20
    gap_ms: int = 100
    silences_s: Sequence[float] = SILENCES_S
    cancel: bool = True
    cancel_s: float = 5.0
    prompt: str = PROMPT
    timeout_s: float | None = None
    tls: ssl.SSLContext | None = None

    def __post_init__(self) -> None:
        if self.events * self.gap_ms > MAX_STREAM_S * 1000:
            raise ValueError(
                f"A stream of {self.events} events, {self.gap_ms} ms apart, takes more than {MAX_STREAM_S:.0f} s. Ask for less."
            )

    @property
    def bound_s(self) -> float:
        """The most that a probe takes, however many hops: they are probed side by side."""
        stream = 2 * (self.events * self.gap_ms / 1000 + 20)
        ladder = max(self.silences_s, default=0.0)
        silent = 2 * ladder + 30 if ladder else 0.0
        return min(self.timeout_s or float("inf"), 40 + stream + max(silent, self.cancel_s + 20 if self.cancel else 0))

    def secrets(self) -> list[str]:
        """What no text may hold."""
        return [one for one in (self.token, self.diag_key) if one]
