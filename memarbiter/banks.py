"""The five memory banks and their update policies (paper section 3.1).

Every candidate passes the same gate first (is it well formed, is it grounded in what was seen, may a failed
command say this?), then the policy of its bank decides: add, merge with what is there, revise it, or replace it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Protocol

from memarbiter.items import Bank, CandidateWrite, MemoryItem, Status
from memarbiter.protocol import Write

#: Most steps of evidence that an item remembers, so that a long loop does not make it grow.
_STEPS_KEPT = 16


class ItemBank:
    """The items of one role, by key, with the policy that all banks start from: add, merge or revise."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._items: dict[str, MemoryItem] = {}
        self._made = 0

    def __iter__(self) -> Iterator[MemoryItem]:
        return iter(self._items.values())

    def update(self, candidate: CandidateWrite) -> list[Write]:
        """Apply one valid candidate; more than one write if other items are affected."""
        known = self._items.get(candidate.key)
        if known is None:
            return [self._insert(candidate)]
        if _same(known.content, candidate):
            return [self._merge(known, candidate)]
        return [self._revise(known, candidate)]

    def _insert(self, candidate: CandidateWrite, reason: str = "new") -> Write:
        self._made += 1
        item = MemoryItem(f"{self.name}-{self._made}", self.name, candidate, (candidate.step,))
        self._items[candidate.key] = item
        return Write(self.name, item.id, "insert", reason)

    def _merge(self, known: MemoryItem, candidate: CandidateWrite) -> Write:
        self._items[candidate.key] = replace(known, content=candidate, steps=_with(known, candidate.step))
        return Write(self.name, known.id, "merge", "says the same")

    def _revise(self, known: MemoryItem, candidate: CandidateWrite) -> Write:
        self._items[candidate.key] = replace(known, content=candidate, steps=(candidate.step,))
        if candidate.status is not known.content.status:
            policy = {
                Status.COMPLETED: "complete",
                Status.SUPERSEDED: "supersede",
                Status.INVALID: "invalidate",
                Status.ACTIVE: "reactivate",
            }[candidate.status]
            return Write(self.name, known.id, policy, f"was {known.content.status}")
        return Write(self.name, known.id, "revise", "new evidence")


class TaskStateBank(ItemBank):
    """The latest valid snapshot replaces the previous one, which stays for one step as superseded."""

    def update(self, candidate: CandidateWrite) -> list[Write]:
        """Insert the snapshot, supersede the one before, and drop what is older."""
        newest = next((item for item in self if item.active), None)
        if newest and candidate.step < newest.latest:
            return [Write(self.name, newest.id, "reject", "older than the latest snapshot")]
        self._items = {key: item for key, item in self._items.items() if item.active}
        writes = []
        if newest:
            old = replace(newest.content, status=Status.SUPERSEDED)
            self._items = {newest.id: replace(newest, content=old)}
            writes.append(Write(self.name, newest.id, "supersede", "a newer snapshot"))
        return [*writes, self._insert(candidate, "latest snapshot")]


class EpisodicBank(ItemBank):
    """Action-outcome events in the order of time; a repetition of the same event is merged into it."""

    def update(self, candidate: CandidateWrite) -> list[Write]:
        """Append the event, or add its step to the event that it repeats."""
        known = self._items.pop(candidate.key, None)
        if known is None:
            return [self._insert(candidate, "event")]
        self._items[candidate.key] = known  # A repeated event is a recent one: it moves to the end.
        return [self._merge(known, candidate)]


class ReferenceBank(ItemBank):
    """Facts by subject; a thing that is claimed by a newer fact leaves the older one."""

    def update(self, candidate: CandidateWrite) -> list[Write]:
        """Add or revise the fact, and take its members out of older facts that contradict it."""
        writes = super().update(candidate)
        if candidate.exclusive:
            claimed = set(candidate.members)
            for key, item in list(self._items.items()):
                if key != candidate.key and item.content.exclusive and claimed & set(item.content.members):
                    writes.append(self._release(key, item, claimed))
        return writes

    def _release(self, key: str, item: MemoryItem, claimed: set[str]) -> Write:
        members = tuple(member for member in item.content.members if member not in claimed)
        self._items[key] = replace(item, content=replace(item.content, members=members))
        return Write(self.name, item.id, "resolve", "a newer fact claims its member")


