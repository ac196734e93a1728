"""The settings of one run: what Hydra composes from ``configs/``, checked before anything is played."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Mapping
from functools import cache
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


def _labelled(label: str, usual: str, name: str) -> str:
    """The short label of a model, unless it is another model than the one that the label stands for."""
    return label if name == usual else re.sub(r"[^\w.+-]", "-", name.rsplit("/", 1)[-1])


def _recorded_label(run: str) -> str:
    path = Path(run).expanduser() / "manifest.json"
    try:
        return str(json.loads(path.read_text())["condition"]["model"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SettingsError(f"model.source={run}: {path} cannot be read; name the folder of one run") from error


@cache
def _free_port(use: str) -> int:
    """A port of the loopback interface that nothing listens on; the same for one use throughout a process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# In configs/: ${checkout:data} is a path in the checkout, ${absolute:~/data} one from the user's point of view.
OmegaConf.register_new_resolver("checkout", lambda path: str(CHECKOUT / path), replace=True)
OmegaConf.register_new_resolver("absolute", lambda path: str(Path(path).expanduser().absolute()), replace=True)
OmegaConf.register_new_resolver("labelled", _labelled, replace=True)
OmegaConf.register_new_resolver("recorded_label", _recorded_label, replace=True)
OmegaConf.register_new_resolver("free_port", _free_port, replace=True)

#: Top-level values of configs/config.yaml that others refer to; what a method makes of them is in its own settings.
_REFERRED_TO = ("parser", "writer", "formation", "memory_model")

#: The short names of how memories are formed, by the classes that form them.
_FORMATIONS = {
    "HouseholdStateParser+HouseholdWriter": "rules",
    "LLMStateParser+LLMWriter": "llm",
    "LLMFormation": "merged",
}


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class MethodSettings(_Settings):
    """``configs/method``: a memory, and whether the token budget applies to it."""

    name: str = _NAME
    budgeted: bool
    memory: dict[str, Any]

    @property
    def lacks_model(self) -> bool:
        """True if the memory asks a model that nobody has named."""
        formation = self.memory.get("formation") or {}
        parts = (formation, *(part for part in formation.values() if isinstance(part, dict)))
        return any("model" in part and part["model"] is None for part in parts)

    @property
    def writing(self) -> str | None:
        """Who parses and writes, e.g. ``rules``, ``llm``, ``merged``; None for a memory that is not formed so."""
        formation = self.memory.get("formation")
        if not formation:
            return None
        parts = [formation[part] for part in ("parser", "writer") if part in formation] or [formation]
        names = "+".join(part["_target_"].rsplit(".", 1)[-1] for part in parts)
        return _FORMATIONS.get(names, names)


class EnvSettings(_Settings):
    """``configs/env``: a task set, how many of its tasks are played (None: all), and the engine that plays them."""

    name: str = _NAME
    tasks: int | None = Field(ge=1)
    engine: str
    task_set: dict[str, Any]


class AgentSettings(_Settings):
    """When an episode ends; see :class:`experiments.episode.Limits`."""

    step_limit: int = Field(ge=1)
    unparsable_limit: int = Field(ge=1)
    observation_tokens: int = Field(ge=1)
    env_step_timeout_s: float = Field(gt=0)


class Settings(_Settings):
    """All settings of one run. ``budget`` is in o200k_base tokens; ``out`` is an absolute path."""

    method: MethodSettings
    env: EnvSettings
    model: dict[str, Any]
    model_label: str = _NAME
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
            model=self.model_label,
            method=self.method.name,
            writing=self.method.writing,
            budget=self.budget if self.method.budgeted else None,
            seed=self.seed,
        )

    @property
    def limits(self) -> Limits:
        """When an episode ends."""
        return Limits(self.agent.step_limit, self.agent.unparsable_limit, self.agent.env_step_timeout_s)

    @property
    def concurrency(self) -> int | None:
        """Episodes in flight at once; None for a model that computes here, of which each process plays one."""
        return self.model.get("max_concurrency")

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
        _make_absolute(values)
        given = values.pop("out", None)
        for name in _REFERRED_TO:
            values.pop(name, None)
        try:
            settings = cls.model_validate({**values, "out": str(given)})
        except ValidationError as error:
            raise SettingsError(_explained(error)) from error
        if settings.method.lacks_model:
            raise SettingsError(
                f"parser, writer or formation ask a language model, and model={settings.model_label} brings none: "
                "choose one that does (qwen3_6_27b, gpt_5_4, local_cpu), or name the memory's own with "
                "+llm@memory_model=local_cpu"
            )
        folder = given or Path("runs", *run_name(settings))
        return settings.model_copy(update={"out": str(Path(folder).expanduser().absolute())})


def _make_absolute(values: Any) -> None:
    """Paths in the settings of models hold from wherever a run is continued."""
    for inner in values.values():
        if isinstance(inner, dict):
            _make_absolute(inner)
    for name in ("source", "reuse"):
        if isinstance(path := values.get(name), str):
            values[name] = str(Path(path).expanduser().absolute())


def set_name(env: str, model: str, tasks: int | None, seed: int) -> str:
    """The folder of runs that are compared with each other, e.g. ``household-reader-12tasks``."""
    parts = [env, model, *([f"{tasks}tasks"] if tasks else []), *([f"seed{seed}"] if seed != PAPER_SEED else [])]
    return "-".join(parts)


def run_name(settings: Settings) -> tuple[str, str, str]:
    """The default folder of a run, below ``runs``: comparison, model, and method with its budget."""
    condition = settings.condition
    writing = None if condition.writing == "rules" else condition.writing
    leaf = "-".join(str(part) for part in (condition.method, condition.budget, writing) if part is not None)
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
