"""demo.fetching: it reads only the public internet, checks each redirect, is bounded, and makes text of what it reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from ipaddress import ip_address

import httpx
import pytest

from middle_core.demo.fetching import FetchRefused, HtmlText, IpAddress, Page, fetch_page, is_public, pinned, resolve_host
from tests.fakes.http_server import Handler, HttpServer, Request, always, answer, closed_port, never

INTERNAL = [
    "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "168.63.129.16",
    "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1",
    "2002:7f00:1::", "2002:a00:1::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:db8::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1",
    "ff02::1", "100::1",
]  # fmt: skip


@pytest.mark.parametrize("address", INTERNAL)
def test_internal_addresses(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "93.184.215.14", "2606:4700:4700::1111", "2a00:1450:4001:800::200e"])
def test_public_addresses(address: str) -> None:
    assert is_public(ip_address(address))


REFUSED = [
    "", "page", "//host/", "file:///etc/passwd", "ftp://example.org/", "gopher://127.0.0.1:70/", "javascript:alert(1)", "data:text/plain,hi",
    "http://", "http:///path", "http://user:password@example.org/", "http://example.org:22/", "http://example.org:6379/", "https://example.org:80443/",
    "http://127.0.0.1/", "http://127.1/", "http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/", "http://0/", "http://[::1]/",
    "http://[::ffff:127.0.0.1]/", "http://[fe80::1%25lo]/", "http://localhost/", "http://LOCALHOST./", "http://169.254.169.254/latest/meta-data/",
    "http://168.63.129.16/", "http://10.0.0.1/", "http://１２７.0.0.1/", "http://exa mple/", "http://\ud800/", "http://a\0b/", "http://" + "a" * 300 + "/",
    "http://example.org\\@127.0.0.1/",
]  # fmt: skip


@pytest.mark.parametrize("url", REFUSED)
async def test_such_urls_are_refused_without_a_connection(url: str) -> None:
    with pytest.raises(FetchRefused) as refused:
        await fetch_page(url, resolve=local_only)
    assert "password" not in str(refused.value)


async def local_only(host: str, port: int) -> list[str]:
    """The machine's own name look-up without the network: only this machine's names exist."""
    try:
        return [str(ip_address(host))]
    except ValueError:
        pass
    if host.endswith(".org"):
        raise OSError("not known")
    return await resolve_host(host, port)


async def test_one_internal_address_among_public_ones_is_enough_to_refuse() -> None:
    async def resolve(_: str, __: int) -> list[str]:
        return ["8.8.8.8", "10.0.0.1"]

    with pytest.raises(FetchRefused, match="not on the public internet"):
        await fetch_page("http://example.org/", resolve=resolve)


async def test_a_host_without_addresses_and_one_with_a_zone() -> None:
    for found in ([], ["fe80::1%eth0"]):

        async def resolve(_: str, __: int, found: list[str] = found) -> list[str]:
            return found

        with pytest.raises(FetchRefused, match="not on the public internet"):
            await fetch_page("http://example.org/", resolve=resolve)


def only(address: str) -> Callable[[IpAddress], bool]:
    return lambda asked: str(asked) == address


async def fetch(handler: Handler, path: str = "/", *, host: str = "example.org", timeout_s: float = 5.0) -> tuple[Page, HttpServer]:
    """Fetch over a real socket. This machine's first loopback address stands for the public internet."""
    looked_up: list[str] = []

    async def resolve(asked: str, _: int) -> list[str]:
        looked_up.append(asked)
        return ["127.0.0.1"] if asked == host else ["127.0.0.2"]

    async with HttpServer(handler) as server:
        port = int(server.url.rpartition(":")[2])
        page = await fetch_page(
            f"http://{host}:{port}{path}", resolve=resolve, allow=only("127.0.0.1"), ports={port}, max_bytes=10_000, timeout_s=timeout_s
        )
    assert len(looked_up) == len(server.requests)  # one look-up for each redirect: the address that was checked is the one that is used
    return page, server


HTML = {"Content-Type": "text/html; charset=utf-8"}


async def test_a_page_becomes_text_and_the_host_is_asked_for_by_name() -> None:
    body = "<title>Ötters &amp; co</title><nav>Menu</nav><h1>Otters</h1><script>evil()</script><p>They <b>hold</b>\nhands.</p><ul><li>One<li>Two</ul>"
    page, server = await fetch(always(answer(200, body.encode(), HTML)), "/otters?x=1")
    assert (page.title, page.text) == ("Ötters & co", "# Otters\n\nThey hold hands.\n\nOne\n\nTwo")
    assert page.url.endswith("/otters?x=1")
    request = server.requests[0]
    assert (request.target, request.header("host")) == ("/otters?x=1", page.url.split("/")[2].encode())
    assert request.header("authorization") is request.header("cookie") is None


