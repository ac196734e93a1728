"""The settings of one run: what Hydra composes from ``configs/``, checked before anything is played."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from experiments.episode import Limits
from experiments.records import Condition

CHECKOUT = Path(__file__).resolve().parents[1]
CONFIGS = CHECKOUT / "configs"

PAPER_SEED = 42

_NAME = Field(pattern=r"^\w[\w.+-]*$")


class SettingsError(Exception):
    """A setting is unusable: the message names it, its value and what is allowed."""


# In configs/: ${checkout:data} is a path in the checkout, ${absolute:~/data} one from the user's point of view.
OmegaConf.register_new_resolver("checkout", lambda path: str(CHECKOUT / path), replace=True)
OmegaConf.register_new_resolver("absolute", lambda path: str(Path(path).expanduser().absolute()), replace=True)


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class MethodSettings(_Settings):
    """``configs/method``: a memory, and whether the token budget applies to it."""

    name: str = _NAME
    budgeted: bool
    memory: dict[str, Any]


class EnvSettings(_Settings):
    """``configs/env``: a task set, and how many of its tasks are played (None: all)."""

    name: str = _NAME
    tasks: int | None = Field(ge=1)
    task_set: dict[str, Any]


class ModelSettings(_Settings):
    """``configs/model``: the action model."""

    name: str = _NAME
    model: dict[str, Any]


class AgentSettings(_Settings):
    """When an episode ends; see :class:`experiments.episode.Limits`."""

    step_limit: int = Field(ge=1)
    unparsable_limit: int = Field(ge=1)
    env_step_timeout_s: float = Field(gt=0)


class Settings(_Settings):
    """All settings of one run. ``budget`` is in o200k_base tokens; ``out`` is an absolute path."""

    method: MethodSettings
    env: EnvSettings
    model: ModelSettings
    agent: AgentSettings
    budget: int = Field(ge=0)
    seed: int
    out: str
    jobs: int | None = Field(ge=1)

    @property
    def condition(self) -> Condition:
        """What distinguishes this run from others."""
        return Condition(
            env=self.env.name,
            model=self.model.name,
            method=self.method.name,
            budget=self.budget if self.method.budgeted else None,
            seed=self.seed,
        )

    @property
    def limits(self) -> Limits:
        """When an episode ends."""
        return Limits(self.agent.step_limit, self.agent.unparsable_limit, self.agent.env_step_timeout_s)

    @classmethod
    def of(cls, config: DictConfig) -> Settings:
        """The settings in a composed configuration.

        Raises:
            SettingsError: If a value is missing, unknown or out of its range.
        """
        try:
            values = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
        except OmegaConfBaseException as error:
            raise SettingsError(f"the configuration cannot be resolved: {error}") from error
        assert isinstance(values, dict)
        given = values.pop("out", None)
        try:
            settings = cls.model_validate({**values, "out": str(given)})
        except ValidationError as error:
            raise SettingsError(_explained(error)) from error
        folder = given or Path("runs", *run_name(settings))
        return settings.model_copy(update={"out": str(Path(folder).expanduser().absolute())})


def set_name(env: str, model: str, tasks: int | None, seed: int) -> str:
    """The folder of runs that are compared with each other, e.g. ``household-reader-12tasks``."""
    parts = [env, model, *([f"{tasks}tasks"] if tasks else []), *([f"seed{seed}"] if seed != PAPER_SEED else [])]
    return "-".join(parts)


def run_name(settings: Settings) -> tuple[str, str, str]:
    """The default folder of a run, below ``runs``: comparison, model, and method with its budget."""
    condition = settings.condition
    leaf = condition.method if condition.budget is None else f"{condition.method}-{condition.budget}"
    return (
        set_name(condition.env, condition.model, settings.env.tasks, condition.seed),
        condition.model,
        leaf,
    )


def _explained(error: ValidationError) -> str:
    lines = []
    for problem in error.errors(include_url=False):
        setting = ".".join(str(part) for part in problem["loc"])
        given = "" if isinstance(problem["input"], Mapping) else f"{setting}={problem['input']}: "
        lines.append(f"setting '{setting}': {given}{problem['msg']}")
    return "\n".join(lines)
