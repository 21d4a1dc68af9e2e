"""Write the contract again where browsers read it: `make contract`. Look at the difference before it is committed.

`middle_core/contract` is the definition. From its JSON Schema come frontend_core/contract/index.ts (types, and a constant list of each
set of words) and middle_core/graph_page/contract.js (the words that the graph page reads, as it has no build).
A schema-to-TypeScript tool would write the types alone: the lists, which code at run time needs, would still be ours to print, and to
keep in step with them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from middle_core.contract.cards import CARD_TOOL, MARK, REVIEW, ActionReview, Card, DecidedCard, QuestionOver, Verdict
from middle_core.contract.custom import VALUES
from middle_core.contract.info import Info
from middle_core.contract.messages import MessageMetadata
from middle_core.contract.outcomes import CallOutcome
from middle_core.contract.problems import Problem
from middle_core.contract.threads import RunItem, ThreadDetail, ThreadPage
from middle_core.errors import ErrorCode
from middle_core.events import OUTCOME, QUESTION_ACTIVITY, Custom
from middle_core.transports.chat.response import NodeOutcome, Status

ROOT: Final = Path(__file__).parents[1]
TYPESCRIPT: Final = ROOT / "frontend_core" / "contract" / "index.ts"
JAVASCRIPT: Final = ROOT / "middle_core" / "graph_page" / "contract.js"

MODELS: Final[Sequence[type[BaseModel]]] = (
    Problem,
    Info,
    ThreadPage,
    ThreadDetail,
    RunItem,
    CallOutcome,
    MessageMetadata,
    Card,
    Verdict,
    DecidedCard,
    QuestionOver,
    ActionReview,
    *VALUES.values(),
)
CONSTANTS: Final = {"CARD_TOOL": CARD_TOOL, "MARK": MARK, "REVIEW": REVIEW, "OUTCOME": OUTCOME, "QUESTION_ACTIVITY": QUESTION_ACTIVITY}
HEAD: Final = "// Written by `make contract` from middle_core/contract. Change the models there, not this file.\n"
SCALARS: Final = {"string": "string", "boolean": "boolean", "null": "null", "integer": "number", "number": "number"}


def typescript() -> str:
    """The file's text."""
    definitions = _definitions()
    lists = word_lists()
    blocks = [HEAD]
    blocks += [f"export const {name} = {json.dumps(value)};" for name, value in CONSTANTS.items()]
    blocks += [_list(name, words, definitions[name].get("description", "")) for name, words in lists.items()]
    blocks += [_interface(name, one) for name, one in definitions.items() if name not in lists]
    blocks.append(_customs())
    return "\n".join(blocks)


def javascript() -> str:
    """The graph page's file: the words of `/chat` that it reads, and the codes that it acts upon."""
    lists = {
        "ENDED_OUTCOMES": ("How a visit to a node ends.", get_args(NodeOutcome)),
        "ENDED_STATUSES": (
            "How a turn ends. One that paused has not ended.",
            [status for status in get_args(Status) if status != "paused"],
        ),
    }
    blocks = [f"// @ts-check\n{HEAD}"]
    blocks += [
        f"/** {about} */\nexport const {name} = /** @type {{const}} */ ({json.dumps(words)});\n" for name, (about, words) in lists.items()
    ]
    codes = "".join(f"  {code.name}: {json.dumps(code.value)},\n" for code in ErrorCode)
    blocks.append(f"/** Every `code` that an error may carry. */\nexport const ERROR_CODE = /** @type {{const}} */ ({{\n{codes}}});\n")
    return "\n".join(blocks)


def word_lists() -> dict[str, list[str]]:
    """Each set of words by its name."""
    return {name: one["enum"] for name, one in _definitions().items() if "enum" in one}


def _definitions() -> dict[str, dict[str, Any]]:
    _, schema = models_json_schema([(model, "serialization") for model in MODELS], by_alias=True)
    definitions: dict[str, dict[str, Any]] = schema["$defs"]
    return definitions


