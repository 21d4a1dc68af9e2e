"""The only reader of the environment. Frozen; built once, by `__main__` or a test, and passed on.

Safe unless told otherwise: the environment is production until `MIDDLE_CORE_ENV=dev`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AliasChoices, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

DEFAULT_AGENTS = "knowledge_copilot=middle_core.agents.knowledge_copilot.graph:build"

AGENT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""What stands in a path without quoting."""
DIAG_KEY_CHARS = 16
DOORS = frozenset({"connect", "info", "resume", "runs", "stop"})


class Settings(BaseSettings):
    """Every setting, with its unit in the name (`_s` seconds, `_bytes`)."""

    model_config = SettingsConfigDict(env_prefix="MIDDLE_CORE_", frozen=True, extra="ignore", populate_by_name=True, allow_inf_nan=False)

    env: Literal["production", "dev"] = "production"
    data_dir: Path = Path(".data")
    database_url: str = ""
    """`sqlite:///file.db`; empty means `middle-core.db` in the data folder."""

    agents: Annotated[dict[str, str], NoDecode] = Field(default_factory=lambda: parse_agents(DEFAULT_AGENTS))
    """Agent name to import path: `name=pkg.module:attribute`, comma separated."""
    default_agent: str = ""
    """Empty means the first of `agents`."""

    jwks_url: str = ""
    jwt_public_key: str = ""
    """PEM text of a static public key."""
    jwt_secret: SecretStr = SecretStr("")
    jwt_issuer: str = ""
    jwt_audience: str = ""

    backend_url: str = "http://127.0.0.1:8001"

    model: str = ""
    """`cerebras:<name>`, `offline`, or `openai:<name>@<base url>`; empty: Cerebras where its key is set, else offline."""
    cerebras_api_key: SecretStr = Field(default=SecretStr(""), validation_alias=AliasChoices("CEREBRAS_API_KEY", "cerebras_api_key"))
    cerebras_base_url: str = Field(default="", validation_alias=AliasChoices("CEREBRAS_BASE_URL", "cerebras_base_url"))

    heartbeat_s: float = Field(default=10.0, gt=0)
    lease_s: float = Field(default=15.0, gt=0)
    beat_s: float = Field(default=5.0, gt=0)
    drain_s: float = Field(default=20.0, ge=0)
    max_stream_s: float = Field(default=0.0, ge=0)
    """Planned maximum age of one stream; 0 means none."""
    disconnect_grace_s: float = Field(default=5.0, ge=0)
    approval_ttl_s: float = Field(default=900.0, gt=0)
    stop_wait_s: float = Field(default=10.0, gt=0)
    """How long a new message waits for a stop in progress before it is refused as busy."""

    diag_key: SecretStr = SecretStr("")
    """Opens `/diag` without a token to whoever sends it as `X-Diag-Key`; empty: tokens only."""

    max_body_bytes: int = Field(default=4 * 1024 * 1024, gt=0)
    max_event_bytes: int = Field(default=1024 * 1024, ge=4096)

    @field_validator("agents", mode="before")
    @classmethod
    def _agents(cls, value: object) -> object:
        return parse_agents(value) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        chosen = [bool(self.jwks_url), bool(self.jwt_public_key), bool(self.jwt_secret.get_secret_value())]
        if sum(chosen) > 1:
            raise ValueError(
                "Set one of MIDDLE_CORE_JWKS_URL, MIDDLE_CORE_JWT_PUBLIC_KEY and MIDDLE_CORE_JWT_SECRET: the key type fixes the algorithm."
            )
        if any(chosen) and not (self.jwt_issuer and self.jwt_audience):
            raise ValueError("Set MIDDLE_CORE_JWT_ISSUER and MIDDLE_CORE_JWT_AUDIENCE: a token must be for this service.")
        if self.default_agent and self.default_agent not in self.agents:
            raise ValueError(f"MIDDLE_CORE_DEFAULT_AGENT is {self.default_agent!r}, which MIDDLE_CORE_AGENTS does not name.")
        if self.beat_s * 2 > self.lease_s:
            raise ValueError("MIDDLE_CORE_BEAT_S must be at most half of MIDDLE_CORE_LEASE_S, or one late beat loses the run.")
        if 0 < len(self.diag_key.get_secret_value()) < DIAG_KEY_CHARS:
            raise ValueError(f"MIDDLE_CORE_DIAG_KEY must have at least {DIAG_KEY_CHARS} characters: it stands in for a token.")
        return self

    @property
    def verification_configured(self) -> bool:
        """Whether tokens of a real issuer can be verified. If not, only `dev` may start."""
        return bool(self.jwks_url or self.jwt_public_key or self.jwt_secret.get_secret_value())

    @property
    def resolved_database_url(self) -> str:
        """`database_url`, or the default file in the data folder."""
        return self.database_url or f"sqlite:///{self.data_dir / 'middle-core.db'}"


class ProbeSettings(BaseSettings):
    """What `probe` reads: secrets only. It runs where no server is configured, so it asks for nothing else."""

    model_config = SettingsConfigDict(env_prefix="MIDDLE_CORE_", frozen=True, extra="ignore")

    probe_token: SecretStr = SecretStr("")
    """A JWT."""
    diag_key: SecretStr = SecretStr("")


def parse_agents(text: str) -> dict[str, str]:
    """`a=pkg.mod:attr,b=...` as a dict. Raises ValueError saying which entry is wrong."""
    agents: dict[str, str] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, eq, path = entry.partition("=")
        if not (eq and name.strip() and ":" in path):
            raise ValueError(f"MIDDLE_CORE_AGENTS: {entry!r} is not of the form name=package.module:attribute.")
        if not AGENT_NAME.fullmatch(name.strip()) or name.strip() in DOORS:
            raise ValueError(
                f"MIDDLE_CORE_AGENTS: {name.strip()!r} cannot be an agent's name. Use up to 64 letters, digits, _ and -, "
                f"and none of {', '.join(sorted(DOORS))}: these are doors beside the agents'."
            )
        agents[name.strip()] = path.strip()
    if not agents:
        raise ValueError("MIDDLE_CORE_AGENTS names no agent.")
    return agents
