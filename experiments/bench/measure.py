"""What a measure says: its figures, and the goals that they are held against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any, Literal

#: What the figures of a record mean, for the file that holds them.
LEGEND = {
    "value": "the median of the samples, or the one figure where n is 1 or the note says so",
    "baseline": "what value is compared with, measured in the same run; null if there is nothing",
    "ratio": "baseline / value for engine_*, episode_* and token_* (how many times as fast), else value / baseline",
    "n": "samples, or episodes or games where the note says so",
    "spread": "interquartile range of the value's samples, in its unit; null if there is one sample",
}


class BenchError(Exception):
    """Nothing can be measured: the message says why."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure of a measure, and what it should be at most or at least."""

    figure: Literal["value", "baseline", "ratio"]
    relation: Literal["<=", ">="]
    limit: float

    def __str__(self) -> str:
        return f"{self.figure} {self.relation} {self.limit:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One measure; :data:`LEGEND` says what its figures mean.

    Attributes:
        unit: Unit of value, baseline and spread.
        note: What has to be known to read the figures.
        detail: Further figures, as JSON can hold them.
        goals: What was aimed at; stated, never enforced.
    """

    name: str
    value: float
    unit: str
    baseline: float | None = None
    ratio: float | None = None
    n: int = 1
    spread: float | None = None
    note: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
    goals: tuple[Goal, ...] = ()

    def met(self, goal: Goal) -> bool:
        """Whether a goal is reached."""
        figure = getattr(self, goal.figure)
        if figure is None:
            return False
        return bool(figure <= goal.limit if goal.relation == "<=" else figure >= goal.limit)

    def record(self) -> dict[str, Any]:
        """The measure as a JSON object; numbers have four digits, goals are in its ``detail``."""
        names = ("name", "value", "unit", "baseline", "ratio", "n", "spread")
        goals = {"goals": {str(goal): self.met(goal) for goal in self.goals}} if self.goals else {}
        detail = {**goals, **self.detail}
        told = {name: getattr(self, name) for name in names}
        told |= {"note": self.note} if self.note else {}
        told |= {"detail": detail} if detail else {}
        rounded: dict[str, Any] = _rounded(told)
        return rounded


def quartiles(samples: Sequence[float]) -> tuple[float, float] | None:
    """The first and the third quartile; None for less than two samples."""
    if len(samples) < 2:
        return None
    first, _, third = quantiles(samples, n=4, method="inclusive")
    return first, third


def spread(samples: Sequence[float]) -> float | None:
    """Interquartile range; None for less than two samples."""
    found = quartiles(samples)
    return found and found[1] - found[0]


def faster(
    name: str, pairs: Sequence[tuple[float, float]], *, note: str, goals: tuple[Goal, ...] = (), **detail: Any
) -> Measure:
    """How many times as fast something is, from pairs of seconds that were taken in turns.

    Args:
        name: Name of the measure.
        pairs: Seconds of the baseline, and of what is measured; at least two.
        note: What has to be known.
        goals: What is aimed at.
        detail: Further figures.
    """
    before, after = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    ratios = [baseline / value for baseline, value in pairs]
    return Measure(
        name=name,
        value=median(after),
        unit="s",
        baseline=median(before),
        ratio=median(before) / median(after),
        n=len(pairs),
        spread=spread(after),
        note=note,
        detail={"baseline_spread": spread(before), "quartiles_of_the_pairs_ratios": quartiles(ratios), **detail},
        goals=goals,
    )


def _rounded(value: Any) -> Any:
    match value:
        case float():
            return float(f"{value:.4g}")
        case Mapping():
            return {name: _rounded(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_rounded(inner) for inner in value]
    return value
