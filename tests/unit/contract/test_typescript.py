"""The contract for browsers is what the models say, and nobody writes it by hand."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel

from middle_core import errors
from middle_core.contract.custom import VALUES
from middle_core.contract.wire import Absent, Camel
from middle_core.errors import ErrorCode
from middle_core.events import Custom
from tests import typescript


def test_the_committed_files_are_what_the_models_say() -> None:
    assert typescript.TYPESCRIPT.read_text(encoding="utf-8") == typescript.typescript(), "run make contract"
    assert typescript.JAVASCRIPT.read_text(encoding="utf-8") == typescript.javascript(), "run make contract"


def test_every_custom_event_has_a_model_of_its_value() -> None:
    assert set(VALUES) == set(Custom)


def test_every_code_is_one_of_an_error_and_every_error_has_one() -> None:
    leaves = {kind.code for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.MiddleCoreError)}
    assert leaves == set(ErrorCode)


def test_every_kind_of_field_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Inner(Camel):
        """Inside."""

        any_json: Any

    class Outer(Camel):
        """Two lines.

        The second.
        """

        some_text: str
        either: int | bool | None
        many: list[str | float]
        inner: Inner
        table: dict[str, Any]
        yes: Literal[True]
        perhaps: Absent[Inner] = None

    monkeypatch.setattr(typescript, "MODELS", [Outer])
    assert typescript.typescript().partition("/**\n")[2].partition("/** Our CUSTOM")[0] == (
        " * Two lines.\n"
        " *\n"
        " * The second.\n"
        " */\n"
        "export interface Outer {\n"
        "  readonly someText: string;\n"
        "  readonly either: number | boolean | null;\n"
        "  readonly many: readonly (string | number)[];\n"
        "  readonly inner: Inner;\n"
        "  readonly table: Readonly<Record<string, unknown>>;\n"
        "  readonly yes: true;\n"
        "  readonly perhaps?: Inner;\n"
        "}\n\n"
    )


def test_a_type_that_cannot_be_printed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd(BaseModel):
        pair: tuple[int, str]

    monkeypatch.setattr(typescript, "MODELS", [Odd])
    with pytest.raises(ValueError, match="not printed yet"):
        typescript.typescript()
