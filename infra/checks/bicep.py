"""Bicep files as declarations: parameters, variables, resources, modules, outputs. Refuses what the grammar does not know.

Evaluates nothing (that is `plan`) and knows nothing of Azure (that is `azure`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import tree_sitter_bicep
from tree_sitter import Language, Node, Parser

Value = Any
"""The value of an expression: JSON, or a text that only Azure can fill in (`plan.Later`)."""

_LANGUAGE: Final = Language(tree_sitter_bicep.language())


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, and where (`file:line`)."""

    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


class NotBicep(Exception):
    """The file cannot be read as Bicep."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """`type` is the written type; `decorators` are name to argument nodes (`{"secure": []}`)."""

    type: str
    default: Node | None
    decorators: dict[str, list[Node]]
    line: int


@dataclass(frozen=True, slots=True)
class Block:
    """A resource or a module: `target` is `type@version` or the module's file."""

    target: str
    existing: bool
    condition: Node | None
    body: Node
    line: int


@dataclass(slots=True)
class Template:
    """One file."""

    path: Path
    name: str
    source: str
    parameters: dict[str, Parameter] = field(default_factory=dict)
    variables: dict[str, Node] = field(default_factory=dict)
    resources: dict[str, Block] = field(default_factory=dict)
    modules: dict[str, Block] = field(default_factory=dict)
    outputs: dict[str, Node] = field(default_factory=dict)
    given: dict[str, Node] = field(default_factory=dict)
    """The values that a parameter file gives."""
    using: str = ""
    objects: dict[int, int] = field(default_factory=dict)
    """The start of each object literal, and its line. `plan` records which of them it has evaluated."""


def text_of(node: Node) -> str:
    """The source of a node."""
    return (node.text or b"").decode()


def line_of(node: Node) -> int:
    """Its line, from 1."""
    return node.start_point.row + 1


def plain(node: Node) -> str:
    """A string literal without interpolation."""
    return "".join(text_of(part) for part in node.named_children if part.type == "string_content")


def named(node: Node) -> list[Node]:
    """The children that are not punctuation."""
    return [child for child in node.named_children if child.type != "comment"]


def read(path: Path) -> Template:
    """A `.bicep` or `.bicepparam` file. Raises `NotBicep` with its line."""
    return _read(path, path.read_text(encoding="utf-8"))


@cache
def _read(path: Path, source: str) -> Template:
    template = Template(path, path.name, source)
    if path.suffix == ".bicepparam":
        # The grammar does not know a parameter without its type; a variable of the same length is read the same way.
        source = "\n".join("var  " + line[5:] if line.startswith("param") else line for line in source.splitlines())
    root = Parser(_LANGUAGE).parse(source.encode()).root_node
    for node in _walk(root):
        if node.type == "ERROR" or node.is_missing:
            raise NotBicep(f"{path.name}:{line_of(node)}: not Bicep near {text_of(node)[:40]!r}.")
    decorators: dict[str, list[Node]] = {}
    for node in named(root):
        if node.type == "decorators":
            decorators = _decorators(node)
            continue
        _declare(template, node, decorators)
        decorators = {}
    if template.using:
        template.given, template.variables = template.variables, {}
    return template


def _declare(template: Template, node: Node, decorators: dict[str, list[Node]]) -> None:
    parts = named(node)
    if node.type == "using_statement":
        template.using = plain(parts[0])
        return
    if node.type == "target_scope_assignment":
        return
    name = text_of(parts[0])
    known = template.parameters.keys() | template.variables.keys() | template.resources.keys() | template.modules.keys()
    if node.type != "output_declaration" and name in known:
        raise NotBicep(f"{template.name}:{line_of(node)}: {name} is declared twice.")
    match node.type:
        case "parameter_declaration":
            default = parts[2] if len(parts) > 2 else None
            template.parameters[name] = Parameter(text_of(parts[1]), default, decorators, line_of(node))
        case "variable_declaration":
            template.variables[name] = parts[1]
        case "output_declaration":
            template.outputs[name] = parts[2]
        case "resource_declaration" | "module_declaration":
            body, condition = parts[-1], None
            if body.type == "if_statement":
                inner = named(body)
                condition, body = named(inner[0])[0], inner[-1]
            if body.type != "object":
                raise NotBicep(f"{template.name}:{line_of(node)}: {name} is a loop; the checks read single resources only.")
            existing = any(child.type == "existing" for child in node.children)
            kind = template.resources if node.type == "resource_declaration" else template.modules
            kind[name] = Block(plain(parts[1]), existing, condition, body, line_of(node))
        case _:
            raise NotBicep(f"{template.name}:{line_of(node)}: the checks do not know {node.type!r}.")
    template.objects.update({inner.start_byte: line_of(inner) for inner in _walk(node) if inner.type == "object" and inner.children})


def _decorators(node: Node) -> dict[str, list[Node]]:
    found = {}
    for decorator in named(node):
        call = named(decorator)[0]
        function, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
        if function is not None and arguments is not None:
            found[text_of(function)] = named(arguments)
    return found


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _walk(child)
