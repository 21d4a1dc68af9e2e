"""Write the published schemas and the golden bytes of /chat from the code: `make schema`. Review the difference before you commit it.

A changed schema is a new version: raise `VERSION` in `transports.chat.response` first, then run this. The old files stay as they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import APIRouter

from middle_core.transports.chat import door as chat
from middle_core.transports.chat import openapi as chat_openapi
from middle_core.transports.chat.events import ChatFrames, ChatProjector
from middle_core.transports.chat.response import VERSION
from middle_core.transports.http.caller import Caller

ROOT = Path(__file__).parents[1]
SCHEMAS = ROOT / "docs" / "schema"
GOLDEN = ROOT / "tests" / "unit" / "transports" / "chat" / "golden"


def routes() -> APIRouter:
    """The routes of /chat. Nothing calls them."""
    nothing: Any = None
    return chat.router(nothing, Caller(nothing), nothing, default_agent="", max_body_bytes=1)


def main() -> None:
    from tests.unit.transports.chat.test_events import rich  # noqa: PLC0415 - the test's own turn, needed here alone

    chat_openapi.write(SCHEMAS, routes())
    projector, encode = ChatProjector(), ChatFrames(tokens=True)
    stream = b""
    for record in rich().records:
        projector.feed(record)
        stream += encode(record)
    assert projector.response is not None
    (GOLDEN / f"response.v{VERSION}.json").write_bytes(projector.response.encoded())
    (GOLDEN / f"stream.v{VERSION}.sse").write_bytes(stream)


if __name__ == "__main__":
    main()
