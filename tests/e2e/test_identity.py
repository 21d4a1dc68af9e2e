"""Identity: the token on its whole way, tokens that are refused, and what belongs to another person."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from playwright.async_api import Route, expect

from tests.e2e.conftest import NewTab
from tests.e2e.parts import Site
from tests.e2e.speech import SHORT, count, whole
from tests.e2e.tab import Tab, readable, starts

PUT_TOKEN = "(token) => sessionStorage.setItem('middle-core.token', token)"


async def refuse_sign_in(tab: Tab) -> None:
    """Refuse to sign in, as an outside sign-in whose session has ended: no new token comes by itself."""

    async def refuse(route: Route) -> None:
        await route.fulfill(status=401, json={"code": "unauthorized", "detail": "Sign in first."})

    await tab.page.route("**/api/dev/token", refuse)


async def allow_sign_in(tab: Tab) -> None:
    await tab.page.unroute("**/api/dev/token")


async def with_token(tab: Tab, token: str, thread: str | None = None) -> None:
    """Load the page with this token in the tab's storage."""
    await tab.page.goto(tab.site.url + "/api/health")
    await tab.page.evaluate(PUT_TOKEN, token)
    await tab.page.goto(tab.site.url + (f"/?thread={thread}" if thread else "/"))


async def test_the_token_is_byte_identical_at_backend_core(tab: Tab, site: Site) -> None:
    site.backend.forget()
    await tab.ask(count(5, 50, search=True), whole(5))
    held = await tab.token()
    arrived = site.backend.header("authorization")
    assert set(arrived) == {f"Bearer {held}".encode()}
    assert not any(held.encode() in repr(request.headers).encode() for request in site.model.requests), "the model's provider never sees it"
    assert not any(held in request.url for request in tab.requests), "nor does any address"


async def test_no_request_for_a_persons_things_is_without_their_token(tab: Tab) -> None:
    """CopilotKit/CopilotKit#1537: the first requests for a thread had no token."""
    await tab.ask("Hello!", SHORT)
    await tab.reload()
    await tab.until_answer(SHORT)
    held, open_to_all = await tab.token(), {"/api/dev/token", "/api/health"}
    asked = [(urlsplit(request.url).path, request.headers) for request in tab.requests]
    private = [(path, headers) for path, headers in asked if path.startswith("/api/") and path not in open_to_all]
    assert {path.split("/")[2] for path, _ in private} == {"copilotkit", "threads", "info"}
    assert [path for path, headers in private if headers.get("authorization") != f"Bearer {held}"] == []
    assert not any("authorization" in headers for path, headers in asked if not path.startswith("/api/"))


async def test_two_people_at_once_are_not_mixed_up(site: Site, new_tab: NewTab) -> None:
    alice, bob = await new_tab(), await new_tab()
    await with_token(alice, site.token("alice"))
    await with_token(bob, site.token("bob"))
    site.backend.forget()
    for each in (alice, bob):
        await each.ready()
        await each.say(count(40, 20, search=True))
    for each in (alice, bob):
        await each.until_answer(whole(40))
    arrived = set(site.backend.header("authorization"))
    assert arrived == {f"Bearer {await each.token()}".encode() for each in (alice, bob)}


async def test_signing_in_as_somebody_else_shows_that_persons_conversations_only(tab: Tab, site: Site) -> None:
    await tab.ask("A question of Alice", SHORT)
    thread = tab.thread_id
    row = tab.find("thread-item", thread_id=thread)
    await expect(row).to_be_visible()
    await tab.find("user-menu").click()
    await tab.find("user-option-bob").click()
    await expect(tab.find("user-menu")).to_contain_text("Bob")
    await expect(tab.find("welcome")).to_contain_text("Bob")
    await expect(row).to_have_count(0)
    assert "A question of Alice" not in await tab.words_on_screen()
    await tab.ask("A question of Bob", SHORT)
    await tab.find("user-menu").click()
    await tab.find("user-option-alice").click()
    await expect(row).to_be_visible()
    await row.get_by_role("link").click()
    await tab.until_answer(SHORT)
    assert await tab.questions() == ["A question of Alice"]


