"""Mask what looks like a secret in a text: a compact JWT, a provider's key, a bearer token, a password in a URL or a setting.

This is the last net. No code of this project writes a secret into a text on purpose; exceptions of libraries and of teams may.
"""

from __future__ import annotations

import re
from typing import Final

SECRET: Final = re.compile(
    r"eyJ[\w-]{8,}\.[\w-]+\.[\w-]*"
    r"|\b(?:csk|sk)-[\w-]{8,}"
    r"|(?<=://)[^\s/:@]*:[^\s/]+(?=@)"
    r"|(?<=\bbearer )[\w.~+/=-]{8,}"
    r"|(?:(?<=password=)|(?<=passwd=)|(?<=secret=)|(?<=api_key=)|(?<=token=)|(?<=accountkey=))[^\s'\"&;,)]+",
    re.IGNORECASE,
)


def mask(text: str) -> str:
    """The text with `***` in the place of each secret."""
    return SECRET.sub("***", text)