def _list(name: str, words: Sequence[str], about: str) -> str:
    """A set of words: the constant list and its type; and a name of each, if some are unmistakable."""
    constant = f"{_constant(name)} = [{', '.join(map(json.dumps, words))}] as const;"
    text = f"\n{_comment(about)}export const {constant}\nexport type {name} = (typeof {_constant(name)})[number];"
    if not any(map(compound, words)):
        return text
    return text + f"\nexport const {_snake(name)} = {{ {', '.join(f'{word.upper()}: {json.dumps(word)}' for word in words)} }} as const;"


def compound(word: str) -> bool:
    """Whether it can be no other word than the contract's. Nobody types such a one by hand: code names it, and a test looks for it."""
    return "_" in word or "." in word


def _snake(name: str) -> str:
    """`ToolOutcome` -> `TOOL_OUTCOME`."""
    return "".join(f"_{c}" if c.isupper() and at else c for at, c in enumerate(name)).upper()


def _constant(name: str) -> str:
    """`ToolOutcome` -> `TOOL_OUTCOMES`."""
    snake = _snake(name)
    return snake if snake == "REFUSED_BY" else f"{snake}ES" if snake.endswith("S") else f"{snake}S"


def _interface(name: str, schema: Mapping[str, Any]) -> str:
    fields = "".join(f"  readonly {line};\n" for line in _fields(schema))
    return f"\n{_comment(schema.get('description', ''))}export interface {name} {{\n{fields}}}"


def _fields(schema: Mapping[str, Any]) -> Iterator[str]:
    required = set(schema.get("required", ()))
    for name, one in schema["properties"].items():
        if name in required:
            yield f"{name}: {_type(one)}"
        else:
            choices = [choice for choice in one.get("anyOf", [one]) if choice.get("type") != "null"]
            yield f"{name}?: {_type({'anyOf': choices})}"


def _type(schema: Mapping[str, Any]) -> str:
    """The TypeScript type of what pydantic writes for the models here. Raises ValueError for what it does not know."""
    found: str
    match schema:
        case {"$ref": str(ref)}:
            found = ref.rpartition("/")[2]
        case {"const": value}:
            found = json.dumps(value)
        case {"anyOf": choices}:
            found = " | ".join(map(_type, choices))
        case {"type": "array", "items": items}:
            inner = _type(items)
            found = f"readonly ({inner})[]" if " | " in inner else f"readonly {inner}[]"
        case {"type": "object", "additionalProperties": True}:
            found = "Readonly<Record<string, unknown>>"
        case {"type": str(kind)} if kind in SCALARS:
            found = SCALARS[kind]
        case _ if not schema.keys() - {"title", "default", "description"}:
            found = "unknown"
        case _:
            raise ValueError(f"the contract has a type that is not printed yet: {schema}")
    return found


def _customs() -> str:
    names = "".join(f"  {name.name}: {json.dumps(name.value)},\n" for name in Custom)
    values = "".join(f"  readonly {json.dumps(name.value)}: {VALUES[name].__name__};\n" for name in Custom)
    return (
        f"\n/** Our CUSTOM events. */\nexport const CUSTOM = {{\n{names}}} as const;\n\n"
        f"/** The value of each. */\nexport interface CustomValues {{\n{values}}}\n\n"
        "export type CustomName = keyof CustomValues;\n"
    )


def _comment(about: str) -> str:
    lines = about.splitlines()
    if not lines:
        return ""
    return f"/** {lines[0]} */\n" if len(lines) == 1 else "/**\n" + "".join(f" * {line}".rstrip() + "\n" for line in lines) + " */\n"


def main() -> None:
    """Write the files."""
    TYPESCRIPT.parent.mkdir(exist_ok=True)
    TYPESCRIPT.write_text(typescript(), encoding="utf-8")
    JAVASCRIPT.write_text(javascript(), encoding="utf-8")


if __name__ == "__main__":
    main()
