"""The figures of a measure, and what is said of its goals."""

from __future__ import annotations

import pytest

from experiments.bench.measure import Goal, Measure, faster, spread


def test_the_ratio_of_something_faster_is_that_of_the_medians() -> None:
    found = faster("x", [(9.0, 1.0), (10.0, 2.0), (30.0, 3.0)], note="a note", more=7)
    assert (found.value, found.baseline, found.ratio, found.n, found.unit) == (2.0, 10.0, 5.0, 3, "s")
    assert found.spread == pytest.approx(1.0)
    assert found.detail == {"baseline_spread": 10.5, "quartiles_of_the_pairs_ratios": (7.0, 9.5), "more": 7}


def test_one_sample_has_no_spread() -> None:
    assert spread([3.0]) is None
    assert faster("x", [(9.0, 1.0)], note="").spread is None


@pytest.mark.parametrize(
    ("goal", "met"),
    [
        (Goal("ratio", ">=", 25), True),
        (Goal("ratio", ">=", 25.1), False),
        (Goal("value", "<=", 2), True),
        (Goal("value", "<=", 1.9), False),
        (Goal("baseline", "<=", 1), False),
    ],
)
def test_a_goal_is_held_against_the_figure_it_names(goal: Goal, met: bool) -> None:
    assert Measure(name="x", value=2.0, unit="s", ratio=25.0, goals=(goal,)).met(goal) is met


def test_a_record_has_four_digits_and_tells_of_its_goals() -> None:
    goal = Goal("value", "<=", 3)
    found = Measure(
        name="x", value=1.234567, unit="s", n=3, note="so", detail={"all": [0.000123456, 12]}, goals=(goal,)
    )
    assert found.record() == {
        "name": "x",
        "value": 1.235,
        "unit": "s",
        "baseline": None,
        "ratio": None,
        "n": 3,
        "spread": None,
        "note": "so",
        "detail": {"goals": {"value <= 3": True}, "all": [0.0001235, 12]},
    }
