"""Cases E7, C1, S1 over real workers: what went wrong is told apart from a lost episode, in files and exit status."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from test_runner import episodes, plan, run, settings, status
from toys import Corridor, CorridorTasks, ListMemory

from experiments.console import play_all
from experiments.envs.base import Outcome
from experiments.runner import Plan
from experiments.settings import Settings
from experiments.store import StoreError
from memarbiter.protocol import MemoryPrompt


class Greedy(ListMemory):
    """Presents everything, whatever the budget; workers import it from here."""

    async def present(self, budget: int) -> MemoryPrompt:
        return await super().present(1000)


class Stuck(Corridor):
    """Does not answer in task 2."""

    def step(self, command: str) -> Outcome:
        if self._last == 2:
            time.sleep(60)
        return super().step(command)


class Fragile(Corridor):
    """Breaks in task 2, and cannot be used afterwards."""

    _broken = False

    def step(self, command: str) -> Outcome:
        self._broken = self._broken or self._last == 2
        if self._broken:
            raise RuntimeError("broken for good")
        return super().step(command)


class FragileTasks(CorridorTasks):
    """The corridors in a world that can break; workers import it from here."""

    def make(self) -> Fragile:
        return Fragile()


class StuckTasks(CorridorTasks):
    """The corridors, one of them stuck; workers import it from here."""

    def make(self) -> Stuck:
        return Stuck()


def changed(made: Settings, **groups: dict[str, Any]) -> Settings:
    """Settings with some values of some groups replaced."""
    values = made.model_dump()
    return Settings.model_validate({**values, **{name: {**values[name], **group} for name, group in groups.items()}})


def test_E7_a_hanging_environment_is_an_error_and_the_rest_is_played(tmp_path: Path) -> None:
    made = plan(tmp_path / "run")
    # A second is long enough for the other tasks on a busy machine too.
    stuck = changed(
        made.settings,
        agent={"env_step_timeout_s": 1.0},
        env={"task_set": {"_target_": "test_runner_edges.StuckTasks"}},
    )
    (tally,) = run(Plan(stuck, made.tasks), jobs=1)
    assert (tally.planned, tally.finished, tally.won) == (4, 3, 3)
    assert list(tally.errors) == ["corridor-2"]
    assert tally.errors["corridor-2"].endswith("DeadlineExceeded: step 1 of corridor-2 took more than 1 s")
    assert sorted(episodes(tmp_path / "run")) == ["corridor-1", "corridor-3", "corridor-4"]
    assert status(tmp_path / "run")["errors"] == tally.errors


def test_E6_an_environment_that_broke_is_not_used_again(tmp_path: Path) -> None:
    made = [plan(tmp_path / name, name) for name in ("one", "two")]
    fragile = {"task_set": {"_target_": "test_runner_edges.FragileTasks"}}
    tallies = run(*(Plan(changed(one.settings, env=fragile), one.tasks) for one in made), jobs=1)
    for tally in tallies:
        assert (tally.finished, tally.errors) == (3, {"corridor-2": "RuntimeError: broken for good"})


def test_a_memory_that_breaks_its_budget_gives_no_result(tmp_path: Path) -> None:
    made = settings(tmp_path / "run", name="greedy")
    broken = made.model_copy(update={"budget": 5})
    broken = changed(broken, method={"memory": {"_target_": "test_runner_edges.Greedy"}})
    assert play_all(lambda: [broken]) == 1
    told = status(tmp_path / "run")
    assert told["state"] == "incomplete"
    assert (told["planned"], told["finished"], told["won"]) == (4, 0, 0)
    assert all("BudgetBroken: Greedy presented" in error for error in told["errors"].values())
    assert not (tmp_path / "run" / "episodes").exists()


def test_S1_errors_leave_the_rate_open(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    trouble = tmp_path / "raise"
    trouble.touch()
    made = settings(tmp_path / "run", trouble=str(trouble))
    assert play_all(lambda: [made]) == 1
    told = capfd.readouterr().err
    assert "incomplete" in told
    assert "100.0 %" not in told.split("planned")[-1]
    trouble.unlink()
    assert play_all(lambda: [made]) == 0
    assert "100.0 %" in capfd.readouterr().err


def test_C1_two_runs_of_one_call_may_not_share_a_folder(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        run(plan(tmp_path / "run", "one"), plan(tmp_path / "run", "two"))
    assert not (tmp_path / "run" / "episodes").exists()


def test_P4_a_refused_run_leaves_the_folder_as_it_is(tmp_path: Path) -> None:
    run(plan(tmp_path))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    other = plan(tmp_path)
    smaller = Plan(other.settings.model_copy(update={"budget": 100}), other.tasks)
    with pytest.raises(StoreError, match=r"condition\.budget: 200 -> 100"):
        run(smaller)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_the_files_tell_the_same_as_the_status(tmp_path: Path) -> None:
    run(plan(tmp_path))
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    told = status(tmp_path)
    records = episodes(tmp_path)
    assert manifest["tasks"] == sorted(records)
    assert told["planned"] == told["finished"] == len(records)
    assert told["won"] == sum(lines[-1]["won"] for lines in records.values())
