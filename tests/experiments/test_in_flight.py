"""Many episodes at once in each worker, as a server with continuous batching needs them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from test_runner import episodes, plan, run, status
from toys import Walker

from experiments.runner import Plan
from memarbiter.chat import ModelCall, ModelReply

TASKS = 9


class Gathering(Walker):
    """Answers the first call of an episode only once ``crowd`` episodes have asked; workers import it from here.

    So a run ends only if that many are in flight at the same time.
    """

    def __init__(self, folder: str, crowd: int, max_concurrency: int) -> None:
        self._folder = Path(folder)
        self._crowd = crowd

    async def reply(self, call: ModelCall) -> ModelReply:
        (self._folder / call.task_id).touch()
        while len(list(self._folder.iterdir())) < self._crowd:  # noqa: ASYNC110 - other processes cannot set an event
            await asyncio.sleep(0.01)
        return await super().reply(call)


def gathering(out: Path, crowd: int, most: int, trouble: str = "") -> Plan:
    (out.parent / "asking").mkdir(exist_ok=True)
    made = plan(out, count=TASKS, trouble=trouble)
    model = {
        "_target_": "test_in_flight.Gathering",
        "folder": str(out.parent / "asking"),
        "crowd": crowd,
        "max_concurrency": most,
    }
    return Plan(made.settings.model_copy(update={"model": model}), made.tasks)


@pytest.mark.parametrize("jobs", [1, 2])
def test_all_episodes_are_in_flight_at_once(jobs: int, tmp_path: Path) -> None:
    (tally,) = run(gathering(tmp_path / "run", crowd=TASKS, most=TASKS), jobs=jobs)
    assert (tally.finished, tally.won) == (TASKS, TASKS)


def test_no_more_are_in_flight_than_the_model_allows(tmp_path: Path) -> None:
    most = 4
    run(gathering(tmp_path / "run", crowd=most, most=most), jobs=2)
    files = sorted((tmp_path / "asking").iterdir(), key=lambda path: path.stat().st_ctime_ns)
    assert len(files) == TASKS
    ended = sorted(path.stat().st_mtime_ns for path in (tmp_path / "run" / "episodes").iterdir())
    # The fifth episode began after the first one had ended.
    assert files[most].stat().st_ctime_ns > ended[0]


def test_E6_together_they_say_what_they_say_alone(tmp_path: Path) -> None:
    run(plan(tmp_path / "alone", count=TASKS), jobs=1)
    run(gathering(tmp_path / "run", crowd=TASKS, most=TASKS), jobs=2)
    together = episodes(tmp_path / "run")
    assert together == episodes(tmp_path / "alone")


def test_a_worker_that_dies_with_many_episodes_loses_those_and_they_are_played_again(tmp_path: Path) -> None:
    trouble = tmp_path / "die"
    trouble.touch()
    made = gathering(tmp_path / "run", crowd=TASKS, most=TASKS, trouble=str(trouble))
    (tally,) = run(made, jobs=1)
    assert "corridor-2" in tally.errors
    assert all("died with exit code 9" in error for error in tally.errors.values())
    assert tally.finished + len(tally.errors) == TASKS
    assert status(tmp_path / "run")["state"] == "incomplete"
    trouble.unlink()
    (tally,) = run(made, jobs=1)
    assert (tally.finished, tally.errors) == (TASKS, {})
