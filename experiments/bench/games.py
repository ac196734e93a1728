"""The games and settings that are measured with."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.utils import instantiate

from experiments.envs.alfworld import PAPER_SPLITS, AlfworldTaskSet
from experiments.envs.base import TaskInfo
from experiments.envs.spread import spread
from experiments.settings import CONFIGS, Settings

#: Commands that no game knows, or knows in another spelling.
WRONG = ("go to moon 1", "open nothing 1", "put apple 1 in/on fridge 1", "Look", "look.", "go to  bed 1", " look ", "")
_WRONG_RATE = 0.1
_KINDS = {"go": "go", "look": "look", "examine": "look", "inventory": "look", "help": "look"}
_WEIGHTS = {"act": 4, "go": 4, "look": 1}


def composed(*overrides: str) -> Settings:
    """The settings that ``python -m experiments.run`` makes of these words."""
    GlobalHydra.instance().clear()
    with hydra.initialize_config_dir(str(CONFIGS), version_base="1.3"):
        return Settings.of(hydra.compose("config", list(overrides)))


@cache
def task_set(env: str) -> AlfworldTaskSet:
    """The task set of an environment's settings; household games are generated if they are absent.

    Raises:
        TaskSetError: If there are other games than there should be.
    """
    made: AlfworldTaskSet = instantiate(composed(f"env={env}").env.task_set)
    return made


def has_alfworld() -> bool:
    """Whether the real games are on this machine; whether they are whole is another question."""
    return any(_folder("alfworld").glob("*"))


def chosen(env: str, count: int | None) -> Sequence[TaskInfo]:
    """Tasks of an environment, spread over the types; all if ``count`` is None or more than there are.

    Raises:
        TaskSetError: If there are other games than there should be.
    """
    tasks = task_set(env).tasks()
    return tasks if count is None or count >= len(tasks) else spread(tasks, count)


def paths(env: str, count: int | None) -> list[Path]:
    """The game files of :func:`chosen`."""
    folder = _folder(env)
    return [folder.joinpath(*task.id.split("__", 1)) / "game.tw-pddl" for task in chosen(env, count)]


def name(game: Path) -> str:
    """A game's name, which says nothing of where it lies."""
    return f"{game.parent.parent.name}/{game.parent.name}"


def walkthrough(game: Path) -> list[str]:
    """The commands that win a game."""
    commands: list[str] = json.loads(game.read_text(encoding="utf-8"))["walkthrough"]
    return commands


def drawn(draw: random.Random, admissible: Sequence[str]) -> str:
    """A command: now and then a wrong one, else an admissible one of a kind that is drawn first.

    Most admissible commands are ways to go; drawn from all at once, little else would ever happen.
    """
    if draw.random() < _WRONG_RATE:
        return draw.choice(WRONG)
    kinds: dict[str, list[str]] = {}
    for command in admissible:
        kinds.setdefault(_KINDS.get(command.split()[0], "act"), []).append(command)
    (kind,) = draw.choices(list(kinds), [_WEIGHTS[kind] for kind in kinds])
    return draw.choice(kinds[kind])


@cache
def _folder(env: str) -> Path:
    told: dict[str, Any] = composed(f"env={env}").env.task_set
    return Path(told["root"]) / "json_2.1.1" / PAPER_SPLITS.get(told["split"], told["split"])
