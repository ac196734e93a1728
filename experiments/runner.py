"""Many episodes: which are still to be played, and the processes that play them.

The unit of work is one task. With a model that computes here, it is played for all runs that lack it, since loading a
game takes longer than an episode and a reset does not. With a model on a server, each run of it is a unit of its own,
so that as many episodes are in flight as the server may have.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from time import monotonic

from rich.console import Console

from experiments.accounting import merged
from experiments.envs.base import TaskInfo
from experiments.models.llm.probe import model_servers
from experiments.progress import EpisodeProgress
from experiments.provenance import manifest
from experiments.records import EpisodeResult, Status, Usage
from experiments.settings import Settings
from experiments.store import RunStore
from experiments.worker import Report, Unit, work

_STATUS_EVERY_S = 5.0


class WorkerError(Exception):
    """Worker processes end before they can play anything: the message says how."""


class Stopped(Exception):
    """No further episode can be played, and the message says why; what is finished is kept."""


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
    usage: dict[str, Usage] = field(default_factory=dict)

    @classmethod
    def of(cls, planned: int, results: Iterable[EpisodeResult]) -> Tally:
        """The tally of what was played before."""
        tally = cls(planned, 0, 0)
        for result in results:
            tally.add(result.won, result.usage)
        return tally

    def add(self, won: bool, used: Mapping[str, Usage]) -> None:
        """Count one finished episode."""
        self.finished += 1
        self.won += won
        self.usage = merged(self.usage, used)

    def status(self, over: bool, interrupted: bool) -> Status:
        """The content of ``status.json``."""
        complete = self.finished == self.planned
        state = "finished" if complete else "interrupted" if interrupted else "incomplete" if over else "running"
        counts = {name: getattr(self, name) for name in ("planned", "finished", "won", "errors")}
        return Status.model_validate({"state": state, **counts})


def run_conditions(plans: Sequence[Plan], jobs: int | None, console: Console) -> list[Tally]:
    """Play what the plans still lack, and return how far each run is. Running it again continues.

    Args:
        plans: The runs; each has its own folder.
        jobs: Worker processes; None for all cores.
        console: Where progress is shown.

    Raises:
        StoreError: If a folder cannot be used; before any game is played.
        ModelStop: If a model cannot be used; before any game is played.
        WorkerError: If a worker process cannot start.
        Stopped: If a model cannot be used any longer.
        KeyboardInterrupt: On Ctrl-C, after the status files are written. Finished episodes are kept.
    """
    with ExitStack() as stack:
        stores = [
            stack.enter_context(RunStore(Path(plan.settings.out), manifest(plan.settings, plan.tasks)))
            for plan in plans
        ]
        done = [store.completed() for store in stores]
        book = _Book(stores, [Tally.of(len(p.tasks), d.values()) for p, d in zip(plans, done, strict=True)])
        units = _units(plans, done)
        if units:
            lacking = sorted({run for unit in units for run in unit.runs})
            told = stack.enter_context(model_servers([plans[run].settings for run in lacking], console))
            for run, servers in zip(lacking, told, strict=True):
                stores[run].claim_servers(servers)
        stack.enter_context(book)
        if units:
            total = sum(tally.planned for tally in book.tallies)
            finished = sum(tally.finished for tally in book.tallies)
            won = sum(tally.won for tally in book.tallies)
            book.progress = stack.enter_context(EpisodeProgress(console, total, finished, won))
            workers = min(jobs or _cores(), len(units))
            in_flight = max(plan.settings.concurrency or workers for plan in plans)
            _Pool([plan.settings for plan in plans], units, book).run(workers, min(in_flight, len(units)))
    return book.tallies


def _cores() -> int:
    """Cores that this process may use; a container or a batch system can give it fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _units(plans: Sequence[Plan], done: Sequence[Mapping[str, object]]) -> list[Unit]:
    """What is left, by task: tasks in the order of their ids, runs in the order of the plans."""
    tasks = {task.id: task for plan in plans for task in plan.tasks}
    lacking: dict[str, list[int]] = {}
    for number, plan in enumerate(plans):
        for task in plan.tasks:
            if task.id not in done[number]:
                lacking.setdefault(task.id, []).append(number)
    units = []
    for name, runs in sorted(lacking.items()):
        here = tuple(run for run in runs if plans[run].settings.concurrency is None)
        units += [Unit(tasks[name], here)] if here else []
        units += [Unit(tasks[name], (run,)) for run in runs if run not in here]
    return units