async def test_another_persons_thread_id_shows_nothing(tab: Tab, site: Site, new_tab: NewTab) -> None:
    """Also while that thread is being answered. A message there goes into the caller's own conversation."""
    number = 300
    await tab.say(count(number, 30))
    await tab.until_answer(starts(whole(number), at_least=50))
    thread = tab.thread_id
    other = await new_tab()
    await with_token(other, site.token("bob"), thread)
    await other.ready()
    await expect(other.find("message-user")).to_have_count(0)
    await expect(other.find("message-assistant")).to_have_count(0)
    assert "word1" not in await other.words_on_screen()
    await other.ask("Mine", SHORT)
    assert await other.questions() == ["Mine"]
    await tab.until_answer(whole(number))
    await tab.reload()
    await tab.until_answer(whole(number))
    assert await tab.questions() == [count(number, 30)]


async def test_a_forged_token_shows_words_and_signing_in_again_goes_on(new_tab: NewTab, site: Site) -> None:
    tab = await new_tab()
    head, payload, signature = site.token().split(".")
    await refuse_sign_in(tab)
    await with_token(tab, f"{head}.{payload}.{signature[::-1]}")
    expired = tab.find("session-expired")
    await expect(expired).to_contain_text("Your session has expired")
    readable(await tab.words_on_screen())
    await allow_sign_in(tab)
    await tab.find("sign-in-again").click()
    await expect(expired).to_have_count(0)
    await tab.ask("Hello!", SHORT)


async def test_an_expired_token_shows_words_and_keeps_what_was_typed(new_tab: NewTab, site: Site) -> None:
    tab = await new_tab()
    await with_token(tab, site.token(), None)
    await tab.ready()
    await tab.ask("Hello!", SHORT)
    thread = tab.thread_id
    await tab.composer.fill("typed before it ended")
    await refuse_sign_in(tab)
    await tab.page.evaluate(PUT_TOKEN, site.token(ttl_s=-60))
    await tab.reload()
    await expect(tab.find("session-expired")).to_be_visible()
    readable(await tab.words_on_screen())
    await expect(tab.composer).to_have_value("typed before it ended")
    await expect(tab.find("send")).to_be_disabled()
    await tab.find("sign-in-again").click()
    await expect(tab.find("session-expired")).to_contain_text("did not work")
    readable(await tab.words_on_screen())
    await allow_sign_in(tab)
    await tab.find("sign-in-again").click()
    await expect(tab.find("session-expired")).to_have_count(0)
    await tab.until_answer(SHORT)
    assert tab.thread_id == thread
    await expect(tab.composer).to_have_value("typed before it ended")
    await tab.composer.press("Enter")
    await expect(tab.find("message-assistant")).to_have_count(2)
    assert await tab.questions() == ["Hello!", "typed before it ended"]


async def test_a_token_that_ends_in_mid_answer(new_tab: NewTab, site: Site) -> None:
    """The stream ends, the run goes on; signing in again continues the same answer to its exact end."""
    number = 400
    tab = await new_tab()
    await refuse_sign_in(tab)
    await with_token(tab, site.token(ttl_s=8))
    await tab.ready()
    await tab.say(count(number, 25))
    await tab.until_answer(starts(whole(number), at_least=20))
    await expect(tab.find("session-expired")).to_be_visible()
    readable(await tab.words_on_screen())
    seen = await tab.answer()
    assert seen != ""
    assert whole(number).startswith(seen)
    await allow_sign_in(tab)
    await tab.find("sign-in-again").click()
    await expect(tab.find("session-expired")).to_have_count(0)
    await tab.until_answer(whole(number))
    await tab.until_idle()
    assert await tab.answers() == [whole(number)]
    assert len(site.model.requests) == 1


async def test_a_token_is_renewed_before_it_ends(new_tab: NewTab, site: Site) -> None:
    tab = await new_tab()
    first = site.token(ttl_s=6)
    await with_token(tab, first)
    await tab.ready()
    await tab.page.wait_for_event("request", lambda request: urlsplit(request.url).path == "/api/dev/token")
    await tab.say(count(100, 25))
    await tab.until_answer(whole(100))
    assert await tab.token() != first
    await expect(tab.find("session-expired")).to_have_count(0)
    assert tab.complaints == []


async def test_the_page_holds_no_key_of_a_model(tab: Tab, site: Site) -> None:
    await tab.ask("Hello!", SHORT)
    held = await tab.page.evaluate("JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie])")
    assert "test-key" not in held
    [stored] = re.findall(r"eyJ[\w-]+\.[\w-]+\.[\w-]+", held)
    assert stored == await tab.token(), "the person's token, in this tab's storage only"
    assert "eyJ" not in await tab.page.evaluate("JSON.stringify([{ ...localStorage }, document.cookie])")
