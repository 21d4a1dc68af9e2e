"""Agents: the graphs a server runs, and what a team needs to write one of its own.

    registry    import paths -> agents; `AgentSpec`, `AgentDeps`
    dispatch    `add_tools`, `tools_node`, `route_tools`: one task per tool call, each run once
    guard       `FailRun`, `repeatable`
    sync_tools  `stop_requested`, for synchronous tools
    answer      `answer`: a model's message with its tool arguments taken literally
    calls       `for_model`: a history that every provider accepts
    frontend    the browser's tools and readables in a graph's state

Knows nothing of runs, events and transports: `app` brings them together.
"""
