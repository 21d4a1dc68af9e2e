"""`GET /graph`: a page that draws an agent's turn as it happens, over `/chat`. One HTML file and its ES modules, no token wanted.

The files are in `middle_core/graph_page`. This module knows which of them are served, what a browser may do with them, and how
long a browser may keep them. It does not know what they do.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from importlib import resources
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from middle_core.errors import NotFound

FOLDER: Final = "graph_page"
ENTRY: Final = "page.js"
"""The module that the page loads. It imports the others."""

_STYLE: Final = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_PASTED: Final = '<meta name="sign-in" content="token">'
_DEV_TOO: Final = '<meta name="sign-in" content="dev">'
_LOADED: Final = f'<script type="module" src="graph/{ENTRY}"></script>'


class Asset:
    """A file as it is sent: its bytes, its headers, and a tag that changes with the bytes."""

    def __init__(self, text: str, media_type: str, **headers: str) -> None:
        self.content = text.encode()
        self.headers = {
            "Content-Type": f"{media_type}; charset=utf-8",
            # The browser asks each time, because after a deploy the page, its modules and the server must have the same version.
            "Cache-Control": "no-cache",
            "ETag": f'"{hashlib.sha256(self.content).hexdigest()[:32]}"',
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
            **headers,
        }

    def answer(self, request: Request) -> Response:
        """The file, or 304 if the browser has it."""
        known = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
        if self.headers["ETag"] in known or known == ["*"]:
            kept = {name: value for name, value in self.headers.items() if name != "Content-Type"}
            return Response(status_code=304, headers=kept)
        return Response(self.content, headers=self.headers)


def policy(html: str) -> str:
    """The page's Content-Security-Policy: modules of this server, its own style by hash, requests to this server, and nothing else."""
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


def preloads(names: Iterable[str]) -> str:
    """Elements that make a browser fetch all modules at once, and not one level of imports after the other."""
    return "\n".join(f'<link rel="modulepreload" href="graph/{name}">' for name in sorted(names))


def router(*, dev_sign_in: bool) -> APIRouter:
    """The routes. Only what lies in the folder under exactly this name is served; no path is made of what a client asks for.

    Args:
        dev_sign_in: Whether `/dev/token` exists, so that the page offers the people of the demo.
    """
    folder = resources.files("middle_core") / FOLDER
    modules = {
        file.name: Asset(file.read_text(encoding="utf-8"), "text/javascript") for file in folder.iterdir() if file.name.endswith(".js")
    }
    html = (folder / "graph.html").read_text(encoding="utf-8")
    html = html.replace(_LOADED, f"{preloads(modules)}\n{_LOADED}")
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
    routes = APIRouter(tags=["graph page"])

    @routes.head("/graph", include_in_schema=False)
    @routes.get("/graph")
    async def get_page(request: Request) -> Response:
        """The page."""
        return page.answer(request)

    @routes.head("/graph/{module}", include_in_schema=False)
    @routes.get("/graph/{module}")
    async def get_module(request: Request, module: str) -> Response:
        """A module of the page."""
        if (asset := modules.get(module)) is None:
            raise NotFound("The graph page has no such file. Reload the page: it may be of another version.")
        return asset.answer(request)

    return routes
