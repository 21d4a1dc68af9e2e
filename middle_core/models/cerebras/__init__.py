"""Cerebras: `model` is LangChain's chat model. `request` and `answer` know the format, `stream` the connection, `errors` the faults."""
