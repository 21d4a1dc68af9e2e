"""Reading Bicep: text that the grammar does not know is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.checks.bicep import NotBicep, read


def written(folder: Path, source: str, name: str = "main.bicep") -> Path:
    path = folder / name
    path.write_text(source, encoding="utf-8")
    return path


def test_declarations_are_found(tmp_path: Path) -> None:
    template = read(
        written(
            tmp_path,
            """
@description('Who.')
@secure()
param who string = 'x'
var twice = '${who}${who}'
resource there 'A.B/c@2020-01-01' existing = { name: who }
module more 'more.bicep' = if (who == 'x') { name: 'more', params: { a: 1 } }
output result string = twice
""",
        )
    )
    assert set(template.parameters["who"].decorators) == {"description", "secure"}
    assert template.parameters["who"].line == 4
    assert template.resources["there"].existing
    assert template.resources["there"].target == "A.B/c@2020-01-01"
    assert template.modules["more"].condition is not None
    assert list(template.outputs) == ["result"]
    assert list(template.variables) == ["twice"]


def test_a_parameter_file(tmp_path: Path) -> None:
    template = read(written(tmp_path, "using 'main.bicep'\n\nparam a = 3\nparam b = readEnvironmentVariable('B')\n", "x.bicepparam"))
    assert template.using == "main.bicep"
    assert list(template.given) == ["a", "b"]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("param a string\nresource b 'x@1' = {\n  name: \n", "main.bicep:"),
        ("param a string\nvar a = 1\n", "main.bicep:2: a is declared twice"),
        ("param list array\nresource b 'x@1' = [for i in list: { name: i }]\n", "loop"),
        ("type t = string\n", "do not know"),
    ],
)
def test_what_is_refused(tmp_path: Path, source: str, words: str) -> None:
    with pytest.raises(NotBicep, match=words):
        read(written(tmp_path, source))
