"""What the two commands share: planning the runs, playing them, and saying how it went."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from hydra.utils import instantiate
from rich.console import Console
from rich.table import Table

from experiments.envs.base import TaskInfo, TaskSet, TaskSetError
from experiments.envs.spread import spread
from experiments.runner import Plan, Tally, run_conditions
from experiments.settings import Settings, SettingsError
from experiments.store import StoreError
from memarbiter.vocabulary import VocabularyMissing

#: What a user can mend: shown without a traceback.
USER_ERRORS = (SettingsError, TaskSetError, StoreError, VocabularyMissing)


def play_all(runs: Sequence[Settings], jobs: int | None, again: str) -> int:
    """Play the runs and print a summary; returns the exit status.

    Args:
        runs: The settings of each run.
        jobs: Worker processes; None for all cores.
        again: How to go on after an interruption, for the message.

    Returns:
        0 if all runs are complete, 1 after infrastructure errors, 2 for unusable settings, 130 after Ctrl-C.
    """
    console = Console(stderr=True)
    try:
        plans = _plans(runs)
        tallies = run_conditions(plans, jobs, console)
    except USER_ERRORS as error:
        console.print(f"error: {error}", style="red", markup=False, highlight=False)
        return 2
    except KeyboardInterrupt:
        console.print(f"\ninterrupted; finished episodes are kept. To go on, {again}", markup=False)
        return 130
    console.print(_summary(plans, tallies))
    folder = os.path.commonpath([plan.settings.out for plan in plans])
    console.print(f"runs: {folder}", markup=False, highlight=False)
    failed = sum(len(tally.errors) for tally in tallies)
    if failed:
        console.print(
            f"{failed} episodes ended by an infrastructure error (errors/ in a run's folder); to retry them, {again}",
            style="red",
            markup=False,
        )
    return 1 if failed else 0


def leave(status: int) -> None:
    """End the process, if there is something to tell whoever called it."""
    if status:
        sys.exit(status)


def _plans(runs: Sequence[Settings]) -> list[Plan]:
    """The tasks of each run; a task set that several runs use is read and checked once."""
    sets: dict[str, Sequence[TaskInfo]] = {}
    plans = []
    for settings in runs:
        key = repr(settings.env.task_set)
        if key not in sets:
            task_set: TaskSet = instantiate(settings.env.task_set)
            sets[key] = task_set.tasks()
        count = settings.env.tasks
        plans.append(Plan(settings, tuple(sets[key] if count is None else spread(sets[key], count))))
    return plans


def _summary(plans: Sequence[Plan], tallies: Sequence[Tally]) -> Table:
    table = Table("model", "method", "budget", "planned", "finished", "won", "rate", "errors")
    for plan, tally in zip(plans, tallies, strict=True):
        condition = plan.settings.condition
        complete = tally.finished == tally.planned
        table.add_row(
            condition.model,
            condition.method,
            "-" if condition.budget is None else str(condition.budget),
            str(tally.planned),
            str(tally.finished),
            str(tally.won),
            f"{100 * tally.won / tally.planned:.1f} %" if complete else "incomplete",
            str(len(tally.errors)),
        )
    return table
