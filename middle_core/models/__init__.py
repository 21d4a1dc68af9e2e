"""Chat models: LangChain models for Cerebras and for machines without a key, and the wrapper that merges a model's deltas.

`factory` turns the setting `MIDDLE_CORE_MODEL` into a model. Nothing here knows a run, a thread or a door.
"""
