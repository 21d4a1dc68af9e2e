"""2,000 tokens a second on the screen of a real browser, beside the frame rate of the idle page.

The simulator, the server, Next and Chromium all take part and share the machine's cores. That is why the frame rate of the idle page is
measured too. Code in the page looks at the answer once a frame. Needs the built page and a Chromium.
"""

from __future__ import annotations

import statistics
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import TypedDict

from playwright.async_api import async_playwright

from benchmarks.figures import Figure, spread
from tests.e2e.chromium import FLAGS, installed
from tests.e2e.parts import Site, running_site
from tests.e2e.tab import Tab
from tests.fakes.cerebras_server import Reply

RATE = 2000.0
TOKENS = 4000
ROUNDS = 5
GOAL_GAP_MS = 120.0
OF_FRAMES = 0.5
"""The goal: updates, as a share of the frames of an idle page. The server sends sixty batches a second; a busy machine paints fewer."""

WATCH = """() => {
    const seen = (window.seen = { growth: [], frames: [] });
    let length = 0;
    const look = (now) => {
        seen.frames.push(now);
        const row = [...document.querySelectorAll('[data-testid="message-assistant"]')].at(-1);
        const grown = row === undefined ? 0 : row.textContent.length;
        if (grown > length) seen.growth.push(now);
        length = grown;
        requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
}"""


class Seen(TypedDict):
    """In milliseconds: when each frame began, and when a frame showed a longer answer."""

    growth: list[float]
    frames: list[float]


def essay(tokens: int) -> list[str]:
    """Prose in paragraphs, as a model writes it. The page formats it as Markdown at each update."""
    return [f"word{n}" + (".\n\n" if n % 60 == 59 else ". " if n % 12 == 11 else " ") for n in range(tokens)]


async def run() -> list[Figure]:
    """A thread of its own for each answer."""
    chromium = installed()
    if chromium is None:
        raise SystemExit("There is no Chromium; run: make chromium")
    rates, gaps, shares, complete = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        async with async_playwright() as playwright, running_site(Path(folder)) as site:
            browser = await playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            try:
                for at in range(ROUNDS + 1):
                    tab = Tab(await browser.new_page(viewport={"width": 1280, "height": 800}), site)
                    seen, whole = await answer(tab, site)
                    if at:  # the first answer warms up the page's code
                        steps = [later - earlier for earlier, later in pairwise(seen["growth"])]
                        rates.append(1000 * len(steps) / (seen["growth"][-1] - seen["growth"][0]))
                        gaps.append(max(steps))
                        shares.append(rates[-1] / await idle_rate(tab))
                        complete.append(whole)
                    await tab.page.close()
            finally:
                await browser.close()
    smooth = statistics.median(shares) >= OF_FRAMES
    return [
        Figure("answers at 2,000 tokens/s complete on the screen", f"{sum(complete)} of {len(complete)}", "all", all(complete)),
        Figure(
            "updates on the screen, of the frames of an idle page",
            f"{spread(shares)}, {spread(rates, '{:.0f}')} a second",
            f">= {OF_FRAMES}",
            smooth,
        ),
        Figure(
            "the longest time without an update",
            f"{spread(gaps, '{:.0f}')} ms",
            f"<= {GOAL_GAP_MS:.0f} ms",
            statistics.median(gaps) <= GOAL_GAP_MS,
        ),
    ]


async def answer(tab: Tab, site: Site) -> tuple[Seen, bool]:
    """One answer at full speed: what the page showed of it, and whether it is complete."""
    words = essay(TOKENS)
    site.model.script(Reply(words, rate=RATE))
    await tab.open()
    await tab.page.evaluate(WATCH)
    await tab.say("Tell me everything.")
    await tab.until_answer(lambda text: words[-1].strip() in text)
    await tab.until_idle()
    seen: Seen = await tab.page.evaluate("() => window.seen")
    # Compared without white space, because the end of a paragraph is an element on the screen.
    return seen, "".join((await tab.answer()).split()) == "".join("".join(words).split())


async def idle_rate(tab: Tab) -> float:
    """Frames a second while nothing happens."""
    await tab.page.evaluate("() => { window.seen.frames.length = 0; }")
    await tab.page.wait_for_function("() => window.seen.frames.length >= 60")
    frames: list[float] = await tab.page.evaluate("() => window.seen.frames")
    return 1000 * (len(frames) - 1) / (frames[-1] - frames[0])
