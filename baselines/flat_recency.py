"""Flat Recency: the most recent records of an unstructured history (paper section 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from baselines.history import Record, WholeHistoryMemory, assemble, check_budget
from memarbiter import tokens
from memarbiter.protocol import MemoryPrompt


class FlatRecency(WholeHistoryMemory):
    """Keeps observations and actions as they come and shows the newest that fit, oldest first.

    What is shown has no gaps: the first record, from the newest backwards, that does not fit ends it. If even
    the newest record is larger than the budget, as much of its beginning as fits is shown.
    """

    async def present(self, budget: int) -> MemoryPrompt:
        """The newest records within ``budget``."""
        check_budget(budget)
        records = self._history.records
        return assemble(records, wanted=records, kept=newest_within(records, budget))


def newest_within(records: Sequence[Record], budget: int) -> list[Record]:
    """The longest run of records up to the newest whose joined texts have at most ``budget`` tokens."""
    *older, newest = records
    used = tokens.count(newest.text)
    if used > budget:
        beginning = tokens.truncate(newest.text, budget)
        return [replace(newest, text=beginning)] if beginning else []
    kept = [newest]
    for record in reversed(older):
        used += tokens.count(f"{record.text}\n")
        if used > budget:
            break
        kept.append(record)
    return kept[::-1]
