"""Whether a worker's memory grows with the episodes it has played."""

from __future__ import annotations

import asyncio
import os
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hydra.utils import instantiate
from rich.console import Console

from experiments.bench import games
from experiments.bench.measure import BenchError, Goal, Measure
from experiments.bench.memory import BUDGET
from experiments.bench.scale import Scale
from experiments.bench.workers import each
from experiments.envs.alfworld import AlfworldEnvironment
from experiments.envs.base import TaskInfo
from experiments.envs.engine import FastEngine
from experiments.episode import play
from experiments.models.reader import Reader
from experiments.settings import Settings

_STATM = Path("/proc/self/statm")
_CURVE_EVERY = 20
_MB = 1e6


@dataclass(frozen=True, slots=True)
class _Player:
    """What a worker keeps between its episodes."""

    settings: Settings
    env: AlfworldEnvironment


@cache
def _player(translations: Path) -> _Player:
    tasks, files = games.chosen("household", None), games.paths("household", None)
    by_id = {task.id: file for task, file in zip(tasks, files, strict=True)}
    settings = games.composed("env=household", "method=memarbiter", f"budget={BUDGET}", "model=reader")
    return _Player(settings, AlfworldEnvironment(by_id, FastEngine(translations)))


def peak_memory(scale: Scale, console: Console) -> Measure:
    """Growth of the resident memory of one process that plays episode after episode.

    Raises:
        BenchError: If the system does not tell how much memory a process has.
    """
    if not _STATM.exists():
        raise BenchError(f"peak_memory: there is no {_STATM} here; it can be measured on Linux only")
    tasks = games.chosen("household", None)
    with tempfile.TemporaryDirectory() as folder:
        jobs = [(tasks[number % len(tasks)], Path(folder)) for number in range(scale.episodes)]
        resident = list(each(resident_after, jobs, console, "peak_memory"))
    settled, last = resident[scale.settled_episodes - 1], resident[-1]
    return Measure(
        name="peak_memory",
        value=last - settled,
        unit="MB",
        baseline=settled,
        ratio=(last - settled) / settled,
        n=scale.episodes,
        note=f"n: household episodes of one process (memarbiter, budget {BUDGET}, reader), no game translated before; "
        f"value: growth of its resident memory from episode {scale.settled_episodes} to {scale.episodes}, baseline: "
        f"what it had after episode {scale.settled_episodes}; one run",
        detail={
            "most": max(resident),
            "after_episode": {
                str(number): resident[number - 1]
                for number in (1, *range(_CURVE_EVERY, scale.episodes, _CURVE_EVERY), scale.episodes)
            },
        },
        goals=(Goal("value", "<=", 20),),
    )


def resident_after(job: tuple[TaskInfo, Path]) -> float:
    """Play an episode; returns the MB that the process has after it."""
    task, translations = job
    player = _player(translations)
    memory = instantiate(player.settings.method.memory)
    asyncio.run(play(task, player.settings.condition, player.env, memory, Reader(), player.settings.limits))
    return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / _MB
