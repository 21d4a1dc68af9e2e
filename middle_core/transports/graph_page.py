"""`GET /graph`: a page that draws an agent's turn as it happens, over `/chat`. One HTML file, one ES module, no token wanted.

The files are in `middle_core/graph_page`; this module knows what a browser may do with them and how long it may keep them.
"""

from __future__ import annotations

import base64
import hashlib
import re
from importlib import resources
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

FOLDER: Final = "graph_page"
_STYLE: Final = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_PASTED: Final = '<meta name="sign-in" content="token">'
_DEV_TOO: Final = '<meta name="sign-in" content="dev">'


class Asset:
    """A file as it is sent: its bytes, its headers, and a tag that changes with the bytes."""

    def __init__(self, text: str, media_type: str, **headers: str) -> None:
        self.content = text.encode()
        self.headers = {
            "Content-Type": f"{media_type}; charset=utf-8",
            # Asked again each time: after a deploy the page and its module have to fit each other and the server.
            "Cache-Control": "no-cache",
            "ETag": f'"{hashlib.sha256(self.content).hexdigest()[:32]}"',
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
            **headers,
        }

    def answer(self, request: Request) -> Response:
        """The file, or 304 where the browser has it."""
        known = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
        if self.headers["ETag"] in known or known == ["*"]:
            kept = {name: value for name, value in self.headers.items() if name != "Content-Type"}
            return Response(status_code=304, headers=kept)
        return Response(self.content, headers=self.headers)


def policy(html: str) -> str:
    """The page's Content-Security-Policy: its own module, its own style by hash, requests to this server, and nothing else."""
    hashes = [base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() for style in _STYLE.findall(html)]
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src " + " ".join(f"'sha256-{one}'" for one in hashes),
            "connect-src 'self'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def router(*, dev_sign_in: bool) -> APIRouter:
    """The routes. dev_sign_in: whether `/dev/token` exists, so that the page offers the demo's people."""
    folder = resources.files("middle_core") / FOLDER
    html = (folder / "graph.html").read_text(encoding="utf-8")
    if dev_sign_in:
        html = html.replace(_PASTED, _DEV_TOO)
    page = Asset(
        html,
        "text/html",
        **{
            "Content-Security-Policy": policy(html),
            "Cross-Origin-Opener-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Frame-Options": "DENY",
        },
    )
    module = Asset((folder / "graph.js").read_text(encoding="utf-8"), "text/javascript")
    routes = APIRouter(tags=["graph page"])

    @routes.head("/graph", include_in_schema=False)
    @routes.get("/graph")
    async def get_page(request: Request) -> Response:
        """The page."""
        return page.answer(request)

    @routes.head("/graph/graph.js", include_in_schema=False)
    @routes.get("/graph/graph.js")
    async def get_module(request: Request) -> Response:
        """Its module."""
        return module.answer(request)

    return routes
