"""What Azure would refuse in a resource's body: API version, unknown or missing properties, wrong types, values that are not allowed.

The shapes come from Azure's own Python packages; each package is made from one API version. Two small resource types, with three
properties in all, are written down here instead. Knows nothing of our apps (that is `apps`).
"""

from __future__ import annotations

import enum
import importlib
import inspect
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final

from infra.checks.bicep import Finding, Value
from infra.checks.plan import Body, Later, Resource

BY_BICEP: Final = frozenset({"name", "parent", "scope", "dependsOn"})
"""Properties of a resource that Bicep itself reads."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A resource type: its API version, and the model of its body (`package:class`)."""

    version: str
    model: str


_APP: Final = "2025-07-01"
_NETWORK: Final = "2026-03-01"
_DATABASE: Final = "2026-10-01"
_VAULT: Final = "2026-05-15"
_DNS: Final = "2024-06-01"
_CDN: Final = "2026-10-01"

KINDS: Final[Mapping[str, Kind]] = {
    "Microsoft.App/managedEnvironments": Kind(_APP, "appcontainers:ManagedEnvironment"),
    "Microsoft.App/containerApps": Kind(_APP, "appcontainers:ContainerApp"),
    "Microsoft.App/jobs": Kind(_APP, "appcontainers:Job"),
    "Microsoft.Cdn/profiles": Kind(_CDN, "cdn:Profile"),
    "Microsoft.Cdn/profiles/afdEndpoints": Kind(_CDN, "cdn:AFDEndpoint"),
    "Microsoft.Cdn/profiles/originGroups": Kind(_CDN, "cdn:AFDOriginGroup"),
    "Microsoft.Cdn/profiles/originGroups/origins": Kind(_CDN, "cdn:AFDOrigin"),
    "Microsoft.Cdn/profiles/afdEndpoints/routes": Kind(_CDN, "cdn:Route"),
    "Microsoft.ContainerInstance/containerGroups": Kind("2023-05-01", "containerinstance:ContainerGroup"),
    "Microsoft.ContainerRegistry/registries": Kind("2025-11-01", "containerregistry:Registry"),
    "Microsoft.DBforPostgreSQL/flexibleServers": Kind(_DATABASE, "postgresqlflexibleservers:Server"),
    "Microsoft.DBforPostgreSQL/flexibleServers/databases": Kind(_DATABASE, "postgresqlflexibleservers:Database"),
    "Microsoft.DBforPostgreSQL/flexibleServers/configurations": Kind(_DATABASE, "postgresqlflexibleservers:Configuration"),
    "Microsoft.KeyVault/vaults": Kind(_VAULT, "keyvault:VaultCreateOrUpdateParameters"),
    "Microsoft.KeyVault/vaults/secrets": Kind(_VAULT, "keyvault:SecretCreateOrUpdateParameters"),
    "Microsoft.Network/applicationGateways": Kind(_NETWORK, "network:ApplicationGateway"),
    "Microsoft.Network/publicIPAddresses": Kind(_NETWORK, "network:PublicIPAddress"),
    "Microsoft.Network/virtualNetworks": Kind(_NETWORK, "network:VirtualNetwork"),
    "Microsoft.Network/privateDnsZones": Kind(_DNS, "privatedns:PrivateZone"),
    "Microsoft.Network/privateDnsZones/virtualNetworkLinks": Kind(_DNS, "privatedns:VirtualNetworkLink"),
    "Microsoft.OperationalInsights/workspaces": Kind("2025-07-01", "loganalytics:Workspace"),
    "Microsoft.Authorization/roleAssignments": Kind("2022-04-01", "here:RoleAssignment"),
    "Microsoft.ManagedIdentity/userAssignedIdentities": Kind("2024-11-30", "here:Identity"),
}


@dataclass(frozen=True, slots=True)
class Property:
    """annotation: a typing object, or a `Shape` where a model has flattened nested objects into one level."""

    annotation: Any
    read_only: bool = False
    required: bool = False


