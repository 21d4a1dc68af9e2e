"""The SDK's own endpoint, to compare with: `python -m benchmarks.stock PORT [module:function]`. Raw events are off; they are 15 times the bytes."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import uvicorn
from ag_ui_langgraph import add_langgraph_fastapi_endpoint
from copilotkit import LangGraphAGUIAgent
from fastapi import FastAPI


class RawOff(LangGraphAGUIAgent):
    """The SDK's agent without raw events. Its constructor has no flag for that, and `clone` makes a new agent for each request."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.emit_raw_events = False

    def clone(self) -> RawOff:
        """The agent for one request."""
        return RawOff(name=self.name, graph=self.graph, description=self.description, config=self.config)


def main() -> None:
    """Serve until killed."""
    module, _, attribute = (sys.argv[2] if len(sys.argv) > 2 else "benchmarks.graph:compiled").partition(":")
    graph = getattr(importlib.import_module(module), attribute)
    app = FastAPI()
    add_langgraph_fastapi_endpoint(app, RawOff(name="stock", graph=graph()), "/copilotkit")

    @app.get("/readyz")
    async def readyz() -> dict[str, str]:
        return {"status": "ready"}

    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error", access_log=False)


if __name__ == "__main__":
    main()
