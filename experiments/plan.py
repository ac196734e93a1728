"""What a reproduction will ask of its models, before anything is rented: ``python -m experiments.plan models=[...]``.

The counts are measured: every condition is played on some of its tasks with ``reader_slips`` in the action model's
place and the rules in the writer's and parser's, while the prompts that the models would get are made and counted
(:mod:`experiments.rehearsal`). Hours and costs follow from these counts and a stated rate.

Two figures are given for each. *Likely*: episodes as long as in the rehearsal, answers as long as the stand-ins'. *At
most*: every episode takes all its steps with the longest prompt seen, and every answer its limit. Retries and repeated
questions are in neither.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hydra
from hydra.utils import instantiate
from omegaconf import DictConfig
from pydantic import BaseModel, ConfigDict
from rich import box
from rich.console import Console
from rich.table import Table

from experiments.console import USER_ERRORS, play_all
from experiments.models.llm.client import OpenAIModel
from experiments.rehearsal import Asked, asked_in, rehearsed
from experiments.reproduce import conditions
from experiments.settings import CONFIGS, Settings, SettingsError

_PAPER_TASKS = 134
_HOUR_S = 3600.0
_MILLION = 1e6


class Rate(BaseModel):
    """What tokens take in time and money; what is not stated is not estimated.

    With tokens per second the server is the limit (a full batch); with seconds per call it is the number of episodes
    that may be in flight.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt_tokens_per_s: float | None = None
    completion_tokens_per_s: float | None = None
    seconds_per_call: float | None = None
    dollars_per_hour: float | None = None
    dollars_per_million_prompt: float | None = None
    dollars_per_million_completion: float | None = None

    def hours(self, amount: Amount, in_flight: int) -> float | None:
        """Hours that the calls take."""
        if self.prompt_tokens_per_s and self.completion_tokens_per_s:
            seconds = amount.prompt / self.prompt_tokens_per_s + amount.completion / self.completion_tokens_per_s
            return seconds / _HOUR_S
        return amount.calls * self.seconds_per_call / in_flight / _HOUR_S if self.seconds_per_call else None

    def dollars(self, amount: Amount, hours: float | None) -> float | None:
        """What the calls cost: by the hour, by tokens, or both."""
        by_hour = hours * self.dollars_per_hour if hours is not None and self.dollars_per_hour else None
        prices = (self.dollars_per_million_prompt, self.dollars_per_million_completion)
        by_token = None
        if prices[0] is not None and prices[1] is not None:
            by_token = (amount.prompt * prices[0] + amount.completion * prices[1]) / _MILLION
        known = [part for part in (by_hour, by_token) if part is not None]
        return sum(known) if known else None


@dataclass(slots=True)
class Amount:
    """Calls and tokens, and the hours and dollars of them; None where no rate is stated."""

    calls: float = 0.0
    prompt: float = 0.0
    completion: float = 0.0
    hours: float | None = 0.0
    dollars: float | None = 0.0

    def add(self, other: Amount) -> None:
        """Add another amount; what one side does not know, the sum does not know."""
        self.calls += other.calls
        self.prompt += other.prompt
        self.completion += other.completion
        self.hours = None if self.hours is None or other.hours is None else self.hours + other.hours
        self.dollars = None if self.dollars is None or other.dollars is None else self.dollars + other.dollars


@dataclass(frozen=True, slots=True)
class Row:
    """One condition: what is likely, and what is the most it can take."""

    settings: Settings
    calls_per_step: dict[str, float]
    likely: Amount = field(default_factory=Amount)
    most: Amount = field(default_factory=Amount)


def row(settings: Settings, asked: Sequence[Asked], rehearsed_tasks: int, tasks: int) -> Row:
    """The estimate of one condition.

    Args:
        settings: The condition with the models that are to be asked.
        asked: Every call of the rehearsal.
        rehearsed_tasks: How many tasks were played in it.
        tasks: How many are to be played.
    """
    models = {"act": _model(settings.model), "memory": _model(_memory_model(settings.method.memory))}
    steps = sum(call.purpose == "act" for call in asked)
    result = Row(settings, {})
    for purpose in sorted({call.purpose for call in asked}):
        calls = [call for call in asked if call.purpose == purpose]
        model = models["act" if purpose == "act" else "memory"]
        if model is None:
            continue
        result.calls_per_step[purpose] = len(calls) / steps
        scale = tasks / rehearsed_tasks
        likely = Amount(
            len(calls) * scale, sum(c.prompt for c in calls) * scale, sum(c.completion for c in calls) * scale
        )
        count = len(calls) / steps * settings.agent.step_limit * tasks
        most = Amount(count, count * max(c.prompt for c in calls), count * model.answer_tokens[purpose])
        for amount, total in ((likely, result.likely), (most, result.most)):
            rate = Rate.model_validate(dict(model.rate or {}))
            amount.hours = rate.hours(amount, model.max_concurrency)
            amount.dollars = rate.dollars(amount, amount.hours)
            total.add(amount)
    return result


