"""What a table is made of: typed rows for the CSV file, and grids of cells for Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, get_type_hints

import pandas as pd

from analysis.load import Coverage, Run, Setting
from analysis.names import method_name, model_name

NOT_RUN = "not run"
ABSENT = "–"
COVERAGE_COLUMNS = ("state", "planned", "finished", "errors", "missing")
DTYPES = {str: "object", bool: "bool", int: "Int64", float: "Float64"}


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell's text, and whether it is the best of its kind (bold) or published (italic)."""

    text: str
    bold: bool = False
    italic: bool = False


Row = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A block of a table. ``align`` has one of ``l`` and ``r`` per column; groups are set apart by a rule."""

    title: str
    align: str
    header: tuple[str, ...]
    groups: tuple[tuple[Row, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its file name, its caption, its tidy rows and the same as grids for reading."""

    name: str
    caption: str
    frame: pd.DataFrame
    grids: tuple[Grid, ...]


@dataclass(frozen=True, kw_only=True)
class Record:
    """What every tidy row says: the condition (all None if nothing of it was run) and what became of it."""

    env: str | None
    model: str | None
    seed: int | None
    budget: int | None
    method: str
    state: str
    planned: int | None
    finished: int | None
    errors: int | None
    missing: int | None


def where(setting: Setting | None, method: str, budget: int | None, run: Run | None) -> dict[str, Any]:
    """The fields of :class:`Record` for a condition and its run; no run means that it was not run."""
    env, model, seed = setting if setting else (None, None, None)
    counts = run.coverage if run else None
    return {
        "env": env,
        "model": model,
        "seed": seed,
        "budget": budget,
        "method": method,
        "state": counts.state if counts else NOT_RUN,
        **{name: getattr(counts, name) if counts else None for name in COVERAGE_COLUMNS[1:]},
    }


def to_frame(kind: type, records: Iterable[Any]) -> pd.DataFrame:
    """A frame of dataclass records: columns typed by the fields, the coverage columns last."""
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind)]
    columns = [name for name in names if name not in COVERAGE_COLUMNS]
    columns += [name for name in COVERAGE_COLUMNS if name in names]
    frame = pd.DataFrame([asdict(record) for record in records], columns=columns, dtype="object")
    return frame.astype({name: _dtype(hints[name]) for name in columns})


def _dtype(hint: Any) -> str:
    return next(dtype for kind, dtype in DTYPES.items() if hint is kind or hint == (kind | None))


def rounded(percent: float | None, digits: int = 4) -> float | None:
    """A figure for a CSV file: rounded, so that it reads the same on every machine."""
    return None if percent is None else round(percent, digits)


def minus(first: float | None, second: float | None) -> float | None:
    """The difference, or None where one of the two is unknown."""
    return None if first is None or second is None else first - second


def shown(percent: float | None, otherwise: str, digits: int = 2) -> str:
    """A percentage as text, or the reason why there is none."""
    return otherwise if percent is None else f"{percent:.{digits}f}"


def signed(points: float, digits: int = 2) -> str:
    """A difference in percentage points, always with its sign (a true minus; what rounds to 0 is +0)."""
    return f"{round(points, digits) + 0.0:+.{digits}f}".replace("-", "−")


def bold_best(values: Sequence[float | None], *, lowest: bool = False) -> list[bool]:
    """Which values are the best; all that tie are, and nothing is unless at least two are known."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return [False] * len(values)
    best = min(known) if lowest else max(known)
    return [value == best for value in values]


def budget_text(budget: int | None) -> str:
    """The budget in tokens, or a dash for a method that has none."""
    return ABSENT if budget is None else str(budget)


def condition_name(method: str, budget: int | None) -> str:
    """Method and budget, e.g. ``MemArbiter 500``."""
    return method_name(method) if budget is None else f"{method_name(method)} {budget}"


def setting_title(setting: Setting | None) -> str:
    """Names action model, task set and seed of a block."""
    if setting is None:
        return "Not run"
    return f"{model_name(setting.model)} on {setting.env}, seed {setting.seed}"


def coverage_note(runs: Sequence[Run]) -> str:
    """One sentence per distinct coverage, naming its conditions; one for all if there is only one."""
    names: dict[tuple[Coverage, int], list[str]] = {}
    for run in runs:
        label = condition_name(run.method, run.condition.budget)
        names.setdefault((run.coverage, run.overflows), []).append(label)
    if not names:
        return "No condition of this block was run."
    sentences = [
        f"{'Every condition' if len(names) == 1 else ', '.join(labels)}: planned {c.planned}, "
        f"finished {c.finished}, errors {c.errors}, missing {c.missing}{_ended_by_overflow(overflows)}."
        for (c, overflows), labels in names.items()
    ]
    return " ".join(sentences)


def _ended_by_overflow(episodes: int) -> str:
    return f", {episodes} of the finished ended because the prompt did not fit the model's window" if episodes else ""
