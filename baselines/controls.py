"""The two ends of the scale: no memory at all, and the whole history whatever it costs."""

from __future__ import annotations

from baselines.history import WholeHistoryMemory, assemble, check_budget
from memarbiter.protocol import EMPTY_PROMPT, MemoryPrompt, Task, Transition


class NoMemory:
    """The floor: shows nothing, so that the agent knows the goal and the latest observation only."""

    def begin(self, task: Task) -> None:
        """Nothing to prepare."""

    async def record(self, step: Transition) -> None:
        """Nothing to keep."""

    async def present(self, budget: int) -> MemoryPrompt:
        """The empty prompt."""
        check_budget(budget)
        return EMPTY_PROMPT


class FullHistory(WholeHistoryMemory):
    """The ceiling: shows every record of the episode and ignores the budget.

    What an agent misses with it was never observed, or was not made use of. Its prompts grow with the
    episode, so it is no rival of the budgeted methods.
    """

    async def present(self, budget: int) -> MemoryPrompt:
        """All records; ``budget`` is checked for being valid, and otherwise ignored."""
        check_budget(budget)
        records = self._history.records
        return assemble(records, wanted=records, kept=records)
