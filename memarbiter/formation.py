"""Memory formation: from new evidence to the decision context and the candidate writes (paper section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from memarbiter.context import CandidateWriter, DecisionContext, Evidence, StateParser
from memarbiter.items import CandidateWrite, MemoryItem
from memarbiter.protocol import Task


@dataclass(frozen=True, slots=True)
class Formed:
    """What the evidence of one step is made into.

    Attributes:
        context: The decision context ``c_t``.
        candidates: Candidate writes, in the order in which they are to be applied.
        problems: What could not be used of a model's answers, in a few words each; for the log.
    """

    context: DecisionContext
    candidates: tuple[CandidateWrite, ...]
    problems: tuple[str, ...] = ()


class Formation(Protocol):
    """Makes the decision context and the candidate writes of each step."""

    def begin(self, task: Task) -> None:
        """Start a new episode."""

    async def form(self, evidence: Evidence, known: Sequence[MemoryItem]) -> Formed:
        """Context and candidates for new evidence; ``known`` are the items that can be revised."""


class ParseThenWrite:
    """The paper's order: the state parser first, then the candidate writer with the parsed context."""

    def __init__(self, parser: StateParser, writer: CandidateWriter) -> None:
        self._parser = parser
        self._writer = writer

    def begin(self, task: Task) -> None:
        """Start a new episode."""
        self._parser.begin(task)
        self._writer.begin(task)

    async def form(self, evidence: Evidence, known: Sequence[MemoryItem]) -> Formed:
        """Parse, then write."""
        parsed = await self._parser.parse(evidence)
        written = await self._writer.write(parsed.context, known)
        return Formed(parsed.context, written.candidates, (*parsed.problems, *written.problems))
