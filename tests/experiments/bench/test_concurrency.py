"""The measure of how full a server is kept, on a few games."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from experiments.bench.concurrency import composed, measured


@pytest.mark.parametrize("case", ["flat_recency", "memarbiter_llm"])
def test_the_figures_of_a_run_agree_with_each_other(case: str, tmp_path: Path) -> None:
    made = composed(case, 3, tmp_path / "run")
    short = made.model_copy(update={"agent": made.agent.model_copy(update={"step_limit": 3})})
    found = measured(case, short, 0.05, Console(quiet=True))
    calls_of_a_step = 3 if case == "memarbiter_llm" else 1
    assert (found.episodes, found.chain_calls) == (3, 3 * calls_of_a_step)
    assert found.chain_s == pytest.approx(found.chain_calls * 0.05)
    assert found.chain_measured_s >= found.chain_s
    assert found.wall_s >= found.chain_measured_s
    assert found.ratio == pytest.approx(found.wall_s / found.chain_s, rel=0.01)
    assert found.calls <= 3 * found.chain_calls
    assert found.failed_attempts == 0
    assert 1 <= found.most_in_flight <= 3
