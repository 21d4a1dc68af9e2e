"""The only reader of the environment. Built once, by `__main__` or by a test, frozen, and passed on.

The environment is production until `MIDDLE_CORE_ENV=dev`. What a production server has to be told is `Settings.require_production`.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

DEFAULT_AGENTS = "knowledge_copilot=middle_core.agents.knowledge_copilot.graph:build"

AGENT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""Characters that need no quoting in a path."""
DIAG_KEY_CHARS = 16
DOORS = frozenset({"connect", "info", "resume", "runs", "stop"})
PREFIX: Final = "MIDDLE_CORE_"
NO_BACKEND: Final = "none"
DEV_BACKEND_URL: Final = "http://127.0.0.1:8001"
"""Where `demo-backend` listens."""


class Settings(BaseSettings):
    """Every setting, with its unit in the name (`_s` seconds, `_bytes`)."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore", populate_by_name=True, allow_inf_nan=False)

    env: Literal["production", "dev"] = "production"
    data_dir: Path = Path(".data")
    database_url: str = ""
    """`sqlite:///file.db` or `postgresql://user:password@host/database`; empty means `middle-core.db` in the data folder."""
    database_direct_url: str = ""
    """The same Postgres past its PgBouncer."""
    run_ttl_days: float = Field(default=0, ge=0)
    """Days after which a run that is over may be deleted with its events, on Postgres; 0 keeps all."""

    agents: Annotated[dict[str, str], NoDecode] = Field(default_factory=lambda: parse_agents(DEFAULT_AGENTS))
    """Agent name to import path: `name=pkg.module:attribute`, comma separated."""
    client_writable: Annotated[dict[str, frozenset[str]], NoDecode] = Field(default_factory=dict)
    """Keys of an agent's state that a browser may write, beside those of its `AgentSpec`: `name=key key`, comma separated."""
    default_agent: str = ""
    """Empty means the first of `agents`."""

    jwks_url: str = ""
    jwt_public_key: str = ""
    """PEM text of a static public key."""
    jwt_secret: SecretStr = SecretStr("")
    jwt_issuer: str = ""
    jwt_audience: str = ""

    backend_url: str = ""
    """The address of backend-core; `none` if no agent uses one. Empty means the demo's, in dev."""

    model: str = ""
    """`cerebras:<name>`, `offline`, `openai:<name>` or `openai:<name>@<base url>`; empty: Cerebras if its key is set, else offline."""
    cerebras_api_key: SecretStr = Field(default=SecretStr(""), validation_alias=AliasChoices("CEREBRAS_API_KEY", "cerebras_api_key"))
    cerebras_base_url: str = Field(default="", validation_alias=AliasChoices("CEREBRAS_BASE_URL", "cerebras_base_url"))
    openai_api_key: SecretStr = Field(default=SecretStr(""), validation_alias=AliasChoices("OPENAI_API_KEY", "openai_api_key"))
    """For `openai:` models."""

    heartbeat_s: float = Field(default=10.0, gt=0)
    lease_s: float = Field(default=15.0, gt=0)
    orphan_timeout_s: float = Field(default=600.0, gt=0)
    beat_s: float = Field(default=5.0, gt=0)
    drain_s: float = Field(default=20.0, ge=0)
    max_stream_s: float = Field(default=0.0, ge=0)
    """Planned maximum age of one stream; 0 means none."""
    disconnect_grace_s: float = Field(default=5.0, ge=0)
    approval_ttl_s: float = Field(default=900.0, gt=0)
    stop_wait_s: float = Field(default=10.0, gt=0)
    """Seconds that a new message waits for a stop in progress before it is refused as busy."""

    diag_key: SecretStr = SecretStr("")
    """A client that sends this as `X-Diag-Key` may use `/diag` without a token. Empty: tokens only."""

    max_body_bytes: int = Field(default=4 * 1024 * 1024, gt=0)
    max_event_bytes: int = Field(default=1024 * 1024, ge=4096)

    @field_validator("agents", mode="before")
    @classmethod
    def _agents(cls, value: object) -> object:
        return parse_agents(value) if isinstance(value, str) else value

    @field_validator("client_writable", mode="before")
    @classmethod
    def _client_writable(cls, value: object) -> object:
        return parse_keys(value) if isinstance(value, str) else value

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
    def resolved_backend_url(self) -> str | None:
        """The address of backend-core, or None if there is none."""
        return None if self.backend_url == NO_BACKEND else self.backend_url or DEV_BACKEND_URL

    @property
    def verification(self) -> str:
        """How tokens are verified, in words without a secret."""
        if not self.verification_configured:
            return "the dev issuer"
        key = f"the key set {self.jwks_url}" if self.jwks_url else "a public key" if self.jwt_public_key else "a shared secret"
        return f"{key}, issuer {self.jwt_issuer}"

    def require_production(self) -> None:
        """Check what a server for real users has to be told explicitly.

        Raises:
            ValueError: one line for each setting that is missing.
        """
        missing = []
        if not self.verification_configured:
            missing.append(
                "no way to verify tokens is configured. Set MIDDLE_CORE_JWKS_URL, MIDDLE_CORE_JWT_PUBLIC_KEY or MIDDLE_CORE_JWT_SECRET "
                "(with MIDDLE_CORE_JWT_ISSUER and MIDDLE_CORE_JWT_AUDIENCE)."
            )
        if not (self.model or self.cerebras_api_key.get_secret_value()):
            missing.append(
                "no model is chosen. Set CEREBRAS_API_KEY, or MIDDLE_CORE_MODEL to openai:<name>@<base url> (with OPENAI_API_KEY), "
                "or to offline if the agents bring models of their own."
            )
        if not self.backend_url:
            missing.append("no backend-core is named. Set MIDDLE_CORE_BACKEND_URL to its address, or to none if no agent uses it.")
        if missing:
            raise ValueError("\n  ".join([*missing, "For a try on this machine, set MIDDLE_CORE_ENV=dev."]))

    @property
    def resolved_database_url(self) -> str:
        """`database_url`, or the default file in the data folder."""
        return self.database_url or f"sqlite:///{self.data_dir / 'middle-core.db'}"


