"""What a person may change on a card: read from any tool's schema, taken only with its own type, and run as it was approved."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.tools import tool
from langgraph.types import Command
from pydantic import BaseModel, Field, create_model

from middle_core.agents.approval import Card, needs_approval
from middle_core.agents.editable import Editable
from middle_core.node_api.approvals import digest, edits_of, plain
from middle_core.node_api.context import within
from tests.unit.agents.graphs import CONFIG, calls, graph_of, human, results
from tests.unit.agents.test_approval import Rows, a_row


class Tone(Enum):
    DRY = "dry"
    WARM = "warm"


class Level(IntEnum):
    LOW = 0
    HIGH = 1


def editable(annotation: Any, default: Any = ...) -> Editable:
    return Editable.of("x", create_model("Args", x=(annotation, default)).model_json_schema())


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        (str, "text"),
        (int, "integer"),
        (float, "number"),
        (bool, "boolean"),
        (Literal["a", "b"], "choice"),
        (Literal["a"], "choice"),
        (Tone, "choice"),
        (Level, "choice"),
        (list[str], "list"),
    ],
)
def test_each_kind_is_read_from_the_schema_with_and_without_null(annotation: Any, kind: str) -> None:
    assert (editable(annotation).kind, editable(annotation).nullable) == (kind, False)
    assert (editable(annotation | None, None).kind, editable(annotation | None, None).nullable) == (kind, True)


@pytest.mark.parametrize(
    "annotation", [dict[str, str], list[int], list[list[str]], list[Tone], str | int, BaseModel, Any, list[str | None]]
)
def test_what_no_card_can_ask_for_is_said_where_the_tool_is_made(annotation: Any) -> None:
    with pytest.raises(ValueError, match="x cannot be edited on a card"):
        editable(annotation)

    async def describe(_args: Mapping[str, Any]) -> Card:
        return Card("?")

    made: Any = create_model("Args", x=(annotation, ...))

    async def do(x: Any) -> str:
        return ""

    with pytest.raises(ValueError, match="@needs_approval: do: x cannot be edited"):
        needs_approval(describe=describe, editable=("x",))(tool("do", args_schema=made, description="Do.")(do))


def test_the_page_is_told_the_limits() -> None:
    assert editable(Annotated[int, Field(ge=1, le=5)]).form == {
        "name": "x",
        "kind": "integer",
        "nullable": False,
        "minimum": 1,
        "maximum": 5,
    }
    steps = Annotated[list[Annotated[str, Field(max_length=9)]], Field(min_length=1, max_length=3)]
    assert editable(steps).form == {"name": "x", "kind": "list", "nullable": False, "minItems": 1, "maxItems": 3, "itemMaxLength": 9}
    assert editable(Literal["a", 1]).form["options"] == ["a", 1]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
KINDS: dict[str, tuple[Any, Callable[[Any], bool]]] = {
    "text": (str, lambda value: type(value) is str),
    "integer": (int, lambda value: type(value) is int),
    "number": (float, lambda value: type(value) in {int, float}),
    "boolean": (bool, lambda value: type(value) is bool),
    "choice": (Literal["", "a", 0], lambda value: type(value) in {str, int} and value in {"", "a", 0}),
    "list": (list[str], lambda value: type(value) is list and all(type(one) is str for one in value)),
}


@pytest.mark.parametrize("kind", KINDS)
@given(value=JSON)
@settings(max_examples=60, deadline=None)
def test_any_json_is_taken_as_what_it_is_or_not_at_all(kind: str, value: Any) -> None:
    annotation, right = KINDS[kind]
    fault = editable(annotation).fault(value)
    assert (fault is None) is right(value)
    assert fault is None or fault.startswith("x: ")
    assert (editable(annotation | None, None).fault(value) is None) is (value is None or right(value))


class Letter(BaseModel):
    to: str = Field(min_length=1, max_length=20)
    copies: int = Field(default=1, ge=1, le=5)
    weight: float = 1.0
    urgent: bool = False
    tone: Literal["dry", "warm"] = "dry"
    note: str | None = None
    lines: list[str] = Field(default=[], max_length=3)


GIVEN = {"to": "Ann", "copies": 2, "weight": 0.5, "urgent": False, "tone": "dry", "note": None, "lines": ["a"]}
NAMES = tuple(Letter.model_fields)
EDITS = st.dictionaries(st.sampled_from([*NAMES, "secret"]), JSON, max_size=4) | st.fixed_dictionaries(
    {},
    optional={
        "to": st.text(max_size=22),
        "copies": st.integers(0, 6),
        "weight": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9, 9),
        "urgent": st.booleans(),
        "tone": st.sampled_from(["dry", "warm", "rude"]),
        "note": st.none() | st.text(max_size=5),
        "lines": st.lists(st.text(max_size=5), max_size=4),
    },
)


@given(edits=EDITS)
@settings(max_examples=60, deadline=None)
async def test_what_a_person_changed_runs_exactly_so_or_they_are_asked_again(edits: dict[str, Any]) -> None:
    """The arguments that run have the digest that was approved. Nothing is converted in between."""
    sent: list[dict[str, Any]] = []

    async def describe(_args: Mapping[str, Any]) -> Card:
        return Card("Send?")

    async def send(**letter: Any) -> str:
        sent.append(letter)
        return "sent"

    made = needs_approval(describe=describe, editable=NAMES)(tool("send", args_schema=Letter, description="Send.")(send))
    rows = Rows()
    with within(approvals=rows):
        graph = graph_of([made], calls(("c1", "send", GIVEN)))
        [asked] = (await graph.ainvoke(human(), CONFIG))["__interrupt__"]
        rows.row = a_row(asked.value, status="edited" if edits else "approved", answer={"approved": True, "edits": edits})
        state = await graph.ainvoke(Command(resume={asked.id: True}), CONFIG)
    final = {**GIVEN, **plain(edits)}
    if sent:
        assert rows.digests == [digest({**GIVEN, **edits_of({"edits": edits})})]
        assert json.dumps(sent[0], sort_keys=True) == json.dumps({**final, "weight": float(final["weight"])}, sort_keys=True)
        assert results(state)["c1"].text == "sent"
    else:
        [again] = state["__interrupt__"]
        card = again.value["middleCore"]["card"]
        assert (card["state"], card["fromModel"]) == ("invalid", GIVEN)
        assert card["problem"]
        assert rows.digests == []
        assert _wrong(final) or "secret" in edits


def _wrong(final: Mapping[str, Any]) -> bool:
    kinds = {"to": "text", "copies": "integer", "weight": "number", "urgent": "boolean", "lines": "list"}
    if any(not KINDS[kind][1](final[name]) for name, kind in kinds.items()) or type(final["note"]) not in {str, type(None)}:
        return True
    long = not 1 <= len(final["to"]) <= 20 or len(final["lines"]) > 3
    return long or final["tone"] not in ("dry", "warm") or not 1 <= final["copies"] <= 5
