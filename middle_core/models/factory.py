"""The setting `MIDDLE_CORE_MODEL` as a LangChain chat model whose deltas are merged.

    cerebras:<name>              Cerebras; `cerebras:` alone means the default model
    offline                      no key, no network
    openai:<name>                OpenAI, by `langchain-openai` (extra `[openai]`)
    openai:<name>@<base url>     any OpenAI-compatible server, with or without a key
    (empty)                      Cerebras if its key is set, else offline

A team with a model object of its own does not need this module. Its agent's factory uses any `BaseChatModel`, inside
`Coalesce(inner=...)` if the model streams fast. This module reads no environment: keys and addresses are arguments.
"""

from __future__ import annotations

from langchain_core.language_models import BaseChatModel

from middle_core.models.cerebras.model import DEFAULT_BASE_URL, DEFAULT_MODEL, ChatCerebras, OnWait
from middle_core.models.coalesce import Coalesce
from middle_core.models.offline.model import OfflineModel

KINDS = "Use 'cerebras:<name>', 'offline', 'openai:<name>' or 'openai:<name>@<base url>'."
WEB = ("https://", "http://")
PUBLIC_OPENAI = "https://api.openai.com/v1"


def build_model(
    spec: str,
    *,
    cerebras_api_key: str = "",
    cerebras_base_url: str = "",
    openai_api_key: str = "",
    on_wait: OnWait | None = None,
) -> BaseChatModel:
    """The model that `spec` names.

    Args:
        spec: the value of `MIDDLE_CORE_MODEL`, in one of the forms above.
        cerebras_api_key: the key for Cerebras.
        cerebras_base_url: where Cerebras is; empty means the public service.
        openai_api_key: the key for an OpenAI-compatible server that wants one.
        on_wait: awaited before each wait for capacity, with Cerebras only. It must not raise.

    Raises:
        ValueError: the text says which setting to change, or which package to install.
    """
    kind, colon, rest = (spec.strip() or ("cerebras:" if cerebras_api_key else "offline")).partition(":")
    match kind, bool(colon):
        case "offline", False:
            return OfflineModel()
        case "cerebras", _:
            if not cerebras_api_key:
                raise ValueError("The model is Cerebras, but there is no key. Set CEREBRAS_API_KEY, or choose MIDDLE_CORE_MODEL=offline.")
            if cerebras_base_url and not cerebras_base_url.startswith(WEB):
                raise ValueError(f"CEREBRAS_BASE_URL is {cerebras_base_url!r}. It must start with https:// (or http://).")
            base_url = (cerebras_base_url or DEFAULT_BASE_URL).rstrip("/").removesuffix("/v1")  # the SDK adds /v1 itself
            return ChatCerebras(
                model=rest or DEFAULT_MODEL, api_key=cerebras_api_key, base_url=base_url, on_wait=on_wait
            )  # no `Coalesce`: this model merges its deltas itself
        case "openai", True:
            name, _, base_url = rest.rpartition("@") if "@" in rest else (rest, "", PUBLIC_OPENAI)
            if not (name and base_url.startswith(WEB)):
                raise ValueError(
                    f"MIDDLE_CORE_MODEL is {spec!r}, which is not of the form openai:<name>@<base url>, "
                    "such as openai:llama3@http://localhost:8000/v1."
                )
            if base_url == PUBLIC_OPENAI and not openai_api_key:
                raise ValueError("The model is OpenAI's, but there is no key. Set OPENAI_API_KEY, or choose MIDDLE_CORE_MODEL=offline.")
            return Coalesce(inner=_openai_compatible(name, base_url, openai_api_key))
    raise ValueError(f"MIDDLE_CORE_MODEL is {spec!r}, and there is no such model. {KINDS}")


def _openai_compatible(name: str, base_url: str, api_key: str) -> BaseChatModel:
    try:
        from middle_core.models.openai_compatible import openai_compatible  # noqa: PLC0415 - an optional extra
    except ImportError as missing:
        raise ValueError(f"The model openai:{name} needs an extra package. Install it: pip install 'middle-core[openai]'.") from missing
    return openai_compatible(name, base_url, api_key)


async def close_model(model: BaseChatModel) -> None:
    """Close the model's connections. A model without `aclose` holds none."""
    if close := getattr(model, "aclose", None):
        await close()