class ProbeSettings(BaseSettings):
    """What `probe` reads: secrets only. It runs on machines where no server is configured, so it needs nothing else."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore")

    probe_token: SecretStr = SecretStr("")
    """A JWT."""
    diag_key: SecretStr = SecretStr("")


def parse_agents(text: str) -> dict[str, str]:
    """`a=pkg.mod:attr,b=...` as a dict.

    Raises:
        ValueError: the text says which entry is wrong.
    """
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


def parse_keys(text: str) -> dict[str, frozenset[str]]:
    """`a=plan steps,b=notes` as a dict.

    Raises:
        ValueError: the text says which entry is wrong.
    """
    keys: dict[str, frozenset[str]] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, eq, words = entry.partition("=")
        if not (eq and name.strip() and words.split()):
            raise ValueError(f"MIDDLE_CORE_CLIENT_WRITABLE: {entry!r} is not of the form name=key key.")
        keys[name.strip()] = frozenset(words.split())
    return keys


ELSEWHERE: Final = frozenset({"MIDDLE_CORE_URL"})
"""Variables with our prefix that the web tier reads."""


def variables() -> dict[str, str]:
    """The name of each setting's environment variable, by field."""
    names = {}
    for field, info in Settings.model_fields.items():
        alias = info.validation_alias
        names[field] = str(alias.choices[0]) if isinstance(alias, AliasChoices) else f"{PREFIX}{field.upper()}"
    return names


def explained(error: ValidationError) -> list[str]:
    """What is wrong with the settings, one line each, by the variable's name and without its value."""
    names = variables()
    lines = []
    for item in error.errors(include_input=False, include_url=False):
        field = str(item["loc"][0]) if item["loc"] else ""
        words = item["msg"].removeprefix("Value error, ")
        lines.append(f"{names.get(field, field)}: {words}" if field and not words.startswith(PREFIX) else words)
    return lines


def unknown_variables(environ: Iterable[str] | None = None) -> list[str]:
    """A sentence for each variable with our prefix that is no setting.

    Such a variable does not stop a start: Kubernetes, for one, adds variables such as `MIDDLE_CORE_SERVICE_HOST` to every container.

    Args:
        environ: names of variables; by default those of this process.
    """
    known = {*variables().values(), *(f"{PREFIX}{field.upper()}" for field in ProbeSettings.model_fields), *ELSEWHERE}
    sentences = []
    for name in sorted(os.environ if environ is None else environ):  # noqa: TID251 - this is settings.py
        if name.startswith(PREFIX) and name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
            sentences.append(f"{name} is not a setting and has no effect." + (f" Do you mean {near[0]}?" if near else ""))
    return sentences


@contextmanager
def naming(variable: str) -> Iterator[None]:
    """Put the variable's name before the words of a ValueError that its value causes."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{variable}: {error}") from error
