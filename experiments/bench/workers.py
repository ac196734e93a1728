"""Work in processes of its own, each with a memory and a text engine that nothing else has touched."""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rich.console import Console
from rich.progress import track

from experiments.bench.measure import BenchError

Job = TypeVar("Job")
Found = TypeVar("Found")

_PATIENCE_S = 600.0


def each(
    work: Callable[[Job], Found],
    jobs: Sequence[Job],
    console: Console,
    name: str,
    processes: int = 1,
    fresh: bool = False,
) -> Iterator[Found]:
    """The results of all jobs, in their order. Leaving the loop ends the processes.

    Args:
        work: A function of a module.
        jobs: Its arguments, one after the other.
        console: Where a bar shows how far it is.
        name: The bar's name.
        processes: How many work at once.
        fresh: Whether each job has a process that has done nothing before.

    Raises:
        BenchError: If a job takes more than ten minutes, or its process dies.
    """
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(min(processes, len(jobs)), _begin, maxtasksperchild=1 if fresh else None) as pool:
        results = pool.imap(work, jobs)
        for number in track(range(len(jobs)), name, console=console, transient=True, disable=not console.is_terminal):
            try:
                yield results.next(timeout=_PATIENCE_S)
            except multiprocessing.TimeoutError as error:
                raise BenchError(
                    f"{name}: job {number + 1} of {len(jobs)} gave no result in {_PATIENCE_S:g} s"
                ) from error


def _begin() -> None:
    # Ctrl-C reaches the whole group: the parent decides, and ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The standard output is for the figures.
    sys.stdout = sys.stderr
