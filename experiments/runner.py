"""Many episodes: which are still to be played, and the processes that play them.

The unit of work is one task for all runs that lack it. A worker loads a game once and resets it for each run,
since loading takes longer than an episode.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from time import monotonic

from rich.console import Console

from experiments.envs.base import TaskInfo
from experiments.progress import EpisodeProgress
from experiments.provenance import manifest
from experiments.records import Status
from experiments.settings import Settings
from experiments.store import RunStore
from experiments.worker import Report, Unit, work

_STATUS_EVERY_S = 5.0


class WorkerError(Exception):
    """Worker processes end before they can play anything: the message says how."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One run: its settings, and the tasks it is to play."""

    settings: Settings
    tasks: tuple[TaskInfo, ...]


@dataclass(slots=True)
class Tally:
    """How far one run is; ``errors`` are first lines of infrastructure errors by task."""

    planned: int
    finished: int
    won: int
    errors: dict[str, str] = field(default_factory=dict)

    def status(self, over: bool, interrupted: bool) -> Status:
        """The content of ``status.json``."""
        complete = self.finished == self.planned
        state = "finished" if complete else "interrupted" if interrupted else "incomplete" if over else "running"
        return Status.model_validate({"state": state, **{name: getattr(self, name) for name in self.__slots__}})


def run_conditions(plans: Sequence[Plan], jobs: int | None, console: Console) -> list[Tally]:
    """Play what the plans still lack, and return how far each run is. Running it again continues.

    Args:
        plans: The runs; each has its own folder.
        jobs: Worker processes; None for all cores.
        console: Where progress is shown.

    Raises:
        StoreError: If a folder cannot be used; before any game is played.
        WorkerError: If a worker process cannot start.
        KeyboardInterrupt: On Ctrl-C, after the status files are written. Finished episodes are kept.
    """
    with ExitStack() as stack:
        stores = [
            stack.enter_context(RunStore(Path(plan.settings.out), manifest(plan.settings, plan.tasks)))
            for plan in plans
        ]
        done = [store.completed() for store in stores]
        book = _Book(stores, [Tally(len(p.tasks), len(d), sum(d.values())) for p, d in zip(plans, done, strict=True)])
        units = _units(plans, done)
        stack.enter_context(book)
        if units:
            total = sum(tally.planned for tally in book.tallies)
            finished = sum(tally.finished for tally in book.tallies)
            won = sum(tally.won for tally in book.tallies)
            book.progress = stack.enter_context(EpisodeProgress(console, total, finished, won))
            workers = min(jobs or _cores(), len(units))
            _Pool([plan.settings for plan in plans], units, book).run(workers)
    return book.tallies


def _cores() -> int:
    """Cores that this process may use; a container or a batch system can give it fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _units(plans: Sequence[Plan], done: Sequence[dict[str, bool]]) -> list[Unit]:
    """What is left, by task: tasks in the order of their ids, runs in the order of the plans."""
    tasks = {task.id: task for plan in plans for task in plan.tasks}
    lacking: dict[str, list[int]] = {}
    for number, plan in enumerate(plans):
        for task in plan.tasks:
            if task.id not in done[number]:
                lacking.setdefault(task.id, []).append(number)
    return [Unit(tasks[name], tuple(runs)) for name, runs in sorted(lacking.items())]


class _Book:
    """Keeps the tallies, and the files that tell of them; on leaving it, every status file is up to date."""

    def __init__(self, stores: Sequence[RunStore], tallies: list[Tally]) -> None:
        self._stores = stores
        self.tallies = tallies
        self.progress: EpisodeProgress | None = None
        self._written = monotonic()

    def __enter__(self) -> _Book:
        self._write(over=False, interrupted=False)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._write(over=True, interrupted=kind is not None and issubclass(kind, KeyboardInterrupt))

    def enter(self, report: Report) -> None:
        """Count one episode."""
        tally = self.tallies[report.run]
        if report.error:
            last = report.error.strip().rsplit("\n", 1)[-1]
            tally.errors[report.task] = last
            path = self._stores[report.run].write_error(report.task, report.error)
            if self.progress:
                self.progress.failed(f"{report.task}: {last} (see {path})")
        else:
            tally.finished += 1
            tally.won += report.won
            if self.progress:
                self.progress.finished(report.won)
        if monotonic() - self._written > _STATUS_EVERY_S:
            self._write(over=False, interrupted=False)

    def _write(self, over: bool, interrupted: bool) -> None:
        for store, tally in zip(self._stores, self.tallies, strict=True):
            store.write_status(tally.status(over, interrupted))
        self._written = monotonic()


@dataclass(slots=True)
class _Worker:
    """A process, and its unit: None until it has asked for the first one."""

    process: SpawnProcess
    unit: Unit | None = None
    reported: int = 0


class _Pool:
    """Worker processes over a list of units. A worker that dies is replaced, and its episode is named."""

    def __init__(self, runs: Sequence[Settings], units: Sequence[Unit], book: _Book) -> None:
        self._runs = runs
        self._waiting = list(reversed(units))
        self._book = book
        self._workers: dict[Connection, _Worker] = {}
        self._spawn = multiprocessing.get_context("spawn")

    def run(self, workers: int) -> None:
        """Play all units."""
        try:
            for _ in range(workers):
                self._start()
            while self._workers:
                for connection in wait(list(self._workers)):
                    assert isinstance(connection, Connection)
                    self._serve(connection)
        finally:
            for worker in self._workers.values():
                worker.process.terminate()
            for worker in self._workers.values():
                worker.process.join()

    def _start(self) -> None:
        ours, theirs = self._spawn.Pipe()
        process = self._spawn.Process(target=work, args=(theirs, self._runs), daemon=True)
        process.start()
        theirs.close()  # The child's end is the child's alone, so that its death is seen here.
        self._workers[ours] = _Worker(process)

    def _hand_out(self, connection: Connection) -> None:
        worker = self._workers[connection]
        unit = self._waiting.pop() if self._waiting else None
        with suppress(OSError):  # If it has just died, the next wait finds that out.
            connection.send(unit)
        if unit:
            worker.unit, worker.reported = unit, 0
        else:
            del self._workers[connection]
            worker.process.join()

    def _serve(self, connection: Connection) -> None:
        worker = self._workers[connection]
        try:
            message = connection.recv()
        except (EOFError, OSError):
            self._bury(connection, worker)
            return
        if message is None:
            self._hand_out(connection)
        else:
            worker.reported += 1
            self._book.enter(message)

    def _bury(self, connection: Connection, worker: _Worker) -> None:
        del self._workers[connection]
        worker.process.join()
        error = f"the worker process died with exit code {worker.process.exitcode}"
        if worker.unit is None:
            raise WorkerError(f"{error} before it could play anything; what it said stands above")
        # Nothing is left of the unit if it died between its last report and asking for the next unit.
        for run in worker.unit.runs[worker.reported :][:1]:
            self._book.enter(Report(run, worker.unit.task.id, won=False, error=error))
        if rest := worker.unit.runs[worker.reported + 1 :]:
            self._waiting.append(Unit(worker.unit.task, rest))
        if self._waiting:
            self._start()
