"""Case E2: the game takes the new placing command and rejects the old one, as sent and as played by an agent."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from experiments.envs.alfworld import AlfworldEnvironment, AlfworldTaskSet, household_task_set
from experiments.envs.household import ensure
from experiments.episode import Limits, play
from experiments.records import Condition
from memarbiter.chat import ModelCall, ModelReply
from memarbiter.protocol import EMPTY_PROMPT, MemoryPrompt, Task, Transition


def placing_game(root: Path, tasks: AlfworldTaskSet) -> tuple[str, list[str]]:
    """A task that is won by a placement, and its walkthrough."""
    for task in tasks.tasks():
        path = next(root.glob(f"json_2.1.1/valid_unseen/{task.id.replace('__', '/')}/game.tw-pddl"))
        commands = list(json.loads(path.read_text())["walkthrough"])
        if commands[-1].startswith("move "):
            return task.id, commands
    raise AssertionError("no game of the set ends with a placement")


def old_form(command: str) -> str:
    thing, _, place = command.removeprefix("move ").partition(" to ")
    return f"put {thing} in/on {place}"


def check_forms(env: AlfworldEnvironment, task: str, commands: list[str]) -> None:
    env.begin(task)
    for command in commands[:-1]:
        assert not env.step(command).failed
    refused = env.step(old_form(commands[-1]))
    assert (refused.observation, refused.failed, refused.was_admissible, refused.won) == (
        "Nothing happens.",
        True,
        False,
        False,
    )
    placed = env.step(commands[-1])
    assert (placed.failed, placed.was_admissible, placed.won) == (False, True, True)


class Told:
    """Says what it is told to, one reply for each step."""

    def __init__(self, commands: list[str]) -> None:
        self._commands = commands

    async def reply(self, call: ModelCall) -> ModelReply:
        return ModelReply(f"Action: {self._commands[call.step - 1]}")


class Nothing:
    """A memory that shows nothing."""

    def begin(self, task: Task) -> None:
        pass

    async def record(self, step: Transition) -> None:
        pass

    async def present(self, budget: int) -> MemoryPrompt:
        return EMPTY_PROMPT


@pytest.fixture(scope="module")
def household(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, AlfworldTaskSet]:
    root = ensure(tmp_path_factory.mktemp("placing") / "set", seed=42, tasks=2, jobs=1)
    return root, household_task_set(root, 42, tasks=2)


def test_E2_generated_games_take_the_new_form_only(household: tuple[Path, AlfworldTaskSet]) -> None:
    root, tasks = household
    check_forms(tasks.make(), *placing_game(root, tasks))


def test_E2_an_agent_that_learnt_the_old_form_is_understood(household: tuple[Path, AlfworldTaskSet]) -> None:
    root, tasks = household
    task, commands = placing_game(root, tasks)
    said = [*commands[:-1], old_form(commands[-1])]
    info = next(known for known in tasks.tasks() if known.id == task)
    condition = Condition(env="household", model="told", method="nothing", budget=0, seed=42)
    episode = asyncio.run(play(info, condition, tasks.make(), Nothing(), Told(said), Limits()))
    assert (episode.result.won, episode.result.steps) == (True, len(commands))
    last = episode.steps[-1]
    assert last.command == commands[-1]
    assert last.calls[-1].raw == f"Action: {said[-1]}"  # What was said is kept beside what was sent.
    assert "form corrected" in last.calls[-1].notes


@pytest.mark.alfworld
def test_E2_the_real_games_take_the_new_form_only() -> None:
    root = Path(os.environ["ALFWORLD_DATA"])
    tasks = AlfworldTaskSet(root)
    check_forms(tasks.make(), *placing_game(root, tasks))
