"""Evaluates a template with its parameters: computes expressions, follows modules, and checks that names and parameters match.

A value that only Azure knows (an id, an address) stays a `Later`, a text that says where it comes from. Knows nothing of resource types.
"""

from __future__ import annotations

import base64
import operator
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tree_sitter import Node

from infra.checks.bicep import Block, Finding, NotBicep, Parameter, Template, Value, line_of, named, read, text_of


class Later(str):
    """A value that only Azure knows, as the expression that asks for it. Its members are `Later` too."""

    __slots__ = ()


class Body(dict[str, Any]):
    """An object, and the line where it is written."""

    def __init__(self, where: str, *args: Any) -> None:
        super().__init__(*args)
        self.where = where


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource that would be made. module: the names of the modules that lead to it, separated by `/`."""

    module: str
    name: str
    type: str
    version: str
    body: Body


@dataclass(slots=True)
class Plan:
    """The resources, and the faults that were found.

    given: the parameters. unused: declarations that nothing uses; other checks still run. seen: the object literals that were
    evaluated, by file and start.
    """

    given: Mapping[str, Value] = field(default_factory=dict)
    resources: list[Resource] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    unused: dict[Finding, None] = field(default_factory=dict)
    outputs: dict[str, Value] = field(default_factory=dict)
    templates: dict[Path, Template] = field(default_factory=dict)
    seen: set[tuple[Path, int]] = field(default_factory=set)

    def of(self, type_: str) -> list[Resource]:
        """The resources of a type."""
        return [resource for resource in self.resources if resource.type == type_]


class _Cannot(Exception):
    """An expression cannot be evaluated."""


def plan(path: Path, environment: Mapping[str, str], more: Mapping[str, Value] | None = None) -> Plan:
    """What `path` (a parameter file, or a template with `more` as its parameters) deploys.

    environment: what `readEnvironmentVariable` finds. Raises `bicep.NotBicep`.
    """
    result = Plan()
    given: dict[str, Value] = dict(more or {})
    if path.suffix == ".bicepparam":
        parameters = read(path)
        scope = _Scope(result, parameters, "", {}, environment)
        given = {name: scope.work(node) for name, node in parameters.given.items()} | given
        path = path.with_name(parameters.using)
    result.given = given
    scope = _enter(result, path, given, environment, module="", where=path.name)
    result.outputs = {name: scope.work(node) for name, node in scope.template.outputs.items()}
    return result


def _enter(result: Plan, path: Path, given: Mapping[str, Value], environment: Mapping[str, str], *, module: str, where: str) -> _Scope:
    if not path.is_file():
        raise NotBicep(f"{where}: there is no {path.name}.")
    template = result.templates[path] = read(path)
    scope = _Scope(result, template, module, given, environment)
    scope.check_given(where)
    for name, block in template.modules.items():
        scope.module(name, block)
    for name, block in template.resources.items():
        scope.resource(name, block)
    for name in template.outputs:
        scope.work(template.outputs[name])
    scope.check_used()
    return scope


class _Scope:
    """One template with its parameters."""

    def __init__(self, result: Plan, template: Template, module: str, given: Mapping[str, Value], environment: Mapping[str, str]) -> None:
        self.template = template
        self._plan = result
        self._module = module
        self._given = given
        self._environment = environment
        self._modules: dict[str, Mapping[str, Value]] = {}
        self._names: dict[str, Value] = {}
        self._used: set[str] = set()
        self._functions: dict[str, Callable[..., Value]] = {
            **_FUNCTIONS,
            "loadTextContent": lambda name: (template.path.parent / name).read_text(encoding="utf-8"),
            "readEnvironmentVariable": self._read_variable,
        }

    # declarations ----------------------------------------------------------------------------------
    def check_given(self, where: str) -> None:
        for name in self._given.keys() - self.template.parameters.keys():
            self._find(where, f"{self.template.name} has no parameter {name}.")
        for name, parameter in self.template.parameters.items():
            if name not in self._given and parameter.default is None:
                self._find(where, f"{self.template.name} needs the parameter {name}.")
                self._names[name] = Later(name)
            elif name in self._given and not isinstance(self._given[name], Later):
                self._check_value(where, name, parameter, self._given[name])

    def check_used(self) -> None:
        declared = self.template.parameters.keys() | self.template.variables.keys()
        for name in sorted(declared - self._used):
            # An expression that was not needed this time may use it.
            if self.template.source.count(name) < 2:
                self._plan.unused[Finding(self.template.name, f"{name} is declared and not used.")] = None

    def module(self, name: str, block: Block) -> None:
        if not self._wanted(block):
            return
        body = self.work(block.body)
        where = f"{self.template.name}:{block.line}"
        path = self.template.path.parent / block.target
        inner = f"{self._module}/{name}".strip("/")
        scope = _enter(self._plan, path, body.get("params", {}), self._environment, module=inner, where=f"{where} ({name})")
        self._modules[name] = {key: scope.work(node) for key, node in scope.template.outputs.items()}

    def resource(self, name: str, block: Block) -> None:
        type_, _, version = block.target.partition("@")
        if block.existing:
            self.work(block.body)
        elif self._wanted(block):
            self._plan.resources.append(Resource(self._module, name, type_, version, self.work(block.body)))

    def _wanted(self, block: Block) -> bool:
        return block.condition is None or bool(self.work(block.condition))

    def _check_value(self, where: str, name: str, parameter: Parameter, value: Value) -> None:
        expected = {"string": str, "int": int, "bool": bool, "object": dict, "array": list, "string[]": list}.get(parameter.type)
        if expected is not None and (not isinstance(value, expected) or (expected is int and isinstance(value, bool))):
            self._find(where, f"{name} is {value!r}, and not of the type {parameter.type}.")
            return
        rules = {rule: self.work(nodes[0]) for rule, nodes in parameter.decorators.items() if nodes and rule != "description"}
        if "allowed" in rules and value not in rules["allowed"]:
            self._find(where, f"{name} is {value!r}; allowed are {rules['allowed']}.")
        size = len(value) if isinstance(value, str) else value
        low, high = rules.get("minValue", rules.get("minLength")), rules.get("maxValue", rules.get("maxLength"))
        if (low is not None and size < low) or (high is not None and size > high):
            self._find(where, f"{name} is {value!r}, outside of {low} to {high}.")

    # expressions -----------------------------------------------------------------------------------
    def work(self, node: Node) -> Value:
        """The value of the expression. If it has a fault, that becomes a finding, and the value is a `Later`."""
        try:
            return self._work(node)
        except _Cannot as error:
            fault = str(error)
        except (TypeError, ValueError, AttributeError, OSError) as error:  # an operator or a function got a wrong value
            fault = f"{text_of(node)} cannot be worked out: {error}"
        self._find(f"{self.template.name}:{line_of(node)}", fault)
        return Later(text_of(node))

    def _work(self, node: Node) -> Value:  # noqa: C901, PLR0911, PLR0912 - one case for each kind of expression
        parts = named(node)
        match node.type:
            case "string":
                return self._string(node)
            case "number":
                return int(text_of(node))
            case "boolean":
                return text_of(node) == "true"
            case "null":
                return None
            case "identifier":
                return self._name(text_of(node))
            case "array":
                return [self.work(part) for part in parts]
            case "object":
                self._plan.seen.add((self.template.path, node.start_byte))
                return Body(f"{self.template.name}:{line_of(node)}", [self._property(part) for part in parts])
            case "parenthesized_expression":
                return self.work(parts[0])
            case "ternary_expression":
                condition, yes, no = parts
                return self.work(yes if self.work(condition) else no)
            case "unary_expression":
                value = self.work(parts[0])
                return -value if text_of(node).startswith("-") else not value
            case "binary_expression":
                return self._binary(node)
            case "member_expression":
                return self._member(self.work(parts[0]), text_of(parts[-1]), node)
            case "subscript_expression":
                return self._member(self.work(parts[0]), self.work(parts[1]), node)
            case "call_expression":
                return self._call(node)
            case _:
                raise _Cannot(f"the checks cannot work out {node.type!r}.")

    def _string(self, node: Node) -> str:
        later, text = False, ""
        for part in node.named_children:
            if part.type == "interpolation":
                value = self.work(named(part)[0])
                later = later or isinstance(value, Later)
                text += f"{value}"
            else:
                text += text_of(part).removeprefix("\\") if part.type == "escape_sequence" else text_of(part)
        return Later(text) if later else text

    def _property(self, node: Node) -> tuple[str, Value]:
        key, value = named(node)
        return (str(self.work(key)) if key.type == "string" else text_of(key)), self.work(value)

    def _name(self, name: str) -> Value:
        self._used.add(name)
        template = self.template
        if name not in self._names:
            if name in self._given:
                self._names[name] = self._given[name]
            elif name in template.parameters:
                default = template.parameters[name].default
                self._names[name] = Later(name) if default is None else self.work(default)
            elif name in template.variables:
                self._names[name] = self.work(template.variables[name])
            elif name in template.resources:
                self._names[name] = Later(f"{self._module}/{name}".strip("/"))
            elif name in template.modules:
                self._names[name] = Later(name)
            else:
                raise _Cannot(f"there is no {name}.")
        return self._names[name]

    def _member(self, value: Value, member: Value, node: Node) -> Value:
        if isinstance(value, Later):
            module, _, rest = value.partition(".")
            if module in self.template.modules and rest == "outputs" and module in self._modules:
                if member not in self._modules[module]:
                    raise _Cannot(f"{module} has no output {member}.")
                return self._modules[module][member]
            return Later(f"{value}.{member}")
        try:
            return value[member]
        except (KeyError, IndexError, TypeError):
            raise _Cannot(f"{text_of(node)}: there is no {member!r}.") from None

    def _binary(self, node: Node) -> Value:
        left, right = (node.child_by_field_name(side) for side in ("left", "right"))
        sign = node.child_by_field_name("operator")
        assert left is not None
        assert right is not None
        assert sign is not None
        first = self.work(left)
        match text_of(sign):
            case "&&":
                return bool(first) and bool(self.work(right))
            case "||":
                return bool(first) or bool(self.work(right))
            case "??":
                return self.work(right) if first is None else first
        second = self.work(right)
        if isinstance(first, Later) or isinstance(second, Later):
            raise _Cannot(f"{text_of(node)} depends on what only Azure knows.")
        if (work := _OPERATORS.get(text_of(sign))) is None:
            raise _Cannot(f"the checks do not know the operator {text_of(sign)!r}.")
        return work(first, second)

    def _call(self, node: Node) -> Value:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        assert function is not None
        assert arguments is not None
        values = [self.work(argument) for argument in named(arguments)]
        if function.type == "member_expression":
            return Later(f"{self.work(named(function)[0])}.{text_of(named(function)[-1])}()")
        name = text_of(function)
        if name not in self._functions:
            raise _Cannot(f"the checks do not know the function {name}().")
        return self._functions[name](*values)

    def _read_variable(self, name: str, default: str | None = None) -> str:
        value = self._environment.get(name, default)
        if value is None:
            raise _Cannot(f"the environment variable {name} is not set, and has no default.")
        return value

    def _find(self, where: str, text: str) -> None:
        finding = Finding(where, text)
        if finding not in self._plan.findings:
            self._plan.findings.append(finding)


def _later(name: str) -> Callable[..., Later]:
    return lambda *values: Later(f"{name}({', '.join(map(str, values))})")


def _union(first: Mapping[str, Value], *more: Mapping[str, Value]) -> Body:
    merged = Body(first.where if isinstance(first, Body) else "", first)
    for other in more:
        merged |= other
    return merged


def _number(text: str) -> float | int:
    return float(text) if "." in text else int(text)


_OPERATORS: Final[Mapping[str, Callable[[Any, Any], Value]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
_FUNCTIONS: Final[Mapping[str, Callable[..., Value]]] = {
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "concat": lambda *lists: [item for part in lists for item in part],
    "empty": lambda value: not value,
    "guid": _later("guid"),
    "json": _number,
    "resourceGroup": _later("resourceGroup"),
    "resourceId": _later("resourceId"),
    "string": str,
    "subscription": _later("subscription"),
    "subscriptionResourceId": _later("subscriptionResourceId"),
    "toLower": lambda text: text if isinstance(text, Later) else text.lower(),
    "union": _union,
    "uniqueString": _later("uniqueString"),
    "uriComponent": lambda text: Later(text) if isinstance(text, Later) else urllib.parse.quote(text, safe=""),
}


def idle(plans: list[Plan]) -> list[Finding]:
    """Declarations that nothing uses, and object literals that no plan evaluated, so that no check has seen them."""
    seen = set().union(*(result.seen for result in plans))
    templates = {path: template for result in plans for path, template in result.templates.items()}
    unused = dict.fromkeys(finding for result in plans for finding in result.unused)
    return [*unused] + [
        Finding(f"{template.name}:{line}", "no set of parameters leads here, so nothing has checked this.")
        for path, template in templates.items()
        for start, line in template.objects.items()
        if (path, start) not in seen
    ]
