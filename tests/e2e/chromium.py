"""Find a Chromium for the browser tests, or install one. `make test` runs this before them.

In this order: `CHROMIUM` names one, one is installed, Debian's package where we are root, Playwright's own download.
Else it says what to run, and fails: a browser test that is skipped is a test that nobody sees.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.apt import apt_get

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
"""No sandbox, because containers rarely allow one. The other options stop Chromium's own requests."""


def installed() -> str | None:
    """The path of a Chromium on this machine, or None."""
    named = os.environ.get("CHROMIUM")  # noqa: TID251 - a test tool, not the product
    if named:
        return named
    for name in NAMES:
        if path := shutil.which(name):
            return path
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if Path(own).exists() else None


def get() -> bool:
    """Try to install one. True if a command for it succeeded."""
    if os.geteuid() == 0 and shutil.which("apt-get"):
        print("No Chromium here; installing Debian's package. If another apt is at work, this waits for its end.", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            apt = apt_get(Path(folder))
            install = ["install", "--no-install-recommends", "chromium", "fonts-dejavu-core"]
            if all(subprocess.run([*apt, *one], check=False, stdout=subprocess.DEVNULL).returncode == 0 for one in (["update"], install)):
                return True
    print("No Chromium here; trying Playwright's own download.", flush=True)
    return subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False).returncode == 0


def main() -> int:
    """0 if there is a Chromium in the end."""
    path = installed() or (get() and installed())
    if not path:
        print(
            "The browser tests need Chromium. Install it (Debian, Ubuntu: sudo apt-get install chromium; "
            "elsewhere: .venv/bin/python -m playwright install chromium), or set CHROMIUM to its path.",
            file=sys.stderr,
        )
        return 1
    print(f"Chromium: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
