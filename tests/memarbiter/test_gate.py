"""The gate: promotion, demotion with patience, protection, release (paper section 3.4)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from helpers import item, signals, write
from hypothesis import given
from hypothesis import strategies as st

from memarbiter.gate import GateThresholds, PresentationGate, StatelessGate, TemporalGate
from memarbiter.items import Band, Bank, MemoryItem, Status

FACT = item("reference-1")
GOAL = item("goal-1", write(Bank.GOAL))
RULE = item("constraint-1", write(Bank.CONSTRAINT))
STATE = item("task_state-1", write(Bank.TASK_STATE))


def course(gate: PresentationGate, one: MemoryItem, *scores: float) -> list[str]:
    """The item's band at each step."""
    gate.begin()
    bands = []
    for score in scores:
        assigned, _ = gate.assign([one], signals([one], score))
        bands.append(str(assigned[one.id]))
    return bands


def test_one_strong_step_promotes() -> None:
    assert course(TemporalGate(), FACT, 0.0, 0.3, 0.9) == ["hidden", "ambient", "focal"]
    assert course(TemporalGate(), FACT, 0.0, 0.9) == ["hidden", "focal"]


def test_a_demotion_takes_patience_and_one_band_at_a_time() -> None:
    falling = course(TemporalGate(), FACT, 0.9, *[0.0] * 12)
    assert falling[0] == falling[1] == "focal"
    assert falling[-1] == "hidden"
    assert falling == sorted(falling, key=["focal", "ambient", "hidden"].index)
    assert "ambient" in falling


@pytest.mark.parametrize("patience", [1, 3, 6])
def test_patience_is_the_number_of_weak_steps(patience: int) -> None:
    gate = TemporalGate(GateThresholds(smoothing=1.0, patience=patience))
    assert course(gate, FACT, 0.9, *[0.3] * patience) == ["focal"] * patience + ["ambient"]


def test_a_strong_step_in_between_starts_the_patience_anew() -> None:
    gate = TemporalGate(GateThresholds(smoothing=1.0, patience=2))
    assert set(course(gate, FACT, 0.9, 0.3, 0.9, 0.3, 0.9, 0.3)) == {"focal"}


def test_a_score_that_flickers_makes_only_the_stateless_gate_flicker() -> None:
    scores = [0.65, 0.35] * 6
    assert set(course(TemporalGate(), FACT, *scores)) == {"focal"}
    stateless = course(StatelessGate(), FACT, *scores)
    assert stateless == ["focal", "ambient"] * 6


def test_between_the_thresholds_the_state_decides() -> None:
    assert course(TemporalGate(), FACT, 0.5, 0.5, 0.5) == ["ambient"] * 3
    assert course(TemporalGate(), FACT, 0.9, 0.5, 0.5, 0.5) == ["focal"] * 4


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.sampled_from([GOAL, RULE]))
def test_active_goals_and_constraints_are_never_hidden(scores: list[float], one: MemoryItem) -> None:
    assert "hidden" not in course(TemporalGate(), one, *scores)


def test_without_roles_nothing_is_protected() -> None:
    assert course(TemporalGate(roles=False), GOAL, *[0.0] * 3)[-1] == "hidden"
    assert course(StatelessGate(), GOAL, 0.0) == ["hidden"]


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.SUPERSEDED, Status.INVALID])
def test_what_no_longer_holds_is_released_at_once(status: Status) -> None:
    gate = TemporalGate()
    gate.begin()
    gate.assign([GOAL], signals([GOAL], 1.0))
    over = replace(GOAL, content=replace(GOAL.content, status=status))
    bands, (move,) = gate.assign([over], signals([over], 1.0))
    assert bands == {GOAL.id: Band.HIDDEN}
    assert (move.before, move.after, move.reason) == ("focal", "hidden", status)


def test_the_newest_snapshot_is_focal_whatever_its_score() -> None:
    assert course(TemporalGate(), STATE, 0.0, 0.0) == ["focal", "focal"]


def test_every_change_is_told_with_its_reason_and_nothing_else() -> None:
    gate = TemporalGate(GateThresholds(smoothing=1.0, patience=1))
    gate.begin()
    told = []
    for score in (0.1, 0.3, 0.3, 0.9, 0.1, 0.1):
        _, moves = gate.assign([FACT], signals([FACT], score))
        told += [(move.before, move.after, move.reason) for move in moves]
    assert told == [
        ("new", "hidden", "first score"),
        ("hidden", "ambient", "strong signal"),
        ("ambient", "focal", "strong signal"),
        ("focal", "ambient", "weak for 1 steps"),
        ("ambient", "hidden", "weak for 1 steps"),
    ]


def test_an_item_that_is_gone_is_forgotten() -> None:
    gate = TemporalGate()
    gate.begin()
    gate.assign([FACT], signals([FACT], 0.9))
    gate.assign([], signals([], 0.0))
    _, (move,) = gate.assign([FACT], signals([FACT], 0.3))
    assert (move.before, move.after) == ("new", "ambient")


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_the_stateless_gate_knows_the_present_score_only(scores: list[float]) -> None:
    alone = [course(StatelessGate(), FACT, score)[0] for score in scores]
    assert course(StatelessGate(), FACT, *scores) == alone


@pytest.mark.parametrize(
    "wrong",
    [{"patience": 0}, {"smoothing": 0.0}, {"promote": 1.2}, {"show": 0.7}, {"keep_focal": 0.9}, {"keep_shown": 0.5}],
)
def test_impossible_thresholds_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        GateThresholds(**wrong)  # type: ignore[arg-type]
