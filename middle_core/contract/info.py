"""`GET /copilotkit/info`: the agents and what this server can do."""

from __future__ import annotations

from middle_core.contract.wire import Plain


class AgentInfo(Plain):
    """default: whether requests that name no agent go to it."""

    name: str
    description: str
    default: bool


class Capabilities(Plain):
    """What a client may count on."""

    resume: bool = True
    stop: bool = True
    threads: bool = True
    interrupts: bool = True


class Info(Plain):
    """model: the name of the default model, for people."""

    version: str
    agents: list[AgentInfo]
    model: str
    capabilities: Capabilities = Capabilities()
