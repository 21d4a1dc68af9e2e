"""What a client may rely on, written once: the JSON that the server sends besides AG-UI's own fields.

    outcomes    what became of a tool call
    custom      the value of each CUSTOM event, and the metadata of messages
    cards       an approval's card, and what was decided
    threads     `/threads`
    info        `/copilotkit/info`
    problems    problem+json, and what RUN_ERROR has in common with it

The models are the definition. `make contract` writes them as TypeScript to frontend_core/contract and as constants to
middle_core/graph_page/contract.js; a test fails where these differ from the models, and another one holds every event of the
corpus to them. Code on the hot path builds plain dicts. `/chat` has a schema of its own (`transports.chat.response`).
This package knows no run, no agent and no transport.
"""
