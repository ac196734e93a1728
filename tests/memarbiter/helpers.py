"""Building blocks for the tests of the method."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hydra
from hydra.utils import instantiate

from memarbiter.arbiter import MemArbiter
from memarbiter.context import DecisionContext, Evidence, Need
from memarbiter.items import Bank, CandidateWrite, MemoryItem
from memarbiter.protocol import MemoryPrompt, Task, Transition
from memarbiter.signals import Signals

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
REJECTED = "Nothing happens."


def write(bank: Bank = Bank.REFERENCE, key: str = "k", text: str = "a fact", **changes: Any) -> CandidateWrite:
    """A candidate write with everything that a test does not care about filled in."""
    values = {"subject": "it", "value": "so", "step": 1, "source": "observation", **changes}
    return CandidateWrite(bank=bank, key=key, text=text, **values)


def item(name: str = "reference-1", content: CandidateWrite | None = None, steps: tuple[int, ...] = (1,)) -> MemoryItem:
    """An item that holds the content, in the bank of its role."""
    content = content or write()
    return MemoryItem(name, str(content.bank), content, steps)


def signals(items: Sequence[MemoryItem], score: float) -> Signals:
    """Signals that give every item this score."""
    return Signals({one.bank: 1.0 for one in items}, {one.id: score for one in items})


def context(step: int = 5, **changes: Any) -> DecisionContext:
    """A decision context: looking for a mug."""
    values: dict[str, Any] = {
        "goal": "put a mug in desk.",
        "evidence": Evidence(step, "open drawer 1", "You open the drawer 1."),
        "subgoal": "Find the mug and take it.",
        "stage": 0,
        "progress": 0.0,
        "topics": frozenset({"mug", "take"}),
        "entities": frozenset({"drawer 1"}),
        "needs": (Need("mug", unresolved=True),),
        "steps_since_failure": None,
    }
    return DecisionContext(**{**values, **changes})


def memory(method: str = "memarbiter", *overrides: str) -> MemArbiter:
    """The memory of a method's configuration."""
    with hydra.initialize_config_dir(str(CONFIGS), version_base="1.3"):
        config = hydra.compose("config", [f"method={method}", *overrides])
    made: MemArbiter = instantiate(config.method.memory)
    return made


ROOM = (
    "You are in the middle of a room. Looking quickly around you, you see a bed 1, a desk 1, a drawer 3, a drawer 2, "
    "a drawer 1, a fridge 1, a shelf 2, a shelf 1, and a sinkbasin 1."
)

#: Action and answer, in the game's own words.
Script = Sequence[tuple[str, str]]


def tell(
    target: MemArbiter, script: Script, goal: str = "put a mug in shelf.", budget: int = 500
) -> list[MemoryPrompt]:
    """Begin an episode, play the script, and give all prompts, the first one before any action."""

    async def play() -> list[MemoryPrompt]:
        target.begin(Task("t", goal, ROOM))
        prompts = [await target.present(budget)]
        for number, (action, answer) in enumerate(script, start=1):
            await target.record(Transition(number, action, answer, answer == REJECTED))
            prompts.append(await target.present(budget))
        return prompts

    return asyncio.run(play())
