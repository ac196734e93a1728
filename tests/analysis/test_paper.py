"""The published numbers agree with each other and with what the paper's text says about them."""

from __future__ import annotations

import math

import pytest

from analysis import paper


def whole(percent: float, tasks: int) -> int:
    """The count behind a printed rate; fails if no whole number is printed like this."""
    count = round(percent * tasks / 100)
    assert round(100 * count / tasks, 2) == percent
    return count


def test_category_sizes_add_up() -> None:
    assert list(paper.CATEGORY_SIZES.values()) == [24, 18, 31, 23, 21, 17]
    assert sum(paper.CATEGORY_SIZES.values()) == paper.TASKS


@pytest.mark.parametrize("key", paper.TABLE2)
def test_table2_rates_are_whole_tasks_and_add_up(key: tuple[int, str]) -> None:
    row = paper.TABLE2[key]
    won = [whole(row.by_type[kind], size) for kind, size in paper.CATEGORY_SIZES.items()]
    assert sum(won) == whole(row.overall, paper.TASKS)


def test_table3_cuts_after_the_second_decimal() -> None:
    for values in paper.TABLE3.values():
        for value in values:
            count = round(value * paper.TASKS / 100)
            assert math.floor(10_000 * count / paper.TASKS) / 100 == value


@pytest.mark.parametrize("variant", paper.TABLE4)
def test_table4_rates_are_whole_tasks(variant: str) -> None:
    for value in paper.TABLE4[variant]:
        whole(value, paper.TASKS)


def test_table4_changes_follow_from_its_rates() -> None:
    full = paper.TABLE4["memarbiter"]
    for variant, changes in paper.TABLE4_CHANGES.items():
        assert tuple(round(a - b, 2) for a, b in zip(paper.TABLE4[variant], full, strict=True)) == changes


def test_tables_2_and_4_agree() -> None:
    assert paper.TABLE4["memarbiter"][1] == paper.TABLE2[500, "memarbiter"].overall


@pytest.mark.parametrize(("budget", "lead"), [(500, 20.90), (750, 25.38)])
def test_text_leads_over_the_strongest_baseline(budget: int, lead: float) -> None:
    best = max(paper.TABLE2[budget, method].overall for method in ("flat_recency", "flat_retrieval"))
    assert round(paper.TABLE2[budget, "memarbiter"].overall - best, 2) == lead


def test_text_leads_with_the_second_model() -> None:
    full = paper.TABLE3["memarbiter"][1]
    assert round(full - paper.TABLE3["flat_retrieval"][1], 2) == 12.69
    assert round(full - paper.TABLE3["flat_recency"][1], 2) == 10.45


@pytest.mark.parametrize(("budget", "recovery", "repetition"), [(500, 18.2, 20.4), (750, 34.8, 31.4)])
def test_text_differences_of_table5a(budget: int, recovery: float, repetition: float) -> None:
    one, two = paper.TABLE5A[budget, "one_step_recovery"], paper.TABLE5A[budget, "failed_action_repetition"]
    assert round(one["memarbiter"] - one["flat_retrieval"], 1) == recovery
    assert round(two["flat_retrieval"] - two["memarbiter"], 1) == repetition


def test_text_changes_of_table5b() -> None:
    changes = {key: round(after - before, 1) for key, (before, after) in paper.TABLE5B.items()}
    assert changes == {("memarbiter", 500): 3.3, ("memarbiter", 750): 1.9, ("wo_gate", 500): 0.2}


def test_curve_points_are_those_of_the_tables() -> None:
    points = {(p.method, p.k): (p.percent, p.model) for p in paper.curve_points("reader", 500)}
    assert points["memarbiter", 15] == (64.93, paper.QWEN)
    assert points["memarbiter", 50] == (82.84, paper.QWEN)
    assert points["flat_recency", 50] == (50.75, paper.QWEN)
    assert ("flat_recency", 15) not in points
    assert len(points) == len(paper.curve_points("reader", 500))
    assert {p.k for p in paper.curve_points("reader", 750)} == {50}
    assert paper.curve_points("reader", None) == paper.curve_points("reader", 600) == []


def test_curve_points_of_the_second_model_are_its_own() -> None:
    points = {(p.method, p.k): (p.percent, p.model) for p in paper.curve_points("gpt_5_4", 500)}
    assert points["flat_recency", 15] == (68.65, paper.GPT)
    assert points["memarbiter", 50] == (83.58, paper.GPT)
    assert paper.curve_points("gpt_5_4", 750) == []