async def test_plain_text_and_unknown_charsets() -> None:
    page, _ = await fetch(always(answer(200, "# Ä".encode("latin-1"), {"Content-Type": "text/markdown; charset=latin-1"})))
    assert page.text == "# Ä"
    page, _ = await fetch(always(answer(200, b"caf\xe9", {"Content-Type": "text/plain; charset=klingon"})))
    assert page.text == "caf\ufffd"


@pytest.mark.parametrize(
    ("response", "says"),
    [
        (answer(404, b"", HTML), "status 404"),
        (answer(500, b"", HTML), "status 500"),
        (answer(204, b"", HTML), "status 204"),
        (answer(200, b"%PDF", {"Content-Type": "application/pdf"}), "not a text"),
        (answer(200, b"hi"), "not a text"),
        (answer(200, b"x", {**HTML, "Content-Encoding": "gzip"}), "not a text"),
        (answer(200, b"x" * 10_001, HTML), "larger than"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + b"x" * 1_000_000, "larger than"),
        (answer(302, b"", {"Location": "/again"}), "too often"),
        (answer(302, b"", {"Location": "http://internal.example/"}), "not on the public internet|Port"),
        (answer(302, b"", {"Location": "file:///etc/passwd"}), "Only http"),
        (answer(302, b"", {"Location": "http://user@example.org/"}), "Only http"),
        (b"nonsense\r\n\r\n", "cannot be fetched"),
        (None, "cannot be fetched"),
    ],
)
async def test_what_is_no_page_is_refused_in_words(response: bytes | None, says: str) -> None:
    with pytest.raises(FetchRefused, match=says):
        await fetch(always(response))


async def test_a_redirect_to_an_internal_host_on_the_same_port_is_refused() -> None:
    async def handle(request: Request) -> bytes:
        port = (request.header("host") or b"").decode().partition(":")[2]
        return answer(307, b"", {"Location": f"http://metadata.internal:{port}/secret"})

    with pytest.raises(FetchRefused, match="not on the public internet"):
        await fetch(handle)


async def test_a_redirect_within_the_public_internet_is_followed() -> None:
    async def handle(request: Request) -> bytes:
        return answer(301, b"", {"Location": "/new"}) if request.target == "/old" else answer(200, b"moved", {"Content-Type": "text/plain"})

    page, server = await fetch(handle, "/old")
    assert (page.text, page.url.endswith("/new"), len(server.requests)) == ("moved", True, 2)


async def test_the_address_that_was_checked_is_the_one_connected_to() -> None:
    """A name is looked up once, because a second look-up may give an internal address (DNS rebinding)."""
    answers = iter([["127.0.0.1"], ["10.0.0.1"]])

    async def resolve(_: str, __: int) -> list[str]:
        return next(answers)

    async with HttpServer(always(answer(200, b"ok", {"Content-Type": "text/plain"}))) as server:
        port = int(server.url.rpartition(":")[2])
        page = await fetch_page(f"http://rebind.example:{port}/", resolve=resolve, allow=only("127.0.0.1"), ports={port})
    assert page.text == "ok"


def test_a_connection_goes_to_the_address_and_is_checked_for_the_name() -> None:
    request = pinned(httpx.URL("https://example.org/a?b#c"), "2606:4700::1111")
    assert (str(request.url), request.headers["host"]) == ("https://[2606:4700::1111]/a?b#c", "example.org")
    assert request.extensions["sni_hostname"] == "example.org"


async def test_a_silent_and_an_absent_server() -> None:
    with pytest.raises(FetchRefused, match="too long"):
        await fetch(never, timeout_s=0.2)
    port = int(closed_port().rpartition(":")[2])
    with pytest.raises(FetchRefused, match="cannot be fetched"):
        await fetch_page(f"http://127.0.0.1:{port}/", allow=only("127.0.0.1"), ports={port})


async def test_cancelling_closes_the_connection() -> None:
    async with HttpServer(never) as server:
        port = int(server.url.rpartition(":")[2])
        async with asyncio.TaskGroup() as group:
            task = group.create_task(fetch_page(server.url, allow=only("127.0.0.1"), ports={port}))
            await asyncio.wait_for(server.arrived.wait(), 5)
            task.cancel()
        await asyncio.wait_for(server.gone.wait(), 5)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>a<p>b", "a\n\nb"),
        ("<script>x</script>y", "y"),
        ("<style>a</style><noscript>b</noscript>c", "c"),
        ("<nav><nav>x</nav>y</nav>z", "z"),
        ("</p></nav>text", "text"),
        ("<h2>A  \n B</h2>c", "## A B\n\nc"),
        ("<h1></h1>x", "x"),
        ("a &lt; b &#x41;", "a < b A"),
        ("<script>never closed", ""),
        ("", ""),
    ],
)
def test_html(html: str, text: str) -> None:
    reader = HtmlText()
    reader.feed(html)
    reader.close()
    assert reader.text == text
