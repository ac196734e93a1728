"""Demand and relevance (paper section 3.3)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from helpers import context, item, write
from hypothesis import given
from hypothesis import strategies as st

from memarbiter.context import Evidence, Need
from memarbiter.items import Bank, MemoryItem, Status
from memarbiter.signals import FixedDemand, PoolSignals, RoleSignals, Signals, SignalWeights

TASK = item("goal-1", write(Bank.GOAL))
NOW = item("goal-2", write(Bank.GOAL, key="now", scope=("mug", "take")))
LATER = item("goal-3", write(Bank.GOAL, key="later", scope=("mug", "move", "desk")))
STATE = item("task_state-1", write(Bank.TASK_STATE), steps=(5,))
RULE = item("constraint-1", write(Bank.CONSTRAINT, scope=("move", "desk")))
EVENT = item("episodic-1", write(Bank.EPISODIC, entities=("drawer 1",), scope=("open", "mug", "take")), steps=(5,))
FAILURE = item("episodic-2", write(Bank.EPISODIC, entities=("drawer 2",), scope=("open",), failed=True), steps=(5,))
MUG = item("reference-1", write(members=("mug 1",)))
PEN = item("reference-2", write(key="pen", members=("pen 1",)))


def banks(*items: MemoryItem) -> dict[str, list[MemoryItem]]:
    return {bank: [one for one in items if one.bank == bank] for bank in Bank}


ALL = banks(TASK, NOW, LATER, STATE, RULE, EVENT, FAILURE, MUG, PEN)


def estimate(**changes: object) -> Signals:
    return RoleSignals().estimate(context(**changes), ALL)  # type: ignore[arg-type]


@given(
    step=st.integers(5, 60),
    progress=st.floats(0, 1),
    since=st.none() | st.integers(0, 50),
    topics=st.frozensets(st.sampled_from(["mug", "take", "desk", "move"])),
    unresolved=st.booleans(),
)
def test_all_values_lie_between_0_and_1(
    step: int, progress: float, since: int | None, topics: frozenset[str], unresolved: bool
) -> None:
    found = estimate(
        step=step, progress=progress, steps_since_failure=since, topics=topics, needs=(Need("mug", unresolved),)
    )
    values = [*found.demand.values(), *found.relevance.values()]
    assert all(0 <= value <= 1 for value in values)
    assert set(found.relevance) == {one.id for items in ALL.values() for one in items}


def test_episodic_demand_rises_after_a_failure_and_decays() -> None:
    demands = [estimate(steps_since_failure=since).demand[Bank.EPISODIC] for since in (0, 1, 2, 10)]
    assert demands == sorted(demands, reverse=True)
    assert demands[0] > demands[-1] > 0
    assert estimate().demand[Bank.EPISODIC] < demands[-1]


def test_a_failed_event_is_worth_more_while_the_failure_is_recent() -> None:
    assert estimate(steps_since_failure=0).relevance[FAILURE.id] > estimate().relevance[FAILURE.id]
    assert estimate(steps_since_failure=0).relevance[EVENT.id] == estimate().relevance[EVENT.id]


def test_reference_demand_falls_when_the_need_is_resolved() -> None:
    open_need, met = ({"needs": (Need("mug", unresolved),)} for unresolved in (True, False))
    assert estimate(**open_need).demand[Bank.REFERENCE] > estimate(**met).demand[Bank.REFERENCE]


def test_a_fact_is_relevant_if_it_meets_a_need_or_is_about_what_matters_now() -> None:
    relevance = estimate().relevance
    assert (relevance[MUG.id], relevance[PEN.id]) == (1.0, 0.0)
    assert 0 < estimate(entities=frozenset({"pen 1"})).relevance[PEN.id] < 1


def test_goal_demand_falls_with_progress_but_not_below_one_half() -> None:
    assert [estimate(progress=progress).demand[Bank.GOAL] for progress in (0.0, 0.5, 1.0)] == [1.0, 0.75, 0.5]


def test_a_goal_is_relevant_as_it_is_aligned_with_the_subgoal() -> None:
    relevance = estimate().relevance
    assert relevance[TASK.id] == relevance[NOW.id] == 1.0
    assert relevance[LATER.id] == 0.5


def test_task_state_ages() -> None:
    young, old = (estimate(step=step) for step in (5, 9))
    assert young.demand[Bank.TASK_STATE] == young.relevance[STATE.id] == 1.0
    assert old.relevance[STATE.id] < 0.6


def test_a_constraint_matches_the_subgoal_or_what_just_failed() -> None:
    assert estimate().relevance[RULE.id] == 0.0
    assert estimate(topics=frozenset({"mug", "move", "desk"})).relevance[RULE.id] == 1.0
    failed = Evidence(5, "move mug 1 to desk 1", "Nothing happens.", failed=True)
    assert estimate(evidence=failed).relevance[RULE.id] == 1.0
    assert estimate(evidence=failed).demand[Bank.CONSTRAINT] == 1.0


def test_what_no_longer_holds_has_no_relevance() -> None:
    over = replace(MUG, content=replace(MUG.content, status=Status.INVALID))
    assert RoleSignals().estimate(context(), banks(over)).relevance[over.id] == 0.0


def test_fixed_demand_is_fixed_and_keeps_the_relevance() -> None:
    for since in (None, 0):
        found = FixedDemand(0.7).estimate(context(steps_since_failure=since), ALL)
        assert set(found.demand.values()) == {0.7}
        assert found.relevance == estimate(steps_since_failure=since).relevance


def test_pool_signals_know_likeness_and_recency_only() -> None:
    pooled = {"pool": [replace(one, bank="pool") for items in ALL.values() for one in items]}
    found = PoolSignals().estimate(context(), pooled)
    assert found.demand == {"pool": 1.0}
    assert found.relevance[MUG.id] > found.relevance[PEN.id]
    assert found.relevance[STATE.id] > found.relevance[TASK.id]
    assert all(0 <= value <= 1 for value in found.relevance.values())


@pytest.mark.parametrize("wrong", [{"recency_decay": 1.5}, {"off_need": -0.1}, {"similarity_weight": 0.8}])
def test_impossible_weights_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        SignalWeights(**wrong)
    with pytest.raises(ValueError, match="demand"):
        FixedDemand(1.5)