def _model(config: Mapping[str, Any] | None) -> OpenAIModel | None:
    model = instantiate(config) if config else None
    return model if isinstance(model, OpenAIModel) else None


def _memory_model(memory: Mapping[str, Any]) -> Mapping[str, Any] | None:
    formation = memory.get("formation", {})
    parts = (formation, formation.get("parser", {}), formation.get("writer", {}))
    return next((part["model"] for part in parts if "model" in part), None)


def plan(config: DictConfig, console: Console) -> list[Row]:
    """Play the rehearsal, and estimate every condition from it.

    Raises:
        SettingsError: If the model is none that is asked over a network, or the rehearsal could not be finished.
    """
    wanted = list(conditions(config))
    if _model(wanted[0].model) is None:
        raise SettingsError(
            f"models={list(config.models)}: {wanted[0].model_label} asks no server; nothing is to be planned"
        )
    with tempfile.TemporaryDirectory() as folder:
        played = [rehearsed(settings, Path(folder)) for settings in wanted]
        if play_all(lambda: played, console):
            raise SettingsError("the rehearsal could not be finished; see above")
        tasks = [sum(1 for _ in Path(settings.out, "episodes").glob("*.jsonl")) for settings in played]
        return [
            row(settings, list(asked_in(Path(rehearsal.out))), count, int(config.plan_tasks or _PAPER_TASKS))
            for settings, rehearsal, count in zip(wanted, played, tasks, strict=True)
        ]


def table(rows: Iterable[Row]) -> Table:
    """The estimate, two lines for each condition, and the sum."""
    shown = Table("condition", "", *("calls", "prompt", "answer", "hours", "$"), box=box.SIMPLE_HEAD)
    for column in shown.columns[2:]:
        column.justify = "right"
    likely, most = Amount(), Amount()
    for one in rows:
        condition = one.settings.condition
        parts = (condition.method, condition.budget, condition.writing)
        shown.add_row(" ".join(str(part) for part in parts if part is not None), "likely", *_cells(one.likely))
        shown.add_row(f"  {' + '.join(one.calls_per_step)}", "at most", *_cells(one.most))
        likely.add(one.likely)
        most.add(one.most)
    shown.add_section()
    shown.add_row("all", "likely", *_cells(likely))
    shown.add_row("", "at most", *_cells(most))
    return shown


def _cells(amount: Amount) -> Iterator[str]:
    yield from (_thousands(value) for value in (amount.calls, amount.prompt, amount.completion))
    yield from ("not stated" if value is None else f"{value:.1f}" for value in (amount.hours, amount.dollars))


def _thousands(value: float) -> str:
    return f"{value / 1000:.1f}k" if value < _MILLION else f"{value / _MILLION:.1f}M"


def _rates(settings: Sequence[Settings]) -> Iterator[str]:
    """The stated rate of each model that is asked."""
    configs = (config for one in settings for config in (one.model, _memory_model(one.method.memory)))
    for model in {model.name: model for config in configs if (model := _model(config))}.values():
        told = ", ".join(f"{name} {value:g}" for name, value in (model.rate or {}).items())
        yield f"{model.name}: {told or 'no rate'}"


@hydra.main(version_base="1.3", config_path=str(CONFIGS), config_name="plan")
def main(config: DictConfig) -> None:
    """Print the plan."""
    console, errors = Console(), Console(stderr=True)
    try:
        rows = plan(config, errors)
    except USER_ERRORS as error:
        errors.print(f"error: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)
    console.print(table(rows))
    told = (
        "Measured: calls and prompt tokens, in a rehearsal with stand-ins for all models, by our count (o200k_base "
        "without chat templates; servers count some percent more).\nStated, not measured: "
        f"{'; '.join(_rates([one.settings for one in rows]))}. Other rates: WITH='model.rate.dollars_per_hour=...'.\n"
        "Not counted: retries, and questions that are asked again."
    )
    console.print(told, markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