class Store(Protocol):
    """What the arbiter needs of a set of banks."""

    def begin(self, known: Iterable[str]) -> None:
        """Forget everything; ``known`` are the entities named by the task."""

    def update(self, candidates: Iterable[CandidateWrite], seen: Iterable[str]) -> list[Write]:
        """Apply candidate writes; ``seen`` are the entities named by the new evidence."""

    def items(self) -> Mapping[str, list[MemoryItem]]:
        """All items by bank name, in the order of the prompt's sections."""


class _CheckedStore:
    """The validity check that every candidate passes, whatever the banks are."""

    def __init__(self) -> None:
        self._banks: dict[str, ItemBank] = {}
        self._known: set[str] = set()

    def update(self, candidates: Iterable[CandidateWrite], seen: Iterable[str]) -> list[Write]:
        """Apply candidate writes in order; invalid ones are rejected with a reason."""
        self._known |= set(seen)
        writes = []
        for candidate in candidates:
            bank = self._bank_of(candidate)
            problem = invalid(candidate, self._known)
            writes += [Write(bank.name, "", "reject", problem)] if problem else bank.update(candidate)
        return writes

    def items(self) -> dict[str, list[MemoryItem]]:
        """All items by bank name."""
        return {name: list(bank) for name, bank in self._banks.items()}

    def _bank_of(self, candidate: CandidateWrite) -> ItemBank:
        raise NotImplementedError


class FunctionalBanks(_CheckedStore):
    """The paper's five banks, in the order of the prompt's sections."""

    def begin(self, known: Iterable[str]) -> None:
        """Forget everything."""
        self._known = set(known)
        self._banks = {
            Bank.GOAL: ItemBank(Bank.GOAL),
            Bank.TASK_STATE: TaskStateBank(Bank.TASK_STATE),
            Bank.CONSTRAINT: ItemBank(Bank.CONSTRAINT),
            Bank.EPISODIC: EpisodicBank(Bank.EPISODIC),
            Bank.REFERENCE: ReferenceBank(Bank.REFERENCE),
        }

    def _bank_of(self, candidate: CandidateWrite) -> ItemBank:
        return self._banks[candidate.bank]


class SinglePool(_CheckedStore):
    """The ablation without functional banks: one pool, one policy (add, merge, revise) for every role."""

    NAME = "pool"

    def begin(self, known: Iterable[str]) -> None:
        """Forget everything."""
        self._known = set(known)
        self._banks = {self.NAME: ItemBank(self.NAME)}

    def _bank_of(self, candidate: CandidateWrite) -> ItemBank:
        return self._banks[self.NAME]


def invalid(candidate: CandidateWrite, known: set[str]) -> str:
    """Why a candidate may not be written, or an empty string.

    A failed command proves nothing about the world, so it may not write a Reference fact; and nobody may
    state facts about entities that never occurred. An Episodic item may name them: that they were tried is true.
    """
    if not candidate.text.strip() or not candidate.key:
        return "empty"
    if candidate.bank is Bank.EPISODIC:
        return ""
    if candidate.failed and candidate.bank is Bank.REFERENCE:
        return "a failed command proves no fact"
    unknown = [name for name in (*candidate.entities, *candidate.members) if name not in known]
    return f"never seen: {', '.join(unknown)}" if unknown else ""


def _same(old: CandidateWrite, new: CandidateWrite) -> bool:
    return (old.text, old.members, old.status) == (new.text, new.members, new.status)


def _with(item: MemoryItem, step: int) -> tuple[int, ...]:
    return item.steps if step == item.latest else (*item.steps, step)[-_STEPS_KEPT:]
