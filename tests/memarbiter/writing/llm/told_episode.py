"""An episode with its banks, of which a test says what the model writes at each step."""

from __future__ import annotations

from typing import Any

from scripted import GOAL, ROOM, contents, snapshot

from memarbiter.bands import BankTemplates
from memarbiter.banks import FunctionalBanks
from memarbiter.context import DecisionContext, Evidence, Need, topics_of
from memarbiter.items import Band, CandidateWrite, MemoryItem
from memarbiter.protocol import Write
from memarbiter.writing.llm.candidates import candidates, task_write
from memarbiter.writing.llm.grounding import Episode

SEEN = "You arrive at desk 1. On the desk 1, you see a mug 1, and a pen 1."


class Told:
    """An episode with its banks, told step by step what a model writes."""

    def __init__(self, goal: str = GOAL) -> None:
        self.goal = goal
        self.banks = FunctionalBanks()
        self.banks.begin(topics_of(goal))
        self.episode = Episode(goal)
        self.problems: list[str] = []
        self.writes: list[Write] = []
        self.step = -1
        self.tell(None, ROOM)

    def tell(self, action: str | None, answer: str, *writes: Any, failed: bool = False) -> list[CandidateWrite]:
        """One step: the evidence, and the writes of the model's answer to it."""
        self.step += 1
        evidence = Evidence(self.step, action, answer, failed)
        self.episode.tell(f"{action or ''} {answer}")
        context = DecisionContext(
            self.goal, evidence, "Find a mug.", 0, 0.0, frozenset({"mug"}), frozenset(), (Need("mug", True),), None
        )
        made, self.problems = candidates(list(writes), context, self.items(), self.episode)
        first = [task_write(self.goal, 0)] if action is None else []
        self.writes = self.banks.update([*first, *made], topics_of(answer))
        return made

    def items(self, bank: str | None = None) -> list[MemoryItem]:
        return [item for name, items in self.banks.items().items() for item in items if bank in (None, name)]

    def lines(self, bank: str, band: Band = Band.FOCAL) -> list[str]:
        """The items that hold, as the prompt shows them."""
        return [BankTemplates().render(item, band) for item in self.items(bank) if item.active]


def at_desk() -> Told:
    """The episode after its first command, which showed mug 1 and pen 1 on desk 1."""
    made = Told()
    made.tell("go to desk 1", SEEN, contents("desk 1", "mug 1", "pen 1"), snapshot("at desk 1"))
    return made
