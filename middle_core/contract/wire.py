"""The bases of the contract's models: nothing unknown is in them, and nothing changes once one is made."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

T = TypeVar("T")

Absent = Annotated[T | None, Field(exclude_if=lambda value: value is None)]
"""A field that is left out where there is nothing to say; null never stands in it. Write `field: Absent[int] = None`."""


class Plain(BaseModel):
    """JSON whose keys are written as in Python. Every field is there, unless its type is `Absent`."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_serialization_defaults_required=True)


class Camel(Plain):
    """JSON whose keys are written in camelCase, as AG-UI's are."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
