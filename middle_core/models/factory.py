"""Which chat model runs: a short text to a LangChain model, wrapped so that its deltas are merged.

    cerebras:<name>              Cerebras; `cerebras:` alone means the default model
    offline                      no key, no network
    openai:<name>@<base url>     any OpenAI-compatible server, by `langchain-openai` (extra `[openai]`)
    (empty)                      Cerebras where its key is set, else offline

A team's own model object needs none of this: hand any `BaseChatModel` to the agent's factory, inside `Coalesce(inner=...)`
if it streams fast. It knows no settings and reads no environment.
"""

from __future__ import annotations

from langchain_core.language_models import BaseChatModel

from middle_core.models.cerebras.model import DEFAULT_BASE_URL, DEFAULT_MODEL, ChatCerebras, OnWait
from middle_core.models.coalesce import Coalesce
from middle_core.models.offline.model import OfflineModel

KINDS = "Use 'cerebras:<name>', 'offline' or 'openai:<name>@<base url>'."


def build_model(
    spec: str,
    *,
    cerebras_api_key: str = "",
    cerebras_base_url: str = "",
    openai_api_key: str = "",
    on_wait: OnWait | None = None,
) -> BaseChatModel:
    """The model that `spec` names.

    cerebras_base_url: empty means the public service. openai_api_key: for servers that want one. on_wait: awaited before a wait for
    capacity (Cerebras only); it must not raise.
    Raises ValueError saying what to set, also where `langchain-openai` is not installed.
    """
    kind, colon, rest = (spec.strip() or ("cerebras:" if cerebras_api_key else "offline")).partition(":")
    match kind, bool(colon):
        case "offline", False:
            return OfflineModel()
        case "cerebras", _:
            if not cerebras_api_key:
                raise ValueError("The model is Cerebras, but there is no key. Set CEREBRAS_API_KEY, or choose MIDDLE_CORE_MODEL=offline.")
            base_url = (cerebras_base_url or DEFAULT_BASE_URL).rstrip("/").removesuffix("/v1")  # the SDK adds /v1 itself
            return ChatCerebras(
                model=rest or DEFAULT_MODEL, api_key=cerebras_api_key, base_url=base_url, on_wait=on_wait
            )  # merges by itself
        case "openai", True:
            name, at, base_url = rest.rpartition("@")
            if not (name and at and base_url.startswith(("http://", "https://"))):
                raise ValueError(
                    f"The model {spec!r} is not of the form openai:<name>@<base url>, such as openai:llama3@http://localhost:8000/v1."
                )
            return Coalesce(inner=_openai_compatible(name, base_url, openai_api_key))
    raise ValueError(f"There is no model {spec!r}. {KINDS}")


def _openai_compatible(name: str, base_url: str, api_key: str) -> BaseChatModel:
    try:
        from middle_core.models.openai_compatible import ChatOpenAICompatible  # noqa: PLC0415 - an optional extra
    except ImportError as missing:
        raise ValueError(f"The model openai:{name} needs an extra package. Install it: pip install 'middle-core[openai]'.") from missing
    # Never None: the package would look into the environment.
    return ChatOpenAICompatible(model=name, base_url=base_url, api_key=api_key or "none", stream_usage=True)


async def close_model(model: BaseChatModel) -> None:
    """Close what the model holds open, connections above all; a model without `aclose` has nothing to close."""
    if close := getattr(model, "aclose", None):
        await close()