@dataclass(slots=True)
class Shape:
    """The properties of an object. package: the module that defines the names in its annotations."""

    name: str
    package: str
    properties: dict[str, Property] = field(default_factory=dict)


BY_HAND: Final = {
    "RoleAssignment": Shape(
        "RoleAssignment",
        "here",
        {
            "properties": Property(
                Shape(
                    "RoleAssignmentProperties",
                    "here",
                    {
                        "principalId": Property(str, required=True),
                        "roleDefinitionId": Property(str, required=True),
                        "principalType": Property(str),
                    },
                ),
                required=True,
            )
        },
    ),
    "Identity": Shape("Identity", "here", {"location": Property(str, required=True), "tags": Property(dict[str, str])}),
}


def check(resource: Resource) -> list[Finding]:
    """What Azure would refuse, with the line in the Bicep."""
    if (kind := KINDS.get(resource.type)) is None:
        return [Finding(resource.body.where, f"the checks have no model of {resource.type}.")]
    findings = []
    if resource.version != kind.version:
        findings.append(
            Finding(resource.body.where, f"{resource.type} is of {resource.version}; the models that check it are of {kind.version}.")
        )
    package, _, model = kind.model.partition(":")
    body = Body(resource.body.where, {name: value for name, value in resource.body.items() if name not in BY_BICEP})
    return findings + _check(body, shape_of(package, model), resource.type, resource.body.where)


@cache
def shape_of(package: str, model: str) -> Shape:
    """The shape of a model. Raises LookupError if the package does not have the model."""
    if package == "here":
        return BY_HAND[model]
    found = getattr(importlib.import_module(f"azure.mgmt.{package}.models"), model, None)
    if found is None:
        raise LookupError(f"azure-mgmt-{package} has no model {model}.")
    return _classic(package, found) if hasattr(found, "_attribute_map") else _typed(package, found)


def _classic(package: str, model: type[Any]) -> Shape:
    """A model with `_attribute_map`. Dots in its keys are flattened levels; the constructor's parameters are the writable properties."""
    shape = Shape(model.__name__, package)
    arguments = inspect.signature(model.__init__).parameters
    rules: Mapping[str, Mapping[str, bool]] = getattr(model, "_validation", {})
    for attribute, entry in model._attribute_map.items():  # noqa: SLF001 - the models' own description of themselves
        *levels, last = entry["key"].replace("\\.", ".").split(".")
        at = shape
        for level in levels:
            known = at.properties.setdefault(level, Property(Shape(f"{model.__name__}.{level}", package)))
            at = known.annotation
        argument = arguments.get(attribute)
        at.properties[last] = Property(
            Any if argument is None else argument.annotation,
            read_only=argument is None,
            required=bool(rules.get(attribute, {}).get("required")),
        )
    return shape


