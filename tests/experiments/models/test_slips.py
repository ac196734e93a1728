"""The model that errs: when and how depends on seed, task and step alone."""

from __future__ import annotations

import asyncio

import pytest

from experiments.actions import parse_reply
from experiments.agent import render
from experiments.models.slips import Slips
from memarbiter.chat import ModelCall, ModelReply

ROOM = "Looking quickly around you, you see a desk 2, a desk 1, a drawer 2, and a safe 1."


class Sure:
    """Never errs."""

    async def reply(self, call: ModelCall) -> ModelReply:
        return ModelReply("Action: look")


def commands(memory: str = "", task: str = "t", seed: int = 42, attempt: int = 1, steps: int = 400) -> list[str]:
    model = Slips(Sure(), rate=0.1, seed=seed)
    messages = render("put a mug in safe.", ROOM, memory)
    asyncio.run(model.reply(ModelCall(messages, task, 1)))
    replies = [asyncio.run(model.reply(ModelCall(messages, task, step, attempt))).text for step in range(1, steps)]
    return [parse_reply(reply).command or "" for reply in replies]


def test_about_one_step_in_ten_slips_with_a_well_formed_command() -> None:
    slips = [command for command in commands() if command != "look"]
    assert 20 <= len(slips) <= 60
    assert {command.split()[0] for command in slips} == {"go", "open", "close", "examine", "take", "move"}
    assert {command.split(" ", 1)[1] for command in slips if command.startswith("open")} <= {
        "desk 2",
        "desk 1",
        "drawer 2",
        "safe 1",
    }
    assert all("mug 1" in command for command in slips if command.startswith(("take", "move")))


def test_the_slips_are_the_same_for_every_memory_and_differ_by_task_and_seed() -> None:
    assert commands() == commands(memory="- desk 1: mug 1")
    assert commands() != commands(task="u")
    assert commands() != commands(seed=43)


def test_an_answer_to_a_reminder_never_slips() -> None:
    assert set(commands(attempt=2)) == {"look"}


@pytest.mark.parametrize("rate", [-0.1, 1.1])
def test_a_rate_outside_its_range_is_an_error(rate: float) -> None:
    with pytest.raises(ValueError, match=str(rate)):
        Slips(Sure(), rate, 42)
