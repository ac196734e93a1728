"""A worker process: plays the episodes it is given, and writes each finished one into its run's folder.

TextWorld's parsers and planner are not thread-safe, so a worker is a process with one thread. While one episode waits
for a model's answer, others are played in it; each has an environment of its own.
"""

from __future__ import annotations

import asyncio
import signal
import traceback
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from hydra.utils import instantiate

from experiments.envs.base import Environment, TaskInfo, TaskSet
from experiments.episode import play
from experiments.models.llm.faults import ModelStop
from experiments.models.llm.ledger import Ledger
from experiments.records import EpisodeResult, Usage
from experiments.settings import Settings
from experiments.store import write_episode
from memarbiter.chat import ChatModel


@dataclass(frozen=True, slots=True)
class Unit:
    """One task, and the runs (by their number) that are to play it one after the other."""

    task: TaskInfo
    runs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """What became of one episode: won or lost, or an infrastructure error in a line, with its traceback.

    ``stop`` says why no further episode can be played, if so.
    """

    run: int
    task: str
    won: bool = False
    error: str = ""
    trace: str = ""
    stop: str = ""
    usage: dict[str, Usage] = field(default_factory=dict)


def work(connection: Connection, runs: Sequence[Settings], slots: int) -> None:
    """Play units, ``slots`` at once, until None comes for each slot.

    A :class:`Report` goes back for each episode, and None when a unit is wanted.
    """
    # Ctrl-C reaches the whole group: the parent decides, and ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Once the parent is gone there is nobody to play for.
    with suppress(EOFError, ConnectionError):
        asyncio.run(_Worker(connection, runs).serve(slots))


class _Worker:
    """Hands units from the connection to its slots, and their reports back."""

    def __init__(self, connection: Connection, runs: Sequence[Settings]) -> None:
        self._connection = connection
        self._players = [_Player(settings) for settings in runs]
        self._environments = _Environments()
        self._units: asyncio.Queue[Unit | None] = asyncio.Queue()

    async def serve(self, slots: int) -> None:
        gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().add_reader(self._connection.fileno(), self._receive, gone)
        playing = asyncio.gather(*(self._slot() for _ in range(slots)))
        ends: set[asyncio.Future[Any]] = {playing, gone}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if playing.done():
            playing.result()
        else:
            playing.cancel()
            with suppress(asyncio.CancelledError):
                await playing

    def _receive(self, gone: asyncio.Future[None]) -> None:
        try:
            self._units.put_nowait(self._connection.recv())
        except (EOFError, OSError):
            asyncio.get_running_loop().remove_reader(self._connection.fileno())
            gone.set_result(None)

    async def _slot(self) -> None:
        self._connection.send(None)
        while (unit := await self._units.get()) is not None:
            for run in unit.runs:
                self._connection.send(await self._report(run, unit.task))
            self._connection.send(None)

    async def _report(self, run: int, task: TaskInfo) -> Report:
        player = self._players[run]
        try:
            env = self._environments.take(player.settings, task.id)
            result = await player.episode(task, env)
        except ModelStop as error:
            return _failed(run, task, error, stop=str(error))
        except Exception as error:
            # An environment that may have been left in the middle of something is not used again.
            return _failed(run, task, error)
        self._environments.give_back(player.settings, task.id, env)
        return Report(run, task.id, won=result.won, usage=result.usage)


def _failed(run: int, task: TaskInfo, error: Exception, stop: str = "") -> Report:
    told = "".join(traceback.format_exception_only(error)).strip()
    return Report(run, task.id, error=told.split("\n", 1)[0], trace=traceback.format_exc(), stop=stop)


class _Player:
    """What one run needs to play an episode."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @cached_property
    def model(self) -> ChatModel:
        model: ChatModel = instantiate(self.settings.model)
        return model

    async def episode(self, task: TaskInfo, env: Environment) -> EpisodeResult:
        settings = self.settings
        folder = Path(settings.out)
        ledger = Ledger(task.id, folder)
        try:
            with ledger.opened():
                # A new memory for each episode: nothing can be carried over, whatever a method's begin() forgets.
                memory = instantiate(settings.method.memory)
                episode = await play(task, settings.condition, env, memory, self.model, settings.limits, ledger)
            # The calls first: an episode's file says that everything of it is there.
            ledger.finish()
        except BaseException:
            ledger.lose()
            raise
        write_episode(folder, episode)
        return episode.result


class _Environments:
    """Environments that are free, by task set, each with the task it played last.

    Loading a game takes longer than many an episode, so the one that has the wanted game is taken first.
    """

    def __init__(self) -> None:
        self._sets: dict[str, TaskSet] = {}
        self._free: dict[str, list[tuple[str, Environment]]] = defaultdict(list)

    def take(self, settings: Settings, task_id: str) -> Environment:
        key = repr(settings.env.task_set)
        if key not in self._sets:
            self._sets[key] = instantiate(settings.env.task_set)
        free = self._free[key]
        if not free:
            return self._sets[key].make()
        return free.pop(next((n for n, (loaded, _) in enumerate(free) if loaded == task_id), 0))[1]

    def give_back(self, settings: Settings, task_id: str, env: Environment) -> None:
        self._free[repr(settings.env.task_set)].append((task_id, env))