def _typed(package: str, model: type[Any]) -> Shape:
    """A model of typed fields, including those of its base classes."""
    shape = Shape(model.__name__, package)
    for base in reversed(model.__mro__):
        for attribute, rest in vars(base).items():
            if type(rest).__name__ != "_RestField":
                continue
            annotation = base.__annotations__.get(attribute, Any)
            visibility = rest._visibility  # noqa: SLF001 - a typed field describes itself there only
            shape.properties[rest._rest_name_input or attribute] = Property(  # noqa: SLF001 - its name on the wire
                annotation,
                read_only=visibility == ["read"],
                required=type(None) not in typing.get_args(annotation) and visibility != ["read"],
            )
    return shape


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an annotation allows. items: the annotation of a list's items. entries: the annotation of a map's values."""

    anything: bool = False
    shape: Shape | None = None
    values: tuple[str, ...] = ()
    scalars: tuple[type, ...] = ()
    items: Any = None
    entries: Any = None

    def __str__(self) -> str:
        """In words, for a finding."""
        if self.values:
            return f"one of {', '.join(self.values)}"
        kinds = [*(kind.__name__ for kind in self.scalars), *(["a list"] if self.items is not None else [])]
        return " or ".join(kinds) or "an object"


def _wanted(annotation: Any, package: str) -> Wanted:
    if isinstance(annotation, Shape):
        return Wanted(shape=annotation)
    wanted = Wanted()
    for choice in _choices(annotation, package):
        origin = typing.get_origin(choice)
        if choice is Any:
            return Wanted(anything=True)
        if isinstance(choice, Shape):
            wanted = replace(wanted, shape=choice)
        elif origin is not None and issubclass(origin, Mapping):
            wanted = replace(wanted, entries=typing.get_args(choice)[1])
        elif origin is not None:
            wanted = replace(wanted, items=typing.get_args(choice)[0])
        elif issubclass(choice, enum.Enum):
            wanted = replace(wanted, values=tuple(str(member.value) for member in choice))
        elif choice is not type(None):
            wanted = replace(wanted, scalars=(*wanted.scalars, choice))
    return wanted


def _choices(annotation: Any, package: str) -> list[Any]:
    """The alternatives of an annotation, with names looked up: types, enums, `Shape`s, generics, `Any`."""
    if typing.get_origin(annotation) is typing.Union:
        return [choice for part in typing.get_args(annotation) for choice in _choices(part, package)]
    name = annotation.__forward_arg__ if isinstance(annotation, typing.ForwardRef) else annotation
    if not isinstance(name, str):
        return [annotation]
    found = getattr(importlib.import_module(f"azure.mgmt.{package}.models"), name.rpartition(".")[2], Any)
    return [found if found is Any or issubclass(found, enum.Enum) else shape_of(package, found.__name__)]


def _check(value: Mapping[str, Value], shape: Shape, path: str, where: str) -> list[Finding]:
    where = value.where if isinstance(value, Body) else where
    missing = [name for name, known in shape.properties.items() if known.required and value.get(name) is None]
    findings = [Finding(where, f"{path} needs {name}.") for name in missing]
    for name, item in value.items():
        if (known := shape.properties.get(name)) is None:
            findings.append(Finding(where, f"{path} has no property {name}; there are {', '.join(sorted(shape.properties))}."))
        elif known.read_only:
            findings.append(Finding(where, f"{path}.{name} is Azure's to set."))
        elif item is not None:
            findings += [
                Finding(found.where or where, found.text)
                for found in _check_value(item, _wanted(known.annotation, shape.package), shape.package, f"{path}.{name}")
            ]
    return findings


def _check_value(value: Value, wanted: Wanted, package: str, path: str) -> list[Finding]:
    """Findings about one value. `where` is empty if the value has no line of its own."""
    if isinstance(value, Mapping) and wanted.shape is not None:
        return _check(value, wanted.shape, path, "")
    if isinstance(value, Mapping) and wanted.entries is not None:
        inner = _wanted(wanted.entries, package)
        return [finding for name, item in value.items() for finding in _check_value(item, inner, package, f"{path}.{name}")]
    if isinstance(value, list) and wanted.items is not None:
        inner = _wanted(wanted.items, package)
        return [finding for index, item in enumerate(value) for finding in _check_value(item, inner, package, f"{path}[{index}]")]
    if wanted.anything or isinstance(value, Later) or _is_scalar(value, wanted):
        return []
    return [Finding("", f"{path} is {value!r}; it should be {wanted}.")]


def _is_scalar(value: Value, wanted: Wanted) -> bool:
    if wanted.values:
        return str(value).lower() in {known.lower() for known in wanted.values}
    if isinstance(value, bool):
        return bool in wanted.scalars
    # JSON has one kind of number.
    return isinstance(value, (*wanted.scalars, int) if float in wanted.scalars else wanted.scalars)
