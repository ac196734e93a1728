"""What the two commands share: planning the runs, playing them, and saying how it went."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig
from rich import box
from rich.console import Console
from rich.table import Table

from experiments.envs.base import TaskInfo, TaskSet, TaskSetError
from experiments.envs.spread import spread
from experiments.models.llm.faults import ModelStop
from experiments.provenance import without_secrets
from experiments.records import Usage
from experiments.runner import Plan, Stopped, Tally, WorkerError, run_conditions
from experiments.settings import CONFIGS, Settings, SettingsError
from experiments.store import StoreError, flat
from memarbiter.chat import Outcome
from memarbiter.vocabulary import VocabularyMissing

#: What a user can mend: shown without a traceback.
USER_ERRORS = (SettingsError, TaskSetError, StoreError, VocabularyMissing, WorkerError, ModelStop)

_STOPPED, _INTERRUPTED = 3, 130


def command(config_name: str, runs: Callable[[DictConfig], Sequence[Settings]]) -> int:
    """Play what the command line asks for, with the settings that Hydra composes; returns the exit status.

    In a sweep every job is played, whatever becomes of the others; the failed ones are listed at the end, and the
    highest exit status counts. Ctrl-C ends the whole sweep, and so does a model that can be asked no longer.

    Args:
        config_name: File in ``configs/``.
        runs: Gives the runs of one job from its composed configuration.
    """
    statuses: dict[str, int] = {}

    def job(config: DictConfig) -> None:
        status = play_all(lambda: runs(config))
        if status in (_STOPPED, _INTERRUPTED):
            sys.exit(status)
        name = f"#{len(statuses)} {' '.join(HydraConfig.get().overrides.task)}"
        statuses[name] = status

    hydra.main(version_base="1.3", config_path=str(CONFIGS), config_name=config_name)(job)()
    failed = [name for name, status in statuses.items() if status]
    if failed and len(statuses) > 1:
        told = "\n".join(f"  {name}" for name in failed)
        print(f"{len(failed)} of {len(statuses)} jobs failed, see above:\n{told}", file=sys.stderr)
    # Empty where Hydra only showed its help.
    return max(statuses.values(), default=0)


def play_all(compose: Callable[[], Sequence[Settings]], console: Console | None = None) -> int:
    """Play runs and print a summary; returns the exit status.

    Args:
        compose: Gives the settings of each run; the first run's ``jobs`` holds for all.
        console: Where to show it; the standard error output by default.

    Returns:
        0 if all runs are complete, 1 after infrastructure errors, 2 for unusable settings or servers, 3 if a model
        could be asked no longer, 130 after Ctrl-C.
    """
    console = console or Console(stderr=True)
    try:
        runs = compose()
        plans = _plans(runs)
        if len(runs) == 1:
            console.print(_effective(runs[0]), markup=False, highlight=False)
        tallies = run_conditions(plans, runs[0].jobs, console)
    except USER_ERRORS as error:
        console.print(f"error: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        return 2
    except Stopped as error:
        console.print(
            f"stopped: {error}\nfinished episodes are kept: run the same command again to go on",
            style="red",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
        return _STOPPED
    except KeyboardInterrupt:
        console.print("\ninterrupted; finished episodes are kept: run the same command again to go on", markup=False)
        return _INTERRUPTED
    console.print(_summary(plans, tallies))
    if any(plan.settings.concurrency for plan in plans):
        console.print(_calls(plans, tallies))
    folder = os.path.commonpath([plan.settings.out for plan in plans])
    console.print(f"runs: {folder}", markup=False, highlight=False)
    failed = sum(len(tally.errors) for tally in tallies)
    if failed:
        console.print(
            f"{failed} episodes ended by an infrastructure error (see errors/ in the runs' folders); "
            "run the same command again to retry them",
            style="red",
            markup=False,
        )
    return 1 if failed else 0


def _plans(runs: Sequence[Settings]) -> list[Plan]:
    """The tasks of each run; a task set that several runs use is read and checked once.

    Memories and models are made here once as well, so that an impossible value costs no episode.
    """
    sets: dict[str, Sequence[TaskInfo]] = {}
    plans = []
    for settings in runs:
        _made("method.memory", settings.method.memory)
        model = _made("model", settings.model)
        if not hasattr(model, "reply"):
            raise SettingsError(f"setting 'model': {type(model).__name__} is no model, it lacks reply()")
        key = repr(settings.env.task_set)
        if key not in sets:
            task_set: TaskSet = _made("env.task_set", settings.env.task_set)
            sets[key] = task_set.tasks()
        count = settings.env.tasks
        plans.append(Plan(settings, tuple(sets[key] if count is None else spread(sets[key], count))))
    return plans


def _made(setting: str, config: Mapping[str, Any]) -> Any:
    try:
        return instantiate(config)
    except InstantiationException as error:
        if isinstance(error.__cause__, TaskSetError):
            raise error.__cause__ from None  # What was wrong, without Hydra's words around it.
        raise SettingsError(f"setting '{setting}': {error}") from error


def _effective(settings: Settings) -> str:
    """The settings that can change a result, one in a line, without the values that only name a class."""
    shown = settings.model_dump(include={"method", "env", "model", "agent", "budget", "seed"})
    values = flat(_said_once(without_secrets(shown)))
    lines = (f"  {name} = {value}" for name, value in values.items() if not name.endswith("_target_"))
    return "settings:\n" + "\n".join(lines)


def _said_once(values: dict[str, Any]) -> dict[str, Any]:
    """The values with each repetition of a whole model replaced by the name under which it stands first."""
    seen: dict[str, str] = {repr(values["model"]): "model"}

    def once(part: Any, name: str) -> Any:
        if not isinstance(part, dict):
            return part
        if "base_url" in part and (first := seen.setdefault(repr(part), name)) != name:
            return f"(the same as {first})"
        return {key: once(inner, f"{name}.{key}".lstrip(".")) for key, inner in part.items()}

    told: dict[str, Any] = once(values, "")
    return told


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


def _calls(plans: Sequence[Plan], tallies: Sequence[Tally]) -> Table:
    """What the finished episodes asked of the models."""
    columns = ("calls", "prompt", "own", "answer", "failed", "empty", "cut")
    caption = (
        "tokens of prompts and answers as the server counts them, of prompts (own) as we do; "
        "attempts that failed; answers without text; answers cut at their limit"
    )
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1), caption=caption, caption_justify="left")
    for name in ("run", "purpose"):
        table.add_column(name, overflow="fold")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for plan, tally in zip(plans, tallies, strict=True):
        for purpose, used in sorted(tally.usage.items()):
            table.add_row(Path(plan.settings.out).name, purpose, *_counts(used))
    return table


def _counts(used: Usage) -> list[str]:
    cut = used.outcomes.get(Outcome.CUT, 0)
    answered = used.outcomes.get(Outcome.ANSWERED, 0) + cut
    told = ["not told" if count is None else str(count) for count in (used.prompt_tokens, used.completion_tokens)]
    failed = [str(count) for count in (used.failed_attempts, used.calls - answered, cut)]
    return [str(used.calls), told[0], str(used.own_prompt_tokens), told[1], *failed]
