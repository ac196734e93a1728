"""Memory items, candidate writes and their vocabulary: plain frozen records."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Bank(StrEnum):
    """The five functional roles (paper, Table 1)."""

    GOAL = "goal"
    TASK_STATE = "task_state"
    CONSTRAINT = "constraint"
    EPISODIC = "episodic"
    REFERENCE = "reference"


class Band(StrEnum):
    """Presentation state z of an item: F, A or H (paper section 3.4)."""

    FOCAL = "focal"
    AMBIENT = "ambient"
    HIDDEN = "hidden"


class Status(StrEnum):
    """Whether an item still holds. All but ``active`` lift the protection of Goal and Constraint."""

    ACTIVE = "active"
    COMPLETED = "completed"
    SUPERSEDED = "superseded"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class CandidateWrite:
    """One atomic piece of information that a writer proposes for one bank (paper section 3.1).

    Attributes:
        bank: Its primary role.
        key: Identity of what it speaks of. A candidate whose key is known revises that item, else it adds one.
        text: Full content. ``{members}`` in it stands for the list of ``members``.
        subject: What it is about, in a few words: a place, an action, a subgoal. Used by the ambient form.
        value: The state or outcome of the subject, in a few words. Used by the ambient form.
        step: Step of the evidence.
        source: Where it comes from, e.g. ``goal``, ``observation``, ``outcome``.
        entities: Entities it names.
        members: The things that ``{members}`` lists.
        exclusive: True if a member can be in one such item only: the newest claim wins.
        cues: Those members that the ambient form must keep.
        scope: Topics (kinds, verbs, entities) to which it applies; empty for "everywhere".
        status: Whether it holds.
        failed: True if its evidence is a command that the environment rejected.
    """

    bank: Bank
    key: str
    text: str
    subject: str
    value: str
    step: int
    source: str
    entities: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    exclusive: bool = False
    cues: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    status: Status = Status.ACTIVE
    failed: bool = False


@dataclass(frozen=True, slots=True)
class MemoryItem:
    """One atomic unit of memory ``m_i``: the content of its latest write, its id and its history.

    Attributes:
        id: Unique within an episode, never used again.
        bank: Name of the bank that holds it (one of :class:`Bank`, or ``pool`` without banks).
        content: The write it now stands for.
        steps: Steps of the latest evidence merged into it, oldest first.
    """

    id: str
    bank: str
    content: CandidateWrite
    steps: tuple[int, ...]

    @property
    def active(self) -> bool:
        """True while it has not been completed, superseded or invalidated."""
        return self.content.status is Status.ACTIVE

    @property
    def latest(self) -> int:
        """Step of its newest evidence."""
        return self.steps[-1]
