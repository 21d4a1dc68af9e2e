"""The setting `MIDDLE_CORE_MODEL` as a LangChain chat model whose deltas are merged.

    cerebras:<name>              Cerebras; `cerebras:` alone means the default model
    offline                      no key, no network
    openai:<name>@<base url>     any OpenAI-compatible server, by `langchain-openai` (extra `[openai]`)
    (empty)                      Cerebras if its key is set, else offline

A team with a model object of its own does not need this module. Its agent's factory uses any `BaseChatModel`, inside
`Coalesce(inner=...)` if the model streams fast. This module reads no environment: keys and addresses are arguments.
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
            base_url = (cerebras_base_url or DEFAULT_BASE_URL).rstrip("/").removesuffix("/v1")  # the SDK adds /v1 itself
            return ChatCerebras(
                model=rest or DEFAULT_MODEL, api_key=cerebras_api_key, base_url=base_url, on_wait=on_wait
            )  # no `Coalesce`: this model merges its deltas itself
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
    # The key is never None: the package would then read OPENAI_API_KEY from the environment.
    return ChatOpenAICompatible(model=name, base_url=base_url, api_key=api_key or "none", stream_usage=True)


async def close_model(model: BaseChatModel) -> None:
    """Close the model's connections. A model without `aclose` holds none."""
    if close := getattr(model, "aclose", None):
        await close()
