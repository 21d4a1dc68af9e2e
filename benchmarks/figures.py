"""Ratios with their spread. Absolute times mean little on a shared machine, so each figure is measured beside the SDK's."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One line of the table. ok: whether the goal is met by the median."""

    what: str
    measured: str
    goal: str
    ok: bool

    def row(self) -> str:
        """As a row of a Markdown table."""
        return f"| {self.what} | {self.measured} | {self.goal} | {'yes' if self.ok else '**no**'} |"


HEADER = "| what | measured (median, spread over the rounds) | goal | met |\n|---|---|---|---|"


def spread(values: Sequence[float], form: str = "{:.2f}") -> str:
    """`median (min to max)`."""
    middle, low, high = (form.format(value) for value in (statistics.median(values), min(values), max(values)))
    return f"{middle} ({low} to {high})"


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
