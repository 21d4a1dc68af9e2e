"""Deselects the standard tests of LangChain that would be skipped here, so that each skip in this project means something."""

from __future__ import annotations

import pytest

INAPPLICABLE = {
    "test_audio_inputs": "the service takes no audio",
    "test_image_inputs": "fetches its picture from the internet; test_cerebras.py has our own",
    "test_image_tool_message": "a tool message is text on this service",
    "test_init_from_env": "settings.py alone reads the environment",
    "test_init_time": "a benchmark",
    "test_pdf_inputs": "the service takes no documents",
    "test_pdf_tool_message": "the service takes no documents",
    "test_serdes": "the model holds a key and is not serialisable on purpose",
    "test_stream_time": "a benchmark",
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the inapplicable standard tests of this folder."""
    dropped = [item for item in items if "standard" in item.path.stem and item.name.partition("[")[0] in INAPPLICABLE]
    items[:] = [item for item in items if item not in dropped]
    config.hook.pytest_deselected(items=dropped)
