"""The peer: the SDK's own endpoint, raw events off (it is 15 times the bytes with them). `python -m benchmarks.stock PORT [module:function]`."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import uvicorn
from ag_ui_langgraph import add_langgraph_fastapi_endpoint
from copilotkit import LangGraphAGUIAgent
from fastapi import FastAPI


class RawOff(LangGraphAGUIAgent):
    """The constructor takes no such flag, and `clone` calls it anew for each request."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.emit_raw_events = False

    def clone(self) -> RawOff:
        """For one request."""
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
