"""The names of the browser's tools in this run, handed in by the engine for nodes that are not told by their state."""

from __future__ import annotations

from contextvars import ContextVar

PAGE_TOOLS: ContextVar[frozenset[str]] = ContextVar("middle_core_page_tools", default=frozenset())
"""Set in the run's own task; empty where a graph runs without the engine. No server tool's name is among them."""
