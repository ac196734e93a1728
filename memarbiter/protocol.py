"""The one interface between an agent and its memory, and the records that cross it.

Every method, ours and the baselines, implements :class:`WorkingMemory`. The records are plain and frozen,
so that a memory can neither see the environment nor change what the harness logged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Task:
    """What an agent is told at the start of an episode.

    Attributes:
        id: Stable name of the task, for logs. The suite's is opaque: it tells nothing about the task.
        goal: The goal ``g`` as the environment words it, without "Your task is to:".
        observation: The first observation ``o_1``, without the goal line.
    """

    id: str
    goal: str
    observation: str


@dataclass(frozen=True, slots=True)
class Transition:
    """One executed step: the action ``a_t`` and what the environment answered.

    Attributes:
        step: 1 for the first command of the episode.
        action: The command as it was sent.
        observation: The environment's answer ``o_{t+1}``.
        failed: True if the environment rejected the command (a "failed execution", paper section 4.4).
        won: True if the goal was met by this command.
    """

    step: int
    action: str
    observation: str
    failed: bool
    won: bool = False


@dataclass(frozen=True, slots=True)
class Write:
    """What became of one candidate write (paper section 3.1).

    Attributes:
        bank: Name of the bank.
        item: Id of the item that was written, or of the one that made the candidate unnecessary.
        policy: What the bank's update policy did, e.g. ``insert``, ``merge``, ``revise``, ``supersede``,
            ``complete``, ``reject``.
        reason: Why, in a few words.
    """

    bank: str
    item: str
    policy: str
    reason: str


@dataclass(frozen=True, slots=True)
class Move:
    """One item that changed its band, or was left out of the prompt, at this step.

    Attributes:
        bank: Name of the bank.
        item: Id of the item.
        before: Band before this step (``focal``, ``ambient``, ``hidden``), or ``new``.
        after: Band after it.
        reason: The rule that fired.
    """

    bank: str
    item: str
    before: str
    after: str
    reason: str


@dataclass(frozen=True, slots=True)
class MemoryPrompt:
    """The memory context ``P_t`` of one step, with everything that is known about how it came to be.

    Attributes:
        text: The memory block as it goes into the prompt; empty if there is nothing to show.
        tokens: Its exact o200k_base count.
        bank_tokens: Tokens of each bank's section, by bank name. Sections are counted alone, so their sum can
            differ from ``tokens`` by the few tokens that merge where sections meet.
        bands: Band in which each known item stands in ``text`` (after shedding), by item id.
        relevance: Item-level relevance in [0, 1], by item id; empty for methods that have none.
        demand: Bank-level demand in [0, 1], by bank name; empty for methods that have none.
        writes: Candidate writes since the previous prompt.
        transitions: The gate's decisions of this step that changed a band.
        shed: What was reduced or left out for lack of budget.
    """

    text: str
    tokens: int
    bank_tokens: Mapping[str, int] = field(default_factory=dict)
    bands: Mapping[str, str] = field(default_factory=dict)
    relevance: Mapping[str, float] = field(default_factory=dict)
    demand: Mapping[str, float] = field(default_factory=dict)
    writes: tuple[Write, ...] = ()
    transitions: tuple[Move, ...] = ()
    shed: tuple[Move, ...] = ()


EMPTY_PROMPT = MemoryPrompt(text="", tokens=0)


class WorkingMemory(Protocol):
    """A memory module ``M_t`` of a step-by-step agent (paper section 2.1)."""

    def begin(self, task: Task) -> None:
        """Start a new episode. Nothing of an earlier episode may be kept."""

    async def record(self, step: Transition) -> None:
        """Take in one executed step. Called once per step, in order."""

    async def present(self, budget: int) -> MemoryPrompt:
        """Assemble ``P_t`` for the next action within ``budget`` o200k_base tokens (0 means none).

        Raises:
            ValueError: If ``budget`` is negative.
        """
