"""All measures by their names, and the one place that takes, prints and writes them."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from experiments.bench.concurrency import CASES_BY_NAME
from experiments.bench.counting import token_counting
from experiments.bench.differential import differential
from experiments.bench.engine import engine_step, episode_start_cold, episode_start_warm
from experiments.bench.footprint import peak_memory
from experiments.bench.machine import header
from experiments.bench.measure import LEGEND, BenchError, Measure
from experiments.bench.memory import STEPS
from experiments.bench.reproduction import harness_overhead, reproduce
from experiments.bench.scale import Scale
from experiments.console import USER_ERRORS

Take = Callable[[Scale, Console], Measure]

MEASURES: Mapping[str, Take] = {
    "engine_step": engine_step,
    "episode_start_cold": episode_start_cold,
    "episode_start_warm": episode_start_warm,
    "differential": differential,
    **STEPS,
    "token_counting": token_counting,
    **CASES_BY_NAME,
    "peak_memory": peak_memory,
    "reproduce": reproduce,
    "harness_overhead": harness_overhead,
}

#: Measures that have to be named: together they take longer than all others.
ON_REQUEST = frozenset({"concurrency_flat_recency", "concurrency_memarbiter_llm"})

_FAILED, _INTERRUPTED = 1, 130
_WIDTH = 120


def named(name: str) -> list[str]:
    """The measures of a name, or of a family of them (``memory_step``); empty if there are none."""
    return [name] if name in MEASURES else [one for one in MEASURES if one.startswith(f"{name}_")]


def run(names: Sequence[str], scale: Scale, out: Path | None, measures: Mapping[str, Take] = MEASURES) -> int:
    """Take measures one after the other; each is printed and written as soon as it is there.

    Args:
        names: Which, in this order.
        scale: How much is measured.
        out: The file of figures, or None.
        measures: What the names stand for.

    Returns:
        0 if all were taken, whether or not goals were met; 1 if one could not be; 130 after Ctrl-C.
    """
    shown = Console(width=None if sys.stdout.isatty() else _WIDTH)
    progress = Console(stderr=True)
    found, status = list[Measure](), 0
    try:
        told = header(scale)
        for number, name in enumerate(names, start=1):
            progress.print(f"[{number}/{len(names)}] {name}", markup=False, highlight=False)
            try:
                # The standard output is for the figures.
                with redirect_stdout(sys.stderr):
                    found.append(measures[name](scale, progress))
            except (BenchError, *USER_ERRORS) as error:
                _complain(progress, str(error))
                status = _FAILED
                continue
            print(json.dumps(found[-1].record()), flush=True)
            if out:
                try:
                    write(out, told, found, names)
                except OSError as error:
                    _complain(progress, f"{out} cannot be written ({error.strerror}); choose another --out")
                    return _FAILED
    except KeyboardInterrupt:
        progress.print("interrupted; what was measured is kept", markup=False)
        status = _INTERRUPTED
    except USER_ERRORS as error:
        _complain(progress, str(error))
        return _FAILED
    if found:
        shown.print(table(found))
    if out and found:
        progress.print(f"figures: {out}", markup=False, highlight=False)
    return status


def write(out: Path, told: Mapping[str, Any], found: Sequence[Measure], names: Sequence[str]) -> None:
    """Write the figures, all of them or none; ``missing`` names what was to be measured and is not there.

    Raises:
        OSError: If the file cannot be written; an older one is then unharmed.
    """
    there = [measure.name for measure in found]
    content = {
        "header": {**told, "missing": [name for name in names if name not in there], "legend": LEGEND},
        "measures": [measure.record() for measure in found],
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".") as folder:
        draft = Path(folder) / out.name
        draft.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        os.replace(draft, out)


def table(found: Sequence[Measure]) -> Table:
    """The figures beside their goals."""
    shown = Table(box=box.SIMPLE_HEAD, caption="value and baseline: medians; spread: interquartile range of the value")
    for heading in ("measure", "value", "baseline", "ratio", "n", "spread", "goal", "met"):
        shown.add_column(heading, justify="left" if heading in ("measure", "goal", "met") else "right", no_wrap=True)
    for measure in found:
        goals = measure.goals
        shown.add_row(
            measure.name,
            _words(measure.value, measure.unit),
            _words(measure.baseline, measure.unit),
            _words(measure.ratio),
            str(measure.n),
            _words(measure.spread, measure.unit),
            "\n".join(map(str, goals)),
            "\n".join("yes" if measure.met(goal) else "NO" for goal in goals),
        )
    return shown


def _words(figure: float | None, unit: str = "") -> str:
    if figure is None:
        return ""
    if unit == "s" and abs(figure) < 1:
        return f"{1000 * figure:.3g} ms"
    return f"{figure:.0f} {unit}".strip() if abs(figure) >= 100 else f"{figure:.3g} {unit}".strip()


def _complain(console: Console, what: str) -> None:
    console.print(f"error: {what}", style="red", markup=False, highlight=False, soft_wrap=True)
