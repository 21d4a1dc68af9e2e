"""Evaluating Bicep: values, values that only Azure knows, and wrong names and parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from infra.checks.plan import Later, idle, plan


def outputs(folder: Path, source: str, **given: Any) -> dict[str, Any]:
    path = folder / "main.bicep"
    path.write_text(source, encoding="utf-8")
    result = plan(path, {}, given)
    assert result.findings == []
    return result.outputs


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("'a${b}c'", "axc"),
        ("b == 'x' ? [1, 2] : []", [1, 2]),
        ("concat([1], b != 'x' ? [2] : [3])", [1, 3]),
        ("union({ a: 1 }, { b: 2 })", {"a": 1, "b": 2}),
        ("json('0.5')", 0.5),
        ("string(3)", "3"),
        ("!empty(b) && true || false", True),
        ("{ 'k-${b}': null }", {"k-x": None}),
        ("{ a: { c: [7] } }.a.c[0]", 7),
        ("uriComponent('p w/')", "p%20w%2F"),
        ("null ?? 'there'", "there"),
        ("-1 + 3 * 2", 5),
        ("'it\\'s'", "it's"),
    ],
)
def test_expressions(tmp_path: Path, expression: str, value: Any) -> None:
    assert outputs(tmp_path, f"param b string\noutput it object = {expression}\n", b="x") == {"it": value}


def test_what_only_azure_knows_stays_open(tmp_path: Path) -> None:
    source = "resource a 'T/t@1' existing = { name: 'n' }\noutput it string = 'https://${a.properties.fqdn}/'\n"
    [value] = outputs(tmp_path, source).values()
    assert value == "https://a.properties.fqdn/"
    assert isinstance(value, Later)


INNER = "param x int\n@allowed(['a', 'b'])\nparam y string = 'a'\n@minValue(2)\nparam n int = 2\noutput z int = x + n\nvar unused = y\n"


@pytest.mark.parametrize(
    ("params", "use", "words"),
    [
        ("{ x: 1 }", "m.outputs.z", []),
        ("{}", "m.outputs.z", ["needs the parameter x"]),
        ("{ x: 1, w: 2 }", "m.outputs.z", ["has no parameter w"]),
        ("{ x: 'one' }", "1", ["not of the type int"]),
        ("{ x: 1, y: 'c' }", "m.outputs.z", ["allowed are ['a', 'b']"]),
        ("{ x: 1, n: 1 }", "m.outputs.z", ["outside of 2"]),
        ("{ x: 1 }", "m.outputs.q", ["m has no output q"]),
        ("{ x: nothing }", "m.outputs.z", ["there is no nothing"]),
        ("{ x: frob(1) }", "m.outputs.z", ["function frob()"]),
    ],
)
def test_wiring(tmp_path: Path, params: str, use: str, words: list[str]) -> None:
    (tmp_path / "inner.bicep").write_text(INNER.replace("var unused = y\n", "output y string = y\n"), encoding="utf-8")
    main = tmp_path / "main.bicep"
    main.write_text(f"module m 'inner.bicep' = {{ name: 'm', params: {params} }}\noutput o int = {use}\n", encoding="utf-8")
    found = [str(finding) for finding in plan(main, {}).findings]
    assert [word for word in words if not any(word in text for text in found)] == []
    assert bool(found) == bool(words)


def test_a_declaration_that_nothing_uses(tmp_path: Path) -> None:
    main = tmp_path / "main.bicep"
    main.write_text("param lonely string\n", encoding="utf-8")
    assert ["lonely" in finding.text for finding in idle([plan(main, {}, {"lonely": "x"})])] == [True]


def test_an_object_that_no_parameters_lead_to_is_told(tmp_path: Path) -> None:
    main = tmp_path / "main.bicep"
    main.write_text("param a bool\noutput o object = a ? { x: 1 } : { y: 2 }\n", encoding="utf-8")
    one, other = plan(main, {}, {"a": True}), plan(main, {}, {"a": False})
    assert [finding.where for finding in idle([one])] == ["main.bicep:2"]
    assert idle([one, other]) == []
