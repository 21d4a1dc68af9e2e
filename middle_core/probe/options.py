"""What a probe is told: addresses, credentials, and how long to look. Checks them; reads no file and no environment."""

from __future__ import annotations

import re
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import urlsplit

SILENCES_S: Final = (5.0, 15.0, 35.0)
DEEP_S: Final = (65.0, 125.0, 250.0, 310.0)
"""nginx and many load balancers cut at 60 s, others at 120; Envoy on Azure Container Apps at 240; undici at 300."""
REAL_DOORS: Final = 2
"""At one address: CopilotKit's and `/chat`."""
MAX_STREAM_S: Final = 600.0
ONE_WORD: Final = re.compile(r"[\x21-\x7e]{1,16384}")
ENCODINGS: Final = ("identity", "gzip, br")
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
    real_doors: also start runs at the doors beside `/diag`. prompt, run_s: of the runs that real doors are asked for, and the most that one may take.
    timeout_s: the most that all may take; None: what the rest adds up to.
    """

    token: str = field(default="", repr=False)
    diag_key: str = field(default="", repr=False)
    events: int = 20
    gap_ms: int = 100
    silences_s: Sequence[float] = SILENCES_S
    cancel: bool = True
    cancel_s: float = 5.0
    real_doors: bool = False
    prompt: str = PROMPT
    run_s: float = 120.0
    timeout_s: float | None = None
    tls: ssl.SSLContext | None = None

    def __post_init__(self) -> None:
        for one in self.secrets():
            if not ONE_WORD.fullmatch(one):
                raise ValueError("A token or key is one word of ASCII characters; what was given is not. Look for a line too many.")
        if self.events * self.gap_ms > MAX_STREAM_S * 1000:
            raise ValueError(
                f"A stream of {self.events} events, {self.gap_ms} ms apart, takes more than {MAX_STREAM_S:.0f} s. Ask for less."
            )

    def bound_s(self, targets: Sequence[Target]) -> float:
        """Seconds that all of it takes at most. Hops are probed side by side, and after them their real doors."""
        ladder = max(self.silences_s, default=0.0)
        last = max(2 * ladder + 30 if ladder else 0.0, 2 * self.cancel_s + 10 if self.cancel else 0.0)
        diag = 40 + self.events * self.gap_ms / 1000 + last
        runs = 2 * self.run_s + 20
        doors = {target.door for target in targets}
        most = max(diag if "diag" in doors else 0.0, runs if doors - {"diag"} else 0.0) + (REAL_DOORS * runs if self.real_doors else 0.0)
        return min(most, self.timeout_s or most)

    def headers(self, *, diag: bool) -> dict[str, str]:
        """Those that name the caller. The diag key goes to `/diag` only, and there instead of a token."""
        if diag and self.diag_key:
            return {"x-diag-key": self.diag_key}
        return {"authorization": f"Bearer {self.token}"} if self.token else {}

    def secrets(self) -> list[str]:
        """What no text may hold."""
        return [one for one in (self.token, self.diag_key) if one]
