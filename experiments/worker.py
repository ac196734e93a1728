"""A worker process: plays the episodes it is given, and writes each finished one into its run's folder.

TextWorld's parsers and planner are not thread-safe, so every worker is a process of its own with one thread.
"""

from __future__ import annotations

import asyncio
import signal
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from multiprocessing.connection import Connection
from pathlib import Path

from hydra.utils import instantiate

from experiments.envs.base import Environment, TaskInfo, TaskSet
from experiments.episode import play
from experiments.models.base import ChatModel
from experiments.settings import Settings
from experiments.store import write_episode


@dataclass(frozen=True, slots=True)
class Unit:
    """One task, and the runs (by their number) that still lack it."""

    task: TaskInfo
    runs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """What became of one episode: won or lost, or the traceback of an infrastructure error."""

    run: int
    task: str
    won: bool
    error: str = ""


def work(connection: Connection, runs: Sequence[Settings]) -> None:
    """Play units until None comes; a :class:`Report` goes back for each episode, and None when a unit is wanted."""
    # Ctrl-C reaches the whole group: the parent decides, and ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    players = [_Player(settings) for settings in runs]
    environments = _Environments()
    # Once the parent is gone there is nobody to play for.
    with suppress(EOFError, ConnectionError), asyncio.Runner() as loop:
        connection.send(None)
        while (unit := connection.recv()) is not None:
            for run in unit.runs:
                connection.send(loop.run(_report(run, unit.task, players[run], environments)))
            connection.send(None)


class _Player:
    """What one run needs to play an episode."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @cached_property
    def model(self) -> ChatModel:
        model: ChatModel = instantiate(self.settings.model.model)
        return model

    async def episode(self, task: TaskInfo, env: Environment) -> bool:
        settings = self.settings
        # A new memory for each episode: nothing can be carried over, whatever a method's begin() forgets.
        memory = instantiate(settings.method.memory)
        episode = await play(task, settings.condition, env, memory, self.model, settings.limits)
        write_episode(Path(settings.out), episode)
        return episode.result.won


class _Environments:
    """One environment for each task set, shared by the runs, so that a game is loaded once for all of them."""

    def __init__(self) -> None:
        self._made: dict[str, Environment] = {}

    def of(self, settings: Settings) -> Environment:
        key = repr(settings.env.task_set)
        if key not in self._made:
            task_set: TaskSet = instantiate(settings.env.task_set)
            self._made[key] = task_set.make()
        return self._made[key]

    def drop(self, settings: Settings) -> None:
        """Forget an environment that may have been left in the middle of something."""
        self._made.pop(repr(settings.env.task_set), None)


async def _report(run: int, task: TaskInfo, player: _Player, environments: _Environments) -> Report:
    try:
        return Report(run, task.id, await player.episode(task, environments.of(player.settings)))
    except Exception:
        environments.drop(player.settings)
        return Report(run, task.id, won=False, error=traceback.format_exc())
