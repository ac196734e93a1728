"""The decision context ``c_t``, and the interfaces of what makes it and what reads it (paper section 3)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from memarbiter.items import CandidateWrite, MemoryItem
from memarbiter.protocol import Task

_WORD = re.compile(r"[a-z]+(?: \d+)?")


@dataclass(frozen=True, slots=True)
class Evidence:
    """New interaction evidence: the previous action with its outcome, and the current observation.

    ``action`` is None for the first observation; ``step`` is 0 then.
    """

    step: int
    action: str | None
    observation: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Need:
    """An information need of the current subgoal: a kind of entity, and whether its place is still unknown."""

    topic: str
    unresolved: bool


@dataclass(frozen=True, slots=True)
class DecisionContext:
    """``c_t``: the evidence and what the state parser makes of it.

    Attributes:
        goal: The task goal ``g``.
        evidence: Previous action, outcome and current observation.
        subgoal: The current subgoal, as a sentence.
        stage: Its number in the plan, from 0.
        progress: Share of the plan's stages that are completed, in [0, 1].
        topics: Kinds and verbs the subgoal is about.
        entities: Entities that matter now: named by the evidence, held, or here.
        needs: Information needs of the subgoal.
        steps_since_failure: 0 right after a failed execution; None if there was none.
    """

    goal: str
    evidence: Evidence
    subgoal: str
    stage: int
    progress: float
    topics: frozenset[str]
    entities: frozenset[str]
    needs: tuple[Need, ...]
    steps_since_failure: int | None


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a state parser returns; ``problems`` says what could not be used of a model's answer."""

    context: DecisionContext
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """What a candidate writer returns; ``problems`` says what could not be used of a model's answer."""

    candidates: tuple[CandidateWrite, ...]
    problems: tuple[str, ...] = ()


class StateParser(Protocol):
    """Identifies subgoal, progress, entities and needs from the interaction so far."""

    def begin(self, task: Task) -> None:
        """Start a new episode."""

    async def parse(self, evidence: Evidence) -> Parsed:
        """The decision context after new evidence."""


class CandidateWriter(Protocol):
    """The paper's ``W``: decomposes new evidence into candidate writes for the banks."""

    def begin(self, task: Task) -> None:
        """Start a new episode."""

    async def write(self, context: DecisionContext, known: Sequence[MemoryItem]) -> Written:
        """Candidate writes for the evidence in the context; ``known`` are the items that can be revised."""


def topics_of(text: str) -> frozenset[str]:
    """Words and entities of a text, with each entity's kind: "mug 1" gives "mug 1" and "mug"."""
    found = _WORD.findall(text.lower())
    return frozenset(found) | frozenset(word.split(" ", 1)[0] for word in found)


def overlap(wanted: frozenset[str], offered: frozenset[str]) -> float:
    """Share of the wanted topics that are offered, in [0, 1]; 0 if nothing is wanted."""
    return len(wanted & offered) / len(wanted) if wanted else 0.0
