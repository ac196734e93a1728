"""What one step costs a memory, early and late in a long history.

The history is one random walk through the largest household game, in which things are taken, moved, opened and closed
over and over; it is played once, and every method is given the same.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from functools import cache, partial
from statistics import fmean, median
from time import perf_counter
from typing import Any

from hydra.utils import instantiate
from rich.console import Console

from experiments.bench import games
from experiments.bench.measure import Goal, Measure, spread
from experiments.bench.scale import Scale
from experiments.bench.workers import each
from experiments.episode import UNLIMITED
from memarbiter.protocol import Task, Transition, WorkingMemory
from memarbiter.quoting import neutralise

BUDGET = 500
_GOALS = {"memarbiter": (Goal("baseline", "<=", 0.002), Goal("ratio", "<=", 3))}


@dataclass(frozen=True, slots=True)
class History:
    """What a memory is told: the task, and steps that nothing ends."""

    task: Task
    steps: tuple[Transition, ...]


@dataclass(frozen=True, slots=True)
class Pass:
    """A memory's settings, its budget, what it is told, and the numbers of the steps that are timed."""

    memory: dict[str, Any]
    budget: int
    history: History
    timed: tuple[range, ...]


def memory_step(method: str, scale: Scale, console: Console) -> Measure:
    """One step of a memory: ``record`` and ``present``."""
    settings = games.composed(f"method={method}").method
    budget = BUDGET if settings.budgeted else UNLIMITED
    early = _around(scale.short_history, scale.short_window)
    late = _around(scale.long_history, scale.long_window)
    told = Pass(settings.memory, budget, history(late.stop), (early, late))
    name = f"memory_step_{method}"
    passes = list(each(timed_pass, [told] * scale.passes, console, name, fresh=True))
    before, after = ([seconds for one in passes for seconds in one[when]] for when in (0, 1))
    return Measure(
        name=name,
        value=median(after),
        unit="s",
        baseline=median(before),
        ratio=median(after) / median(before),
        n=len(after),
        spread=spread(after),
        note=f"record + present, {f'budget {budget}' if settings.budgeted else 'no budget'}; value: steps "
        f"{_words(late)} of one history, baseline: steps {_words(early)}; ratio: value over baseline",
        detail={
            "mean": fmean(after),
            "p90": _p90(after),
            "baseline_mean": fmean(before),
            "baseline_p90": _p90(before),
            "baseline_spread": spread(before),
            "passes": scale.passes,
        },
        goals=_GOALS.get(method, ()),
    )


@cache
def history(length: int) -> History:
    """A random walk of so many steps through the largest household game."""
    tasks = games.chosen("household", None)
    sizes = {task.id: path.stat().st_size for task, path in zip(tasks, games.paths("household", None), strict=True)}
    largest = max(sizes, key=lambda task: (sizes[task], task))
    env = games.task_set("household").make()
    opening = env.begin(largest)
    admissible, draw, steps = opening.admissible, random.Random("history"), list[Transition]()
    for number in range(1, length + 1):
        command = games.drawn(draw, admissible)
        outcome = env.step(command)
        admissible = outcome.admissible
        steps.append(
            Transition(number, neutralise(command), neutralise(outcome.observation), outcome.failed, outcome.won)
        )
    return History(Task("history", neutralise(opening.goal), neutralise(opening.observation)), tuple(steps))


def timed_pass(told: Pass) -> tuple[list[float], ...]:
    """Seconds of the steps in each of the timed ranges."""
    return asyncio.run(_seconds(instantiate(told.memory), told))


async def _seconds(memory: WorkingMemory, told: Pass) -> tuple[list[float], ...]:
    seconds = {}
    memory.begin(told.history.task)
    await memory.present(told.budget)
    for step in told.history.steps:
        start = perf_counter()
        await memory.record(step)
        await memory.present(told.budget)
        seconds[step.step] = perf_counter() - start
    return tuple([seconds[number] for number in timed] for timed in told.timed)


def _around(length: int, window: int) -> range:
    return range(length - window // 2, length - window // 2 + window)


def _p90(samples: list[float]) -> float:
    return sorted(samples)[len(samples) * 9 // 10]


def _words(steps: range) -> str:
    return f"{steps.start} to {steps.stop - 1}"


#: The methods of the paper's tables that remember anything.
STEPS = {
    f"memory_step_{method}": partial(memory_step, method)
    for method in ("memarbiter", "flat_recency", "flat_retrieval", "wo_banks", "wo_signals", "wo_gate", "full_history")
}
