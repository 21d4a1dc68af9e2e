"""Ids that are unique in a thread."""

from __future__ import annotations

from middle_core.runs.graph.ids import Ids


def test_a_free_id_is_taken_as_it_is() -> None:
    ids = Ids(["m1"], ["c1"])
    assert ids.message("m2") == "m2"
    assert ids.call("c2") == "c2"


def test_a_taken_or_missing_id_is_replaced() -> None:
    ids = Ids(["m1"], ["c1"])
    assert ids.message("m1", "run-1") == "run-1"
    assert ids.message(None, "run-2") == "run-2"
    assert ids.message("", None) != ids.message("", None)
    again = ids.message("m1", "run-1")
    assert again.startswith("m1-")
    assert ids.call("c1").startswith("c1-")
    assert ids.call(None).startswith("call_")
    assert ids.call("") != ""


def test_messages_and_calls_do_not_share_their_ids() -> None:
    assert Ids(["x"]).call("x") == "x"