class _Book:
    """Keeps the tallies, and the files that tell of them; on leaving it, every status file is up to date."""

    def __init__(self, stores: Sequence[RunStore], tallies: list[Tally]) -> None:
        self._stores = stores
        self.tallies = tallies
        self.progress: EpisodeProgress | None = None
        self.stop = ""
        self._written = monotonic()

    def __enter__(self) -> _Book:
        self._write(over=False, interrupted=False)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._write(over=True, interrupted=kind is not None and issubclass(kind, KeyboardInterrupt))

    def enter(self, report: Report) -> None:
        """Count one episode."""
        tally = self.tallies[report.run]
        self.stop = self.stop or report.stop
        if report.error:
            tally.errors[report.task] = report.error
            path = self._stores[report.run].write_error(report.task, report.trace or report.error)
            if self.progress:
                self.progress.failed(f"{report.task}: {report.error} (see {path})")
        else:
            tally.add(report.won, report.usage)
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
    """A process, the episodes it is to play by run and task, and how many of its slots still ask for units."""

    process: SpawnProcess
    slots: int
    units: list[Unit] = field(default_factory=list)
    reported: set[tuple[int, str]] = field(default_factory=set)
    asked: bool = False

    def left(self, unit: Unit) -> tuple[int, ...]:
        """The runs of a unit that have not been reported."""
        return tuple(run for run in unit.runs if (run, unit.task.id) not in self.reported)


class _Pool:
    """Worker processes over a list of units. A worker that dies is replaced, and its episode is named."""

    def __init__(self, runs: Sequence[Settings], units: Sequence[Unit], book: _Book) -> None:
        self._runs = runs
        self._waiting = list(reversed(units))
        self._book = book
        self._workers: dict[Connection, _Worker] = {}
        self._spawn = multiprocessing.get_context("spawn")

    def run(self, workers: int, slots: int) -> None:
        """Play all units, ``slots`` at once in all workers together.

        Raises:
            WorkerError: If a worker cannot start.
            Stopped: If a report says that nothing more can be played.
        """
        try:
            for number in range(workers):
                self._start(slots // workers + (number < slots % workers))
            while self._workers:
                for connection in wait(list(self._workers)):
                    assert isinstance(connection, Connection)
                    self._serve(connection)
        finally:
            for worker in self._workers.values():
                worker.process.terminate()
            for worker in self._workers.values():
                worker.process.join()
        if self._book.stop:
            raise Stopped(self._book.stop)

    def _start(self, slots: int) -> None:
        ours, theirs = self._spawn.Pipe()
        process = self._spawn.Process(target=work, args=(theirs, self._runs, slots), daemon=True)
        process.start()
        theirs.close()  # The child's end is the child's alone, so that its death is seen here.
        self._workers[ours] = _Worker(process, slots)

    def _serve(self, connection: Connection) -> None:
        worker = self._workers[connection]
        try:
            message = connection.recv()
        except (EOFError, OSError):
            self._bury(connection, worker)
            return
        if message is None:
            self._hand_out(connection, worker)
        else:
            worker.reported.add((message.run, message.task))
            self._book.enter(message)

    def _hand_out(self, connection: Connection, worker: _Worker) -> None:
        worker.asked = True
        worker.units = [unit for unit in worker.units if worker.left(unit)]
        unit = self._waiting.pop() if self._waiting and not self._book.stop else None
        with suppress(OSError):  # If it has just died, the next wait finds that out.
            connection.send(unit)
        if unit:
            worker.units.append(unit)
            return
        worker.slots -= 1
        if not worker.slots:
            del self._workers[connection]
            worker.process.join()

    def _bury(self, connection: Connection, worker: _Worker) -> None:
        del self._workers[connection]
        worker.process.join()
        error = f"the worker process died with exit code {worker.process.exitcode}"
        if not worker.asked:
            raise WorkerError(f"{error} before it could play anything; what it said stands above")
        lost = [(unit, worker.left(unit)) for unit in worker.units]
        if len(worker.units) > 1:
            error += f" while {len(worker.units)} episodes were played in it"
        for unit, runs in lost:
            # Nothing is left of a unit if the process died between its last report and asking for the next unit.
            for run in runs[:1]:
                self._book.enter(Report(run, unit.task.id, error=error))
            if runs[1:]:
                self._waiting.append(Unit(unit.task, runs[1:]))
        if self._waiting and not self._book.stop:
            self._start(worker.slots)
