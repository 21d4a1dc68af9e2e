"""Cerebras: `model` is LangChain's chat model, `stream` one request and its bytes, `wire` the format, `errors` what a fault means."""
