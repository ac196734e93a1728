"""Flat Recency shows the newest records that fit, without gaps."""

import asyncio

import pytest

from baselines.flat_recency import FlatRecency
from memarbiter import tokens
from memarbiter.protocol import MemoryPrompt, Move, Task, Transition

TASK = Task("t", "put a mug in shelf.", "You are in the middle of a room. You see a desk 1, and a shelf 2.")
MUG_HISTORY = (
    ("go to desk 1", "You arrive at desk 1. On the desk 1, you see a mug 1."),
    ("take mug 1 from desk 1", "You pick up the mug 1 from the desk 1."),
    ("move mug 1 to shelf 2", "You move the mug 1 to the shelf 2."),
    ("go to desk 1", "You arrive at desk 1. On the desk 1, you see nothing."),
)
LINES = [
    f"Step 0. Observation: {TASK.observation}",
    *(f"Step {k}. Action: {a}. Observation: {o}" for k, (a, o) in enumerate(MUG_HISTORY, start=1)),
]


def shown(budget: int, *history: tuple[str, str], task: Task = TASK) -> MemoryPrompt:
    async def episode() -> MemoryPrompt:
        memory = FlatRecency()
        memory.begin(task)
        for number, (action, observation) in enumerate(history, start=1):
            await memory.record(Transition(number, action, observation, failed=False))
        return await memory.present(budget)

    return asyncio.run(episode())


def test_record_format_keeps_the_words_of_the_environment() -> None:
    assert shown(500, *MUG_HISTORY).text == "\n".join(LINES)


def test_M3_append_only_shows_steps_and_the_newest_last() -> None:
    lines = shown(500, *MUG_HISTORY).text.splitlines()
    assert [line.split(".")[0] for line in lines] == ["Step 0", "Step 1", "Step 2", "Step 3", "Step 4"]
    assert lines[-1].endswith("you see nothing.")


@pytest.mark.parametrize("kept", [1, 2, 3, 4, 5])
def test_T5_exact_budgets(kept: int) -> None:
    wanted = "\n".join(LINES[-kept:])
    size = tokens.count(wanted)
    assert shown(size, *MUG_HISTORY).text == wanted
    if kept > 1:
        assert shown(size - 1, *MUG_HISTORY).text == "\n".join(LINES[-kept + 1 :])


def test_dropped_records_are_logged() -> None:
    prompt = shown(tokens.count("\n".join(LINES[-2:])), *MUG_HISTORY)
    hidden = ["step-0", "step-1", "step-2"]
    assert prompt.shed == tuple(
        Move("history", item, "focal", "hidden", "no room within the budget") for item in hidden
    )
    assert prompt.bands == dict.fromkeys(hidden, "hidden") | {"step-3": "focal", "step-4": "focal"}


def test_an_older_record_never_jumps_over_one_that_does_not_fit() -> None:
    long = ("help", "Available commands: " + "look " * 300)
    short = ("inventory", "You are not carrying anything.")
    assert shown(200, short, long, short).text == "Step 3. Action: inventory. Observation: " + short[1]


@pytest.mark.parametrize("budget", [1, 17, 500])
def test_T5_single_observation_larger_than_the_budget(budget: int) -> None:
    whole = "Step 1. Action: look. Observation: " + "\U0001f9ea" * 2000
    prompt = shown(budget, ("look", "\U0001f9ea" * 2000))
    assert prompt.text
    assert whole.startswith(prompt.text)
    assert prompt.tokens == tokens.count(prompt.text) <= budget
    assert prompt.shed[-1] == Move("history", "step-1", "focal", "focal", "cut short to fit the budget")


def test_T5_zero_means_zero() -> None:
    prompt = shown(0, *MUG_HISTORY)
    assert (prompt.text, prompt.tokens) == ("", 0)
    assert set(prompt.bands.values()) == {"hidden"}
    assert len(prompt.shed) == 5


def test_observation_of_several_lines_stays_one_record() -> None:
    prompt = shown(500, ("help", "\nAvailable commands:\n  look\n"))
    assert prompt.text.endswith("Step 1. Action: help. Observation: Available commands:\n  look")
    assert list(prompt.bands) == ["step-0", "step-1"]
