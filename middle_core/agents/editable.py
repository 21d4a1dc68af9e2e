"""An argument that a person may change before they approve: of which kind it is, how a page asks for it, what does not fit.

    text, number, integer, boolean, choice (one of given values), list (of texts); each may be allowed to be empty (null)

Read from the tool's own JSON schema, once, where the tool is guarded. A change is taken only as what it is: `"5"` is no
number and `1` is no yes, although pydantic would take them. Limits and everything finer are the tool's schema's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

WANTED: Final = {
    "text": "a text is needed",
    "number": "a number is needed",
    "integer": "a whole number is needed",
    "boolean": "yes or no is needed",
    "choice": "one of the given values is needed",
    "list": "a list of texts is needed",
}
_TYPES: Final = {"string": "text", "number": "number", "integer": "integer", "boolean": "boolean"}
_LIMITS: Final = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")


@dataclass(frozen=True, slots=True)
class Editable:
    """One argument. kind: a key of `WANTED`. options: of a choice. nullable: whether it may be left empty. limits: for the page."""

    name: str
    kind: str
    options: tuple[Any, ...] = ()
    nullable: bool = False
    limits: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, name: str, schema: Mapping[str, Any]) -> Editable:
        """The argument of this name of an object's JSON schema. Raises ValueError for a kind that no card can ask for."""
        found, nullable = _plain(schema["properties"][name], schema.get("$defs", {}))
        options = found.get("enum", [found["const"]] if "const" in found else None)
        limits = tuple((key, found[key]) for key in _LIMITS if key in found)
        if options is not None and all(isinstance(one, str | int | float) for one in options):
            return cls(name, "choice", tuple(options), nullable)
        if found.get("type") == "array":
            items, holes = _plain(found.get("items") or {}, schema.get("$defs", {}))
            if items.get("type") == "string" and "enum" not in items and not holes:
                longest = (("itemMaxLength", items["maxLength"]),) if "maxLength" in items else ()
                return cls(name, "list", (), nullable, limits + longest)
        elif found.get("type") in _TYPES and options is None:
            return cls(name, _TYPES[found["type"]], (), nullable, limits)
        raise ValueError(f"{name} cannot be edited on a card: only texts, numbers, yes or no, a choice of those, and lists of texts can.")

    @property
    def form(self) -> dict[str, Any]:
        """What the page needs to ask for it, as JSON."""
        form: dict[str, Any] = {"name": self.name, "kind": self.kind, "nullable": self.nullable, **dict(self.limits)}
        return {**form, "options": list(self.options)} if self.kind == "choice" else form

    def fault(self, value: Any) -> str | None:
        """Why this cannot be the argument, in words for the person; None if its kind is right."""
        return None if (value is None and self.nullable) or self._fits(value) else f"{self.name}: {WANTED[self.kind]}."

    def _fits(self, value: Any) -> bool:
        match self.kind:
            case "text":
                return isinstance(value, str)
            case "number":
                return isinstance(value, int | float) and not isinstance(value, bool)
            case "integer":
                return isinstance(value, int) and not isinstance(value, bool)
            case "boolean":
                return isinstance(value, bool)
            case "choice":
                # 1 == True == 1.0 in Python, and they are different values in JSON.
                return any(type(value) is type(one) and value == one for one in self.options)
            case _:
                return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _plain(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """The schema without its references and without "or null", and whether null was allowed."""
    while "$ref" in schema:
        schema = defs[str(schema["$ref"]).removeprefix("#/$defs/")]
    choices = schema.get("anyOf")
    if choices is None:
        return schema, False
    left = [one for one in choices if one.get("type") != "null"]
    if len(left) != 1:
        return {}, False
    found, deeper = _plain(left[0], defs)
    return found, deeper or len(left) < len(choices)
