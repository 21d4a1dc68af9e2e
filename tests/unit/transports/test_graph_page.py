"""The endpoint of the graph page: what a browser gets, what the policy allows it, and how long it may cache it."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from middle_core.transports import graph_page
from middle_core.transports.http import problems

FOLDER = Path(graph_page.__file__).parents[1] / graph_page.FOLDER
MODULES = sorted(path.name for path in FOLDER.glob("*.js"))
PATHS = ["/graph", f"/graph/{graph_page.ENTRY}", "/graph/sse.js"]
IMPORTED = re.compile(r'^(?:import|export) .*? from "([^"]+)";$|\bimport\(', re.MULTILINE)


def client(*, dev: bool = False) -> httpx.AsyncClient:
    app = FastAPI()
    problems.install(app)
    app.include_router(graph_page.router(dev_sign_in=dev))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://page")


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with client() as http:
        yield http


def directives(response: httpx.Response) -> dict[str, list[str]]:
    parts = [part.split() for part in response.headers["content-security-policy"].split("; ")]
    return {name: values for name, *values in parts}


@pytest.mark.parametrize("path", PATHS)
async def test_a_file_is_asked_for_again_each_time_and_sent_once(http: httpx.AsyncClient, path: str) -> None:
    first = await http.get(path)
    assert first.status_code == 200
    media_type = "text/javascript" if path.endswith(".js") else "text/html"
    assert first.headers["content-type"] == f"{media_type}; charset=utf-8"
    assert first.headers["cache-control"] == "no-cache"
    assert first.headers["x-content-type-options"] == "nosniff"
    tag = first.headers["etag"]
    for known in (tag, f'W/{tag}, "other"', "*"):
        again = await http.get(path, headers={"If-None-Match": known})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == tag
    assert (await http.get(path, headers={"If-None-Match": '"other"'})).content == first.content


@pytest.mark.parametrize("path", PATHS)
async def test_head_has_the_same_headers(http: httpx.AsyncClient, path: str) -> None:
    told, whole = await http.head(path), await http.get(path)
    assert told.status_code == 200
    assert dict(told.headers) == dict(whole.headers)


async def test_the_policy_allows_the_page_and_nothing_else(http: httpx.AsyncClient) -> None:
    page = await http.get("/graph")
    policy = directives(page)
    [style] = re.findall(r"<style>(.*?)</style>", page.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy["default-src"] == ["'none'"]
    assert policy["script-src"] == ["'self'"]
    assert policy["style-src"] == [f"'sha256-{digest}'"]
    assert policy["connect-src"] == ["'self'"]
    assert policy["frame-ancestors"] == ["'none'"]
    assert "unsafe" not in page.headers["content-security-policy"]
    assert page.headers["x-frame-options"] == "DENY"
    assert page.headers["referrer-policy"] == "no-referrer"


async def test_the_page_needs_nothing_that_its_policy_forbids(http: httpx.AsyncClient) -> None:
    html = (await http.get("/graph")).text
    assert re.findall(r"<script[^>]*>[^<]", html) == [], "no inline script"
    assert re.findall(r"\s(?:on[a-z]+|style)=", html) == [], "no inline handlers and no inline styles"
    loaded = re.findall(r'(?:src|href)="(?!data:|#)([^"]+)"', html)
    assert loaded == [f"graph/{name}" for name in [*MODULES, graph_page.ENTRY]], "all modules at once, and nothing else"


async def test_every_module_is_served_and_wanted(http: httpx.AsyncClient) -> None:
    sources = {name: (await http.get(f"/graph/{name}")).raise_for_status().text for name in MODULES}
    assert {name for name, text in sources.items() if text != (FOLDER / name).read_text(encoding="utf-8")} == set()
    imported = {name: IMPORTED.findall(text) for name, text in sources.items()}
    wanted = {target for targets in imported.values() for target in targets}
    assert wanted == {f"./{name}" for name in MODULES if name != graph_page.ENTRY}, "modules import one another, and nothing else"


@pytest.mark.parametrize(
    "path",
    [
        "/graph/graph.js",
        "/graph/graph.html",
        "/graph/PAGE.JS",
        "/graph/..%2ftransports%2fgraph_page.py",
        "/graph/..%5cgraph_page.py",
        "/graph/%2e%2e/errors.py",
        "/graph/sub/page.js",
        "/graph/page.js%00",
    ],
)
async def test_what_is_no_module_is_a_typed_404(http: httpx.AsyncClient, path: str) -> None:
    answer = await http.get(path)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "not_found"


@pytest.mark.parametrize("name", MODULES)
def test_no_module_writes_html_or_keeps_anything(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    for sink in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "localStorage",
        "sessionStorage",
        "document.cookie",
    ):
        assert sink not in text


async def test_only_in_dev_it_offers_the_people_of_the_demo() -> None:
    async with client(dev=True) as dev, client() as other:
        assert '<meta name="sign-in" content="dev">' in (await dev.get("/graph")).text
        assert '<meta name="sign-in" content="token">' in (await other.get("/graph")).text
        assert (await dev.get("/graph")).headers["etag"] != (await other.get("/graph")).headers["etag"]
