"""The end of a test that cannot be ended: its process prints the stack of every thread and exits.

`timeout` (pytest-timeout) interrupts a test with an exception. That is not enough in three cases: code that catches the exception,
an event loop that waits for ever while it is closed, and the tear-down of a test that has failed (pytest-timeout disarms its timer
as soon as a test fails, pytest's own faulthandler does the same). So set-up, call and tear-down each get a second limit here, which
needs no co-operation. pytest-xdist reports the test as failed, starts a new worker and goes on with the others.
"""

from __future__ import annotations

import faulthandler
import os
import sys
from collections.abc import Generator
from typing import Any

import pytest

GRACE_S = "30"
"""Beyond a test's own timeout, so that the exception, which says more, has its chance."""

_LIMIT_S = pytest.StashKey[float]()
_STDERR = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("hard_limit_grace", "seconds beyond `timeout` after which the process of a test is ended", default=GRACE_S)


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_STDERR] = os.dup(sys.__stderr__.fileno() if sys.__stderr__ else 2)  # before a test's output is captured


def pytest_unconfigure(config: pytest.Config) -> None:
    os.close(config.stash[_STDERR])


def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> None:
    """pytest-timeout's hook: the only place where it tells what limit it found for a test."""
    item.stash[_LIMIT_S] = settings.timeout + float(item.config.getini("hard_limit_grace"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    return (yield from _limited(item))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    return (yield from _limited(item))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    return (yield from _limited(item))


def _limited(item: pytest.Item) -> Generator[None, None, None]:
    if _LIMIT_S in item.stash:  # `--timeout=0` takes both limits away, for a debugger
        faulthandler.dump_traceback_later(item.stash[_LIMIT_S], exit=True, file=item.config.stash[_STDERR])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()
