"""Decision-relevance signals: bank-level demand d_{b,t} and item-level relevance eta_{i,t} (paper section 3.3).

The paper says what each signal looks at, not its formula; the formulas here are ours (docs/fidelity.md). All
values lie in [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Protocol

from memarbiter.context import DecisionContext, overlap, topics_of
from memarbiter.items import Bank, CandidateWrite, MemoryItem


@dataclass(frozen=True, slots=True)
class Signals:
    """Demand by bank name, relevance by item id."""

    demand: Mapping[str, float]
    relevance: Mapping[str, float]

    def score(self, item: MemoryItem) -> float:
        """What the gate acts on: demand of the item's bank times the item's relevance."""
        return self.demand[item.bank] * self.relevance[item.id]


class SignalEstimator(Protocol):
    """Estimates the signals of one decision step."""

    def estimate(self, context: DecisionContext, banks: Mapping[str, Sequence[MemoryItem]]) -> Signals:
        """Signals for every bank and item."""


@dataclass(frozen=True, slots=True)
class SignalWeights:
    """The constants of the formulas.

    Attributes:
        recency_decay: Factor per step of age for Task State and Episodic items.
        failure_decay: Factor per step since the last failed execution.
        failure_weight: Share of the Episodic demand that comes from a recent failure.
        need_weight: Share of the Reference demand that comes from an unresolved need.
        similarity_weight: Share of an event's relevance that comes from likeness to the subgoal.
        recovery_weight: Share of an event's relevance that comes from its use for error recovery.
        unscoped: Scope match of a constraint that applies everywhere.
        off_need: Relevance of a fact that meets no need but is about an entity that matters now.

    Raises:
        ValueError: If a value is not in [0, 1], or the weights of an event's relevance exceed 1.
    """

    recency_decay: float = 0.85
    failure_decay: float = 0.6
    failure_weight: float = 0.6
    need_weight: float = 0.5
    similarity_weight: float = 0.35
    recovery_weight: float = 0.35
    unscoped: float = 0.5
    off_need: float = 0.5

    def __post_init__(self) -> None:
        for field in fields(self):
            if not 0 <= getattr(self, field.name) <= 1:
                raise ValueError(f"{field.name} must lie in [0, 1], not {getattr(self, field.name)}")
        if self.similarity_weight + self.recovery_weight > 1:
            raise ValueError("similarity_weight and recovery_weight must add up to at most 1: the rest is recency")


class RoleSignals:
    """The full method: each bank has its own demand and its own relevance."""

    def __init__(self, weights: SignalWeights | None = None) -> None:
        self._weights = weights or SignalWeights()
        self._relevance: Mapping[str, Callable[[MemoryItem, DecisionContext], float]] = {
            Bank.GOAL: self._goal,
            Bank.TASK_STATE: self._task_state,
            Bank.CONSTRAINT: self._constraint,
            Bank.EPISODIC: self._episodic,
            Bank.REFERENCE: self._reference,
        }

    def estimate(self, context: DecisionContext, banks: Mapping[str, Sequence[MemoryItem]]) -> Signals:
        """Signals for the five banks and their items."""
        relevance = {
            item.id: self._relevance[name](item, context) if item.active else 0.0
            for name, items in banks.items()
            for item in items
        }
        return Signals(self._demand(context, banks, relevance), relevance)

    def _demand(
        self,
        context: DecisionContext,
        banks: Mapping[str, Sequence[MemoryItem]],
        relevance: Mapping[str, float],
    ) -> dict[str, float]:
        w = self._weights
        unresolved = any(need.unresolved for need in context.needs)
        similar = max((overlap(context.topics, _topics(item)) for item in banks[Bank.EPISODIC]), default=0.0)
        return {
            # Falls from 1 to 1/2 as the plan's stages are completed: the goal never becomes unimportant.
            Bank.GOAL: 1.0 - 0.5 * context.progress,
            Bank.TASK_STATE: _best(banks[Bank.TASK_STATE], relevance),
            Bank.CONSTRAINT: _best(banks[Bank.CONSTRAINT], relevance),
            Bank.EPISODIC: w.failure_weight * self._failure(context) + (1 - w.failure_weight) * similar,
            Bank.REFERENCE: w.need_weight * unresolved + (1 - w.need_weight) * _best(banks[Bank.REFERENCE], relevance),
        }

    def _failure(self, context: DecisionContext) -> float:
        ago = context.steps_since_failure
        return 0.0 if ago is None else self._weights.failure_decay**ago

    def _goal(self, item: MemoryItem, context: DecisionContext) -> float:
        if not item.content.scope:
            return 1.0  # The task itself, which every subgoal serves.
        return overlap(context.topics, frozenset(item.content.scope))

    def _task_state(self, item: MemoryItem, context: DecisionContext) -> float:
        return self._recency(item, context)

    def _constraint(self, item: MemoryItem, context: DecisionContext) -> float:
        scope = frozenset(item.content.scope)
        if not scope:
            return self._weights.unscoped
        failed = context.evidence.action if context.evidence.failed else None
        outcome = float(bool(scope & topics_of(failed))) if failed else 0.0
        return max(overlap(scope, context.topics | context.entities), outcome)

    def _episodic(self, item: MemoryItem, context: DecisionContext) -> float:
        w = self._weights
        recency_weight = 1 - w.similarity_weight - w.recovery_weight
        recovery = self._failure(context) if item.content.failed else 0.0
        return (
            w.similarity_weight * overlap(context.topics, _topics(item))
            + w.recovery_weight * recovery
            + recency_weight * self._recency(item, context)
        )

    def _reference(self, item: MemoryItem, context: DecisionContext) -> float:
        topics = _topics(item)
        if any(need.topic in topics for need in context.needs):
            return 1.0
        return self._weights.off_need if topics & context.entities else 0.0

    def _recency(self, item: MemoryItem, context: DecisionContext) -> float:
        return self._weights.recency_decay ** max(context.evidence.step - item.latest, 0)


class FixedDemand:
    """The ablation without dynamic bank-level signals: every bank's demand is a constant.

    Relevance stays that of the full method. It goes with a fixed share of the budget for each bank
    (:class:`memarbiter.assembly.FixedShares`).

    Raises:
        ValueError: If ``demand`` is not in [0, 1].
    """

    def __init__(self, demand: float, weights: SignalWeights | None = None) -> None:
        if not 0 <= demand <= 1:
            raise ValueError(f"a demand must lie in [0, 1], not {demand}")
        self._demand = demand
        self._full = RoleSignals(weights)

    def estimate(self, context: DecisionContext, banks: Mapping[str, Sequence[MemoryItem]]) -> Signals:
        """The same demand for every bank at every step."""
        return Signals(dict.fromkeys(banks, self._demand), self._full.estimate(context, banks).relevance)


class PoolSignals:
    """The ablation without functional banks: one relevance for all items, likeness to the subgoal and recency."""

    def __init__(self, weights: SignalWeights | None = None) -> None:
        self._weights = weights or SignalWeights()

    def estimate(self, context: DecisionContext, banks: Mapping[str, Sequence[MemoryItem]]) -> Signals:
        """Demand 1 for the pool, since there is nothing to weigh it against."""
        wanted = context.topics | {need.topic for need in context.needs}
        relevance = {
            item.id: (
                0.5 * overlap(frozenset(wanted), _topics(item))
                + 0.5 * self._weights.recency_decay ** max(context.evidence.step - item.latest, 0)
                if item.active
                else 0.0
            )
            for items in banks.values()
            for item in items
        }
        return Signals(dict.fromkeys(banks, 1.0), relevance)


def _topics(item: MemoryItem) -> frozenset[str]:
    return _topics_of_content(item.content)


@lru_cache(maxsize=4096)
def _topics_of_content(content: CandidateWrite) -> frozenset[str]:
    named = (*content.entities, *content.members)
    kinds = (name.rsplit(" ", 1)[0] for name in named)
    return frozenset((*named, *kinds, *content.scope))


def _best(items: Sequence[MemoryItem], relevance: Mapping[str, float]) -> float:
    return max((relevance[item.id] for item in items if item.active), default=0.0)
