"""Every measure in its smallest form: the figures are there, and agree with each other."""

from __future__ import annotations

import json

import pytest
from rich.console import Console

from experiments.bench.measure import Measure
from experiments.bench.reproduction import reproduced
from experiments.bench.scale import Scale
from experiments.bench.suite import MEASURES

TINY = Scale(
    timed_games=1,
    timed_steps=4,
    compared_games=1,
    compared_steps=2,
    passes=1,
    short_history=4,
    long_history=12,
    short_window=3,
    long_window=5,
    counted_episodes=1,
    concurrency_tasks=2,
    concurrency_latency_s=0.05,
    settled_episodes=1,
    episodes=2,
    reproduced_tasks=1,
)


def taken(name: str) -> Measure:
    found = MEASURES[name](TINY, Console(quiet=True))
    assert found.name == name
    assert json.loads(json.dumps(found.record()))["note"]
    return found


@pytest.mark.parametrize(
    ("name", "samples"),
    [
        ("engine_step", 4),
        ("episode_start_cold", 1),
        ("episode_start_warm", 1),
        ("memory_step_memarbiter", 5),
        ("memory_step_full_history", 5),
        ("token_counting", 1),
    ],
)
def test_seconds_are_compared_with_seconds(name: str, samples: int) -> None:
    found = taken(name)
    assert (found.unit, found.n) == ("s", samples)
    assert found.value > 0
    assert found.baseline is not None
    assert found.baseline > 0
    grown = found.value / found.baseline
    assert found.ratio == pytest.approx(grown if name.startswith("memory") else 1 / grown)


def test_the_engines_do_not_differ_on_a_game_of_each_set() -> None:
    found = taken("differential")
    assert (found.value, found.n) == (0, len(found.detail["games"]))
    assert found.detail["steps_compared"] > 2 * found.n


def test_a_process_has_memory_and_a_curve_of_it() -> None:
    found = taken("peak_memory")
    assert found.baseline is not None
    assert found.baseline > 10
    assert found.detail["after_episode"]["2"] == pytest.approx(found.baseline + found.value)


def test_a_reproduction_takes_time_of_which_its_parts_are_a_part() -> None:
    whole, harness = taken("reproduce"), taken("harness_overhead")
    assert reproduced.cache_info().misses == 1
    assert whole.detail["episodes"] == harness.n == 22
    assert whole.value > whole.detail["play_s"] > 0
    assert harness.baseline is not None
    laps_s = sum(harness.detail[f"{part}_s"] for part in ("environment", "memory", "model"))
    assert harness.value + laps_s == pytest.approx(harness.baseline)
    assert harness.ratio is not None
    assert harness.ratio <= harness.detail["ratio_at_most"]
