"""Fetch a public page for the knowledge base, and nothing else.

A URL that a person (or a model) names must not reach what only this machine can reach. Every hop is
checked: scheme, port, no credentials, and every address of the host must be public; the connection then
goes to the very address that was checked, so that a second look-up cannot change it. Redirects are followed
by hand, few of them, each checked the same way. Size and time are bounded.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from html.parser import HTMLParser
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final, TypeAlias

import httpx

IpAddress: TypeAlias = IPv4Address | IPv6Address
Resolve: TypeAlias = Callable[[str, int], Awaitable[list[str]]]

MAX_HOPS: Final = 4
TEXT_TYPES: Final = frozenset({"text/html", "application/xhtml+xml", "text/plain", "text/markdown"})
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
AZURE_PLATFORM: Final = IPv4Address("168.63.129.16")
"""Public by number, but answered by the platform inside every Azure network."""
GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
"""RFC 4291: what IPv6 has of the internet; Python's `is_global` also allows the old site-local range."""


class FetchRefused(Exception):
    """The page was not fetched; the text says why, for people."""


@dataclass(frozen=True, slots=True)
class Page:
    """A fetched page as Markdown-like text. url: where it was found in the end."""

    url: str
    title: str
    text: str


def is_public(address: IpAddress) -> bool:
    """Whether an address is out on the internet; those that embed another address (mapped, 6to4, Teredo, NAT64) are not."""
    if address.is_reserved or address.is_multicast or not address.is_global or address == AZURE_PLATFORM:
        return False
    return isinstance(address, IPv4Address) or (address in GLOBAL_UNICAST and not (address.sixtofour or address.teredo))


async def resolve_host(host: str, port: int) -> list[str]:
    """Every address of the host. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def fetch_page(
    url: str,
    *,
    resolve: Resolve = resolve_host,
    allow: Callable[[IpAddress], bool] = is_public,
    ports: Collection[int] = (80, 443),
    max_bytes: int = 1024 * 1024,
    timeout_s: float = 15.0,
) -> Page:
    """The page at a public http(s) URL. Raises `FetchRefused`. timeout_s bounds all hops together."""
    try:
        async with asyncio.timeout(timeout_s), httpx.AsyncClient(trust_env=False, follow_redirects=False, timeout=timeout_s) as http:
            where = httpx.URL(url)
            for _ in range(MAX_HOPS):
                request = pinned(where, await checked_address(where, resolve, allow, ports))
                response = await http.send(request, stream=True)
                try:
                    if response.status_code not in REDIRECTS:
                        return await read_page(where, response, max_bytes)
                    where = where.join(response.headers.get("location", ""))
                finally:
                    await response.aclose()
    except TimeoutError as error:
        raise FetchRefused("The page took too long to answer.") from error
    except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, UnicodeError, ValueError) as error:
        raise FetchRefused("The page cannot be fetched: the address is wrong or the server does not answer.") from error
    raise FetchRefused("The page redirects too often.")


async def checked_address(url: httpx.URL, resolve: Resolve, allow: Callable[[IpAddress], bool], ports: Collection[int]) -> str:
    """An address to connect to for this URL, after all checks. Raises `FetchRefused`."""
    if url.scheme not in ("http", "https") or not url.host or url.userinfo:
        raise FetchRefused("Only http and https addresses without a user name can be fetched.")
    port = url.port or (443 if url.scheme == "https" else 80)
    if port not in ports:
        raise FetchRefused(f"Port {port} cannot be fetched from.")
    try:
        addresses = await resolve(url.host, port)
    except OSError as error:
        raise FetchRefused("The host of this address is not known.") from error
    # One internal address among public ones is an attack or a mistake; neither is fetched.
    if not addresses or not all(allow(ip_address(address.partition("%")[0])) for address in addresses):
        raise FetchRefused("This address is not on the public internet.")
    return addresses[0]


def pinned(url: httpx.URL, address: str) -> httpx.Request:
    """A GET that connects to `address` but asks, and checks the certificate, for the URL's host."""
    headers = {"Host": url.netloc.decode("ascii"), "Accept": ", ".join(sorted(TEXT_TYPES)), "Accept-Encoding": "identity"}
    return httpx.Request("GET", url.copy_with(host=address), headers=headers, extensions={"sni_hostname": url.host})


async def read_page(url: httpx.URL, response: httpx.Response, max_bytes: int) -> Page:
    """Read an answer that is a text of bounded size. Raises `FetchRefused`."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if response.status_code != 200:
        raise FetchRefused(f"The page answers with status {response.status_code}.")
    if kind not in TEXT_TYPES or response.headers.get("content-encoding", "identity") != "identity":
        raise FetchRefused("The page is not a text: only HTML, Markdown and plain text can be read.")
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > max_bytes:
            raise FetchRefused(f"The page is larger than {max_bytes // 1024} KiB.")
    try:
        text = body.decode(response.charset_encoding or "utf-8", errors="replace")
    except LookupError:
        text = body.decode("utf-8", errors="replace")
    if kind in ("text/html", "application/xhtml+xml"):
        reader = HtmlText()
        reader.feed(text)
        reader.close()
        return Page(str(url), reader.title, reader.text)
    return Page(str(url), "", text)


class HtmlText(HTMLParser):
    """The readable text of an HTML page: headings as Markdown headings, blocks as paragraphs, no scripts or navigation."""

    SKIP: Final = frozenset({"script", "style", "noscript", "template", "nav", "svg", "iframe"})
    HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
    BLOCKS: Final = HEADINGS | {
        "p",
        "div",
        "section",
        "article",
        "li",
        "tr",
        "br",
        "pre",
        "blockquote",
        "table",
        "ul",
        "ol",
        "header",
        "footer",
        "main",
    }

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str] = []
        self._title: list[str] = []
        self._skipped: list[str] = []
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self.SKIP:
            self._skipped.append(tag)
        self._in_title = tag == "title" and not self._skipped
        if tag in self.BLOCKS:
            self._parts.append("\n\n" + "#" * int(tag[1]) + " " if tag in self.HEADINGS else "\n\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._skipped:
            while self._skipped.pop() != tag:
                pass
        self._in_title = False
        if tag in self.BLOCKS:
            self._parts.append("\n\n")

    def handle_data(self, data: str) -> None:
        if self._skipped:
            return
        (self._title if self._in_title else self._parts).append(" ".join(data.split()) + " " if data.strip() else " ")

    @property
    def title(self) -> str:
        """The page's title on one line."""
        return " ".join("".join(self._title).split())

    @property
    def text(self) -> str:
        """The text, one paragraph a block."""
        blocks = (" ".join(block.split()) for block in "".join(self._parts).split("\n\n"))
        return "\n\n".join(block for block in blocks if block.strip("# "))
