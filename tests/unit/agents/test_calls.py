"""Which calls are open, and a history that every provider accepts."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from middle_core.agents.calls import NOT_FINISHED, for_model, last_calls, open_calls
from tests.fakes.models import complaints
from tests.unit.agents.graphs import calls


def result(call_id: str, text: str = "done") -> ToolMessage:
    return ToolMessage(text, tool_call_id=call_id)


def shape(messages: list[AnyMessage]) -> list[str]:
    """Each message in short: u, a, a(ids), or the id of the call that a result answers."""
    return [
        f"a({','.join(str(c['id']) for c in m.tool_calls)})"
        if isinstance(m, AIMessage) and m.tool_calls
        else m.tool_call_id
        if isinstance(m, ToolMessage)
        else m.type[0]
        for m in messages
    ]


def test_a_history_without_faults_stays_as_it_is() -> None:
    history: list[AnyMessage] = [
        HumanMessage("q"),
        calls(("c0", "t", {}), ("c1", "t", {})),
        result("c0"),
        result("c1"),
        AIMessage("a"),
        HumanMessage("q"),
    ]
    assert for_model(history) == history


def test_a_call_without_a_result_gets_one_right_behind_it() -> None:
    fixed = for_model([HumanMessage("q"), calls(("c0", "t", {}), ("c1", "t", {})), result("c1"), HumanMessage("and?")])
    assert shape(fixed) == ["h", "a(c0,c1)", "c0", "c1", "h"]
    assert (fixed[2].content, fixed[3].content) == (NOT_FINISHED, "done")


def test_a_late_result_moves_to_its_call_and_strays_and_doubles_go() -> None:
    fixed = for_model([calls(("c0", "t", {})), HumanMessage("next"), result("c0"), result("c0", "again"), result("unknown")])
    assert shape(fixed) == ["a(c0)", "c0", "h"]
    assert fixed[1].content == "done"


def test_a_malformed_call_is_shown_as_one_without_arguments() -> None:
    broken = AIMessage("", id="m", invalid_tool_calls=[{"id": "c0", "name": "t", "args": "{", "error": None, "type": "invalid_tool_call"}])
    fixed = for_model([broken, result("c0", "not valid")])
    assert isinstance(fixed[0], AIMessage)
    assert fixed[0].tool_calls == [{"id": "c0", "name": "t", "args": {}, "type": "tool_call"}]
    assert fixed[0].invalid_tool_calls == []
    assert shape(fixed) == ["a(c0)", "c0"]
    assert broken.invalid_tool_calls, "the thread itself is not changed"


def test_an_id_used_again_pairs_each_call_with_its_own_result() -> None:
    history: list[AnyMessage] = [
        calls(("c", "t", {}), id="1"),
        result("c", "first"),
        calls(("c", "t", {}), id="2"),
        result("c", "second"),
        calls(("c", "t", {}), id="3"),
    ]
    assert [m.content for m in for_model(history) if isinstance(m, ToolMessage)] == ["first", "second", NOT_FINISHED]
    assert [call.key for call in last_calls(history)] == ["c@3"]


def test_a_missing_id_is_made_from_the_messages() -> None:
    asked = AIMessage(
        "",
        id="m",
        tool_calls=[{"id": None, "name": "t", "args": {}, "type": "tool_call"}, {"id": "", "name": "t", "args": {}, "type": "tool_call"}],
    )
    assert [call.id for call in last_calls([asked])] == ["m:0", "m:1"]


def test_only_what_the_newest_assistant_message_asks_is_open() -> None:
    asked = calls(("c0", "t", {}), ("c1", "t", {}), ("c1", "t", {}))
    assert [c.id for c in open_calls([asked, result("c0")])] == ["c1"]
    assert open_calls([asked, HumanMessage("never mind")]) == []
    assert open_calls([HumanMessage("q"), AIMessage("a")]) == []
    assert open_calls([]) == []


IDS = st.sampled_from(["a", "b", "c"])
MESSAGES = st.lists(
    st.one_of(
        st.builds(HumanMessage, st.just("q")),
        st.lists(IDS, max_size=3).map(lambda ids: calls(*[(i, "t", {}) for i in ids])),
        IDS.map(
            lambda i: AIMessage("", invalid_tool_calls=[{"id": i, "name": "t", "args": "{", "error": None, "type": "invalid_tool_call"}])
        ),
        IDS.map(result),
    ),
    max_size=12,
)


@settings(max_examples=200, deadline=None)
@given(history=MESSAGES)
def test_a_strict_provider_has_nothing_to_complain_of(history: list[AnyMessage]) -> None:
    fixed = for_model(history)
    assert complaints(fixed) == []
    assert [m for m in fixed if isinstance(m, HumanMessage)] == [m for m in history if isinstance(m, HumanMessage)]
    assert [m.text for m in fixed if isinstance(m, AIMessage) and m.text] == [
        m.text for m in history if isinstance(m, AIMessage) and m.text
    ]
    assert for_model(fixed) == fixed, "mending twice changes nothing"
